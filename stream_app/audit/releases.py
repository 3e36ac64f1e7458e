"""Compares releases with the entries that cover them while both are read.

In each series, both arrive in the order of their steps. So a record has no partner if its step is earlier than that of
the first record waiting on the other side. The further one side is read ahead of the other, the more memory is used.
"""

from array import array
from bisect import bisect_left
from collections import deque
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, Final, NamedTuple

from stream_app.audit.books.landmarks import NO_LANDMARKS, LandmarkSet
from stream_app.audit.books.terms import Terms, scale_of
from stream_app.audit.chain import DIGEST_BYTES
from stream_app.audit.finding import Code, Finding
from stream_app.audit.form.entry import APPROXIMATED, PERTURBED, ReleaseEntry, ReleaseRecord, finding_of
from stream_app.audit.kinds.space import Points
from stream_app.audit.kinds.units import unit_points

WINDOW: Final = 64
"""How many releases back a repeat can be compared; at most twice as many 40-byte digests are held."""


class CoveredEntry(NamedTuple):
    """A release entry with everything that its release must agree with."""

    entry: ReleaseEntry
    terms: Terms | None  # None if the policy is unknown
    source_ms: int | None  # the last step perturbed before it
    landmarks: LandmarkSet = NO_LANDMARKS  # units that it omits


class RecentDigests:
    """The digests of a series' latest releases, which distinguish repeated from conflicting records."""

    __slots__ = ("_digests", "_forgotten", "_numbers")

    def __init__(self) -> None:
        self._forgotten = -1  # the highest number that was dropped
        self._numbers = array("q")
        self._digests = bytearray()

    def add(self, number: int, digest: bytes) -> None:
        """Add a digest under a number higher than all earlier ones."""
        if len(self._numbers) >= 2 * WINDOW:
            self._forgotten = self._numbers[WINDOW - 1]
            del self._numbers[:WINDOW]
            del self._digests[: WINDOW * DIGEST_BYTES]
        self._numbers.append(number)
        self._digests += digest

    def get(self, number: int) -> bytes | None:
        """Return the digest under `number`, or None if it was never added or was discarded."""
        place = bisect_left(self._numbers, number)
        if place == len(self._numbers) or self._numbers[place] != number:
            return None
        return bytes(self._digests[place * DIGEST_BYTES : (place + 1) * DIGEST_BYTES])

    def covers(self, number: int) -> bool:
        """Return whether the digest of a record with this number would still be held if it had been added."""
        return number > self._forgotten


@dataclass(slots=True)
class _Series:
    entries: deque[CoveredEntry] = field(default_factory=deque)
    releases: deque[tuple[ReleaseRecord, bytes]] = field(default_factory=deque)  # with the digest of its bytes
    recent: RecentDigests = field(default_factory=RecentDigests)
    last: int = -1  # timestamp of the latest release, ms
    value: Any = None  # of the last perturbed release
    terms: Terms | None = None  # of the latest perturbed release
    points: Points | None = None  # of those terms

    def points_of(self, terms: Terms) -> Points:
        """Return the points of the terms, which are computed only once as long as the terms stay the same."""
        if self.points is None or self.terms is not terms:
            self.terms, self.points = terms, points_under(terms)
        return self.points


class Pairing:
    """Pairs releases with their entries and reports each finding as soon as it is certain."""

    def __init__(self) -> None:
        self._series: dict[str, _Series] = {}
        self.compared = 0
        self.repeated = 0
        self._entries = 0
        self._releases = 0

    @property
    def waiting(self) -> tuple[int, int]:
        """The numbers of entries and of releases that wait for their partners."""
        return self._entries, self._releases

    def entry(self, covered: CoveredEntry) -> list[Finding]:
        """Add a release entry; return the findings that are now certain."""
        series = self._of(covered.entry.series)
        series.entries.append(covered)
        self._entries += 1
        return self._join(series)

    def release(self, release: ReleaseRecord, data: bytes) -> list[Finding]:
        """Add a release and its bytes; return the findings that are now certain."""
        series = self._of(release.series)
        digest = blake2b(data, digest_size=DIGEST_BYTES).digest()
        if release.timestamp <= series.last:
            return self._again(series, release, digest)
        series.last = release.timestamp
        series.recent.add(release.timestamp, digest)
        series.releases.append((release, digest))
        self._releases += 1
        return self._join(series)

    def pending(self) -> set[tuple[str, int]]:
        """Return the (series, timestamp) of each entry and release that has no partner yet."""
        return {
            (name, timestamp)
            for name, series in self._series.items()
            for timestamp in (
                *(covered.entry.timestamp for covered in series.entries),
                *(release.timestamp for release, _ in series.releases),
            )
        }

    def finish(self, judged: set[tuple[str, int]] | None = None) -> list[Finding]:
        """Return a finding for each entry and release without a partner, limited to `judged` if given."""
        findings = []
        for name, series in self._series.items():
            missing = {covered.entry.timestamp: _without_release(covered) for covered in series.entries}
            missing |= {release.timestamp: _without_entry(release) for release, _ in series.releases}
            findings += [found for at, found in missing.items() if judged is None or (name, at) in judged]
        return findings

    def _of(self, name: str) -> _Series:
        series = self._series.get(name)
        if series is None:
            series = self._series[name] = _Series()
        return series

    def _again(self, series: _Series, release: ReleaseRecord, digest: bytes) -> list[Finding]:
        known = series.recent.get(release.timestamp)
        if known == digest:
            self.repeated += 1
            return []
        code: Code = "conflicting-duplicate"
        message = f"a release of step {release.timestamp} appears twice, with different bytes"
        if known is None and series.recent.covers(release.timestamp):
            code, message = (
                "release-without-entry",
                (f"a release of step {release.timestamp} appears after later releases"),
            )
        elif known is None:
            code, message = (
                "stale-duplicate",
                (f"a release of step {release.timestamp} appears after step {series.last}"),
            )
        return [Finding(code, release.series, 0, message)]

    def _join(self, series: _Series) -> list[Finding]:
        findings: list[Finding] = []
        while series.entries and series.releases:
            covered, (release, digest) = series.entries[0], series.releases[0]
            if covered.entry.timestamp <= release.timestamp:
                series.entries.popleft()
                self._entries -= 1
            if covered.entry.timestamp >= release.timestamp:
                series.releases.popleft()
                self._releases -= 1
            if covered.entry.timestamp < release.timestamp:
                findings.append(_without_release(covered))
                if covered.entry.decision == PERTURBED:
                    series.value = None  # later releases may repeat the unknown value
            elif covered.entry.timestamp > release.timestamp:
                findings.append(_without_entry(release))
            else:
                self.compared += 1
                if digest.hex() != covered.entry.release:
                    message = f"the release of step {release.timestamp} is not the release that its entry covers"
                    findings.append(finding_of("changed-release", covered.entry, message))
                else:
                    faults = _faults(covered, release, series)
                    findings += [finding_of("release-mismatch", covered.entry, fault) for fault in faults]
                if release.decision == PERTURBED:
                    series.value = release.value
        return findings


def points_under(terms: Terms) -> Points:
    """Return the points on which the releases of a policy lie."""
    if terms.units is not None:
        return unit_points(terms.kind.value, filtered=terms.filtered)
    return Points(terms.kind.space, terms.kind.is_clamped, terms.filtered)


def _faults(covered: CoveredEntry, release: ReleaseRecord, series: _Series) -> list[str]:
    entry, terms, source, landmarks = covered
    faults = []
    if release.decision != entry.decision:
        faults.append(f"the release is {release.decision}, but its entry says {entry.decision}")
    if release.policy != entry.policy:
        faults.append(f"the release names policy {release.policy}, but its entry names policy {entry.policy}")
    if terms is not None and (release.statistic or "") != terms.statistic:
        faults.append(
            f"the release names statistic {release.statistic}, but its policy names {terms.statistic or None}"
        )
    if release.decision == PERTURBED:
        if release.epsilon_nano != entry.epsilon_nano:
            faults.append(f"the release spends {release.epsilon_nano}, but its entry spends {entry.epsilon_nano}")
        if terms is not None and entry.epsilon_nano >= terms.least_nano:
            faults += _count_faults(terms, release, landmarks)
            faults += [] if faults else _value_faults(terms, series.points_of(terms), release, entry.epsilon_nano)
    elif release.decision == APPROXIMATED:
        if release.source != source and terms is not None:
            faults.append(f"the release repeats step {release.source}, but the last perturbed step is {source}")
        # Compare texts: in Python 1, 1.0 and true are equal, as are reordered objects. A cheat could hide bits in these
        # forms.
        elif repr(release.value) != repr(series.value) and series.value is not None:
            faults.append(f"the release does not repeat what step {release.source} published")
    return faults


def _value_faults(terms: Terms, points: Points, release: ReleaseRecord, epsilon_nano: int) -> list[str]:
    faults = []
    due = scale_of(terms, epsilon_nano, release.items)
    if repr(release.scale) != repr(due):  # another member order gives other bytes
        faults.append(f"the release names scale {release.scale}, but {due} was expected")
    return faults + points.faults(release.value, release.measurement, release.items)


def _count_faults(terms: Terms, release: ReleaseRecord, landmarks: LandmarkSet) -> list[str]:
    count, units = release.items, terms.units
    if (count is None) is terms.counts_items:
        return [
            (
                "`count` must be present in the releases of a mean or of units whose number is public, and in no "
                "other releases"
            )
        ]
    if isinstance(count, dict) is not (units is not None and units.by != ""):
        return ["`count` must be one number of items or units, or one number for each bin of local time"]
    if units is None or count is None:
        return []
    if isinstance(count, int):
        most = units.counted(release.timestamp, landmarks)
        return (
            []
            if 1 <= count <= most
            else [f"`count` is not from 1 to {most}, the number of units that are not landmarks"]
        )
    bins = units.bins(release.timestamp, landmarks)
    if list(count) != sorted(count, key=int):
        return ["the bins of `count` are not in ascending order"]
    if not all(1 <= each <= bins.get(name, 0) for name, each in count.items()):
        return ["`count` has a bin that no unit can fall into, or counts more units than there are"]
    return []


def _without_release(covered: CoveredEntry) -> Finding:
    message = f"the {covered.entry.decision} release of step {covered.entry.timestamp} is missing"
    return finding_of("entry-without-release", covered.entry, message)


def _without_entry(release: ReleaseRecord) -> Finding:
    message = f"no entry covers the {release.decision} release of step {release.timestamp}"
    return Finding("release-without-entry", release.series, 0, message)
