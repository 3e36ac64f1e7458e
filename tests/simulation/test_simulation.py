"""Seeded schedules; ``make simulate`` runs as many as you like."""

import subprocess
import sys
from collections import Counter

import pytest

from tests.simulation.plans.schedule import LOSSES, TROUBLES, drawn
from tests.simulation.simulate import simulate

_PARTS = 20
_TRACE = (
    "from tests.simulation.plans.schedule import drawn; from tests.simulation.simulate import simulate; "
    "print(simulate(drawn({seed})).trace)"
)


@pytest.mark.parametrize("part", range(_PARTS))
def test_no_schedule_breaks_a_promise(part: int, seeds: int) -> None:
    """Whatever dies, freezes, is cut off or lost: each promise of `docs/simulation.md` is kept."""
    broken = {
        seed: f"{outcome.violation}; run it again: python -m tests.simulation --seed {seed}"
        for seed in range(1 + part, seeds + 1, _PARTS)
        if (outcome := simulate(drawn(seed))).violation is not None
    }
    assert not broken


@pytest.mark.parametrize("seed", [3, 9, 17])
@pytest.mark.parametrize("hashing", ["0", "7"])
def test_a_seed_runs_again_alike(seed: int, hashing: str) -> None:
    """The same seed gives the same trace, in another process and under another order of hashes too."""
    here = simulate(drawn(seed)).trace
    assert simulate(drawn(seed)).trace == here
    found = subprocess.run(
        [sys.executable, "-c", _TRACE.format(seed=seed)],
        env={"PYTHONHASHSEED": hashing},
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout.strip() == here


def test_seeds_differ() -> None:
    """Other seeds are other runs."""
    assert len({simulate(drawn(seed)).trace for seed in range(1, 21)}) == 20


def test_a_quarter_of_the_records_is_decided_as_columns() -> None:
    """Both ways of deciding go through the same crashes."""
    outcomes = [simulate(drawn(seed)) for seed in range(1, 41)]
    assert sum(one.together for one in outcomes) >= 0.25 * sum(one.records for one in outcomes)


def test_every_kind_of_fault_is_drawn() -> None:
    """None of them is left out of the first schedules."""
    kinds = Counter(fault.kind for seed in range(1, 501) for fault in drawn(seed).faults)
    assert set(kinds) == {*TROUBLES, *LOSSES}
