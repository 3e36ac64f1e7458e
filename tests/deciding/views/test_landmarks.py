"""One set of landmarks for a base and its views: all have a given landmark, at its time, or none has it."""

from dataclasses import replace

import pytest

from tests.deciding.views.logs import (
    BASE,
    DAY,
    MEAN,
    UNIT,
    VIEWS,
    WEEK,
    base,
    context,
    entries,
    refused,
    run_of,
    version,
    view,
)
from tests.run import NUMBER, policy
from tests.units import landmarks, reading

TIGHT = view("day", 8, protection={"spare": 0})


def test_landmarks_reach_base_and_views() -> None:
    """One registration makes an entry in each chain; a past landmark costs each one its own charge."""
    run = run_of(*(reading(at, 5, BASE) for at in range(0, 30, UNIT)), landmarks(0, 40, series=BASE))
    for series in (BASE, DAY, WEEK):
        last = entries(run, series)[-1]
        assert (last["entry"], last["add"]) == ("landmarks", [[0, 2], [40, 42]])
    assert refused(run) == []
    assert run.rows[BASE].state.promise.landmarks == run.rows[DAY].state.promise.landmarks


def test_one_refusal_refuses_the_landmark_for_all() -> None:
    """Nothing is charged, and there is one reject, from the base."""
    run = run_of(*(reading(at, 5, BASE) for at in range(0, 30, UNIT)), of=context(base(), TIGHT, view("week", 24)))
    before = list(run.ledger)
    rows = dict(run.rows)
    run.feed(landmarks(0, series=BASE))
    assert refused(run) == [(BASE, "refused-landmark", 15)]
    assert (run.ledger, run.rows) == (before, rows)


def test_a_version_of_the_base_registers_its_landmarks_in_the_views() -> None:
    """New landmarks are registered; if a view refuses one, nothing is adopted."""
    run = run_of(reading(0, 5, BASE), reading(2, 5, BASE))
    run.feed({"type": "policy", "series": BASE, **version(2, 10)})
    assert [entry["entry"] for entry in entries(run, DAY)] == ["policy", "landmarks"]
    assert entries(run, DAY)[-1]["add"] == [[50, 52], [60, 70]]
    run.feed({"type": "policy", "series": BASE, **version(3, 10)})
    assert [entry["entry"] for entry in entries(run, DAY)] == ["policy", "landmarks"], "nothing is new"
    assert refused(run) == []


GRIDS: dict[int, dict[str, object]] = {0: {}, 1: {"unit": UNIT, "open_steps": 1, "offset": 1}}


@pytest.mark.parametrize(("offset", "unit"), [(4, [24, 26]), (5, [23, 25])])
def test_landmarks_keep_their_time_where_steps_begin_elsewhere(offset: int, unit: list[int]) -> None:
    """Units are counted from where a policy's steps begin; a landmark is a time, not an index."""
    grid, value = GRIDS[offset % UNIT], MEAN if offset % UNIT else NUMBER
    first, daily = base(protection=grid, value=value), view("day", 8, protection={"offset": offset})
    run = run_of(reading(8, 5, BASE), landmarks(24, series=BASE), of=context(first))
    run.context = context(first, daily)
    run.feed_all(reading(at, 5, BASE) for at in (14, 20))
    assert entries(run, DAY)[0]["parameters"]["protection"]["landmarks"] == [unit]
    later = {"level": "landmark", "step": UNIT, **grid}
    run.feed(policy(DAY, 2, epsilon=1e4, protection=later, value=value))
    assert entries(run, DAY)[-1]["parameters"]["protection"]["landmarks"] == [unit]


def test_a_version_of_the_base_on_another_grid_names_the_same_landmarks() -> None:
    """Landmarks that the views already have are not registered again; the others are, at their time."""
    slow = base(protection={"step": 8, "unit": UNIT, "open_steps": 1, "landmarks": [60]}, value=MEAN)
    run = run_of(reading(0, 5, BASE), reading(8, 5, BASE), of=context(slow, *VIEWS))
    shifted = {"level": "landmark", "step": 8, "unit": UNIT, "open_steps": 1, "offset": 4, "landmarks": [60, 80]}
    run.feed(policy(BASE, 2, protection=shifted, value=MEAN))
    assert refused(run) == []
    assert entries(run, DAY)[-1]["add"] == [[80, 82]]


def test_a_view_does_not_decide_what_a_version_of_its_base_passes_over() -> None:
    """A version names no landmark before its first step, so a view that begins under it spends nothing there."""
    daily = base(protection={"step": 8, "unit": UNIT, "open_steps": 1}, value=MEAN)
    run = run_of(*(reading(at, 5, BASE) for at in (0, 8)), landmarks(12, series=BASE), of=context(daily))
    weekly = {"level": "landmark", "step": 24, "unit": UNIT, "open_steps": 1}
    run.feed(policy(BASE, 2, protection=weekly, value=MEAN))
    assert entries(run, BASE)[-1]["entry"] == "policy"
    run.context = context(daily, view("day", 8))
    run.feed_all(reading(at, 5, BASE) for at in range(10, 60, UNIT))
    decided = [entry["timestamp"] for entry in entries(run, DAY)[1:]]
    assert decided == [24, 32, 40, 48]


def test_a_view_that_was_closed_alone_refuses_landmarks_of_what_it_decided() -> None:
    """`recover` closes a series whose releases are lost: it can no longer be charged."""
    run = run_of(*(reading(at, 5, BASE) for at in range(0, 30, UNIT)))
    row = run.rows[DAY]
    run.rows[DAY] = replace(row, state=replace(row.state, closed=True))
    before = dict(run.rows)
    run.feed(landmarks(4, series=BASE))
    assert refused(run)[-1] == (BASE, "refused-landmark", 15)
    assert run.rows == before
    run.feed(landmarks(100, series=BASE))
    assert [entries(run, series)[-1]["entry"] for series in (BASE, DAY, WEEK)] == ["landmarks", "release", "landmarks"]


def test_a_version_whose_landmark_a_view_refuses_is_refused() -> None:
    """The view decided steps that are still ahead for its base, so neither changes."""
    slow = base(protection={"step": 24, "unit": UNIT, "open_steps": 1, "spare": 0}, value=MEAN)
    run = run_of(*(reading(at, 5, BASE) for at in range(0, 20, UNIT)), of=context(slow, TIGHT))
    assert entries(run, DAY)[-1]["entry"] == "release"
    before, rows = list(run.ledger), dict(run.rows)
    late = {"level": "landmark", "step": 24, "unit": UNIT, "open_steps": 1, "landmarks": [4]}
    run.feed(policy(BASE, 2, protection=late, value=MEAN))
    assert refused(run) == [(BASE, "refused-landmark", 10)]
    assert (run.ledger, run.rows) == (before, rows)
    assert run.rows[BASE].open_units is not None, "open steps of the base was not dropped"


def test_a_view_that_begins_later_has_the_landmarks_of_its_base() -> None:
    """This includes registered ones; it counts from its first entry on, and never saw anything earlier."""
    run = run_of(reading(0, 5, BASE), landmarks(20, series=BASE), of=context(base()))
    run.context = context()
    run.feed(reading(6, 5, BASE))
    first = entries(run, DAY)[0]
    assert first["parameters"]["protection"]["landmarks"] == [[20, 22]]
    assert run.rows[DAY].state.promise.landmarks == run.rows[BASE].state.promise.landmarks
    run.feed(reading(8, 5, BASE))
    assert entries(run, DAY)[-1]["entry"] == "release"


def test_a_view_that_the_configuration_lacks_keeps_the_landmarks_of_its_base() -> None:
    """It accepts no more readings or policies; late landmarks still count in it, and its base ends it."""
    run = run_of(*(reading(at, 5, BASE) for at in range(0, 30, UNIT)))
    run.context = context(base(), view("week", 24))
    count = len(entries(run, DAY))
    run.feed(reading(48, 5, BASE))
    assert len(entries(run, DAY)) == count
    run.feed(landmarks(60, series=BASE))
    assert entries(run, DAY)[-1]["entry"] == "landmarks"
    run.feed(policy(DAY, 2, epsilon=1.0))
    assert refused(run)[-1][:2] == (DAY, "invalid-policy")
    run.feed(reading(60, 5, DAY))
    assert refused(run)[-1][:2] == (DAY, "malformed")
    run.feed({"type": "close", "series": BASE})
    assert entries(run, DAY)[-1]["entry"] == "close"
