"""Checks whether an input as a whole looks wrong, before anything is written or sent."""

import time
from array import array
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from datetime import datetime
from hashlib import blake2b
from typing import Final, Literal, NamedTuple

from stream_app.calendar.words import duration_in_words, moment_as_seconds, moment_in_words
from stream_app.deciding.context import Context
from stream_app.deciding.landmarksmet import LandmarksMet
from stream_app.formats import wire
from stream_app.formats.records import Contribution, EventRecord, MalformedRecord, MemberRecord, Observation, Parsed
from stream_app.privacy.policy import Policy
from stream_app.privacy.reason import Reason
from stream_app.replaying.ranges import Ranges

PolicyOf = Callable[[str], Policy | None]
"""Returns the policy of a series, or None if the series has none."""
Check = Literal["landmarks", "times", "order", "substituted", "clamped", "refused"]

CHECKS: Final[dict[Check, str]] = {
    "landmarks": "no landmark step has an event",
    "times": "times look like seconds or the digits of a date, are before 1990 or after tomorrow, or are all in one "
    "open step",
    "order": "rows come after a newer row of their series",
    "substituted": "the policy's substitute replaces more than 1 % of the values",
    "clamped": "most values of a series are beyond one end of their range",
    "refused": "more than 1 % of the rows are rejected for another reason",
}
"""Each check and what makes it fail; a failed check is accepted by its name."""

ALIASES: Final[dict[str, Check]] = {"seconds": "times"}
"""Earlier names of checks."""
MOST_PERCENT: Final = 1
"""The limit for the share of rows that are rejected or substituted."""
FEWEST_VALUES: Final = 10
"""The number of values below which most may be clamped by chance."""
_DAY_MS: Final = 86_400_000
_DIGEST_BYTES: Final = 16
UNFIT: Final[tuple[Reason, ...]] = ("malformed", "wrong-type", "invalid-value")
"""Reasons that depend only on the row itself, not on earlier rows."""
_RULED: Final = frozenset({"invalid-value", "duplicate", "late"})  # reasons that follow from a policy


class Doubt(NamedTuple):
    """A failed check, with what was found and the remedy."""

    check: Check
    found: str
    row: int | None = None  # the first row with this fault, from 0 on; None: no single row has it


class CheckedRows:
    """Counts what the checks need, over rows not seen in an earlier run; memory grows with the number of series.

    A row rejected as late or as a duplicate is not counted as either if it is a byte-for-byte copy of a row from an
    earlier run; ``repeated`` finds such rows.
    """

    def __init__(self, context: Context, earlier: int = 0, *, topic: bool = False) -> None:
        """Start after ``earlier`` rows of the previous run; with ``topic``, unknown policies may be in a topic."""
        self.count = 0
        self.refused: Counter[Reason] = Counter()
        self.first: dict[Reason, int] = {}
        """For each reason, the zero-based index in the input of the first row rejected for that reason."""
        self._unfit = array("Q")  # the rows rejected for their content: four times the row number, plus the reason
        self.ruling: dict[Reason, Policy] = {}
        """For each reason that follows from a policy, the policy of the first row rejected for it."""
        self.ranges = Ranges()
        """How values relate to their policies' ranges, to be shown only to people who have the input."""
        self._context, self._earlier, self._topic = context, earlier, topic
        self._strange, self._first_strange = 0, (0, "")
        self._within = _OneStep()
        self._newest: dict[str, _Newest] = {}
        self._ahead: tuple[int, int, int] | None = None  # a row, its time, and how far after its neighbours
        self._latest_ms = time.time_ns() // 1_000_000 + _DAY_MS
        self._newest_ms: dict[str, int] = {}  # of series without a known policy
        self.without_policy: Counter[str] = Counter()
        """Rows rejected because their series has no policy, counted by series."""
        self._repeats: list[tuple[Reason, bytes]] = []

    def take(self, number: int, record: bytes, parsed: Parsed, reason: Reason | None, policy_of: PolicyOf) -> None:
        """Take a record, its content and any rejection reason; ``policy_of`` returns a series' current policy."""
        if number < self._earlier:
            return
        self.count += 1
        series, at_ms, value = parsed if type(parsed) is tuple else _dated(wire.record_of(parsed))
        if at_ms is not None and (warning := strange_time(at_ms, self._latest_ms)):
            self._first_strange = self._first_strange if self._strange else (number, warning)
            self._strange += 1
        if reason == "no-policy" and self._topic:
            reason = self._unruled(parsed)
        if reason is not None:
            self._refuse(number, record, parsed, reason, policy_of)
        elif series is not None and (policy := policy_of(series)) is not None:
            # PRIVACY: raw values become counts here. No output, log, metric or report may hold the counts: they are
            # shown to whoever runs the command on the input, and so has the values, and to nobody else.
            self.ranges.take(number, series, at_ms, value, policy)
            if at_ms is not None:
                before = self._newest.get(series)
                if before is None or at_ms > before.at_ms:
                    self._newest[series] = _Newest(number, at_ms, -1 if before is None else before.at_ms)
                self._within.take(series, at_ms, policy)

    def _refuse(self, number: int, record: bytes, parsed: Parsed, reason: Reason, policy_of: PolicyOf) -> None:
        self.refused[reason] += 1
        if reason == "no-policy" and type(parsed) is tuple:
            self.without_policy[parsed[0]] += 1
        if reason in UNFIT:
            self._unfit.append(4 * number + UNFIT.index(reason))
        if reason not in self.first:
            self.first[reason] = number
            if reason in _RULED and type(parsed) is tuple:
                if (policy := policy_of(parsed[0])) is None and (default := self._context.default_for(parsed[0])):
                    policy = default.policy
                if policy is not None:
                    self.ruling[reason] = policy
        if reason == "late" and self._ahead is None and type(parsed) is tuple and parsed[0] in self._newest:
            number, at_ms, before_ms = self._newest[parsed[0]]
            if before_ms >= 0 and (apart_ms := at_ms - max(before_ms, parsed[1])) > _DAY_MS:
                self._ahead = number, at_ms, apart_ms
        if self._earlier and reason in {"late", "duplicate"}:
            self._repeats.append((reason, _digest(record)))

    @property
    def series(self) -> Collection[str]:
        """The series with at least one accepted row."""
        return self._newest.keys()

    @property
    def ahead(self) -> int | None:
        """The number of a row whose clock is ahead, which makes later rows late, or None if no row's clock is ahead."""
        return None if self._ahead is None else self._ahead[0]

    @property
    def swallowed(self) -> bool:
        """Whether the policy's substitute replaces the values of more rows than `MOST_PERCENT` allows."""
        return 100 * self.ranges.substituted > MOST_PERCENT * self.count

    @property
    def unruled(self) -> list[str]:
        """The series without a known policy."""
        return list(self._newest_ms)

    def unfit(self) -> Iterator[tuple[int, Reason]]:
        """Yield the number of each row that was rejected for its content, in ascending order, and the reason."""
        return ((packed // 4, UNFIT[packed % 4]) for packed in self._unfit)

    def _unruled(self, parsed: Parsed) -> Reason | None:
        """Return what the times alone show about an observation whose policy is only in the topic."""
        if type(parsed) is not tuple:
            return None
        series, at_ms, _ = parsed
        newest_ms = self._newest_ms.get(series, -1)
        self._newest_ms[series] = max(newest_ms, at_ms)
        return "late" if at_ms < newest_ms else None

    def repeated(self, earlier: Iterable[bytes]) -> None:
        """Stop counting repeats of the previous run's rows; that run's rows are read again only if necessary."""
        if not self._repeats:
            return
        wanted = {digest for _, digest in self._repeats}
        known = {digest for digest in map(_digest, earlier) if digest in wanted}
        self.refused.subtract(reason for reason, digest in self._repeats if digest in known)
        self.refused += Counter()  # drops zeros
        self._repeats = []

    def doubts(self, met: LandmarksMet, steps: int) -> Iterator[Doubt]:
        """Yield the checks that failed, after ``steps`` steps were processed."""
        if not self.count:
            return
        if self._strange:
            number, warning = self._first_strange
            yield Doubt("times", f"{self._strange:,} of {self.count:,} rows: {warning}", number)
        elif not steps and not self._topic and (told := self._within.told):
            yield Doubt("times", told)
        late = self.refused["late"]
        if late and self._ahead is not None:
            number, at_ms, apart_ms = self._ahead
            told = (
                f"{moment_in_words(at_ms)} is {duration_in_words(apart_ms)} later than the neighbouring rows of its "
                "series"
            )
            remedy = "its clock may be ahead; correct its time, or omit the row"
            yield Doubt("order", f"{told}, so {late:,} of {self.count:,} rows would be rejected; {remedy}", number)
        elif late:
            told = f"{late:,} of {self.count:,} rows are older than a row of their series that is earlier in the input"
            remedy = (
                "rows are processed in input order, so these rows would be rejected; sort them by time, oldest first"
            )
            yield Doubt("order", f"{told}: {remedy}", self.first["late"])
        if met.missed:  # after the checks that explain it: rows out of order are not processed and meet no landmark
            yield Doubt("landmarks", met.sentence)
        yield from self._of_values()
        refused = self.refused.total() - late
        if 100 * refused > MOST_PERCENT * self.count:
            reasons = ", ".join(f"{count:,} {name}" for name, count in self.refused.most_common() if name != "late")
            yield Doubt(
                "refused", f"{refused:,} of {self.count:,} rows would be rejected ({reasons}); correct the rows"
            )

    def _of_values(self) -> Iterator[Doubt]:
        # PRIVACY: no doubt has a count of raw values, because errors of the library end up in notebooks.
        ranges = self.ranges
        if self.swallowed:
            told = "the policy's substitute (`invalid`) replaces more than 1 % of the values, because they do not fit"
            yield Doubt("substituted", told, ranges.first_substituted[0] if ranges.first_substituted else None)
        for series, side in ranges.mostly_beyond(FEWEST_VALUES):
            told = f"most values of {series} are {side} of their range, so the limit is published instead"
            yield Doubt("clamped", f"{told}; the unit may differ, such as Wh for kWh; --multiply converts it")


class _Newest(NamedTuple):
    """The newest row of a series so far."""

    number: int
    at_ms: int
    before_ms: int  # of the newest row before it; -1: none


class _OneStep:
    """Tracks whether all readings are in one open step that takes several; if so, their times may have a wrong unit."""

    def __init__(self) -> None:
        self._index: dict[str, int] = {}
        self._readings, self._several = 0, False
        self._last: tuple[str, int, Policy] | None = None

    def take(self, series: str, at_ms: int, policy: Policy) -> None:
        """Take an accepted reading."""
        if self._several:
            return
        index = policy.index_of(at_ms)
        single = policy.within is None and policy.units is None
        self._several = single or self._index.setdefault(series, index) != index
        self._readings += 1
        self._last = series, at_ms, policy

    @property
    def told(self) -> str:
        """Return the warning, which is empty if a step is over or there are few readings."""
        if self._several or self._last is None or self._readings < FEWEST_VALUES:
            return ""
        series, at_ms, policy = self._last
        begins, ends = (moment_in_words(policy.start_of(policy.index_of(at_ms) + one)) for one in (0, 1))
        step = f"one step, from {begins} to {ends}"
        return (
            f"all readings of {series} are in {step}, which is still open, so nothing is released; check that times "
            "are in milliseconds"
        )


def strange_time(at_ms: int, latest_ms: int) -> str:
    """Return a guess at the meaning of a time outside plausible years, or an empty text if the time is plausible."""
    if _PLAUSIBLE_MS <= at_ms <= latest_ms:
        return ""
    form = _DATES.get(len(str(at_ms)))
    if form is not None and _is_date(str(at_ms), form):
        return f"{at_ms} looks like a date of {len(str(at_ms))} digits; add --time-format {form}"
    if warning := moment_as_seconds(at_ms):
        return warning
    lies = "after tomorrow" if at_ms > latest_ms else "before 1990; times are in milliseconds since 1970"
    return f"{at_ms} is {moment_in_words(at_ms)}, which is {lies}"


_PLAUSIBLE_MS: Final = 631_152_000_000
"""The year 1990: no date of 8 to 14 digits, read as milliseconds, lies between then and tomorrow."""
_DATES: Final = {8: "%Y%m%d", 10: "%Y%m%d%H", 12: "%Y%m%d%H%M", 14: "%Y%m%d%H%M%S"}


def _is_date(text: str, form: str) -> bool:
    try:
        return 1990 <= datetime.strptime(text, form).year <= 2100  # noqa: DTZ007 (a year alone)
    except ValueError:
        return False


def _dated(found: EventRecord | MemberRecord | MalformedRecord) -> tuple[str | None, int | None, object]:
    """Return the series, the timestamp and the value of a record.

    The series and the value are None if the record has no value, and the timestamp is None if the record has none.
    """
    match found:
        case Observation(series, at_ms, value) | Contribution(series, at_ms, value=value):
            return series, at_ms, value
        case _:
            return None, getattr(found, "timestamp_ms", None), None


def unaccepted(doubts: Iterable[Doubt], accepted: Collection[str]) -> list[Doubt]:
    """Return the doubts that were not accepted."""
    named = {ALIASES.get(name, name) for name in accepted}
    return [doubt for doubt in doubts if doubt.check not in named]


def _digest(record: bytes) -> bytes:
    return blake2b(record, digest_size=_DIGEST_BYTES).digest()
