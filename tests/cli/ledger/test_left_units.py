"""``left`` on ledgers of series whose steps hold units: two installations together keep one budget."""

from collections.abc import Sequence
from math import ceil
from typing import Any

import pytest

from tests.cli.ledger.test_left import HOUR, Record, Site, ruled, spends

STEP = 4 * HOUR
MEAN: dict[str, Any] = {"kind": "number", "lower": 0, "upper": 10, "resolution": 0.5, "statistic": "mean"}
HISTOGRAM: dict[str, Any] = {"kind": "category", "categories": ["home", "work"], "statistic": "histogram"}
DIVIDED: dict[str, Any] = {"level": "landmark", "unit": HOUR, "step": STEP, "offset": HOUR, "open_steps": 1, "spare": 4}


def readings(*units: int, value: object = 4.5) -> list[Record]:
    """Return a reading of each unit, by its index from the offset on."""
    return [{"series": "home", "timestamp": HOUR + unit * HOUR, "value": value} for unit in units]


def closed(*steps: int) -> list[Record]:
    """Return the watermarks that end steps."""
    return [{"type": "watermark", "series": "home", "timestamp": HOUR + (step + 1) * STEP} for step in steps]


def registered(*units: int) -> list[Record]:
    """Return the registration of units as landmarks."""
    return [{"type": "landmarks", "series": "home", "add": [HOUR + unit * HOUR for unit in units]}]


def loss(ledgers: Sequence[list[Record]], landmarks: set[int], window: int) -> int:
    """Return the largest loss over one set of landmark units together with any ``window`` units in a row.

    ``landmarks`` contains the indices of counted units: omitted units cost nothing. A step that spends x loses at most
    x/w in each of its units.
    """
    spent: dict[int, int] = {}
    for ledger in ledgers:
        for start_ms, nano in spends(ledger).items():
            spent[(start_ms - HOUR) // STEP] = spent.get((start_ms - HOUR) // STEP, 0) + nano

    def lost(units: set[int]) -> float:
        return sum(spent.get(unit // 4, 0) / window for unit in units)

    most = 4 * (max(spent) + 2)
    return ceil(max(lost(landmarks | set(range(first, first + window))) for first in range(-window, most)))


@pytest.mark.parametrize("window", [1, 2, 3])
@pytest.mark.parametrize(("value", "held"), [(MEAN, 4.5), (HISTOGRAM, "work")], ids=["mean", "histogram"])
def test_both_installations_keep_one_budget(site: Site, window: int, value: Record, held: object) -> None:
    """Both sides register units late; steps of the old installation are neither decided again nor registered."""
    policy = ruled("home", protection={**DIVIDED, "window": window, "landmarks": [HOUR + 13 * HOUR]}, value=value)
    before = [*readings(0, 1, 2, 4, 5, value=held), *closed(1), *registered(1)]
    old, rejects = site.installed("old", [policy, *before, *readings(8, 9, value=held)])
    assert rejects == []
    assert [*spends(old)] == [HOUR, HOUR + STEP], "the third step is still open"
    begun, said = site.left("old")
    assert f"from timestamp {HOUR + 2 * STEP} on" in said
    assert begun[-1]["protection"] == {**DIVIDED, "window": window, "landmarks": [HOUR + 13 * HOUR]}
    again = [*readings(5, value=held), *registered(2)]
    after = [*readings(8, 9, 10, 12, 14, value=held), *closed(3), *registered(12)]
    new, rejects = site.installed("new", [*begun, *again, *after])
    assert [reject["reason"] for reject in rejects] == ["late", "refused-landmark"]
    # The first step starts less than a window after the fence, whose spends nobody counts.
    third, fourth = (spends(new)[HOUR + step * STEP] for step in (2, 3))
    assert (third, fourth > 0, "after a wait" in said) == (0, True, True)
    assert 0 < loss([old, new], {1, 12}, window) <= 1_000_000_000


def test_a_release_without_spare_uses_up_all(site: Site) -> None:
    """At level landmark, one release used the whole epsilon."""
    policy = ruled("home", protection={**DIVIDED, "spare": 0}, value=MEAN)
    site.installed("old", [policy, *readings(0, 1), *closed(0)])
    begun, said = site.left("old")
    assert begun == []
    assert "home: no budget remains" in said


def test_each_unit_has_its_own_budget_at_level_event(site: Site) -> None:
    """The new policy has the same epsilon, because no unit belongs to steps of both installations."""
    protection = {name: part for name, part in DIVIDED.items() if name != "spare"} | {"level": "event"}
    old, _ = site.installed("old", [ruled("home", protection=protection, value=MEAN), *readings(0, 1, 4), *closed(1)])
    begun, said = site.left("old", "3.0")
    assert "for each unit, after a wait" in said
    assert (begun[-1]["epsilon"], begun[-1]["protection"]) == (1.0, protection)
    new, rejects = site.installed("new", [*begun, *readings(8, 9, 12), *closed(3)])
    assert rejects == []
    assert {*spends(old).values(), spends(new)[HOUR + 3 * STEP]} == {1_000_000_000}
