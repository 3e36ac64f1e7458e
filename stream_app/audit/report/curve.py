"""The data for a report's plots: the releases of chosen series, and all epsilon spent over time.

The data is read in a second pass over the ledger. The first pass finds the series that lost the most, however many
series there are; the second keeps only the points of those series.
"""

import re
from array import array
from collections.abc import Iterable, Sequence
from typing import Final

from stream_app.audit.books.terms import TermsError, read_terms
from stream_app.audit.books.units import Grid
from stream_app.audit.form.entry import MAX_TIMESTAMP, LandmarksEntry, PolicyEntry, ReleaseEntry
from stream_app.audit.form.reader import SEQUENCE, SERIES_AT, read_entry, spelt

MOST_POINTS: Final = 1_000_000  # points kept for a series, 33 bytes each; later points are counted but not drawn


class Curve:
    """The processed steps of one series: columns of equal length, with one row per step."""

    def __init__(self, series: str) -> None:
        self.series = series
        self.times_ms = array("q")
        self.spends_nano = array("q")
        self.used_nano = array("q")  # on landmarks and the worst other step in the period
        self.budgets_nano = array("q")
        self.landmarks = bytearray()  # 1 if the step is a landmark
        self.spans_ms: list[tuple[int, int]] = []  # [start, end) of landmarks, even without an event
        self.steps_ms: set[int] = set()  # step lengths of the policy versions; -1 for an unknown one
        self.correlation: str | None = None  # from the latest policy that names one
        self.omitted = 0
        self._last = 0
        self.has_units = False  # whether a version protects units (many per step)
        self._steps = Grid(0, 1)  # steps of the policy in force
        self._charge_nano = 0  # cost of a private dissimilarity
        self._length_ms = 0  # at user level, before the first step: duration of all landmarks
        self._end_ms = 0  # end of last step
        self._earlier = 0  # number of spans from earlier policy versions

    def add(self, entry: ReleaseEntry | PolicyEntry | LandmarksEntry) -> None:
        """Add an entry, unless it is a copy of an earlier one."""
        if entry.sequence <= self._last:
            return
        self._last = entry.sequence
        if isinstance(entry, ReleaseEntry):
            self._release(entry)
        elif isinstance(entry, PolicyEntry):
            self._policy(entry)
        else:
            self.spans_ms += [(start, end) for start, end in entry.add]

    def _policy(self, entry: PolicyEntry) -> None:
        present = self.spans_ms[self._earlier :]
        # A version's landmarks end with it, because the next version decides about steps not yet processed.
        ended = [(start, min(end, self._end_ms)) for start, end in present if start < self._end_ms]
        self.spans_ms[self._earlier :] = ended
        self._earlier = len(self.spans_ms)
        self._length_ms = self._charge_nano = 0
        try:
            terms = read_terms(entry.policy, entry.parameters)
        except TermsError:
            self.steps_ms.add(-1)
            return
        self.steps_ms.add(terms.step_ms)
        self.has_units |= terms.units is not None
        self._steps = terms.steps
        self._length_ms = terms.length * terms.step_ms
        self._charge_nano = 0 if terms.frame is None else terms.frame.charge_nano
        for start, end in zip(terms.landmarks.starts, terms.landmarks.ends, strict=True):
            self.spans_ms.append((terms.marks.start(start), terms.marks.start(end)))
        self.correlation = terms.correlation or self.correlation

    def _release(self, entry: ReleaseEntry) -> None:
        start_ms = self._steps.start(self._steps.number(entry.timestamp))
        self._end_ms = max(self._end_ms, start_ms + self._steps.length_ms)
        if self._length_ms:
            self.spans_ms.append((start_ms, start_ms + self._length_ms))
            self._length_ms = 0
        if len(self.times_ms) >= MOST_POINTS:
            self.omitted += 1
        else:
            self.times_ms.append(entry.timestamp)
            # A version that waits costs nothing, and its peak is 0.
            charge_nano = self._charge_nano if entry.regular_peak_nano else 0
            self.spends_nano.append(_fitting(entry.epsilon_nano + charge_nano))
            self.used_nano.append(_fitting(entry.landmark_spent_nano + entry.regular_peak_nano))
            self.budgets_nano.append(_fitting(entry.budget_nano))
            self.landmarks.append(entry.landmark)


class Curves:
    """Collects the curves of chosen series from the ledger's lines."""

    def __init__(self, chosen: Iterable[str]) -> None:
        self.curves = [Curve(series) for series in chosen]
        self._by_spelling = {spelt(curve.series).encode(): curve for curve in self.curves}

    def entries(self, lines: Sequence[bytes]) -> None:
        """Read the next lines of the ledger, skipping other series."""
        for data in lines:
            curve = self._by_spelling.get(data[SERIES_AT : data.find(SEQUENCE, SERIES_AT)])
            if curve is not None:
                entry = read_entry(data)
                if isinstance(entry, ReleaseEntry | PolicyEntry | LandmarksEntry):
                    curve.add(entry)


def _fitting(nano: int) -> int:
    """Return the amount, limited to a column's range, because a hostile ledger may contain any number."""
    return max(-(2**63), min(nano, 2**63 - 1))


MOST_BINS: Final = 100
_WIDER: Final = (10, 10, 10, 10, 6, 10, 6, 6, 4, 7, 4, 3, 4, 10, 10)
"""Factors between bin widths: 1, 10, 100 ms, 1, 10 s, 1, 10 min, 1, 6 h, 1, 7, 28, 84, 336 days and more."""
_SPEND: Final = re.compile(
    rb'"timestamp":(\d{1,15}),"decision":"perturbed","landmark":(true|false),"policy":\d+,"budget_nano":\d+,'
    rb'"epsilon_nano":(\d{1,18}),'
)


class Flow:
    """Epsilon spent on landmarks and on other steps, in nano-epsilon, in time bins of `width_ms`."""

    def __init__(self) -> None:
        self.width_ms = 1
        self._wider = iter(_WIDER)
        self.landmark: dict[int, int] = {}  # by bin number: timestamp // width_ms
        self.regular: dict[int, int] = {}
        self._low = self._high = -1  # bin numbers

    def entries(self, lines: Sequence[bytes]) -> None:
        """Add the next lines of the ledger without checking them; the audit does that."""
        search = _SPEND.search
        for data in lines:
            found = search(data)
            if found is None:
                continue
            timestamp, landmark, spend = found.groups()
            if int(timestamp) <= MAX_TIMESTAMP:
                self._add(int(timestamp), int(spend), self.landmark if landmark == b"true" else self.regular)

    def _add(self, timestamp: int, spend: int, kind: dict[int, int]) -> None:
        number = timestamp // self.width_ms
        if not self._low <= number <= self._high:
            self._low = number if self._low < 0 else min(self._low, number)
            self._high = max(self._high, number)
            while self._high - self._low >= MOST_BINS:
                self._widen()
            number = timestamp // self.width_ms
        kind[number] = kind.get(number, 0) + spend

    def _widen(self) -> None:
        times = next(self._wider)
        self.width_ms *= times
        self._low //= times
        self._high //= times
        for kind in (self.landmark, self.regular):
            narrow = list(kind.items())
            kind.clear()
            for number, spend in narrow:
                kind[number // times] = kind.get(number // times, 0) + spend

    @property
    def numbers(self) -> range:
        """The numbers of all bins, including empty ones."""
        return range(self._low, self._high + 1) if self._low >= 0 else range(0)
