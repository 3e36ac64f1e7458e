"""Mappings as people write them."""

import re
from decimal import Decimal
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from stream_app.mapping.form import Condition, FileMapping, MappingError
from stream_app.mapping.members import mapping_of, names_of, read_mapping, shipped

ALL = """
timestamp_column = ["date", "time"]
time_format = "%d.%m.%Y %H:%M"
zone = "Europe/Berlin"
stamp = "end"
value_columns = "latitude=lat,longitude=lon"
series_column = "who"
where = ["type=a", "unit!=Wh"]
words = "High=400,Low=40"
missing = "?,''"
multiply = "0.001"
differences = true
separator = "tab"
decimal = ","
no_header = true
records = "a.b"
"""


def test_a_file_holds_a_mapping(tmp_path: Path) -> None:
    """Members have the names of the options, with `_` in place of `-`."""
    path = tmp_path / "meter.toml"
    path.write_text(ALL)
    assert read_mapping(str(path)) == FileMapping(
        timestamp_columns=("date", "time"),
        value_columns={"latitude": "lat", "longitude": "lon"},
        time_format="%d.%m.%Y %H:%M",
        zone=ZoneInfo("Europe/Berlin"),
        stamp="end",
        series_column="who",
        where=(Condition("type", "a"), Condition("unit", "Wh", equal=False)),
        words={"High": Decimal(400), "Low": Decimal(40)},
        missing=frozenset({"?", ""}),
        multiply=Decimal("0.001"),
        differences=True,
        separator="\t",
        decimal=",",
        no_header=True,
        records="a.b",
    )


def test_members_rule_over_those_of_the_file() -> None:
    """A series and its column replace each other."""
    base = mapping_of({"series_column": "who", "zone": "UTC", "value_columns": "kwh"})
    found = mapping_of({"series": "home-7", "zone": None, "value_columns": ["kWh"]}, base)
    assert (found.series, found.series_column, found.zone, found.value_columns) == (
        "home-7",
        None,
        ZoneInfo("UTC"),
        {"": "kWh"},
    )
    assert mapping_of({"series_column": "home"}, found).series is None


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("a,b", ["a", "b"]),
        ('"a,b", c ', ["a,b", "c"]),
        ('latitude="lat, deg",longitude=lon', ['latitude="lat', 'deg"', "longitude=lon"]),
        ('"latitude=lat, deg",longitude=lon', ["latitude=lat, deg", "longitude=lon"]),
        ("", []),
    ],
)
def test_names_are_quoted_as_in_csv(text: str, names: list[str]) -> None:
    """Where one holds a comma."""
    assert names_of(text) == names


@pytest.mark.parametrize(
    ("member", "value", "said"),
    [
        ("valu_columns", "a", "did you mean value_columns?"),
        ("timestamp_column", [], "is not a column"),
        ("single", 3, "use a column name, a list of names, or '' for none"),
        ("timestamp_column", "", "is not text"),
        ("value_columns", "", "is not a column name"),
        ("time_format", "iso", "use strptime directives"),
        ("zone", "Paris", "use a zone from the IANA database"),
        ("stamp", "middle", "use 'start' or 'end'"),
        ("where", "type", "is not a condition"),
        ("words", "High", "is not a list of words"),
        ("words", "High=x", "is not a number"),
        ("words", "High=400,LOW=400", "gives High and Low the same number"),
        ("multiply", "a", "is not a number"),
        ("multiply", True, "is not a number"),
        ("multiply", "inf", "is not a number"),
        ("differences", "yes", "is neither true nor false"),
        ("separator", "x", "is not known"),
        ("missing", 5, "is not a list of strings"),
        ("records", 5, "is not text"),
    ],
)
def test_what_is_wrong_is_said_of_its_member(member: str, value: Any, said: str) -> None:
    """The message says what is allowed, and lists all faults together."""
    with pytest.raises(MappingError, match=re.escape(said)) as found:
        mapping_of({member: value, "decimal": "x"})
    assert {fault.member for fault in found.value.faults} == {member, "decimal"}


def test_a_mapping_says_what_it_lacks() -> None:
    """It lists columns of times and values, and a series."""
    assert [fault.member for fault in FileMapping().lacking()] == ["timestamp_column", "value_columns", "series"]
    with pytest.raises(MappingError, match="conflicts with"):
        mapping_of({"series": "a", "series_column": "b"})


def test_no_mapping_has_an_unknown_name(tmp_path: Path) -> None:
    """Nor is a mapping read from a file that is not valid TOML."""
    with pytest.raises(MappingError, match="unknown mapping librevew"):
        read_mapping("librevew")
    path = tmp_path / "a.toml"
    path.write_text("a =")
    with pytest.raises(MappingError, match="is not valid TOML"):
        read_mapping(str(path))
    with pytest.raises(OSError, match=r"none\.toml"):
        read_mapping(str(tmp_path / "none.toml"))


@pytest.mark.parametrize("name", list(shipped()))
def test_mappings_that_are_shipped_are_whole_but_for_the_series(name: str) -> None:
    """Anyone who uses one names the series, and also the zone if the file has none."""
    assert {fault.member for fault in read_mapping(name).lacking()} <= {"series"}
