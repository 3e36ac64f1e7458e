"""Choices among contributors' items, from contributions to releases."""

from typing import Any

import orjson
import pytest

from stream_app.deciding.rebuild import rebuild
from stream_app.deciding.rows import SeriesRow
from tests.collected import REPLACE, collected, contribution, watermark
from tests.run import Run

CHOICE: dict[str, object] = {"kind": "choice", "items": ["north", "mitte", "größe"]}
ADD_REMOVE: dict[str, object] = {"neighbours": "add-remove", "open_steps": 2}


def policy(neighbours: dict[str, object], **members: object) -> dict[str, object]:
    """Return a policy that chooses."""
    return collected(1, neighbours) | {"value": CHOICE} | members


@pytest.mark.parametrize("neighbours", [REPLACE, ADD_REMOVE], ids=["replace", "add-remove"])
def test_the_most_frequent_item_is_chosen(neighbours: dict[str, object]) -> None:
    """The budget makes any other item unlikely; a release has the item and the scale 1/e."""
    run = Run().feed_all([policy(neighbours), watermark(0)])
    for nth, item in enumerate(["mitte", "größe", "north", "größe", "south", 7]):
        run.feed(contribution(nth, f"m{nth}", item))
    run.feed(watermark(10))
    found: dict[str, Any] = orjson.loads(run.releases[0])
    assert list(found) == [
        *("series", "timestamp", "value", "decision", "measurement", "epsilon_nano", "scale", "policy"),
    ]
    assert (found["value"], found["measurement"], found["scale"]) == ("größe", "größe", 1e-5)
    assert [orjson.loads(reject)["reason"] for reject in run.rejects] == ["invalid-value"] * 2


def test_empty_and_even_steps_are_drawn_evenly() -> None:
    """If no item is ahead, each has the same chance, whatever epsilon is."""
    run = Run().feed_all([policy(REPLACE), watermark(0), watermark(3000)])
    drawn = [orjson.loads(release)["value"] for release in run.releases]
    assert len(drawn) == 300
    assert all(59 < drawn.count(item) < 141 for item in ("north", "mitte", "größe"))  # 5 standard deviations


@pytest.mark.parametrize("scheme", ["uniform", "balanced", "adaptive"])
@pytest.mark.parametrize("epsilon", [1e5, 1.0])
def test_rebuilt_from_ledger_and_releases(scheme: str, epsilon: float) -> None:
    """The state is recovered from the releases; all schemes support choices."""
    protection = {"level": "landmark", "step": 10, "landmarks": [[20, 40], 70], "spare": 1}
    run = Run().feed_all([policy(ADD_REMOVE, scheme={"name": scheme}, epsilon=epsilon, protection=protection)])
    run.feed_all([watermark(0), contribution(3, "a", "mitte"), watermark(95)])
    assert len(run.releases) == 9
    (row,) = run.rows.values()
    found = rebuild(run.context, run.ledger, run.releases)[row.series]
    assert found == SeriesRow(row.series, row.key, row.sequence, row.previous, row.policy, row.default, row.state)
