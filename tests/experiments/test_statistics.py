"""The experiment `statistics`: by hand on small data, and the committed figures, which a rerun reproduces."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from experiments import experiment as experiments
from experiments.dataset import PACKAGED, DataSet, Reading
from experiments.decisions import key_of
from experiments.experiment import EPSILONS, ErrorOfStatistics
from experiments.setting import CONSTANT, Setting
from experiments.tables import SPAN_NOTE
from experiments.trial import Measures, measured
from experiments.units import (
    PROFILE,
    UNIT,
    YESTERDAY,
    placed,
    statistics_of,
    targets_of,
    true_statistics,
    units_of,
)
from stream_app.privacy.values import Raw
from tests.command import Cli

ROOT = Path(__file__).parents[2]
HOUR = 3_600_000
DAY = 24 * HOUR
NUMBER = {"kind": "number", "lower": 0, "upper": 100, "resolution": 0.5}
EVERY_STEP = 10**9


def hourly(days: int, value: Any = NUMBER) -> DataSet:
    """Return hourly readings whose daily mean is 20 plus the day."""
    readings = [Reading(hour * HOUR, Raw(8.5 + hour // 24 + hour % 24)) for hour in range(24 * days)]
    return DataSet("hours", "u", 1.0, HOUR, value, {"a": tuple(readings)})


def statistic(data: str, method: str, epsilon: float, unit_ms: int | None = None) -> Setting:
    """Return the setting of a statistic."""
    return Setting(data, method, epsilon, measure="statistic", unit_ms=unit_ms)


def test_spans_units_and_truths() -> None:
    """Spans occur several times in the data; units are a reading and the next longer; truths average readings."""
    data = hourly(30)
    assert [target.name for target in targets_of(data)] == ["day", "week"]
    assert units_of(data) == (HOUR, DAY)
    day, week = targets_of(data)
    truths = true_statistics(data, data.series["a"], day)
    assert [truth[""] for truth in truths.values()] == [20.0 + nth for nth in range(30)]
    assert len(true_statistics(data, data.series["a"], week)) == 4  # without the last one, of two days
    assert [target.name for target in targets_of(hourly(150))] == ["day", "week", "30 days", PROFILE]


def test_what_is_held_against_by_hand() -> None:
    """The best constant of 5 days is the third day's mean; the day before has an error of one."""
    data = hourly(5)
    assert statistics_of(statistic("hours", CONSTANT, 1.0), data, key_of(0)) == {"day": pytest.approx(6 / 5)}
    assert statistics_of(statistic("hours", YESTERDAY, 1.0), data, key_of(0)) == {"day": pytest.approx(1.0)}


@pytest.mark.parametrize("epsilon", [1.0, 100.0])
def test_errors_of_units_are_those_of_the_law(epsilon: float) -> None:
    """Over seeds the mean error is scipy's of |noise| over 24 units; that of averages is sqrt(24) times larger."""
    data = hourly(60)
    errors = [statistics_of(statistic("hours", UNIT, epsilon, HOUR), data, key_of(seed))["day"] for seed in range(12)]
    expected = 0.5 / np.sinh(epsilon / 200) / 24
    assert np.mean(errors) == pytest.approx(expected, rel=0.15)
    averaged = [statistics_of(statistic("hours", "uniform", epsilon), data, key_of(seed))["day"] for seed in range(12)]
    assert np.mean(averaged) / np.mean(errors) == pytest.approx((24 * 2 * 2 / np.pi) ** 0.5, rel=0.25)


def test_positions_become_places_and_shares_lie_between_0_and_1() -> None:
    """A place is a cell of the declared bounds, and statistics of categories are shares of the whole."""
    found = placed(PACKAGED["ride"](700))
    assert len(found.value["categories"]) == 36
    assert {str(value) for _, value in found.series["ride"]} <= set(found.value["categories"])
    names = {"kind": "category", "categories": ["a", "b", "c"]}
    series = {"a": tuple(Reading(hour * HOUR, Raw("abc"[hour % 3])) for hour in range(24 * 6))}
    data = replace(hourly(1, names), series=series)
    for setting in (
        statistic("x", UNIT, 0.01, HOUR),
        statistic("x", "balanced", 0.01),
        statistic("x", CONSTANT, 1),
    ):
        assert 0 <= statistics_of(setting, data, key_of(1))["day"] <= 1
    assert statistics_of(statistic("x", CONSTANT, 1.0), data, key_of(1))["day"] == pytest.approx(0)


@pytest.fixture(scope="module")
def figures() -> dict[tuple[str, str, str, float | None], float]:
    """Return the committed errors by data, span, method and epsilon."""
    found: dict[str, Any] = json.loads((ROOT / "docs" / "statistics.json").read_bytes())
    rows = found["experiments"]["statistics"]
    return {(row["data"], row["span"], row["method"], row["epsilon"]): row["error"] for row in rows}


def test_the_committed_figures_meet_their_targets(figures: dict[tuple[str, str, str, float | None], float]) -> None:
    """At epsilon 1, daily errors are at most 1/15 of those of averages, weekly ones 1/3 of a constant's.

    The weekly ones have a unit of one hour.
    """

    def of(span: str, method: str, epsilon: float | None = 1.0) -> float:
        return figures["glucose (all)", span, method, epsilon]

    assert 15 * of("day", "unit 5 min") <= of("day", "uniform, averaged")
    assert 3 * of("week", "unit 1 h") <= of("week", CONSTANT, None)
    profile = [of(PROFILE, f"unit {unit}") for unit in ("5 min", "1 h")]
    assert profile[0] < profile[1]


@pytest.mark.parametrize("epsilons", [EPSILONS[1:2], pytest.param(EPSILONS, marks=pytest.mark.long)])
def test_a_rerun_gives_the_same_numbers_exactly(epsilons: tuple[float, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """Rerunning one data set gives the same rows and intervals, to the last digit."""
    monkeypatch.setattr(experiments, "EPSILONS", epsilons)
    data = replace(PACKAGED["commits"](EVERY_STEP), name="commits (all)")
    stated: dict[str, Any] = json.loads((ROOT / "docs" / "statistics.json").read_bytes())
    known: dict[Setting, list[Measures]] = {}
    experiment = ErrorOfStatistics.of([data])
    for setting in experiment.settings():
        known[setting] = [measured(setting, data, seed) for seed in range(stated["seeds"])]
    rows = experiment.rows(known.__getitem__)
    assert len(rows) == 2 * (2 + 4 * len(epsilons))
    assert all(row in stated["experiments"]["statistics"] for row in rows)


def test_statistics_have_a_table_and_a_picture(tmp_path: Path, cli: Cli) -> None:
    """Each has a line per method and a column per epsilon, and explains the span before, for `--steps` steps."""
    words = ["--only", "statistics", "--data", "commits", "--steps", "400", "--seeds", "1", "--jobs", "1"]
    shown = cli(*words, "--out", tmp_path).out
    assert "Mean error of statistics (share wrong), by epsilon: commits (all), week" in shown
    assert SPAN_NOTE in shown
    for label in (
        "best constant",
        "the span before",
        "uniform, averaged",
        "balanced, averaged",
        "unit 6 h",
        "unit 1 d",
    ):
        assert any(line.strip().startswith(label) for line in shown.splitlines()), label
    assert (tmp_path / "statistics.png").stat().st_size > 10_000
