"""What a policy of several readings per step may contain, and when a version of it is weaker."""

import json
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_app.deciding.context import Context
from stream_app.privacy.collected.within import PLACES, in_units
from stream_app.privacy.kinds import Number
from stream_app.privacy.policy import PolicyError, policy_of, stored_policy_of
from stream_app.privacy.values import exact
from tests.readings import within
from tests.run import CATEGORY, COUNTS, KEYS, KINDS, LOCATION, NUMBER, Run, default, observation

SUM = {"within": "sum", "open_steps": 1}
LAST = {"within": "last", "open_steps": 1}
COLLECT = {"collect": {"neighbours": "replace", "open_steps": 1}, "value": {"kind": "counts", "keys": ["walk"]}}
NARROW = NUMBER | {"sensitivity": 0.5}
HOME = {"latitude": -11, "longitude": -37}
PRIVATE = {"level": "w-event", "window": 2}
BA = {"name": "ba", "dissimilarity": "private"}


def parameters(**members: Any) -> dict[str, Any]:
    """Return a policy's parameters."""
    protection = {"level": "event", "step": 10} | members.pop("protection", {})
    plain: dict[str, Any] = {"epsilon": 1.0, "scheme": {"name": "uniform"}, "value": NUMBER}
    return plain | members | {"protection": protection}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_takes_the_last_reading(kind: str) -> None:
    """Only numbers can also be added up."""
    assert policy_of(parameters(value=KINDS[kind], protection=LAST), 1).within is not None
    for aggregate in ("sum", "mean", "max"):
        asked = parameters(value=KINDS[kind], protection={"within": aggregate, "open_steps": 1})
        if kind == "number":
            assert policy_of(asked, 1).within is not None
        else:
            with pytest.raises(PolicyError, match=r"protection\.within"):
                policy_of(asked, 1)


@pytest.mark.parametrize(
    ("member", "members"),
    [
        ("protection.open_steps", {"protection": {"within": "sum"}}),
        ("protection.open_steps", {"protection": {"open_steps": 1}}),
        ("protection.open_steps", {"protection": {"within": "sum", "open_steps": 0}}),
        ("protection.open_steps", {"protection": {"within": "sum", "open_steps": 1001}}),
        ("protection.within", {"protection": {"within": "median", "open_steps": 1}}),
        ("protection.within", {"protection": LAST, **COLLECT}),
        ("protection.absent", {"protection": {"absent": 1}}),
        ("protection.absent", {"protection": {"absent": None}}),
        ("protection.absent", {"protection": SUM | {"absent": None}}),
        ("protection.absent", {"protection": SUM | {"absent": "none"}}),
        ("protection.absent", {"protection": SUM | {"absent": True}}),
        ("protection.absent", {"protection": SUM | {"absent": 1}, "value": NARROW}),
        ("protection.absent", {"protection": SUM | {"absent": "none"}, "value": NUMBER | {"invalid": 1.0}}),
        ("protection.absent", {"protection": LAST | {"absent": {"walk": 0}}, "value": COUNTS}),
        (
            "protection.absent",
            {"protection": LAST | {"absent": HOME}, "value": LOCATION},
        ),
        ("protection.absent", {"protection": LAST | {"absent": "elsewhere"}, "value": CATEGORY}),
        (
            "protection.absent",
            {
                "protection": LAST | {"absent": "approximated"},
                "value": {"kind": "category", "categories": ["approximated", "other"]},
            },
        ),
        ("protection.absent", {"protection": SUM | PRIVATE | {"absent": "approximated"}, "scheme": BA}),
    ],
)
def test_what_makes_no_policy_is_named(member: str, members: dict[str, Any]) -> None:
    """The fault names the member; a row with such a thing is invalid too, because no version ever wrote one."""
    for compiled in (policy_of, stored_policy_of):
        with pytest.raises(PolicyError) as refused:
            compiled(parameters(**members), 1)
        assert member in {fault.member for fault in refused.value.faults}


@pytest.mark.parametrize("kind", KINDS)
def test_gaps_of_every_kind_may_be_filled(kind: str) -> None:
    """Filling costs nothing, so neighbours do not matter."""
    found = policy_of(parameters(value=KINDS[kind], protection=LAST | {"absent": "approximated"}), 1)
    assert found.within is not None
    assert found.within.gapless
    assert not found.within.hides


def test_no_columns_take_such_a_policy() -> None:
    """The steps of such a policy are decided one by one; the control is the same policy without `within`."""
    assert policy_of(parameters(), 1).rule is not None
    assert policy_of(parameters(protection=SUM), 1).rule is None


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_is_read_exactly(number: float) -> None:
    """The decimal that a double represents ends within so many places."""
    assert Fraction(in_units(number), 10**PLACES) == exact(number)


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=8), st.booleans())
def test_numbers_come_to_the_nearest_cell(numbers: list[float], mean: bool) -> None:  # noqa: FBT001 (drawn)
    """The oracle is fractions, rounded once and clamped; alone, a number gives what it gives without `within`."""
    policy = policy_of(parameters(protection={"within": "mean" if mean else "sum", "open_steps": 1}), 1)
    kind, within_ = policy.kind, policy.within
    assert isinstance(kind, Number)
    assert within_ is not None
    kept = within_.read(kind, numbers[0])  # type: ignore[arg-type]
    assert kept is not None
    assert within_.aggregated(kind, kept, 1) == kind.quantise(numbers[0])  # type: ignore[arg-type]
    for number in numbers[1:]:
        part = within_.read(kind, number)  # type: ignore[arg-type]
        assert part is not None
        kept = within_.joined(kept, part, later=True)
    total = sum((exact(number) for number in numbers), Fraction(0)) / (len(numbers) if mean else 1)
    cell = (total * 1000 + Fraction(1, 2)).__floor__()
    assert within_.aggregated(kind, kept, len(numbers)) == (min(max(cell, 0), 10_000),)


@pytest.mark.parametrize(
    ("before", "after", "weaker"),
    [
        ({"absent": 1}, {"absent": 2}, False),
        ({"absent": 1}, {}, True),
        ({"absent": 1}, {"absent": "approximated"}, True),
        ({"absent": "approximated"}, {}, False),
        ({}, {"absent": 1}, False),
    ],
)
def test_a_version_that_shows_absence_is_weaker(before: Any, after: Any, weaker: bool) -> None:  # noqa: FBT001
    """The value may be replaced by another, but not removed."""
    run = Run().feed_all([within(1, epsilon=0.5, protection=before), within(2, epsilon=0.5, protection=after)])
    assert [json.loads(reject)["reason"] for reject in run.rejects] == ["weaker-policy"] * weaker


def test_a_default_policy_may_read_several_times() -> None:
    """Its series begin with their first reading."""
    run = Run(Context(KEYS, (default("home-*", protection={"level": "event", "step": 10, **SUM}),)))
    run.feed_all([observation("home-1", 5, "none"), observation("home-1", 5, 1), observation("home-1", 25, 1)])
    assert len(run.rejects) == 1
    assert len(run.releases) == 1
    assert len(run.ledger) == 2
