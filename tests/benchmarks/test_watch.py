"""Rates of clients."""

import pytest

from benchmarks.rig.process import ClientError
from benchmarks.rig.watch import Rate


def test_a_rate_by_hand() -> None:
    """A rate has records per second, and microseconds of processor time per record."""
    assert Rate.of(2_000, 4.0, 0.5) == Rate(500.0, 250.0)


@pytest.mark.parametrize("found", [(0, 4.0, 0.5), (2_000, 0.0, 0.5), (2_000, 4.0, 0.0)])
def test_too_few_records_have_no_rate(found: tuple[int, float, float]) -> None:
    """Processor time is counted in hundredths of a second, so a few records may take none."""
    with pytest.raises(ClientError, match="too few records for a rate; ask for more events"):
        Rate.of(*found)
