"""Tables, answers and warnings of unit statistics compared with sums by hand."""

from math import sinh
from typing import Any

import numpy as np
import pytest

from stream_app.demo.data import glucose
from stream_app.outlook.units.readings import Memory, SeriesReadings, memory_of
from stream_app.outlook.units.request import UnitsError, rounded_up, span_named, unit_plan
from stream_app.outlook.units.table import DAY_MS, HOUR_MS, SPANS, StatisticRequest, answered, unit_table
from stream_app.privacy.kinds import UnitStatistic
from stream_app.privacy.policy import Policy, policy_of
from stream_app.privacy.values import Raw

NUMBER = {"kind": "number", "lower": 0, "upper": 10, "resolution": 0.1}


def policy(epsilon: float = 1.0, *, within: str = "last", unit: int = HOUR_MS, window: int = 1, **value: Any) -> Policy:
    """Return a policy of daily statistics."""
    protection = {"level": "landmark", "unit": unit, "step": DAY_MS, "open_steps": 1, "within": within}
    found = {**NUMBER, "statistic": "mean", **value}
    scheme = {"name": "uniform"}
    protection |= {"window": window}
    return policy_of({"epsilon": epsilon, "protection": protection, "scheme": scheme, "value": found}, 1)


def asked(found: Policy) -> StatisticRequest:
    """Return what a policy asks."""
    plan = StatisticRequest.of(found)
    assert plan is not None
    return plan


def test_errors_by_unit_window_and_span() -> None:
    """Errors are the mean |noise| over a span's units; a window of w units errs as one unit w times as long."""
    table = unit_table(asked(policy()))
    rows = {(row.unit_ms, row.window): {each.span: each.error for each in row.spans} for row in table}
    for (unit_ms, window), errors in rows.items():
        for span, error in errors.items():
            assert unit_ms * window <= SPANS[span]
            assert error == pytest.approx(0.1 / sinh(1 / (100 * window)) / (SPANS[span] // unit_ms), rel=1e-9)
    assert rows[HOUR_MS // 4, 2]["day"] * 2 == pytest.approx(rows[HOUR_MS, 1]["day"], rel=1e-3)
    assert "day" not in rows[DAY_MS, 2]
    assert [key for key in rows if key == (HOUR_MS, 1)]
    own = [row for row in unit_table(asked(policy(unit=HOUR_MS // 2, window=3))) if row.own]
    assert [(row.unit_ms, row.window) for row in own] == [(HOUR_MS // 2, 3)]


@pytest.mark.parametrize("wanted", [0.05, 0.5, 3.0])
@pytest.mark.parametrize("span", ["day", "week"])
def test_answers_bring_the_error_that_was_wanted(wanted: float, span: str) -> None:
    """With that epsilon or unit, the table has at most that error; with slightly less epsilon it has more."""
    found = answered(asked(policy()), SPANS[span], wanted)
    assert found.epsilon is not None

    def error(epsilon: float = 1.0, unit_ms: int = HOUR_MS) -> float:
        rows = unit_table(asked(policy(epsilon, unit=unit_ms)))
        return next(each.error for row in rows if row.own for each in row.spans if each.span == span)

    assert error(found.epsilon) <= wanted * (1 + 1e-9)
    assert error(found.epsilon * 0.999) > wanted
    if found.unit_ms is not None:
        assert error(unit_ms=found.unit_ms) <= wanted
    assert found.now == pytest.approx(error())


def test_a_plain_policy_of_numbers_is_planned_as_units() -> None:
    """Each step is a unit; what is collected, or is not a number, is not planned for."""
    plain = policy_of({"epsilon": 1.0, "protection": {"level": "event", "step": HOUR_MS}, "scheme": {"name": "uniform"},
                       "value": NUMBER}, 1)  # fmt: skip
    assert asked(plain)[1:] == (HOUR_MS, 1, 10**9, HOUR_MS)
    other = {"kind": "category", "categories": [True, False]}
    assert unit_plan(policy_of({**plain.parameters, "value": other}, 1)) is None


def data(values: Any, gap_ms: int = HOUR_MS // 4) -> list[tuple[int, Raw]]:
    """Return readings a quarter of an hour apart."""
    return [(nth * gap_ms, Raw(float(value))) for nth, value in enumerate(values)]


@pytest.mark.parametrize("within", ["last", "max", "sum", "mean"])
def test_units_hold_what_the_core_says(within: str) -> None:
    """They agree with the core's own units, reading by reading."""
    from stream_app.privacy.units.readings import EMPTY  # noqa: PLC0415

    found, rng = policy(within=within), np.random.default_rng(3)
    readings = data(rng.uniform(-1, 11, 500), 7 * 60_000)
    assert isinstance(found.kind, UnitStatistic)
    assert found.units is not None
    steps = SeriesReadings.of(found.kind, found.units.aggregate, 0, readings)
    held: dict[int, Any] = {}
    for at_ms, value in readings:
        cells = found.kind.quantise(value)
        assert cells is not None
        at, since = divmod(at_ms, HOUR_MS)
        held[at] = held.get(at, EMPTY).joined(found.units, since, cells[0])
    starts, cells_of = steps.units(HOUR_MS)
    assert list(zip(starts.tolist(), cells_of.tolist(), strict=True)) == [
        (at * HOUR_MS, unit.cell(found.units, found.kind)) for at, unit in held.items()
    ]


def test_true_statistics_and_the_best_constant() -> None:
    """Of three days, one has few readings; the error is the mean distance from the median of the others' means."""
    values = [*[2.0] * 96, *[6.0] * 96, *[7.0] * 96, *[9.0] * 20]
    found = policy()
    assert isinstance(found.kind, UnitStatistic)
    (truth,) = SeriesReadings.of(found.kind, "last", 0, data(values)).truths(found.kind, HOUR_MS, DAY_MS)
    assert truth.units == (24, 24, 24)
    assert truth.constant_error == pytest.approx((4 + 0 + 1) / 3)


@pytest.mark.parametrize(("kept", "lag"), [(0.5 ** (1 / 4), 5), (0.5 ** (1 / 12), 13), (0.0, 1)])
def test_memory_of_an_autoregressive_course(kept: float, lag: int) -> None:
    """The autocorrelation of x' = kept * x + noise is kept^lag: below a half just after its half-life."""
    rng = np.random.default_rng(11)
    values, x = [], 0.0
    for _ in range(40_000):
        x = kept * x + (1 - kept**2) ** 0.5 * rng.normal()
        values.append(5 + x)
    found = policy()
    assert isinstance(found.kind, UnitStatistic)
    memory = memory_of([SeriesReadings.of(found.kind, "last", 0, data(values))])
    assert memory is not None
    assert memory.certain
    assert abs(memory.lag_ms / (HOUR_MS // 4) - lag) <= 1


def test_memory_of_categories_and_of_too_little() -> None:
    """Runs of 8 equal categories are remembered for about half that; constants and few readings show nothing."""
    kind = {"kind": "category", "categories": ["a", "b", "c"], "statistic": "histogram"}
    protection = {"level": "event", "unit": HOUR_MS // 4, "step": DAY_MS, "open_steps": 1}
    found = policy_of({"epsilon": 1.0, "protection": protection, "scheme": {"name": "uniform"}, "value": kind}, 1)
    assert isinstance(found.kind, UnitStatistic)
    rng = np.random.default_rng(2)
    runs = [str(name) for name in rng.choice(["a", "b", "c"], 3_000) for _ in range(8)]
    readings = [(nth * (HOUR_MS // 4), Raw(name)) for nth, name in enumerate(runs)]
    memory = memory_of([SeriesReadings.of(found.kind, "last", 0, readings)])
    assert memory is not None
    assert 3 <= memory.lag_ms // (HOUR_MS // 4) <= 5
    assert memory_of([SeriesReadings.of(found.kind, "last", 0, [(at, Raw("a")) for at, _ in readings])]) is None
    assert memory_of([SeriesReadings.of(found.kind, "last", 0, readings[:10])]) is None


def test_a_unit_shorter_than_the_memory_is_warned_of() -> None:
    """In real blood sugar data an hour is too short; two hours are not, nor is a window of two hourly units."""
    value: dict[str, Any] = {"lower": 40, "upper": 400, "resolution": 1}
    readings = {"glucose": [(at_ms, Raw(value)) for at_ms, value in glucose()]}
    hour = unit_plan(policy(**value), data=readings)
    assert hour is not None
    assert hour.memory == Memory(105 * 60_000, certain=True)
    assert "falls below 0.5 after 1 h 45 min" in hour.warning
    for longer in (policy(**value, window=2), policy(**value, unit=2 * HOUR_MS)):
        found = unit_plan(longer, data=readings)
        assert found is not None
        assert not found.warning
    row = next(row for row in hour.rows if row.own)
    constants = [each.constant for each in row.spans]
    assert [round(each.error, 1) for each in row.spans] == [16.3, 2.4, 0.5]
    assert [round(constant, 1) for constant in constants if constant is not None] == [21.2, 10.9, 9.4]


def test_spans_and_what_is_none() -> None:
    """Spans have names and lengths; partial units and data without values are refused; epsilon has four digits."""
    plan = asked(policy())
    assert span_named(plan, None) == ("day", DAY_MS)
    assert span_named(plan, "month")[1] == span_named(plan, "30 days")[1] == 30 * DAY_MS
    assert span_named(plan, "12h") == ("span of 12 h", 12 * HOUR_MS)
    for wrong in ("fortnight", "90min", "5 s"):
        with pytest.raises(UnitsError) as caught:
            span_named(plan, wrong)
        assert caught.value.member == "step"
    with pytest.raises(UnitsError, match="no valid value"):
        unit_plan(policy(), data={"a": [(0, Raw("x"))]})
    assert (rounded_up(2.999965), rounded_up(0.00012341)) == (3.0, 0.0001235)
