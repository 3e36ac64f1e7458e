"""Workers that nothing is sent to for hours of virtual time decide what comes then."""

from dataclasses import replace

import pytest

from tests.simulation.plans.schedule import BUSY_SECONDS, Schedule, drawn
from tests.simulation.planting import Planted, planted
from tests.simulation.simulate import simulate

SILENCE_SECONDS = 7_200.0
AFTERWARDS = 10
"""How many records then come again."""

IDLE_TIME_COUNTS = Planted(
    "the idle time counts as processing",
    "who asks for records and finds none stays in its group",
    "tests.simulation.feed:Feed.fetch",
    1,
    (
        ("self._asked_ms, brought = self._life.world.now_ms(), False", "brought = False"),
        ("if not brought:", "if brought:\n            self._asked_ms = self._life.world.now_ms()\n        else:"),
        ("self._waits = True", "pass"),
    ),
)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_workers_decide_what_comes_after_hours_of_silence(seed: int) -> None:
    """The workers that ran before do: none of them starts again."""
    assert simulate(silent(seed)).violation is None


def test_it_is_found_that_idle_time_counts_as_processing() -> None:
    """The workers leave their group, and nobody asks for records any more."""
    with planted(IDLE_TIME_COUNTS):
        found = simulate(silent(IDLE_TIME_COUNTS.seed)).violation
    assert found is not None
    assert "every partition goes on" in str(found)


def silent(seed: int) -> Schedule:
    """Return the schedule of a seed without its faults, and some records once more after the silence."""
    schedule = drawn(seed)
    again = (record._replace(at=BUSY_SECONDS + SILENCE_SECONDS) for record in schedule.records[-AFTERWARDS:])
    return replace(schedule, records=(*schedule.records, *again), faults=(), stranger=None)
