"""Which policies may divide steps into units: wrong members are named, and omitted ones get defaults."""

from typing import Any

import pytest

from stream_app.privacy.kinds import ByBins, Histogram, Number, Share, UnitMean, UnitSum
from stream_app.privacy.noise.draws import noise_stream
from stream_app.privacy.policy import Policy, PolicyError, policy_of
from stream_app.privacy.units.units import Units
from stream_app.privacy.values import RawCells
from tests.privacy.units.made import CATEGORY, HOUR, NUMBER, STATISTICS
from tests.run import ADAPTIVE, BALANCED, COUNTS, SKIP, UNIFORM, VECTOR

PROTECTION: dict[str, object] = {"level": "landmark", "unit": 1000, "step": 4000, "open_steps": 2}
OF_PROTECTION = {*PROTECTION, "offset", "window", "within", "absent", "length", "landmarks"}
MEAN = STATISTICS["mean"]
SHARE, HISTOGRAM, BY = STATISTICS["share"], STATISTICS["histogram"], STATISTICS["mean by hour"]


def made(*without: str, **members: Any) -> Policy:
    """Return a policy with four units per step, except for these members, which may belong to its protection."""
    own = {name: members.pop(name) for name in tuple(members) if name in OF_PROTECTION}
    protection = {name: part for name, part in (PROTECTION | own).items() if name not in without}
    return policy_of({"epsilon": 1.0, "protection": protection, "scheme": UNIFORM, "value": MEAN} | members, 1)


@pytest.mark.parametrize(
    ("members", "member"),
    [
        ({"value": NUMBER}, "value.statistic"),
        ({"value": MEAN | {"statistic": "median"}}, "value.statistic"),
        ({"value": {name: part for name, part in CATEGORY.items() if name != "statistic"}}, "value.statistic"),
        ({"value": CATEGORY | {"statistic": "mean"}}, "value.statistic"),
        ({"value": CATEGORY | {"edges": [1]}}, "value.edges"),
        ({"value": CATEGORY | {"categories": ["true", True]}}, "value.categories"),
        ({"value": COUNTS}, "protection.unit"),
        ({"value": VECTOR}, "protection.unit"),
        ({"level": "user", "length": 3}, "protection.unit"),
        ({"level": "w-event", "window": 3}, "protection.unit"),
        ({"level": "event", "window": 3}, "protection.window"),
        ({"unit": 3000}, "protection.unit"),
        ({"unit": 8000}, "protection.unit"),
        ({"unit": 0}, "protection.unit"),
        ({"unit": 1, "step": 10_001}, "protection.unit"),
        ({"unit": 1, "step": 10_000, "open_steps": 7}, "protection.open_steps"),
        ({"offset": 4000}, "protection.offset"),
        ({"offset": -1}, "protection.offset"),
        ({"window": 0}, "protection.window"),
        ({"within": "median"}, "protection.within"),
        ({"within": "mean", "value": CATEGORY}, "protection.within"),
        ({"absent": 1}, "protection.absent"),
        ({"absent": "approximated"}, "protection.absent"),
        ({"correlation": "household"}, "correlation"),
        ({"collect": {"neighbours": "replace", "open_steps": 2, "statistic": "mean"}}, "collect"),
        ({"value": MEAN | {"sensitivity": 1}}, "value.sensitivity"),
        ({"value": MEAN | {"upper": 2**31 + 1}}, "value.resolution"),
        ({"value": MEAN | {"lower": -(2**31) - 1}}, "value.resolution"),
        ({"value": MEAN | {"edges": [1]}}, "value.edges"),
        ({"value": MEAN | {"from": 1}}, "value.from"),
        ({"value": MEAN | {"transitions": [[0, 0]]}}, "value.transitions"),
        ({"value": {name: part for name, part in SHARE.items() if name != "to"}}, "value.to"),
        ({"value": {name: part for name, part in SHARE.items() if name != "from"}}, "value.from"),
        ({"value": SHARE | {"from": 1.6}}, "value.to"),
        ({"value": SHARE | {"to": 1}}, "value.to"),
        ({"value": SHARE | {"by": "hour"}}, "value.by"),
        ({"value": {name: part for name, part in HISTOGRAM.items() if name != "edges"}}, "value.edges"),
        ({"value": HISTOGRAM | {"edges": []}}, "value.edges"),
        ({"value": HISTOGRAM | {"edges": [2, 1]}}, "value.edges"),
        ({"value": HISTOGRAM | {"edges": [1, 1.4]}}, "value.edges"),
        ({"value": HISTOGRAM | {"edges": list(range(64)), "upper": 100}}, "value.edges"),
        ({"value": HISTOGRAM | {"by": "hour"}}, "value.by"),
        ({"value": BY | {"by": "minute"}}, "value.by"),
        ({"value": BY | {"transitions": []}}, "value.transitions"),
        ({"value": BY | {"transitions": [[5, 0], [5, 1]]}}, "value.transitions"),
        ({"value": BY | {"transitions": [[0, 24 * HOUR + 1]]}}, "value.transitions"),
        ({"value": BY | {"transitions": [[-1, 0]]}}, "value.transitions"),
        ({"scheme": SKIP}, "scheme.name"),
        ({"scheme": {"name": "bd"}, "window": 2}, "scheme.name"),
        ({"scheme": {"name": "ba"}, "window": 2}, "scheme.name"),
        ({"scheme": ADAPTIVE, "value": BY}, "scheme.name"),
        ({"filter": "level", "value": BY}, "filter"),
        ({"filter": "level", "value": STATISTICS["sum"]}, "filter"),
        ({"filter": "level", "value": SHARE}, "filter"),
        ({"filter": "level", "value": HISTOGRAM}, "filter"),
        ({"filter": "level", "value": CATEGORY}, "filter"),
    ],
)
def test_a_wrong_member_is_named(members: dict[str, object], member: str) -> None:
    """The error states what was found or what to do."""
    with pytest.raises(PolicyError) as caught:
        made(**members)
    found = {fault.member.removesuffix(".0.0").removesuffix(".0.1") for fault in caught.value.faults}
    assert found == {member}, caught.value
    assert all(len(fault.message) > 10 for fault in caught.value.faults)


@pytest.mark.parametrize(
    ("without", "members", "member"),
    [
        (("unit",), {"within": "last"}, "value.statistic"),
        (("unit",), {"within": "last", "offset": 0, "value": NUMBER}, "protection.offset"),
        (("unit",), {"within": "last", "value": NUMBER | {"edges": [1]}}, "value.edges"),
        (("unit",), {"within": "last", "value": NUMBER | {"transitions": [[0, 0]]}}, "value.transitions"),
        (("open_steps",), {}, "protection.open_steps"),
    ],
)
def test_what_belongs_to_units_needs_them(without: tuple[str, ...], members: dict[str, object], member: str) -> None:
    """They are a statistic, an offset and edges; units in turn need `open_steps`."""
    with pytest.raises(PolicyError) as caught:
        made(*without, **members)
    assert {fault.member for fault in caught.value.faults} == {member}


def test_what_is_not_said() -> None:
    """Units hold their last reading, windows are one unit, steps begin in 1970; `balanced` filters means alone."""
    policy = made()
    assert policy.units == Units(1000, 0, 4, 1, "last", 2)
    assert (policy.within, policy.windows, policy.rule, policy.filter) == (None, None, None, "none")
    assert made(scheme=BALANCED).filter == "level"
    assert all(made(scheme=BALANCED, value=one).filter == "none" for name, one in STATISTICS.items() if name != "mean")
    assert made(within="max", window=7, offset=1500, level="landmark").units == Units(1000, 1500, 4, 7, "max", 2)
    assert made(level="event").units == policy.units


def test_statistics_become_kinds() -> None:
    """Quantised readings are rounded like values but not clamped: the highest cell may be in a share."""
    kinds = {name: made(value=value, window=3).kind for name, value in STATISTICS.items()}
    item = policy_of({"epsilon": 1.0, "protection": {"level": "event"}, "scheme": UNIFORM, "value": NUMBER}, 1).kind
    assert isinstance(item, Number)
    assert kinds["mean"] == UnitMean(item, 3)
    assert kinds["sum"] == UnitSum(item, 3)
    assert kinds["share"] == Share(item, 3, 1, 2)
    assert kinds["histogram"] == Histogram(item, 3, (1, 2))
    assert isinstance(kinds["categories"], Histogram)
    assert isinstance(kinds["mean by hour"], ByBins)
    above = made(value=SHARE | {"from": 0.5, "to": 99}).kind
    assert isinstance(above, Share)
    assert (above.start, above.end) == (1, 99)


def test_times_become_steps_and_units() -> None:
    """They count from the offset; a landmark is every unit it touches; a time before the offset is in step -1."""
    policy = made(offset=1500, landmarks=[[3500, 4501]])
    assert [policy.index_of(ms) for ms in (0, 1499, 1500, 5499, 5500)] == [-1, -1, 0, 0, 1]
    assert [policy.start_of(index) for index in (-1, 0, 1)] == [-2500, 1500, 5500]
    assert policy.landmarks.intervals == ((2, 4),)


VARIATIONS: tuple[dict[str, object], ...] = (
    {}, {"unit": 2000}, {"step": 8000}, {"offset": 1000}, {"window": 2}, {"within": "max"}, {"open_steps": 3},
    {"value": STATISTICS["sum"]}, {"value": SHARE}, {"value": HISTOGRAM}, {"value": CATEGORY}, {"value": BY},
    {"value": STATISTICS["sum by weekday"]},
    {"value": MEAN | {"upper": 3}}, {"value": MEAN | {"resolution": 0.5}}, {"value": SHARE | {"to": 3}},
    {"value": SHARE | {"from": 0}}, {"value": HISTOGRAM | {"edges": [1]}}, {"value": BY | {"by": "weekday"}},
    {"value": BY | {"transitions": [[0, HOUR]]}}, {"value": BY | {"transitions": [[0, HOUR], [1, 0]]}},
    {"value": CATEGORY | {"categories": ["home", "work"]}},
)  # fmt: skip


def test_every_parameter_of_a_statistic_changes_its_noise() -> None:
    """The same noise at another scale, or on another total, would reveal the value beneath."""
    policies = [made(**members) for members in VARIATIONS]
    drawn = {noise_stream(bytes(32), 0, one, "a", 0, 5, RawCells((7, 4))).take(64) for one in policies}
    others = {
        noise_stream(bytes(32), 0, policies[0], "a", 0, spend, RawCells(cells)).take(64)
        for spend, cells in ((6, (7, 4)), (5, (8, 4)), (5, (7, 5)))
    }
    assert len(drawn | others) == len(VARIATIONS) + 3
