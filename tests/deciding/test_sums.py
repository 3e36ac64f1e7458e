"""Sums and means of collected numbers, up to their release; at most budgets, noise is almost surely 0."""

from fractions import Fraction
from typing import Any

import orjson
import pytest

from stream_app.deciding.rebuild import rebuild
from stream_app.deciding.rows import SeriesRow
from tests.collected import REPLACE, collected, contribution, watermark
from tests.run import Run

NUMBER: dict[str, object] = {"kind": "number", "lower": -2, "upper": 5, "resolution": 0.5}
LOW, HIGH, CENTRE = -4, 10, 3
ITEMS = (1.26, -7, 5, 99, 0.24)
CELLS = (3, LOW, HIGH, HIGH, 0)
"""The items in half units, rounded to the grid and then clamped."""
ADD_REMOVE: dict[str, object] = {"neighbours": "add-remove", "open_steps": 2}
SEEN = {"intrusion_nano": 10**14}


def policy(neighbours: dict[str, object], statistic: str, **members: object) -> dict[str, object]:
    """Return a policy over collected numbers."""
    return collected(1, neighbours | {"statistic": statistic}) | {"value": NUMBER} | members


def decided(record: dict[str, object], items: tuple[object, ...] = ITEMS) -> Run:
    """Return a run in which each of the items was contributed to the first step, and the step was closed."""
    run = Run().feed_all([record, watermark(0)])
    for nth, item in enumerate(items):
        run.feed(contribution(nth, f"m{nth}", item))
    run.feed(watermark(10))
    return run


def released(record: dict[str, object], items: tuple[object, ...] = ITEMS) -> dict[str, Any]:
    """Return the release of those items."""
    (release,) = decided(record, items).releases
    found: dict[str, Any] = orjson.loads(release)
    return found


WAYS = [(REPLACE, "sum"), (REPLACE | SEEN, "sum"), (ADD_REMOVE, "sum"), (REPLACE, "mean"), (REPLACE | SEEN, "mean")]
WAYS += [(ADD_REMOVE, "mean")]
IDS = ["sum", "seen sum", "open sum", "mean", "seen mean", "hidden mean"]


@pytest.mark.parametrize(("neighbours", "statistic"), WAYS, ids=IDS)
def test_items_are_rounded_and_clamped_before_they_are_added(neighbours: dict[str, object], statistic: str) -> None:
    """The release is the exact sum or mean of the range's cells, never the clamped sum of raw items."""
    total = Fraction(sum(CELLS), 2)
    found = released(policy(neighbours, statistic))
    assert found["value"] == float(total if statistic == "sum" else total / len(ITEMS))
    assert found["statistic"] == statistic
    assert ("count" in found) == (statistic == "mean" and neighbours["neighbours"] == "replace")
    assert found.get("count", len(ITEMS)) == len(ITEMS)
    if found["measurement"] != found["value"]:
        assert found["measurement"] == {"sum": (sum(CELLS) - len(ITEMS) * CENTRE) / 2, "count": len(ITEMS)}


@pytest.mark.parametrize(("neighbours", "statistic"), WAYS, ids=IDS)
def test_a_step_without_items(neighbours: dict[str, object], statistic: str) -> None:
    """A sum is 0, and a mean is that of one item in the middle; a public number of items is the true one."""
    found = released(policy(neighbours, statistic), ())
    assert found["value"] == (0 if statistic == "sum" else CENTRE / 2)
    assert found.get("count", 0) == 0


@pytest.mark.parametrize(("neighbours", "statistic"), WAYS, ids=IDS)
def test_steps_that_were_never_open(neighbours: dict[str, object], statistic: str) -> None:
    """Watermarks that skip steps close them as empty steps."""
    run = decided(policy(neighbours, statistic)).feed_all([watermark(100)])
    values = [orjson.loads(release)["value"] for release in run.releases[1:]]
    assert len(values) == 9
    assert set(values) == {0 if statistic == "sum" else CENTRE / 2}


def test_scales() -> None:
    """D is the range under replace, the larger end under add-remove, and twice the reach after start noise."""
    e = 10**5
    scales = [released(policy(neighbours, statistic))["scale"] for neighbours, statistic in WAYS]
    cells = [Fraction(14), Fraction(2 * 7), Fraction(10), Fraction(14, 5), Fraction(2 * 7, 5)]
    assert scales[:5] == [float(number / 2 / e) for number in cells]
    assert scales[5] == {"sum": float(Fraction(7, 2) / (e / 2)), "count": 2 / e}
    uneven = policy(REPLACE | SEEN, "sum", value=NUMBER | {"upper": 4.5})  # -4 .. 9, c = 2
    assert released(uneven)["scale"] == float(Fraction(2 * 7, 2) / e)
    assert released(policy(REPLACE, "mean"), ())["scale"] == float(Fraction(14, 2) / e)


@pytest.mark.parametrize("item", [None, True, "1", [1], {"a": 1}], ids=repr)
def test_what_is_no_number_is_no_item(item: object) -> None:
    """It is rejected, and its sender may send another one."""
    run = Run().feed_all([policy(REPLACE, "mean"), watermark(0), contribution(3, "a", item), contribution(3, "a", 1)])
    assert [orjson.loads(reject)["reason"] for reject in run.rejects] == ["invalid-value"]
    run.feed_all([contribution(3, "a", 2), watermark(10)])
    assert orjson.loads(run.rejects[1])["reason"] == "duplicate"
    assert orjson.loads(run.releases[0])["value"] == 1


def test_a_mean_is_clamped_unless_that_is_off() -> None:
    """At a small budget, noise leaves the range: the value is clamped to it, but the measurement is not."""
    for neighbours, clamp in ((REPLACE, True), (REPLACE, False), (ADD_REMOVE, True), (ADD_REMOVE, False)):
        record = policy(neighbours, "mean", epsilon=0.001, value=NUMBER | {"clamp": clamp})
        run = decided(record).feed_all([watermark(200)])
        found = [orjson.loads(release)["value"] for release in run.releases]
        assert clamp == all(-2 <= value <= 5 for value in found)


@pytest.mark.parametrize(("neighbours", "statistic"), WAYS, ids=IDS)
@pytest.mark.parametrize("scheme", ["uniform", "balanced", "adaptive"])
@pytest.mark.parametrize("epsilon", [1e5, 1.0, 1e-8])
def test_rebuilt_from_ledger_and_releases(
    neighbours: dict[str, object], statistic: str, scheme: str, epsilon: float
) -> None:
    """The state is recovered to the last bit: measurement and estimate follow from the release."""
    if scheme == "adaptive" and (neighbours["neighbours"], statistic) == ("add-remove", "mean"):
        return
    protection = {"level": "landmark", "step": 10, "landmarks": [[20, 40], 70], "spare": 1}
    record = policy(neighbours, statistic, epsilon=epsilon, scheme={"name": scheme}, protection=protection)
    run = decided(record).feed_all([contribution(15, "a", 4), contribution(16, "b", 3.3), watermark(95)])
    assert len(run.releases) == 9
    rebuilt = rebuild(run.context, run.ledger, run.releases)
    (row,) = run.rows.values()
    assert rebuilt[row.series] == _without_open_steps(row)


def _without_open_steps(row: SeriesRow) -> SeriesRow:
    return SeriesRow(row.series, row.key, row.sequence, row.previous, row.policy, row.default, row.state)


def test_a_share_of_one_nano_epsilon_has_no_halves() -> None:
    """A mean with a hidden count spends at least two; with less, nothing is drawn."""
    record = policy(ADD_REMOVE, "mean", epsilon=3e-9, protection={"level": "user", "step": 10, "length": 3})
    run = decided(record).feed_all([watermark(40)])
    decisions = [orjson.loads(release)["decision"] for release in run.releases]
    assert decisions == ["withheld", "withheld", "perturbed", "approximated"]  # shares 1, 3 // 2 and 3
    record = policy(ADD_REMOVE, "mean", epsilon=3e-9)
    found = released(record)
    assert found["scale"] == {"sum": float(Fraction(7, 2) * 10**9), "count": 10**9 / 2}
