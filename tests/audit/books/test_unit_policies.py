"""The audit accepts exactly the policies with units that the worker's own compiler accepts."""

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.audit.books.test_policy import ODD, SCHEMES, VALUES, agreed, decimals, odd_answers, places
from tests.suite.speeds import scaled

NUMBER = {"kind": "number", "lower": 0, "upper": 10, "resolution": 0.5}
UNIT = {"level": "landmark", "landmarks": [3500, [6000, 8001]], "step": 4000, "unit": 1000, "open_steps": 2}
PROTECTIONS: list[dict[str, Any]] = [
    UNIT | {"offset": 2000, "window": 3, "spare": 2, "within": "mean"},
    UNIT | {"within": "last", "window": None, "offset": None},
    {"level": "event", "step": 7, "unit": 7, "open_steps": 1, "within": "max"},
    {"level": "landmark", "unit": 1, "open_steps": 1000},
]
ZONE = [[0, 3_600_000], [7_200_000, -7_200_000]]
STATISTICS: list[dict[str, Any]] = [
    NUMBER | {"statistic": "mean", "clamp": False, "invalid": 2.5},
    NUMBER | {"statistic": "sum"},
    NUMBER | {"statistic": "share", "from": 2, "to": 5.5},
    NUMBER | {"statistic": "histogram", "edges": [-1, 2, 5.5]},
    NUMBER | {"statistic": "mean", "by": "hour", "transitions": ZONE},
    NUMBER | {"statistic": "sum", "by": "weekday"},
    {"kind": "category", "categories": ["in", "out", True], "statistic": "histogram", "invalid": "in"},
]
MORE: list[Any] = [
    *("mean", "sum", "share", "histogram", "hour", "weekday", "hour-of-week", "last", "max"),
    *([1.5], [2, 1], [1, 1], [1, 1.1], [1, 1.5], [*range(63)], [*range(64)], [True], ["1"], [1e308], [-1e308, 1e308]),
    *([[0, 0]], [[1, 0], [1, 0]], [[1, 0], [0, 0]], [[0, 86_400_000]], [[0, 86_400_001]], [[0, -86_400_001]]),
    *([[-1, 0]], [[0, 1.0]], [[0, True]], [[0]], [[0, 0, 0]]),
    *([[at, 0] for at in range(256)], [[at, 0] for at in range(257)]),
    *([[2**53 - 1, 0]], [[2**53, 0]], ["true", True], ["in", "true", True], [False, "false"], [0, 3_600_000]),
    *(1000, 1999, 2000, 3999, 4000, 4001, 16_384, 16_385, 40_000_000, 65_536, 65_537),
]  # fmt: skip


@pytest.mark.parametrize("value", STATISTICS, ids=lambda value: f"{value['statistic']}-{value.get('by')}")
def test_every_statistic_beside_everything(value: dict[str, Any]) -> None:
    """They agree with every protection, scheme and filter, and with members that exclude units."""
    taken = 0
    for protection in PROTECTIONS:
        for scheme in SCHEMES:
            for filtered in (None, "none", "level"):
                policy = {"epsilon": 0.25, "protection": protection, "scheme": scheme, "value": value}
                taken += agreed(copy.deepcopy(policy | {"filter": filtered}))
        policy = {"epsilon": 0.25, "protection": protection, "scheme": SCHEMES[0], "value": value}
        for more in (
            {"collect": {"neighbours": "replace", "open_steps": 1}},
            {"correlation": "household"},
            {"renew": [5, 9]},
            {"protection": protection | {"absent": 2.5}},
            {"protection": protection | {"absent": None}},
            {"protection": protection | {"level": "user", "length": 4}},
            {"protection": protection | {"level": "w-event", "window": 4}},
            {"value": value | {"sensitivity": 3}},
            {"value": value | {"sensitivity": None}},
        ):
            taken += agreed(copy.deepcopy(policy | more))
        without = {name: part for name, part in protection.items() if name not in ("unit", "offset")}
        assert not agreed(copy.deepcopy(policy | {"protection": without}))
    assert taken > 10


@pytest.mark.parametrize("other", VALUES, ids=lambda value: value["kind"])
def test_no_units_without_a_statistic(other: dict[str, Any]) -> None:
    """A kind that has no statistic is refused, and so is one that names none."""
    for protection in PROTECTIONS:
        policy = {"epsilon": 0.25, "protection": protection, "scheme": SCHEMES[0], "value": other}
        assert not agreed(copy.deepcopy(policy))
        agreed(copy.deepcopy(policy | {"value": other | {"statistic": "mean"}}))
        agreed(copy.deepcopy(policy | {"value": other | {"statistic": "histogram"}}))


@pytest.mark.parametrize("value", STATISTICS, ids=lambda value: f"{value['statistic']}-{value.get('by')}")
def test_every_member_of_units_with_every_odd_value(value: dict[str, Any]) -> None:
    """Each member and item in turn is omitted, and replaced by each of about three hundred values."""
    protection = PROTECTIONS[0 if value["kind"] == "number" else 1]
    policy = copy.deepcopy({"epsilon": 0.25, "protection": protection, "scheme": SCHEMES[0], "value": value})
    found = odd_answers(policy, (*places(policy["protection"]), *places(policy["value"])), (*ODD, *MORE))
    for name in ("from", "to", "edges", "by", "transitions"):
        for odd in (2, 7.5, [2, 5.5], "hour", ZONE, None):
            agreed({**policy, "value": value | {name: odd}})
    assert found[True] > 10
    assert found[False] > 100


@settings(max_examples=scaled(250))
@given(decimals(-12, 12), decimals(-1, 3), st.sampled_from((0.001, 0.3, 0.5, 1, 3)), decimals(-(2.0**32), 2.0**32))
def test_edges(start: float, width: float, resolution: float, upper: float) -> None:
    """A policy is refused unless its edges ascend on the grid and its units lie within 2^31 grid points."""
    value = NUMBER | {"resolution": resolution, "lower": min(0, upper), "upper": max(10, upper)}
    share = value | {"statistic": "share", "from": start, "to": start + width}
    bars = value | {"statistic": "histogram", "edges": [start, start + width]}
    for each in (share, bars):
        agreed({"epsilon": 1, "protection": PROTECTIONS[0], "scheme": SCHEMES[0], "value": each})
