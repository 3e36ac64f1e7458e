"""The curves of a report: the releases of chosen series in order of time, read in a second pass over the ledger.

The first pass finds the series that lost most, however many there are; the second keeps the points of these alone.
"""

from array import array
from collections.abc import Iterable, Sequence
from typing import Final, assert_never

from stream_app.audit.books.terms import TermsError, read_terms
from stream_app.audit.form.entry import LandmarksEntry, PolicyEntry, ReleaseEntry
from stream_app.audit.form.reader import read_entry, spelt

MOST_POINTS: Final = 1_000_000  # points kept of a series, 33 bytes each; what comes after is counted and not drawn
_SERIES_AT: Final = len(b'{"series":')
_SEQUENCE: Final = b',"sequence":'


class Curve:
    """The decided steps of one series: columns of equal length, one row a step."""

    def __init__(self, series: str) -> None:
        self.series = series
        self.times_ms = array("q")
        self.spends_nano = array("q")
        self.used_nano = array("q")  # on landmarks and the worst other step of the period
        self.budgets_nano = array("q")
        self.landmarks = bytearray()  # 1 where the step is a landmark
        self.spans_ms: list[tuple[int, int]] = []  # [start, end) of landmarks, with event or without
        self.steps_ms: set[int] = set()  # step lengths of the policy versions; -1 for one that is not known
        self.correlation: str | None = None  # as the latest policy that names one names it
        self.omitted = 0
        self._last = 0
        self._step_ms = 1  # of the policy version in force
        self._charge_nano = 0  # what the private dissimilarity of an event costs
        self._length_ms = 0  # user level, before its first step: how long all steps are landmarks
        self._end_ms = 0  # of the last decided step
        self._earlier = 0  # how many of the spans are of earlier policy versions

    def add(self, entry: ReleaseEntry | PolicyEntry | LandmarksEntry) -> None:
        """Add an entry, unless it is a copy of an earlier one."""
        if entry.sequence <= self._last:
            return
        self._last = entry.sequence
        match entry:
            case ReleaseEntry():
                self._release(entry)
            case PolicyEntry():
                self._policy(entry)
            case LandmarksEntry():
                self.spans_ms += [(start, end) for start, end in entry.add]
            case _:
                assert_never(entry)

    def _policy(self, entry: PolicyEntry) -> None:
        present = self.spans_ms[self._earlier :]
        # A version's landmarks end with it: what it did not decide is decided by the next one's.
        self.spans_ms[self._earlier :] = [
            (start, min(end, self._end_ms)) for start, end in present if start < self._end_ms
        ]
        self._earlier = len(self.spans_ms)
        self._length_ms = self._charge_nano = 0
        try:
            terms = read_terms(entry.policy, entry.parameters)
        except TermsError:
            self.steps_ms.add(-1)
            return
        self.steps_ms.add(terms.step_ms)
        self._step_ms = terms.step_ms
        self._length_ms = terms.length * terms.step_ms
        self._charge_nano = 0 if terms.frame is None else terms.frame.charge_nano
        for start, end in zip(terms.landmarks.starts, terms.landmarks.ends, strict=True):
            self.spans_ms.append((start * terms.step_ms, end * terms.step_ms))
        self.correlation = terms.correlation or self.correlation

    def _release(self, entry: ReleaseEntry) -> None:
        start_ms = entry.timestamp // self._step_ms * self._step_ms
        self._end_ms = max(self._end_ms, start_ms + self._step_ms)
        if self._length_ms:
            self.spans_ms.append((start_ms, start_ms + self._length_ms))
            self._length_ms = 0
        if len(self.times_ms) >= MOST_POINTS:
            self.omitted += 1
        else:
            self.times_ms.append(entry.timestamp)
            # While a version waits it charges nothing, and its peak is 0.
            charge_nano = self._charge_nano if entry.regular_peak_nano else 0
            self.spends_nano.append(_fitting(entry.epsilon_nano + charge_nano))
            self.used_nano.append(_fitting(entry.landmark_spent_nano + entry.regular_peak_nano))
            self.budgets_nano.append(_fitting(entry.budget_nano))
            self.landmarks.append(entry.landmark)


class Curves:
    """Collects the curves of chosen series from the lines of a ledger."""

    def __init__(self, chosen: Iterable[str]) -> None:
        self.curves = [Curve(series) for series in chosen]
        self._by_spelling = {spelt(curve.series).encode(): curve for curve in self.curves}

    def entries(self, lines: Sequence[bytes]) -> None:
        """Read the next lines of the ledger; those of other series are passed over."""
        for data in lines:
            curve = self._by_spelling.get(data[_SERIES_AT : data.find(_SEQUENCE, _SERIES_AT)])
            if curve is not None:
                entry = read_entry(data)
                if isinstance(entry, ReleaseEntry | PolicyEntry | LandmarksEntry):
                    curve.add(entry)


def _fitting(nano: int) -> int:
    """Return the amount, limited to what a column can hold: a hostile ledger may name any."""
    return max(-(2**63), min(nano, 2**63 - 1))
