"""The audit of many series at once: records in, series mixed, findings out; one pass, a fixed state a series."""

from collections.abc import Callable, Iterable

from stream_app.audit.chain import Place, digest_of, follow, unproven
from stream_app.audit.entry import ReleaseEntry
from stream_app.audit.finding import Finding
from stream_app.audit.heads import Heads
from stream_app.audit.publickey import PublicKeys
from stream_app.audit.reader import read_entry, read_release, spelt
from stream_app.audit.releases import Covered, Pairing
from stream_app.audit.report import Report, Tally
from stream_app.audit.series import Rules, Series
from stream_app.audit.swift import QUOTES, SERIES, advance, entry_of
from stream_app.audit.terms import Terms

Watch = Callable[[ReleaseEntry], None]
"""Told of every release entry that found its place in a chain."""


class Auditor:
    """Takes ledger entries and, if wanted, releases, as they come; `finish` gives the report.

    `lifetime_nano` is the bound on the total over policy versions, in nano-epsilon; None is each series' first epsilon.
    `heads` takes in the signed heads, all of them before the first entry; None when no key was given to trust.
    """

    def __init__(
        self,
        *,
        compare: bool = False,
        lifetime_nano: int | None = None,
        watch: Watch | None = None,
        keys: PublicKeys | None = None,
        topic: str | None = None,
    ) -> None:
        """Begin with no series; `compare` promises that the releases will be fed, too; `topic` names the ledger."""
        self._series: dict[str, Series] = {}  # by the series' spelling in JSON
        self._tally = Tally()
        self._pairing = Pairing() if compare else None
        self._rules = Rules(lifetime_nano)
        self._watch = watch
        self._told = compare or watch is not None
        self.heads = None if keys is None else Heads(keys, self._tally.add, topic)

    def entry(self, data: bytes) -> None:
        """Take in one line of the ledger."""
        if self.heads is not None:
            self.heads.entries((data,))
        if not self._swift(data):
            self._in_full(data)

    def release(self, data: bytes) -> None:
        """Take in one line of the releases."""
        assert self._pairing is not None, "an auditor that is fed releases is made with compare=True"
        release = read_release(data)
        if isinstance(release, Finding):
            self._tally.add(release)
            return
        for finding in self._pairing.release(release, data):
            self._tally.add(finding)

    @property
    def recognised(self) -> bool:
        """Whether any line so far was an entry, whatever was wrong with it."""
        return bool(self._series)

    def pending(self) -> set[tuple[str, int]]:
        """Return (series, timestamp in ms) of entries and releases that wait for each other."""
        return self._pairing.pending() if self._pairing is not None else set()

    @property
    def waiting(self) -> tuple[int, int]:
        """How many entries and how many releases wait for their partner."""
        return self._pairing.waiting if self._pairing is not None else (0, 0)

    def finish(self, judged: set[tuple[str, int]] | None = None) -> Report:
        """Return the report; of releases and entries without partner only those in `judged`, if it is given."""
        tally, pairing = self._tally, self._pairing
        largest, name = 0, ""
        for series in self._series.values():
            for finding in unproven(series.chain, series.name):
                tally.add(finding)
            tally.keys[series.chain.key] += 1
            if series.guarantee.total_nano >= largest:
                largest, name = series.guarantee.total_nano, series.name
        if pairing is not None:
            for finding in pairing.finish(judged):
                tally.add(finding)
        heads = None if self.heads is None else self.heads.finish()
        return Report(
            findings=tally.listed(),
            found=tally.found,
            series=len(self._series),
            entries=tally.others + sum(tally.decisions.values()),
            repeated=tally.repeated + (pairing.repeated if pairing is not None else 0),
            decisions=tally.decisions,
            spent_nano=tally.spent_nano,
            keys=dict(tally.keys),
            largest_nano=largest,
            largest_series=name,
            releases=None if pairing is None else pairing.compared,
            heads=heads,
        )

    def _swift(self, data: bytes) -> bool:
        """Take in a release entry that is just what must come next; return False, and change nothing, for all else."""
        try:
            text = data.decode()
        except UnicodeDecodeError:
            return False
        parts = text.split('"', QUOTES)
        series = self._series.get(parts[SERIES]) if len(parts) > SERIES else None
        if series is None or series.books is None:
            return False
        source_ms, previous = series.books.source_ms, series.chain.hash
        stepped = advance(series, text, parts)
        if stepped is None:
            return False
        decision, landmark, epsilon_nano, _, _ = stepped
        self._tally.decisions[decision] += 1
        if epsilon_nano:
            self._tally.spent_nano += epsilon_nano
            sentence = series.guarantee.spend(epsilon_nano, landmark=landmark)
            if sentence:
                self._tally.add(Finding("theorem", series.name, series.chain.sequence, sentence))
        if self._told:
            self._tell(entry_of(series, stepped, previous), series.books.terms, source_ms)
        return True

    def _in_full(self, data: bytes) -> None:
        entry = read_entry(data)
        if isinstance(entry, Finding):
            self._tally.add(entry)
            return
        spelling = spelt(entry.series)
        series = self._series.get(spelling)
        if series is None:
            series = self._series[spelling] = Series(entry.series)
        place, findings = follow(series.chain, entry, digest_of(data))
        for finding in findings:
            self._tally.add(finding)
        if place is Place.REPEAT:
            self._tally.repeated += 1
        if place is Place.REPEAT or place is Place.STRAY:
            return
        if place is Place.JUMP:
            series.doubt()
        source_ms = series.books.source_ms if series.books is not None else None
        for finding in series.account(entry, self._rules):
            self._tally.add(finding)
        if isinstance(entry, ReleaseEntry):
            self._tally.count(entry.decision, entry.epsilon_nano)
            books = series.books if entry.policy == series.version else None
            self._tell(entry, books.terms if books is not None else None, source_ms)
        else:
            self._tally.others += 1

    def _tell(self, entry: ReleaseEntry, terms: Terms | None, source_ms: int | None) -> None:
        """Hand a release entry on to the comparison with its release, and to whoever watches."""
        if self._pairing is not None:
            for finding in self._pairing.entry(Covered(entry, terms, source_ms)):
                self._tally.add(finding)
        if self._watch is not None:
            self._watch(entry)


def check(
    entries: Iterable[bytes],
    releases: Iterable[bytes] | None = None,
    *,
    lifetime_nano: int | None = None,
    watch: Watch | None = None,
) -> Report:
    """Audit a ledger, one entry a line without its line end, and its releases, if given; see `Auditor`.

    Both are read once, turn by turn, so that neither has to fit into memory.
    """
    auditor = Auditor(compare=releases is not None, lifetime_nano=lifetime_nano, watch=watch)
    covering = iter(releases) if releases is not None else iter(())
    for data in entries:
        auditor.entry(data)
        release = next(covering, None)
        if release is not None:
            auditor.release(release)
    for release in covering:
        auditor.release(release)
    return auditor.finish()
