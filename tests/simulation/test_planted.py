"""Faults in the code that the simulation must find, and what it then prints."""

from pathlib import Path

import pytest

from tests.simulation.plans.schedule import Schedule, drawn
from tests.simulation.planted import PLANTED
from tests.simulation.planting import Planted, planted
from tests.simulation.simulate import shrunk, simulate

PAGE = Path(__file__).parents[2] / "docs" / "simulation.md"

EARLY_ROWS = Planted(
    "row written before commit",
    "the local rows are written after the transaction has committed",
    "stream_app.kafka.owner.transaction:Transactions.commit",
    3,
    (
        ("    await writer.commit()\n", ""),
        ("rows, offset)\n", "rows, offset)\n    await writer.commit()\n"),
    ),
)


@pytest.mark.parametrize("fault", PLANTED, ids=[fault.name for fault in PLANTED])
def test_a_rule_that_is_left_out_is_found(fault: Planted) -> None:
    """The seed breaks a guarantee with its fault in the code, and none without the fault."""
    with planted(fault):
        assert simulate(drawn(fault.seed)).violation is not None
    assert simulate(drawn(fault.seed)).violation is None


def test_rows_written_before_their_commit_are_found_or_discarded() -> None:
    """Two rules keep them out: a copy whose last record was aborted is discarded; otherwise they are found."""
    behind = next(fault for fault in PLANTED if fault.name == "a copy's lost end not noticed behind markers")
    with planted(EARLY_ROWS), planted(behind):
        assert simulate(drawn(EARLY_ROWS.seed)).violation is not None
    with planted(EARLY_ROWS):
        assert simulate(drawn(EARLY_ROWS.seed)).violation is None


def test_the_page_counts_the_faults() -> None:
    """`docs/simulation.md` gives the number of faults; their names and seeds are all different."""
    assert f"Each of the {len(PLANTED)} planted faults" in PAGE.read_text()
    assert len({fault.name for fault in PLANTED}) == len(PLANTED)
    assert all(fault.rule for fault in PLANTED)
    assert len({fault.seed for fault in PLANTED if fault.seed <= 2000}) > 1


def test_a_failing_schedule_shrinks() -> None:
    """The rest still fails, and contains nothing unnecessary."""
    fault = next(one for one in PLANTED if one.name == "release before entry")

    def broken(schedule: Schedule) -> bool:
        with planted(fault):
            return simulate(schedule).violation is not None

    after = shrunk(drawn(fault.seed), broken)
    assert broken(after)
    assert not after.faults, "this fault of the code needs no other"
    assert 1 <= len(after.records) <= 2
