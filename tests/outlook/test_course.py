"""A course compared with a series that is really decided, of any kind."""

import json
from itertools import cycle
from typing import Any

import pytest

from stream_app.deciding.context import Context
from stream_app.outlook.course import MOST_EVENTS, Course, CourseError, Horizon, HorizonError, horizon_of
from stream_app.privacy.policy import policy_of
from tests.run import ADAPTIVE, KEYS, KINDS, SAMPLES, SCHEMES, UNIFORM, Run, default, observation

HOUR_MS = 3_600_000
PROTECTION: dict[str, object] = {
    "level": "landmark",
    "landmarks": [[10 * HOUR_MS, 14 * HOUR_MS], 17 * HOUR_MS + 5, 40 * HOUR_MS],
    "step": HOUR_MS,
    "spare": 1,
}
ALWAYS = {**ADAPTIVE, "increase": 0.0, "decrease": 0.0}


def spent(parameters: dict[str, Any], horizon: Horizon) -> list[tuple[bool, int]]:
    """Return what the ledger says about a series under these parameters, with changing values."""
    run = Run(Context(KEYS, (default("a", **parameters),)))
    values = cycle(SAMPLES[parameters["value"]["kind"]].values)
    run.feed_all(observation("a", *event) for event in zip(horizon.timestamps(), values, strict=False))
    entries = [json.loads(entry) for entry in run.ledger[1:]]
    assert len(entries) == horizon.events
    return [(entry["landmark"], entry.get("epsilon_nano", 0)) for entry in entries]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scheme", [scheme if scheme != ADAPTIVE else ALWAYS for scheme in SCHEMES.values()])
@pytest.mark.parametrize("every_ms", [HOUR_MS, 2 * HOUR_MS, 5 * HOUR_MS + 1])
def test_a_course_is_what_the_ledger_will_say(kind: str, scheme: dict[str, object], every_ms: int) -> None:
    """It is exact to the nano-epsilon, whatever the values are, even if events pass landmarks by."""
    parameters = {"epsilon": 1.0, "protection": PROTECTION, "scheme": scheme, "value": KINDS[kind]}
    horizon = horizon_of(policy_of(parameters, 1), every_ms=every_ms)
    found = Course(parameters, horizon).run("anyone", lambda: None)
    assert [spend[:2] for spend in found] == spent(parameters, horizon)


@pytest.mark.parametrize("absent", [{}, {"absent": "approximated"}, {"absent": 0.5}])
def test_all_readings_of_a_step_are_one_event(absent: dict[str, object]) -> None:
    """A course is that of single observations; the ledger agrees if each step has two readings or none."""
    plain = {"epsilon": 1.0, "scheme": ALWAYS, "value": KINDS["number"]}
    parameters = plain | {"protection": {**PROTECTION, "within": "mean", "open_steps": 1, **absent}}
    horizon = horizon_of(policy_of(parameters, 1))
    found = Course(parameters, horizon).run("anyone", lambda: None)
    assert found == Course(plain | {"protection": PROTECTION}, horizon).run("anyone", lambda: None)
    run = Run(Context(KEYS, (default("a", **parameters),)))
    for at in (*horizon.timestamps(), horizon.start_ms + horizon.events * HOUR_MS):
        run.feed({"type": "watermark", "series": "a", "timestamp": at})
        if absent.get("absent") != 0.5:
            run.feed_all([observation("a", at + 1, 3), observation("a", at, 4)])
    entries = [json.loads(entry) for entry in run.ledger[1:]]
    assert [(entry["landmark"], entry.get("epsilon_nano", 0)) for entry in entries] == [one[:2] for one in found]


def test_where_absence_is_hidden_each_step_is_planned_for() -> None:
    """Planning for fewer events would underestimate the cost."""
    protection = {"level": "event", "step": 10, "within": "sum", "open_steps": 1, "absent": 0}
    policy = policy_of({"epsilon": 1.0, "scheme": UNIFORM, "value": KINDS["number"], "protection": protection}, 1)
    assert horizon_of(policy, every_ms=10) == horizon_of(policy)
    with pytest.raises(HorizonError, match="every step is processed,"):
        horizon_of(policy, every_ms=20)


WINDOW: dict[str, object] = {"level": "w-event", "window": 7}


@pytest.mark.parametrize(
    ("level", "scheme", "events"),
    [
        ({"level": "event"}, ALWAYS, 100),
        ({"level": "user", "length": 30}, ALWAYS, 30),
        (WINDOW, UNIFORM, 21),
        (WINDOW, {**ALWAYS, "name": "bd"}, 21),
        (WINDOW, {**ALWAYS, "name": "ba"}, 21),
        ({"level": "landmark", "window": 7}, UNIFORM, 21),
        ({"level": "landmark", "window": 7, "landmarks": [4, [6, 8]]}, {**ALWAYS, "name": "ba"}, 26),
        ({"level": "landmark", "window": 7, "landmarks": [[6, 8]]}, {"name": "balanced"}, 24),
    ],
)
def test_other_levels(level: dict[str, object], scheme: dict[str, object], events: int) -> None:
    """This holds at event, user and w-event level too, each over the steps that it covers."""
    parameters = {"epsilon": 2.0, "protection": level, "scheme": scheme, "value": KINDS["number"]}
    horizon = horizon_of(policy_of(parameters, 1))
    found = Course(parameters, horizon).run("anyone", lambda: None)
    assert [spend[:2] for spend in found] == spent(parameters, horizon)
    assert horizon.events == events
    assert all(spend.cost_nano == spend.spend_nano for spend in found)


def test_a_private_dissimilarity_costs_at_every_event() -> None:
    """Its cost is due whether a value is published or not; changing data are published more often."""
    scheme = {"name": "bd", "dissimilarity": "private"}
    parameters = {"epsilon": 14.0, "protection": WINDOW, "scheme": scheme, "value": KINDS["number"]}
    horizon = Horizon(0, 1, 300)
    published = []
    for moving in (False, True):
        found = Course(parameters, horizon, moving=moving).run("anyone", lambda: None)
        assert {spend.cost_nano - spend.spend_nano for spend in found} == {1_000_000_000}
        published.append(sum(spend.spend_nano > 0 for spend in found))
    assert 0 < published[0] < published[1]


@pytest.mark.parametrize("method", ["optimal", "heuristic", "partitioned"])
def test_dummies_are_drawn_as_for_a_series(method: str) -> None:
    """The landmarks of a course are drawn under the public key, and the draw's cost is taken off the budget."""
    dummies = {"method": method, "start": 8 * HOUR_MS, "end": 24 * HOUR_MS, "fraction": 0.1}
    protection = {name: part for name, part in PROTECTION.items() if name != "spare"} | {
        "landmarks": [[10 * HOUR_MS, 12 * HOUR_MS], 17 * HOUR_MS]
    }
    parameters = {"epsilon": 1.0, "protection": protection, "scheme": UNIFORM, "value": KINDS["number"]}
    parameters["dummies"] = dummies
    horizon = horizon_of(policy_of(parameters, 1))
    assert horizon == Horizon(7 * HOUR_MS, HOUR_MS, 18)
    found = Course(parameters, horizon).run("anyone", lambda: None)
    marked = {number + 7 for number, spend in enumerate(found) if spend.landmark}
    assert {10, 11, 17} <= marked <= set(range(8, 24))
    share = 900_000_000 // (len(marked) + 1)
    assert {spend.spend_nano for spend in found if spend.landmark} <= {share, share + 1}


def test_a_horizon_takes_in_all_landmarks_and_a_step_on_either_side() -> None:
    """It runs from one event before the first landmark to one after the last, unless specified otherwise."""
    plain = {"epsilon": 1.0, "scheme": SCHEMES["uniform"], "value": KINDS["number"]}
    policy = policy_of(plain | {"protection": PROTECTION}, 1)
    assert horizon_of(policy) == Horizon(9 * HOUR_MS, HOUR_MS, 33)
    assert horizon_of(policy, events=4, start_ms=7) == Horizon(7, HOUR_MS, 4)
    assert list(Horizon(5, 2, 3).timestamps()) == [5, 7, 9]
    fine = policy_of(plain | {"protection": {**PROTECTION, "step": 1}}, 1)
    for options, option in (
        ({"every_ms": HOUR_MS - 1}, "--every"),
        ({"events": 0}, "--steps"),
        ({"events": MOST_EVENTS + 1}, "--steps"),
        ({"start_ms": -1, "events": 1}, "--start"),
        ({"start_ms": 253_402_300_799_999, "events": 2}, "--start"),
    ):
        with pytest.raises(HorizonError, match=option):
            horizon_of(policy, **options)
    with pytest.raises(HorizonError, match="the time between them"):
        horizon_of(fine)
    assert horizon_of(fine, every_ms=HOUR_MS).events == 33


def test_an_event_that_would_be_rejected_is_told() -> None:
    """Nothing is planned past a reject."""
    parameters = {"epsilon": 1.0, "protection": PROTECTION, "scheme": ALWAYS, "value": KINDS["number"]}
    with pytest.raises(CourseError, match="duplicate"):
        Course(parameters, Horizon(0, 1, 2)).run("anyone", lambda: None)
