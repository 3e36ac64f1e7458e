"""Typed policies are wire-format records: the same parser takes them, over all levels, schemes and kinds."""

import itertools
import json
import warnings
from collections.abc import Callable
from dataclasses import FrozenInstanceError
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

import landmark_stream as ls
from stream_app.api.parts import Kind, Scheme
from stream_app.privacy.policy import Fault, PolicyError, policy_of
from tests.command import saved

HOUR = timedelta(hours=1)
NUMBER = ls.Number(0, 10, 0.001)
RANGE = {"lower": 0, "upper": 10, "resolution": 0.001}
KINDS: list[tuple[Kind, dict[str, Any]]] = [
    (NUMBER, {"kind": "number", **RANGE}),
    (
        ls.Number(0, 10, 0.001, sensitivity=2.5, clamp=False),
        {"kind": "number", **RANGE, "sensitivity": 2.5, "clamp": False},
    ),
    (ls.Number(0, 10, 0.001, invalid=5.0), {"kind": "number", **RANGE, "invalid": 5.0}),
    (ls.Counts(("a", "b"), sensitivity=2), {"kind": "counts", "keys": ["a", "b"], "sensitivity": 2}),
    (
        ls.Location(200, 50, ls.Bounds(48.8, 2.2, 48.9, 2.4)),
        {
            "kind": "location",
            "radius": 200,
            "resolution": 50,
            "bounds": {"south": 48.8, "west": 2.2, "north": 48.9, "east": 2.4},
        },
    ),
    (ls.Category((True, False), invalid=True), {"kind": "category", "categories": [True, False], "invalid": True}),
    (ls.Vector({"x": ls.Range(0, 10, 0.001)}), {"kind": "vector", "parts": {"x": RANGE}}),
]
SCHEMES: list[tuple[Scheme, dict[str, Any]]] = [
    (ls.Uniform(), {"name": "uniform"}),
    (ls.Adaptive(minimum=0.2), {"name": "adaptive", "minimum": 0.2}),
    (ls.Skip(accept_risk=True), {"name": "skip", "accept_risk": True}),
    (ls.Balanced(regular_share=0.25), {"name": "balanced", "regular_share": 0.25}),
    (ls.Balanced(regular_share=1), {"name": "balanced", "regular_share": 1}),
    (ls.BudgetDistribution(), {"name": "bd"}),
    (ls.BudgetAbsorption(dissimilarity="private"), {"name": "ba", "dissimilarity": "private"}),
]


@pytest.mark.parametrize(("kind", "scheme"), list(itertools.product(KINDS, SCHEMES)))
def test_records_of_all_levels(kind: tuple[Kind, dict[str, Any]], scheme: tuple[Scheme, dict[str, Any]]) -> None:
    """Each combination gives the record written by hand, or is refused with the same faults."""
    typed: dict[str, Any] = {"epsilon": 1, "value": kind[0], "scheme": scheme[0], "step": HOUR, "series": "s"}
    levels: dict[str, tuple[Callable[..., ls.Policy], dict[str, Any], dict[str, Any]]] = {
        "landmark": (ls.Policy.landmark, {"landmarks": [(0, 7_200_000)], "spare": 1}, {"landmarks": [[0, 7_200_000]]}),
        "event": (ls.Policy.event, {}, {}),
        "user": (ls.Policy.user, {"length": 9}, {}),
        "w-event": (ls.Policy.w_event, {"window": 3}, {}),
    }
    for level, (make, members, written) in levels.items():
        protection: dict[str, Any] = {"level": level, "step": 3_600_000, **members, **written}
        parameters = {"epsilon": 1, "protection": protection, "scheme": scheme[1], "value": kind[1]}
        refused = faults_of(parameters)
        if refused:
            with pytest.raises(ls.Error) as found:
                make(**typed, **members)
            assert found.value.faults == refused
        else:
            assert make(**typed, **members).record == {"type": "policy", "series": "s", "version": 1, **parameters}


def faults_of(parameters: dict[str, Any]) -> tuple[Fault, ...]:
    """Return why the wire format's parser refuses some parameters; nothing if it accepts them."""
    try:
        policy_of(parameters, 1)
    except PolicyError as error:
        return error.faults
    return ()


def test_collected_and_gathered() -> None:
    """Statistics, choices and steps of several readings are members of the record."""
    total = ls.Policy.event(epsilon=1, value=NUMBER, step=HOUR, collect=ls.Collect("replace", 2, statistic="sum"))
    assert total.record["collect"] == {"neighbours": "replace", "open_steps": 2, "statistic": "sum"}
    choice = ls.Policy.event(
        epsilon=1, value=ls.Choice(("a", "b")), step=HOUR, collect=ls.Collect("add-remove", 1), scheme=ls.Uniform()
    )
    assert choice.record["value"] == {"kind": "choice", "items": ["a", "b"]}
    within = ls.Policy.event(epsilon=1, value=NUMBER, step=HOUR, within=ls.Within("mean", 2, absent=0.0))
    assert within.record["protection"] == {
        "level": "event",
        "step": 3_600_000,
        "within": "mean",
        "open_steps": 2,
        "absent": 0.0,
    }


def test_times_as_people_say_them() -> None:
    """Moments with a zone, days in the policy's zone and weekly hours become milliseconds; dummies get a range."""
    paris = ZoneInfo("Europe/Paris")
    weekly = {"weekly": ["sunday"], "from": "10:00", "to": "12:00", "first": "2026-02-01", "last": "2026-02-08"}
    policy = ls.Policy.landmark(
        epsilon=1,
        value=NUMBER,
        landmarks=[datetime(2026, 1, 31, 8, tzinfo=paris), date(2026, 1, 31), weekly],
        zone="Europe/Paris",
        step=timedelta(hours=1),
        renew=[datetime(2026, 3, 1, tzinfo=UTC)],
        lifetime=3.0,
    )
    day = int(datetime(2026, 1, 31, tzinfo=paris).timestamp()) * 1000
    first = int(datetime(2026, 2, 1, 10, tzinfo=paris).timestamp()) * 1000
    hours, week = 3_600_000, 7 * 86_400_000
    assert policy.record["protection"]["landmarks"] == [
        [day, day + 24 * hours],
        [first, first + 2 * hours],
        [first + week, first + week + 2 * hours],
    ]
    assert policy.record["renew"] == [1772323200000]
    with pytest.raises(ls.Error, match=r"landmarks\.0: is a time without a zone"):
        ls.Policy.landmark(epsilon=1, value=NUMBER, landmarks=[datetime(2026, 1, 31)])  # noqa: DTZ001 - the fault


def test_days_that_are_not_those_of_the_zone() -> None:
    """The warning names the offset that would make them so; with it, there is none."""
    members: dict[str, Any] = {"value": NUMBER, "unit": "1h", "step": "1d", "statistic": "mean", "open_steps": 1}
    with pytest.warns(UserWarning, match=r'not calendar days there; with "offset":"(22|23)h"'):
        ls.Policy(epsilon=1, zone="Europe/Berlin", **members)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ls.Policy(epsilon=1, zone="Europe/Berlin", offset="23h", **members)
        ls.Policy(epsilon=1, **members)


def test_every_fault_at_once() -> None:
    """Errors are the product's own, and each names its member."""
    with pytest.raises(ls.Error) as refused:
        ls.Policy.landmark(epsilon=0, value=NUMBER, landmarks=["tomorrow"], scheme=ls.Skip())
    assert [fault.member for fault in refused.value.faults] == ["protection.landmarks.0", "epsilon"]
    with pytest.raises(ls.Error, match="value: is of the wrong type;"):
        ls.Policy.event(epsilon=1, value={"kind": "number"})  # type: ignore[arg-type]
    with pytest.raises(ls.Error, match="spares: is not a member of a policy"):
        ls.Policy.landmark(epsilon=1, value=NUMBER, spares=2)  # type: ignore[call-arg]
    with pytest.raises(ls.Error, match="series: is empty or"):
        ls.Policy.event(epsilon=1, value=NUMBER, series="")


@pytest.mark.parametrize(
    "member", ["epsilon", "lifetime", "correlation", "series", "type", "protection", "value.upper"]
)
def test_integers_that_no_json_has(member: str) -> None:
    """They are doubles, as from a file, or are refused; a record of another type is not taken for a policy."""
    policy = ls.Policy.event(epsilon=1, value=ls.Number(0, 2**70, 2**62))
    assert policy.record["value"] == {"kind": "number", "lower": 0, "upper": 2.0**70, "resolution": 2**62}
    for number in (10**400, -(10**400)):
        record = policy.record
        *outer, last = member.split(".")
        place = record[outer[0]] if outer else record
        place[last] = number
        with pytest.raises(ls.Error, match=member):
            ls.Policy(record)
    with pytest.raises(ls.Error, match='type: is not "policy"'):
        ls.Policy(policy.record | {"type": "observation"})


def test_policies_are_values(tmp_path: Path) -> None:
    """They are compared by their records, are immutable, and can be stored in files."""
    one, other = (ls.Policy.event(epsilon=1, value=NUMBER, series="home-*") for _ in range(2))
    assert one == other
    assert len({one, other, ls.Policy.event(epsilon=2, value=NUMBER)}) == 2
    one.record["epsilon"] = 9
    assert one.epsilon == 1
    with pytest.raises(FrozenInstanceError):
        NUMBER.lower = 3  # type: ignore[misc]
    assert ls.Policy.load(saved(tmp_path / "policies.jsonl", one.record)) == (one,)
    (tmp_path / "pretty.json").write_text(json.dumps(one.record, indent=1))
    assert ls.Policy.load(tmp_path / "pretty.json") == (one,), "one record over several lines"
    assert ls.Policy(one.record) == one


def test_members_make_a_policy_of_level_landmark() -> None:
    """The result is that of `Policy.landmark`; with a whole record they are a mistake."""
    members: dict[str, Any] = {"epsilon": 1, "value": NUMBER, "unit": "1h", "statistic": "mean", "step": "1D"}
    made = ls.Policy(**members)
    assert made == ls.Policy.landmark(**members)
    with pytest.raises(ls.Error, match="epsilon: conflicts with a whole record"):
        ls.Policy(made.record, epsilon=2)  # type: ignore[call-overload]
    with pytest.raises(ls.Error, match="epsilon: conflicts with a whole record or its folder"):
        ls.Policy(**members, folder=Path())  # a calendar file would be looked for elsewhere
    with pytest.raises(ls.Error, match="value: is missing"):
        ls.Policy(epsilon=1)  # type: ignore[call-overload]


def test_true_landmarks_under_dummies_do_not_show() -> None:
    """Nothing that a policy shows of itself contains the true landmarks or their number."""
    start = 1_338_570_000_000
    policy = ls.Policy.landmark(
        epsilon=1,
        value=NUMBER,
        landmarks=[start, start + 7 * 3_600_000],
        dummies=ls.Padding(0.1, start - 36_000_000, start + 360_000_000),
        step=timedelta(hours=1),
    )
    shown = [repr(policy), str(policy), policy._repr_html_(), str(policy.__rich__())]
    assert not any(str(start) in text or "2012" in text or "its 2 " in text for text in shown)


def test_a_plan_says_the_odds_and_the_noise_at_landmarks() -> None:
    """It says the same as the command, and notes nothing if landmarks are not published."""
    start = 1_338_570_000_000
    half, alone = (
        str(
            ls.plan(ls.Policy.landmark(epsilon=1, value=NUMBER, landmarks=[start], scheme=ls.Balanced(regular_share=s)))
        )
        for s in (0.5, 1)
    )
    for text in (half, alone):
        assert "thought a claim 10 % likely thinks it at most about 23 % likely" in text
    assert "note: the noise at a landmark has a scale of 20, which exceeds the range of 10." in half
    assert "note:" not in alone
    assert "Landmarks are not published" in alone
