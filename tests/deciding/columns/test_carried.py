"""What columns carry: each part of a policy or row is carried or excludes its series; none is dropped."""

from collections.abc import Callable
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any

import pytest

from stream_app.deciding.context import Limits
from stream_app.deciding.rows import SeriesRow, Views, dump
from stream_app.deciding.units.opened import OpenStep, OpenUnits
from stream_app.kafka.memory.rows import MemoryRows
from stream_app.kafka.owner.cache import RowReader
from stream_app.privacy.collected.steps import OpenSteps
from stream_app.privacy.guard import Guard, Window
from stream_app.privacy.kinds import Number
from stream_app.privacy.landmarks import LandmarkSet
from stream_app.privacy.policy import Policy
from stream_app.privacy.protection import EventLevel, LandmarkLevel, UserLevel
from stream_app.privacy.rule import CARRIED
from stream_app.privacy.scheme import Adaptive, Balanced, Skip, Uniform
from stream_app.privacy.state import Clock, Latest, Promise, State
from stream_app.privacy.values import ReleasedCells
from tests.run import Run, default
from tests.run import observation as sent

MEMBERS: dict[type[object], str] = {
    Policy: "version epsilon_nano step_ms protection scheme filter kind parameters identity dummies renew "
    "lifetime_nano collect correlation within units",
    LandmarkLevel: "landmarks spare fixed window",
    EventLevel: "",
    UserLevel: "length",
    Number: "axis sensitivity lower upper clamped substitute",
    Limits: "lifetime_nano max_epsilon_nano accept_policies accept_weaker_policies max_future_ms member_separator "
    "member_nano",
    Uniform: "name",
    Adaptive: "increase_nano decrease_nano minimum_nano name",
    Skip: "name",
    Balanced: "regular_millionth name",
    SeriesRow: "series key sequence previous policy default state backward_loss open_steps open_units view views",
    State: "clock closed guard latest promise",
    Clock: "decided_end_ms decided_ms first_step last_step period_start_ms",
    Latest: "estimate level measurement rate_nano source_ms",
    Promise: "claim_nano first_budget_nano landmarks prior_nano spare_left",
    Guard: "budget_nano landmark_spent_nano regular_peak_nano window",
    Window: "opens_ms spent_end_ms reach_ms spends peak_nano last whole",
}
"""All members that deciding a step as columns was written for.

Whoever adds a member ensures that columns carry it (`stream_app/privacy/rule.py`, `deciding/columns`) or that it
excludes its series, adds it to the draws of `test_same_bytes`, and then names it here.
"""


@pytest.mark.parametrize("part", MEMBERS, ids=lambda part: part.__name__)
def test_columns_know_of_each_member(part: type[Any]) -> None:
    """A new member of a policy, a limit or a row is unknown to columns until it is named above."""
    known = [one.name for one in fields(part) if one.init] if is_dataclass(part) else part._fields
    assert set(known) == set(MEMBERS[part].split())


@dataclass(frozen=True, slots=True)
class Longer(Policy):
    """A policy with a member that was unknown when columns were written."""

    quota: int | None = field(default=None)


def test_a_new_member_of_a_policy_keeps_its_series_out() -> None:
    """The member excludes its series if it is set; if not, nothing changes."""
    policy = default("*").policy
    parts = {one.name: getattr(policy, one.name) for one in fields(policy) if one.init}
    assert Longer(**parts).rule is policy.rule is not None
    assert Longer(**parts, quota=7).rule is None
    assert {one.name for one in fields(policy) if one.init} > CARRIED


def row() -> SeriesRow:
    """Return the row of a series after its second step, under a policy that carries as much as columns can."""
    level = {"level": "landmark", "landmarks": [5, 6], "spare": 2}
    context = replace(Run().context, defaults=(default("*", protection=level, filter="level", epsilon=4.0),))
    return Run(context).feed_all(sent("home-1", at, 3.0) for at in range(2)).rows["home-1"]


def within(*path: str) -> Callable[[SeriesRow, Any], SeriesRow]:
    """Return a function that changes the value of one part of a row."""

    def changed(found: Any, names: tuple[str, ...], value: Any) -> Any:
        if not names:
            return value
        part = {names[0]: changed(getattr(found, names[0]), names[1:], value)}
        return found._replace(**part) if isinstance(found, Guard | Window) else replace(found, **part)

    return lambda found, value: changed(found, path, value)


STATE: dict[type[object], tuple[str, ...]] = {
    SeriesRow: (),
    State: ("state",),
    Guard: ("state", "guard"),
    Window: ("state", "guard", "window"),
    Promise: ("state", "promise"),
    Clock: ("state", "clock"),
    Latest: ("state", "latest"),
}
OTHERS: dict[str, list[Any]] = {
    "sequence": [9],
    "previous": ["ab" * 32, "ab" * 16],
    "default": [""],
    "backward_loss": [0.5],
    "open_steps": [OpenSteps(3, (1,))],
    "open_units": [OpenUnits(3, (OpenStep(4, 1, "ab" * 8, 5),)), OpenUnits(3)],
    "view": [True],
    "views": [Views(("day",)), Views((), ("day",))],
    "closed": [True],
    "decided_ms": [-1, 0],
    "decided_end_ms": [7],
    "first_step": [-1, 1],
    "last_step": [-1, 0],
    "period_start_ms": [1],
    "estimate": [ReleasedCells((4,)), ReleasedCells(()), ReleasedCells((4, 5))],
    "measurement": [ReleasedCells((4,)), ReleasedCells(()), ReleasedCells((4, 5))],
    "level": [(1.5, 2.5), (), (1.5,)],
    "rate_nano": [5],
    "source_ms": [-1, 0],
    "claim_nano": [5],
    "first_budget_nano": [5],
    "landmarks": [LandmarkSet(((8, 9),))],
    "prior_nano": [5],
    "spare_left": [1],
    "budget_nano": [10**10],
    "landmark_spent_nano": [5],
    "regular_peak_nano": [5],
    "opens_ms": [5],
    "spent_end_ms": [5],
    "reach_ms": [5],
    "spends": [((1, 5),)],
    "peak_nano": [5],
    "last": [(1, 5)],
    "whole": [True],
}
"""Other values of each part of a row; its name, key and policy have checks of their own."""
PARTS = [
    pytest.param((*path, name), value, id=f"{part.__name__}.{name}={value}")
    for part, path in STATE.items()
    for name in MEMBERS[part].split()
    if name in OTHERS
    for value in OTHERS[name]
]


def test_each_part_of_a_row_has_other_values() -> None:
    """A new part is therefore tested, too."""
    asked = {name for part in STATE for name in MEMBERS[part].split()}
    whole = {"series", "key", "policy", "state", "clock", "guard", "latest", "promise", "window"}
    assert asked == OTHERS.keys() | whole


@pytest.mark.parametrize(("path", "value"), PARTS)
def test_no_part_of_a_row_is_dropped(path: tuple[str, ...], value: Any) -> None:
    """Columns return what they took, byte for byte; what they do not carry remains a row of its own."""
    found = within(*path)(row(), value)
    reader = RowReader(MemoryRows(), 0, 100, 1)
    reader.take({"home-1": row(), "home-2": within("series")(row(), "home-2")})
    assert len(reader.states) == 1  # the key of home-2 is another series'
    reader.take({found.series: found})
    back = reader.find(found.series)
    assert back == found
    assert dump(back, None, set()) == dump(found, None, set())
