"""A plan for a statistic of units and its results: the table, an answer, and what data add."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from stream_app.calendar.words import duration_in_words, length_ms
from stream_app.outlook.units.readings import Memory, SeriesReadings, memory_of
from stream_app.outlook.units.table import SPANS, Answer, Planned, StatisticRequest, UnitRow, answered, unit_table
from stream_app.privacy.collected.within import Aggregate
from stream_app.privacy.policy import Policy
from stream_app.privacy.values import NANO, Raw


class UnitsError(ValueError):
    """Raised if no plan for units is possible.

    ``member`` names what to change: ``statistic``, ``step``, ``error`` or ``data``.
    """

    def __init__(self, member: str, problem: str) -> None:
        self.member = member
        super().__init__(problem)


@dataclass(frozen=True, slots=True)
class UnitPlan:
    """The errors of a statistic by unit, window and span, for an unchanged policy."""

    asked: StatisticRequest
    rows: tuple[UnitRow, ...]
    span: str = ""  # span of the wanted error; empty: none
    answer: Answer | None = None
    memory: Memory | None = None  # of the data, if there are any
    series: int = 0  # series with valid readings in data

    @property
    def warning(self) -> str:
        """Return a warning if values last longer than the protected stretch; return "" if not, or if unknown."""
        protected_ms = self.asked.unit_ms * self.asked.window
        if self.memory is None or protected_ms >= self.memory.lag_ms:
            return ""
        lasting = duration_in_words(self.memory.lag_ms)
        lag = f"after {lasting}" if self.memory.certain else f"not even after {lasting}, the length of the data"
        what = "any unit" if self.asked.window == 1 else f"any {self.asked.window:,} units in a row"
        return (
            f"{what}, {duration_in_words(protected_ms)}, is protected, but values stay similar for longer: their "
            f"autocorrelation falls below 0.5 {lag}. Neighbouring units reveal what one of them hides; a longer unit, "
            "or a window of several units, protects more, at the cost that `plan` shows"
        )

    @property
    def sentence(self) -> str:
        """Return a sentence on what achieves the requested error, or "" if no error is requested."""
        if self.answer is None:
            return ""
        error, now, epsilon, unit_ms = self.answer
        unit = duration_in_words(self.asked.unit_ms)
        ways = []
        if epsilon is not None:
            ways.append(f"epsilon {rounded_up(epsilon):g} with a unit of {unit}")
        if unit_ms is not None:
            ways.append(f"a unit of {duration_in_words(unit_ms)} with epsilon {self.asked.spend_nano / NANO:g}")
        found = " or ".join(ways) or "an epsilon or a unit beyond what policies allow"
        if now <= error:
            wide = f"for an error of {error:g}, {found} is enough"
            return f"over a {self.span} the error is now {now:.3g}, if each unit has a reading; {wide}"
        return (
            f"an error of {error:g} over a {self.span} needs {found}; the error is now {now:.3g}, if each unit has a "
            "reading"
        )

    def document(self) -> dict[str, Any]:
        """Return the whole plan for programs."""
        asked, answer, memory = self.asked, self.answer, self.memory
        return {
            "statistic": asked.kind.statistic,
            "error_unit": asked.kind.error_unit,
            "unit_ms": asked.unit_ms,
            "window": asked.window,
            "epsilon": asked.spend_nano / NANO,
            "table": [
                {"unit_ms": row.unit_ms, "window": row.window, "own": row.own, **_members(row)} for row in self.rows
            ],
            "answer": None if answer is None else {"span": self.span, **answer._asdict()},
            "memory": None if memory is None else memory._asdict(),
            "series": self.series or None,
            "warning": self.warning or None,
        }


def _members(row: UnitRow) -> Mapping[str, Any]:
    names = ("units", "error", "constant")
    return {"spans": {each.span: {name: getattr(each, name) for name in names} for each in row.spans}}


def rounded_up(epsilon: float) -> float:
    """Return epsilon rounded up to four digits."""
    exponent = int(f"{epsilon:e}".partition("e")[2]) - 3
    found = float(f"{epsilon:.4g}")
    return found if found >= epsilon else float(f"{found + 10.0**exponent:.4g}")


def unit_plan(
    policy: Policy,
    span: str | None = None,
    error: float | None = None,
    data: Mapping[str, Iterable[tuple[int, Raw]]] | None = None,
    statistic: Planned | None = None,
) -> UnitPlan | None:
    """Return the plan of a policy whose values are numbers or whose steps hold units; for others, return None.

    ``span`` is one of `SPANS`, or a length such as "12h"; an ``error`` without a span applies to the policy's own step.
    ``data`` are the readings by series. ``statistic`` is computed from single numbers; units have their own statistic.

    Raises:
        UnitsError: for an invalid span or one that does not hold whole units, for data without a valid value, and for a
            statistic that is not the policy's own.
    """
    asked = StatisticRequest.of(policy, statistic)
    if asked is None:
        return None
    if statistic not in {None, asked.kind.statistic}:
        raise UnitsError("statistic", f"found {statistic}, but the policy publishes a {asked.kind.statistic}; omit it")
    series = [] if data is None else list(_series(policy, asked, data))
    if data is not None and not series:
        raise UnitsError("data", "has no valid value of this policy's kind; check columns and kind")
    rows = tuple(unit_table(asked, series))
    memory, answer, name = memory_of(series) if series else None, None, ""
    if error is not None:
        name, span_ms = span_named(asked, span)
        answer = answered(asked, span_ms, error)
    return UnitPlan(asked, rows, name, answer, memory, len(series))


def span_named(asked: StatisticRequest, span: str | None) -> tuple[str, int]:
    """Return a span in words and in milliseconds; raise `UnitsError` if it is invalid."""
    length = asked.step_ms if span is None else SPANS.get(span) or (30 * SPANS["day"] if span == "month" else 0)
    length = length or length_ms(span or "") or 0
    if not length:
        raise UnitsError("step", f'found {span!r}; use "day", "week", "30 days", or a length such as "12h"')
    if length % asked.unit_ms or length < asked.unit_ms:
        unit = duration_in_words(asked.unit_ms)
        raise UnitsError("step", f"a span of {duration_in_words(length)} is not a whole number of units of {unit}")
    named = {known: name for name, known in SPANS.items()}
    words = {"30 days": "month of 30 days"}
    found = named.get(length, "")
    return words.get(found, found) or f"span of {duration_in_words(length)}", length


def _series(
    policy: Policy, asked: StatisticRequest, data: Mapping[str, Iterable[tuple[int, Raw]]]
) -> Iterator[SeriesReadings]:
    units, within = policy.units, policy.within
    aggregate: Aggregate = units.aggregate if units else within.aggregate if within else "last"
    for readings in data.values():
        found = SeriesReadings.of(asked.kind, aggregate, units.offset_ms if units else 0, readings)
        if len(found.times_ms):
            yield found
