"""What steps of units release: tallies by a literal count, exact noise laws, local time, estimates."""

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise, product
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import dlaplace

from stream_app.privacy import fold
from stream_app.privacy.kinds import ByBins, LocalTime, UnitMean, UnitStatistic
from stream_app.privacy.kinds.localtime import By
from stream_app.privacy.landmarks import NO_LANDMARKS, LandmarkSet
from stream_app.privacy.level import measured
from stream_app.privacy.noise.key import KeyRing
from stream_app.privacy.units.steps import decide_units, tallied
from stream_app.privacy.values import NANO, RawCells, ReleasedCells
from tests.privacy.moved import begun, registered
from tests.privacy.noise.bits import stream
from tests.privacy.noise.fit import SURE, fit
from tests.privacy.units.made import DAY, HOUR, STATISTICS, UNITS_MS, policy, units
from tests.run import BALANCED, KEYS

CELLS = (0, 1, 2, None)
PER_STEP = 3


def literal(statistic: str, step: int, cells: Sequence[tuple[int, int]]) -> object:
    """Return the result of a step, from the numbers of its units that count and their cells, in plain words."""
    values = [cell for _, cell in cells]
    match statistic:
        case "mean" | "sum":
            return [sum(values), len(values)]
        case "share":
            return [values.count(1), len(values)]
        case "histogram" | "categories":
            return [*(values.count(bin_) for bin_ in range(3)), len(values)]
        case _:
            unit = UNITS_MS[statistic]
            starts = [(step * PER_STEP + number) * unit for number, _ in cells]
            places = [s // HOUR % 24 if unit < HOUR else (s // DAY + 3) % 7 for s in starts]
            counts = Counter(places)
            sums = {place: sum(v for at, v in zip(places, values, strict=True) if at == place) for place in counts}
            return [n for place in range(24 if unit < HOUR else 7) for n in (sums.get(place, 0), counts[place])]


@pytest.mark.parametrize("statistic", STATISTICS)
def test_steps_come_to_what_a_literal_count_says(statistic: str) -> None:
    """For all steps of three units and all landmarks, landmarks and units without a reading count for nothing."""
    found = policy(statistic, per_step=PER_STEP)
    step = 5
    for cells in product(CELLS, repeat=PER_STEP):
        for bits in range(1 << PER_STEP):
            first = step * PER_STEP
            landmarks = LandmarkSet.of(
                (first + place, first + place + 1) for place in range(PER_STEP) if bits >> place & 1
            )
            counted = [(n, cell) for n, cell in enumerate(cells) if cell is not None and not bits >> n & 1]
            meant = literal(statistic, step, counted) if counted else None
            came = tallied(found, landmarks, step, units(cells))
            assert (None if came is None else list(came)) == meant


def test_a_step_without_a_unit_that_counts_is_passed_over() -> None:
    """With no reading, readings only at landmarks, or an erased key, there is no outcome."""
    found = policy(landmarks=(0, 1))
    assert decide_units(KEYS, found, begun(found), "a", 0, units([1, 2])) is None
    assert decide_units(KEYS, found, begun(found), "a", 1, units([None, None])) is None
    erased = KeyRing("0123456789abcdef", 9, bytes(range(32)), epoch_ms=1000)
    assert decide_units(erased, found, begun(found), "a", 1, units([1, 2])) is None
    decided = decide_units(KEYS, found, begun(found), "a", 1, units([None, 2]))
    assert decided is not None
    assert (decided.decision, decided.landmark) == ("perturbed", False)
    assert decided.state.latest.measurement[1] == 1


DRAWS = 3000
EPSILON = 2 * NANO
WINDOW = 3
RATES = {"mean": 2 * WINDOW, "sum": 2 * WINDOW, "share": WINDOW, "histogram": 2 * WINDOW, "categories": 2 * WINDOW}
"""Sensitivities: w*D of D = 2, w, and 2*w."""


@pytest.mark.parametrize("statistic", STATISTICS)
def test_noise_has_the_exact_law(statistic: str) -> None:
    """Each part fits scipy's discrete Laplace law at the contract's rate and no other; the number has no noise."""
    found = policy(statistic, per_step=PER_STEP, window=WINDOW)
    kind = found.kind
    assert isinstance(kind, UnitStatistic)
    cells = tallied(found, NO_LANDMARKS, 0, units([1, 2, 1]))
    assert cells is not None
    draws = np.array([kind.perturb(stream(nth, b"landmark-units00"), cells, EPSILON) for nth in range(DRAWS)])
    public = noiseless(kind, cells)
    rate = EPSILON / NANO / RATES.get(statistic, 2 * WINDOW)
    assert kind.sensitivity == RATES.get(statistic, 2 * WINDOW)
    noisy = [place for place in range(len(cells)) if place not in public]
    for place in noisy:
        drawn = draws[:, place].tolist()
        assert fit(drawn, law(rate, cells[place])) > SURE
        assert fit(drawn, law(1.3 * rate, cells[place])) < SURE
    assert all(set(draws[:, place].tolist()) == {cells[place]} for place in public)
    for one, other in pairwise(noisy):
        assert abs(np.corrcoef(draws[:, one], draws[:, other])[0, 1]) < 5 / DRAWS**0.5, "noises are independent"


def noiseless(kind: UnitStatistic, cells: RawCells) -> set[int]:
    """Return the positions of public values: numbers of units, and totals of bins without a unit."""
    if isinstance(kind, ByBins):
        numbers = range(1, len(cells), 2)
        return {*numbers, *(place - 1 for place in numbers if not cells[place])}
    return {len(cells) - 1}


def law(rate: float, centre: int) -> dict[int, float]:
    """Return the probabilities around a cell."""
    span = range(-400, 401)
    return {centre + k: float(p) for k, p in zip(span, dlaplace.pmf(np.array(span), rate), strict=True)}


def test_scales_are_those_of_the_contract() -> None:
    """They are w*D*res/(e*n), w*D*res/e, w/(e*n), 2*w/e, and by bin; at e = 1/2, w = 3, D = 20, n = 3.

    D counts cells of a tenth.
    """
    tenths = {"lower": 0, "upper": 2, "resolution": 0.1}
    for statistic, meant in {
        "mean": 3 * 2 / 0.5 / 3,
        "sum": 3 * 2 / 0.5,
        "share": 3 / 0.5 / 3,
        "histogram": 2 * 3 / 0.5,
        "mean by hour": {"0": 3 * 2 / 0.5 / 2, "1": 3 * 2 / 0.5},
        "sum by weekday": 3 * 2 / 0.5,
    }.items():
        found = policy(statistic, per_step=PER_STEP, window=WINDOW, value=STATISTICS[statistic] | tenths)
        assert isinstance(found.kind, UnitStatistic)
        cells = tallied(found, NO_LANDMARKS, 0, units([1, 2, 1]))
        assert cells is not None
        count = found.kind.count(ReleasedCells(tuple(cells)))
        assert found.kind.stated(NANO // 2, count) == pytest.approx(meant, rel=1e-15)


ZONES = {"Europe/Athens": (2012, 2014), "America/New_York": (2020, 2023), "Asia/Kathmandu": (1985, 1987)}


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("by", ["hour", "weekday", "hour-of-week"])
def test_bins_are_those_of_the_wall_clock(by: By, zone: str) -> None:
    """They agree with Python's `zoneinfo`, through changes of the clock; weekdays are numbered as in ISO 8601."""
    first, last = (datetime(year, 1, 1, tzinfo=UTC) for year in ZONES[zone])
    hours = [first + timedelta(hours=n) for n in range(int((last - first) / timedelta(hours=1)))]
    local = [moment.astimezone(ZoneInfo(zone)) for moment in hours]
    offsets = [int(each.utcoffset() / timedelta(milliseconds=1)) for each in local]  # type: ignore[operator]  # in a zone
    starts = [int(moment.timestamp() * 1000) for moment in hours]
    transitions = [(starts[0], offsets[0])]
    transitions += [(s, o) for s, o, old in zip(starts[1:], offsets[1:], offsets, strict=False) if o != old]
    bins = LocalTime(by, tuple(transitions))
    for start, moment in zip(starts, local, strict=True):
        name = {
            "hour": moment.hour,
            "weekday": moment.isoweekday(),
            "hour-of-week": 24 * moment.weekday() + moment.hour,
        }[by]
        assert bins.names[bins.bin_of(start)] == str(name)


def test_local_time_without_a_zone_is_utc_and_an_offset_holds_before_its_transition() -> None:
    """1970 began on a Thursday, at hour 72 of its week."""
    assert [LocalTime(by).names[LocalTime(by).bin_of(0)] for by in ("hour", "weekday", "hour-of-week")] == [
        "0",
        "4",
        "72",
    ]
    early = LocalTime("hour", ((50 * HOUR, HOUR), (60 * HOUR, 2 * HOUR)))
    assert [early.bin_of(at * HOUR) for at in (0, 49, 50, 59, 60)] == [1, 2, 3, 12, 14]
    west = LocalTime("weekday", ((0, -HOUR),))
    assert west.names[west.bin_of(0)] == "3"


@pytest.mark.parametrize("statistic", STATISTICS)
def test_releases_read_back(statistic: str) -> None:
    """This holds for any draw's measurement and estimate, via published numbers; estimates are in their range."""
    found = policy(statistic, per_step=PER_STEP, window=WINDOW, value=STATISTICS[statistic])
    kind = found.kind
    assert isinstance(kind, UnitStatistic)
    cells = tallied(found, NO_LANDMARKS, 4, units([1, None, 2]))
    assert cells is not None
    for nth in range(200):
        measurement = kind.perturb(stream(nth), cells, NANO // 10)
        estimate = kind.clamp(measurement)
        for each in (measurement, estimate):
            assert kind.read(kind.publish(each), kind.count(each)) == each
        published: Any = kind.publish(estimate)
        numbers = list(published.values()) if isinstance(published, dict) else np.ravel(published).tolist()
        if "sum" in statistic:
            assert estimate == measurement
        else:
            ends = {"share": (0, 1), "histogram": (0, np.inf), "categories": (0, np.inf)}.get(statistic, (0, 2))
            assert all(ends[0] <= number <= ends[1] for number in numbers)
        assert kind.count(measurement) == kind.count(estimate)


def test_estimates_may_be_left_as_they_are() -> None:
    """With `clamp` false."""
    for statistic in ("mean", "share", "histogram", "categories"):
        kind = policy(statistic, value=STATISTICS[statistic] | {"clamp": False}).kind
        cells = ReleasedCells((-5,) * (kind.width - 1) + (2,))
        assert kind.clamp(cells) == cells


@given(st.integers(-50, 50), st.integers(1, 4), st.integers(-50, 50), st.integers(1, 4), st.integers(1, 3))
def test_a_change_is_compared_with_the_noise(old: int, before: int, new: int, number: int, half: int) -> None:
    """It is exact, as for `adaptive`: means and shares over their own numbers, histograms in L1 over all bins."""
    spend = half * NANO // 2
    for statistic, sensitivity in RATES.items():
        kind = policy(statistic, window=WINDOW).kind
        filling = (0,) * (kind.width - 2)
        cells = ReleasedCells((old, *filling, before)), ReleasedCells((new, *filling, number))
        if statistic in {"mean", "share"}:
            change, scale = abs(new / number - old / before), sensitivity / (half / 2) / number
        else:
            change, scale = abs(new - old), sensitivity / (half / 2) * (1 if statistic == "sum" else 3)
        if abs(change - scale) > 1e-9:
            assert kind.still(*cells, spend) is (scale > change)


def test_the_filter_follows_the_mean() -> None:
    """It equals that of a number with the same measurement and scale, to the resolution of the mean."""
    found = policy(per_step=PER_STEP, window=WINDOW, scheme=BALANCED)
    assert (found.filter, isinstance(found.kind, UnitMean)) == ("level", True)
    assert isinstance(found.kind, UnitMean)
    state, model = begun(found), found.kind.item.level_begun
    for step, cells in enumerate([(1, 2, 2), (None, 1, 1), (2, 2, 2)]):
        stepped = decide_units(KEYS, found, state, "a", step, units(cells))
        assert stepped is not None
        state, (total, number) = stepped.state, stepped.state.latest.measurement
        scale = 3 * 2 / (stepped.spend_nano / NANO * number)
        moved, level = found.kind.item.level_after(model, total / number, scale, float(step > 0))
        model = tuple(moved)
        estimate = state.latest.estimate
        assert estimate[1] == number
        assert abs(estimate[0] / number - max(0, min(level, 2))) <= 0.5 / number
    assert measured(found.kind, (), ReleasedCells((5, 3)), NANO, 0)[0]


def test_a_step_may_spend_what_late_units_leave() -> None:
    """This is all of epsilon without spare, else exactly enough for each spare unit to be charged its share."""
    for scheme, window, spare in product(("uniform", "balanced", "adaptive"), (1, 2, 7), (0, 1, 5)):
        found = policy(window=window, spare=spare, scheme={"name": scheme})
        stepped = decide_units(KEYS, found, begun(found), "a", 0, units([1, 1]))
        assert stepped is not None
        assert stepped.spend_nano == (window * (NANO // (window + spare)) if spare else NANO)
        assert stepped.landmarks_left == spare


def test_late_units_are_charged_and_use_spare_and_others_do_neither() -> None:
    """Only units of decided steps are, with a reading or without, up to the last step with an entry."""
    found = policy(window=2, spare=3)
    state = begun(found)
    stepped = decide_units(KEYS, found, state, "a", 3, units([1, None]))
    assert stepped is not None
    share = stepped.spend_nano // 2
    for landmarks, charged, spare in (
        ([9_000], 0, 3),
        ([7_000], share, 2),
        ([0, 7_000], 2 * share, 1),
        ([5, 6], share, 2),
    ):
        moved = registered(found, stepped.state, *landmarks)
        assert (moved.entry.charged_nano, moved.entry.figures.landmarks_left) == (charged, spare)
        assert moved.state.promise.spare_left == spare
        assert registered(found, moved.state, *landmarks).entry.charged_nano == 0
    assert not isinstance(fold.register(found, stepped.state, [(0, 4000)]), fold.StateChange)
    ahead = registered(found, state, (0, 4000))
    assert (ahead.entry.charged_nano, ahead.state.promise.spare_left) == (0, 3), "nothing was decided"


def test_a_landmark_is_said_in_whole_units() -> None:
    """The units are on the offset's grid."""
    found = policy(offset_ms=1500)
    assert registered(found, begun(found), (3000, 5000), 100).entry.add_ms == ((0, 500), (2500, 5500))
