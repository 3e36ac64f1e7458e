"""The error of a statistic by unit, window and span, and the epsilon or unit needed for a target error.

Unless data say how many units there are, each unit of a span is assumed to have a reading, and none to be a landmark. A
unit with a window of w units is as accurate as a unit of w times the length: both protect the same stretch of time.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import fsum
from typing import Final, Literal, NamedTuple

from stream_app.outlook.error import regular_nano
from stream_app.outlook.units.readings import SeriesReadings, Truth
from stream_app.privacy.kinds import Number, UnitMean, UnitStatistic, UnitSum
from stream_app.privacy.parameters import LARGEST_EPSILON
from stream_app.privacy.policy import Policy
from stream_app.privacy.units.units import MOST_STEP_UNITS
from stream_app.privacy.values import NANO

Planned = Literal["mean", "sum"]
"""What a plan computes from a policy's single numbers."""
MINUTE_MS: Final = 60_000
HOUR_MS: Final = 3_600_000
DAY_MS: Final = 24 * HOUR_MS
SPANS: Final[Mapping[str, int]] = {"day": DAY_MS, "week": 7 * DAY_MS, "30 days": 30 * DAY_MS}
"""The spans over which statistics are published."""
UNITS_MS: Final = tuple(
    sorted(
        {
            *(minutes * MINUTE_MS for minutes in (1, 2, 5, 10, 15, 20, 30)),
            *(hours * HOUR_MS for hours in (1, 2, 3, 4, 6, 8, 12, 24)),
        }
    )
)
"""Common units, all of which divide a day."""
SHOWN_MS: Final = (5 * MINUTE_MS, 15 * MINUTE_MS, HOUR_MS, 6 * HOUR_MS, DAY_MS)
WINDOWS: Final = (1, 2, 6)


class StatisticRequest(NamedTuple):
    """A statistic of units to plan for: what a unit holds, the statistic, and what a step may spend."""

    kind: UnitStatistic
    unit_ms: int
    window: int
    spend_nano: int
    step_ms: int  # the publishing interval

    @classmethod
    def of(cls, policy: Policy, statistic: Planned | None = None) -> "StatisticRequest | None":
        """Return the request for a policy with units, or with plain numbers (each step is a unit); otherwise None.

        ``statistic`` is computed from single numbers, by default a mean; it is ignored if units already have a
        statistic.
        """
        kind = policy.kind
        if policy.units is not None and isinstance(kind, UnitStatistic):
            return cls(kind, policy.units.unit_ms, policy.units.window, regular_nano(policy), policy.step_ms)
        if isinstance(kind, Number) and policy.collect is None and policy.level in {"landmark", "event"}:
            made = UnitSum(kind, 1) if statistic == "sum" else UnitMean(kind, 1)
            return cls(made, policy.step_ms, 1, policy.epsilon_nano, policy.step_ms)
        return None


@dataclass(frozen=True, slots=True)
class SpanError:
    """The error of one span, with the number of its units."""

    span: str
    units: float
    error: float  # mean absolute error of a release
    constant: float | None = None  # that of the constant baseline; None without data


@dataclass(frozen=True, slots=True)
class UnitRow:
    """The errors for one unit and window; ``own`` says whether unit and window are the policy's own."""

    unit_ms: int
    window: int
    own: bool
    spans: tuple[SpanError, ...]


def unit_table(asked: StatisticRequest, truths: "Sequence[SeriesReadings]" = ()) -> Iterator[UnitRow]:
    """Yield a row for each unit and window, with the spans that the protected stretch fits into.

    ``truths`` are the series of the data; without any, each unit of a span is assumed to have a reading.
    """
    units = sorted({*SHOWN_MS, asked.unit_ms})
    windows = sorted({*WINDOWS, asked.window})
    for unit_ms in units:
        for window in windows:
            spans = tuple(_errors(asked, unit_ms, window, truths))
            if spans:
                own = (unit_ms, window) == (asked.unit_ms, asked.window)
                yield UnitRow(unit_ms, window, own, spans)


def spans_of(asked: StatisticRequest) -> dict[str, int]:
    """Return the spans of a table: a day, a week, 30 days, and the policy's own step if it is different."""
    own = {} if asked.step_ms in SPANS.values() or asked.step_ms <= asked.unit_ms else {"step": asked.step_ms}
    return {**SPANS, **own}


def _errors(
    asked: StatisticRequest, unit_ms: int, window: int, truths: "Sequence[SeriesReadings]"
) -> Iterator[SpanError]:
    kind = asked.kind.with_window(window)
    for span, span_ms in spans_of(asked).items():
        if span_ms % unit_ms or unit_ms * window > span_ms or span_ms // unit_ms > MOST_STEP_UNITS:
            continue
        if not truths:
            units = span_ms // unit_ms
            yield SpanError(span, units, kind.expected_error(asked.spend_nano, units))
            continue
        found = [truth for one in truths for truth in one.truths(kind, unit_ms, span_ms)]
        if found:
            yield _measured(kind, asked.spend_nano, span, found)


def _measured(kind: UnitStatistic, spend_nano: int, span: str, found: Sequence[Truth]) -> SpanError:
    steps = sum(len(truth.units) for truth in found)
    error = fsum(kind.expected_error(spend_nano, units) for truth in found for units in truth.units) / steps
    constant = fsum(truth.constant_error * len(truth.units) for truth in found) / steps
    return SpanError(span, fsum(units for truth in found for units in truth.units) / steps, error, constant)


class Answer(NamedTuple):
    """Changes that achieve a given error for the statistic over a span; either one is enough."""

    error: float
    now: float  # the error of the policy
    epsilon: float | None  # with the policy's unit; None: none that policies allow
    unit_ms: int | None  # the longest of `UNITS_MS`, with the policy's epsilon; None: none is short enough


def answered(asked: StatisticRequest, span_ms: int, error: float) -> Answer:
    """Return what achieves a given mean absolute error over a span, which consists of whole policy units."""
    units = span_ms // asked.unit_ms
    nano = asked.kind.needed_nano(error, units)
    enough = asked.kind.needed_units(asked.spend_nano, error)
    fitting = [
        unit_ms
        for unit_ms in sorted({*UNITS_MS, asked.unit_ms})
        if span_ms % unit_ms == 0 and enough <= span_ms // unit_ms <= MOST_STEP_UNITS
    ]
    epsilon = nano / NANO if nano <= LARGEST_EPSILON * NANO else None
    now = asked.kind.expected_error(asked.spend_nano, units)
    return Answer(error, now, epsilon, max(fitting, default=None))
