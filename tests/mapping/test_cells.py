"""Values of files, compared with exact decimals."""

import itertools
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_app.mapping.cells import FileError
from tests.mapping.mapped import events, read

DECIMALS = st.decimals(-10_000, 10_000, places=3, allow_nan=False)


def values(*cells: str, **members: Any) -> list[Any]:
    """Return the values of rows with one cell each, an hour apart."""
    rows = "".join(f'{nth * 3_600_000};"{cell}"\n' for nth, cell in enumerate(cells, 1))
    return [value for _, value in events(f"time;kwh\n{rows}", **members)]


@given(st.lists(DECIMALS, min_size=1, max_size=9), st.sampled_from(["0.001", "1000", "18", "0.1"]))
def test_a_factor_is_exact(found: list[Decimal], factor: str) -> None:
    """0.001 times 13.6 is exactly 0.0136, because decimals are multiplied, not doubles."""
    expected = [one * Decimal(factor) for one in found]
    assert [Decimal(str(one)) for one in values(*map(str, found), multiply=factor)] == expected


@given(st.lists(DECIMALS, min_size=1, max_size=9))
def test_a_register_grows_exactly(found: list[Decimal]) -> None:
    """The first reading has no growth; a decrease stays negative, so nothing examines the value."""
    expected = [later - before for before, later in itertools.pairwise(found)]
    assert [Decimal(str(one)) for one in values(*map(str, found), differences=True)] == expected


def test_registers_of_several_series_grow_apart() -> None:
    """A missing reading takes nothing away either."""
    text = "time,who,kwh\n1,a,5\n1,b,70\n2,a,?\n2,b,71\n3,a,9\n"
    mapped, found = read(text, series_column="who", missing="?", differences=True)
    assert [(one["series"], one["value"]) for one in found] == [("b", 1), ("a", 4)]
    assert mapped.left_out == {"first": 2, "missing": 1}


@pytest.mark.parametrize(
    ("cell", "members", "expected"),
    [
        ("1,5", {"decimal": ","}, 1.5),
        ("1.5", {}, 1.5),
        (" 7 ", {}, 7),
        ("1e3", {}, 1000.0),
        ("-0.5", {}, -0.5),
        ("High", {"words": "High=400,Low=40"}, 400),
        ("Low", {"words": "High=400,Low=40", "multiply": "0.5"}, 20),
        ("TRUE", {}, True),
        ("on", {"words": {"on": 1, "off": 0}}, 1),
        ("1,234.5", {}, "1,234.5"),
        ("1,234.5", {"decimal": ","}, "1,234.5"),
        ("1.234,5", {"decimal": ","}, "1.234,5"),
        ("1_000", {}, "1_000"),
        ("nan", {}, "nan"),
        ("12 kWh", {"multiply": "2"}, "12 kWh"),
        ("word", {"differences": True}, "word"),
        ("", {}, ""),
    ],
)
def test_cells_become_numbers_or_stay_what_they_are(cell: str, members: dict[str, Any], expected: object) -> None:
    """Cells that are not numbers are left to the policy, which refuses them with its reason."""
    assert values(cell, **members) == [expected]
    assert type(values(cell, **members)[0]) is type(expected)


@pytest.mark.parametrize("cell", ["High", "LOW", "hi", "Lo"])
def test_ends_of_a_sensor_need_words(cell: str) -> None:
    """A substitute would make both ends one number; the message does not say which one occurred."""
    with pytest.raises(FileError, match="--words High=400,Low=40") as found:
        values("5", cell)
    assert found.value.number == 3


@pytest.mark.parametrize(("missing", "left"), [("?", [1, ""]), ("?,''", [1]), ("''", ["?", 1]), (["", "?"], [1])])
def test_rows_without_a_value_are_skipped(missing: Any, left: list[Any]) -> None:
    """Only rows whose text is named are skipped."""
    assert values("?", "1", "", missing=missing) == left


def test_parts_of_a_value_may_stand_in_one_cell() -> None:
    """As phones write positions."""
    text = "time;point\n1;48.8566000°, 2.3522000°\n2;geo:-48.5,-2.25\n"
    expected = [{"latitude": 48.8566, "longitude": 2.3522}, {"latitude": -48.5, "longitude": -2.25}]
    assert [value for _, value in events(text, value_columns="latitude=point,longitude=point")] == expected
