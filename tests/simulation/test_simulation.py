"""Seeded schedules; ``make simulate`` runs as many as you like."""

import os
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from functools import cache

import pytest

from tests.simulation.plans.schedule import BUSY_SECONDS, HOLES, LOSSES, TROUBLES, Schedule, drawn
from tests.simulation.planting import Planted, planted
from tests.simulation.simulate import Outcome, simulate

_PARTS = 20
_AGAIN = (3, 9, 17)
_TRACES = (
    "from tests.simulation.plans.schedule import drawn; from tests.simulation.simulate import simulate; "
    f"print(*(simulate(drawn(seed)).trace for seed in {_AGAIN}))"
)

SILENCE_SECONDS = 7_200.0
AFTERWARDS = 10
"""The number of records that come again afterwards."""

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


@cache
def outcome(seed: int) -> Outcome:
    """Return the outcome of a seed's schedule in this process; a repetition gives the same (below)."""
    return simulate(drawn(seed))


@pytest.mark.parametrize("part", range(_PARTS))
def test_no_schedule_breaks_a_promise(part: int, seeds: int) -> None:
    """Each guarantee of `docs/simulation.md` is kept, whatever dies, freezes, is cut off or lost."""
    broken = {
        seed: f"{found}; run it again: python -m tests.simulation --seed {seed}"
        for seed in range(1 + part, seeds + 1, _PARTS)
        if (found := outcome(seed).violation) is not None
    }
    assert not broken


@pytest.mark.parametrize("seed", [1532, 1907, 2690])
def test_readings_of_units_have_no_output_when_rows_are_lost(seed: int) -> None:
    """The group's offset passes them: `recover` treats them as decided, not as something that somebody skipped."""
    assert simulate(drawn(seed)).violation is None


@pytest.mark.parametrize("seed", _AGAIN)
def test_a_seed_runs_again_alike(seed: int) -> None:
    """The same seed gives the same trace."""
    assert simulate(drawn(seed)).trace == outcome(seed).trace


@pytest.mark.parametrize("hashing", ["0", "7"])
def test_seeds_run_alike_in_another_process(hashing: str) -> None:
    """There, the same seeds give the same traces, even under another order of hashes."""
    found = subprocess.run(
        [sys.executable, "-c", _TRACES],
        env={**os.environ, "PYTHONHASHSEED": hashing},  # noqa: TID251 (the child's environment, not ours)
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout.split() == [outcome(seed).trace for seed in _AGAIN]


def test_seeds_differ() -> None:
    """Other seeds are other runs."""
    assert len({outcome(seed).trace for seed in range(1, 21)}) == 20


def test_half_of_the_records_is_decided_as_columns() -> None:
    """Both ways of deciding go through the same crashes."""
    outcomes = [outcome(seed) for seed in range(1, 41)]
    assert sum(one.together for one in outcomes) >= 0.5 * sum(one.records for one in outcomes)


def test_every_kind_of_fault_is_drawn() -> None:
    """None of them is left out of the first schedules."""
    kinds = Counter(fault.kind for seed in range(1, 501) for fault in drawn(seed).faults)
    assert set(kinds) == {*TROUBLES, *LOSSES, *HOLES}


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_workers_decide_what_comes_after_hours_of_silence(seed: int) -> None:
    """These are the workers that ran before: none of them restarts."""
    assert simulate(silent(seed)).violation is None


def test_it_is_found_that_idle_time_counts_as_processing() -> None:
    """The workers leave their group, and nobody asks for records any more."""
    with planted(IDLE_TIME_COUNTS):
        found = simulate(silent(IDLE_TIME_COUNTS.seed)).violation
    assert found is not None
    assert "every partition goes on" in str(found)


def silent(seed: int) -> Schedule:
    """Return a seed's schedule without its faults, and with some more records after the silence."""
    schedule = drawn(seed)
    again = (record._replace(at=BUSY_SECONDS + SILENCE_SECONDS) for record in schedule.records[-AFTERWARDS:])
    return replace(schedule, records=(*schedule.records, *again), faults=(), stranger=None)
