"""What a unit keeps of its readings: 16 bytes, refusals by time alone, and one cell at the end."""

from dataclasses import replace
from fractions import Fraction
from math import floor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_app.privacy.kinds import UnitStatistic
from stream_app.privacy.units.readings import EMPTY, MOST_READINGS, UNIT_BYTES, OpenUnit
from tests.privacy.units.made import CATEGORY, NUMBER, policy

LATEST = 253_402_300_799_999


@given(st.integers(0, LATEST + 1), st.integers(0, MOST_READINGS), st.integers(-(2**47), 2**47))
def test_a_unit_is_sixteen_bytes(latest: int, readings: int, held: int) -> None:
    """It always has the latest time, the number of readings, and a cell or sum, the highest byte of each first."""
    unit = OpenUnit(latest, readings, held)
    packed = unit.packed()
    assert packed == latest.to_bytes(6, "big") + readings.to_bytes(2, "big") + held.to_bytes(8, "big", signed=True)
    assert len(packed) == UNIT_BYTES == 16
    assert OpenUnit.unpacked(packed) == unit


def test_an_empty_unit_is_zeros() -> None:
    """It is as long as a full one, and accepts any time."""
    assert EMPTY.packed() == bytes(16)
    assert EMPTY.untimely(0) is None


def test_readings_come_in_order() -> None:
    """A reading not later than the latest is refused, and so is one too many; values play no part."""
    units = policy().units
    assert units is not None
    unit = EMPTY.joined(units, 5, 1)
    assert [unit.untimely(at) for at in (4, 5, 6)] == ["late", "duplicate", None]
    full = unit._replace(readings=MOST_READINGS)
    assert [full.untimely(at) for at in (4, 5, 6)] == ["late", "duplicate", "too-large"]
    assert unit._replace(readings=MOST_READINGS - 1).untimely(6) is None


@given(
    st.sampled_from(["last", "max", "sum", "mean"]),
    st.lists(st.integers(-3, 5), min_size=1, max_size=9),
    st.integers(-3, 5),
)
def test_a_unit_stands_for_what_was_read(within: str, cells: list[int], low: int) -> None:
    """It equals a literal implementation, over cells of any range; sums and means are clamped at the end."""
    found = policy(value=NUMBER | {"statistic": "mean", "lower": low, "upper": 6})
    kind, units = found.kind, found.units
    assert isinstance(kind, UnitStatistic)
    assert units is not None
    cells = [max(low, cell) for cell in cells]
    units = replace(units, aggregate=within)  # type: ignore[arg-type]  # one of the four
    unit = EMPTY
    for at, cell in enumerate(cells):
        unit = unit.joined(units, at, cell)
    meant = {
        "last": cells[-1],
        "max": max(cells),
        "sum": sum(cells),
        "mean": floor(Fraction(sum(cells), len(cells)) + Fraction(1, 2)),
    }
    assert unit.cell(units, kind) == max(low, min(meant[within], 6))
    assert unit == OpenUnit(len(cells), len(cells), sum(cells) if within in {"sum", "mean"} else meant[within])


def test_a_category_is_its_last() -> None:
    """Its index is not a number to be clamped."""
    found = policy(value=CATEGORY)
    assert isinstance(found.kind, UnitStatistic)
    assert found.units is not None
    assert OpenUnit(1, 2, 2).cell(found.units, found.kind) == 2


@pytest.mark.parametrize("unit", [EMPTY, OpenUnit(7, 1, 123)])
def test_what_prints_a_unit_shows_nothing(unit: OpenUnit) -> None:
    """A traceback too."""
    assert repr(unit) == str(unit) == "OpenUnit()"
