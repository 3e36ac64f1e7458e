"""Files that were once silently misread: each is now read as it means, or refused with its line."""

import io
import itertools
import re
from pathlib import Path
from typing import Any

import pytest

from stream_app.mapping import clock
from stream_app.mapping.cells import FileError
from stream_app.mapping.documents import MOST_NESTED, json_rows
from stream_app.mapping.form import FileMapping, MappingError
from stream_app.mapping.inspection import inspected
from stream_app.mapping.members import mapping_of, read_mapping
from tests.mapping.mapped import events, read

HOURS = [f"2024-01-01T0{hour}:00Z" for hour in range(5)]
FIRST = 1_704_067_200_000
PARIS = {"zone": "Europe/Paris"}
REFUSED = r"nested too deeply|is not valid JSON|contains no records"  # beyond 1,024 levels it is no JSON for orjson
POINT = {"value_columns": "latitude=kwh,longitude=kwh"}


def rows(*cells: str) -> str:
    """Return a file with one cell per hour."""
    return "time;kwh\n" + "".join(f"{hour};{cell}\n" for hour, cell in zip(HOURS, cells, strict=False))


def local(*times: str) -> str:
    """Return a file of local times in the night in which clocks go back."""
    return "time,kwh\n" + "".join(f"2024-10-27 {time},1\n" for time in times)


@pytest.mark.parametrize(
    ("text", "members", "said"),
    [
        (
            f'time,kwh,note\n{HOURS[0]},1,\n{HOURS[1]},2,"left\n{HOURS[2]},3,\n{HOURS[3]},4,"back\n',
            {},
            "a quote is not closed",
        ),
        (f'time,kwh,note\n{HOURS[0]},1,"left\n{HOURS[1]},2,\n', {}, "a quote is not closed"),
        (
            f"time,kwh,x\n{HOURS[0]},1,a\n\ntime,humidity,x\n{HOURS[1]},77,a\n",
            {},
            "another table begins here, without a column kwh",
        ),
        (local("01:45", "02:00", "02:45", "03:00", "02:15", "03:15"), PARIS, "rows return to it"),
        (local("01:45", "02:10", "02:10", "02:50", "03:15"), PARIS, "all rows have the same time"),
        ('<?xml version="1.0" encoding="foo"?><a/>', {"records": "a"}, "in a known encoding"),
        ("<a>" * 3000 + "</a>" * 3000, {"records": "a"}, "too deeply"),
        (rows("Low"), {"multiply": "18"}, "High or Low"),
        (rows("1", "HIGH"), {"differences": True}, "High or Low"),
    ],
)
def test_what_cannot_be_read_rightly_is_refused(text: str, members: dict[str, Any], said: str) -> None:
    """The reason is given, and no row is omitted silently."""
    with pytest.raises(FileError, match=re.escape(said)):
        events(text, **members)


@pytest.mark.parametrize(
    ("cells", "members", "expected"),
    [
        (["999,5", "1.234", "1.234,5", "1 234,5"], {"decimal": ","}, [999.5, "1.234", "1.234,5", "1 234,5"]),
        (["48.85; 2.29".replace(";", ",")], POINT, [{"latitude": 48.85, "longitude": 2.29}]),
        (["48.85N, 2.29W"], POINT, [{"latitude": "48.85N, 2.29W", "longitude": "48.85N, 2.29W"}]),
        (["48,85, 2,29"], POINT, [{"latitude": "48,85, 2,29", "longitude": "48,85, 2,29"}]),
        (["1e900", "-1e900"], {"multiply": "1e-19"}, [None, None]),
    ],
)
def test_values_are_those_that_stand_there(cells: list[str], members: dict[str, Any], expected: list[Any]) -> None:
    """A text that may mean another number stays a text, which the policy refuses."""
    assert [value for _, value in events(rows(*cells), **members)] == expected


@pytest.mark.parametrize("time", ["0001-01-01T00:00:00", "9999-12-31T00:00:00"])
def test_times_that_stand_for_none_are_malformed(time: str) -> None:
    """As databases write them."""
    assert events(f"time,kwh\n{time},1\n", zone="UTC") == [(None, 1)]


@pytest.mark.parametrize(("time", "unit"), [("99999999999999999999", "ms"), ("1e300", "s"), ("1e9999999", "s")])
def test_numbers_that_are_no_times_are_malformed(time: str, unit: str) -> None:
    """However large they are."""
    assert events(f"time,kwh\n{time},1\n", time_format=unit) == [(None, 1)]


def test_an_empty_time_beside_a_date_is_none() -> None:
    """It is not midnight."""
    members = {"timestamp_column": ["day", "at"], "zone": "UTC"}
    assert events("day,at,kwh\n2024-01-01,00:00,1\n2024-01-02,,2\n", **members) == [(FIRST, 1), (None, 2)]


def test_ids_may_begin_with_a_hash() -> None:
    """Comments come before the names, or after an empty line."""
    assert events(f"Nr,time,kwh\n#1,{HOURS[0]},1\n#2,{HOURS[1]},2\n") == [(FIRST, 1), (FIRST + 3_600_000, 2)]


def test_rows_without_names_never_become_names() -> None:
    """This holds even for cells that happen to be the numbers of columns."""
    text = "1700000000000,5,6\n\n1700000060000,1,2\n1700000120000,3,4\n"
    found = events(text, no_header=True, timestamp_column="1", value_columns="2")
    assert [value for _, value in found] == [5, 1, 3]


def test_a_night_in_which_midnight_comes_twice() -> None:
    """A run across a change of date counts as one."""
    times = ("06 23:00", "06 23:30", "07 00:00", "06 23:30", "07 00:00", "07 00:30")
    text = "time,kwh\n" + "".join(f"2010-11-{time},1\n" for time in times)
    found = [at for at, _ in events(text, zone="America/St_Johns")]
    assert [after - before for before, after in itertools.pairwise(found)] == [1_800_000] * 5


def test_records_within_lines_of_json() -> None:
    """They are found under their path; a line without it is itself a record, as is the only line of a file."""
    assert events('{"r":[{"time":1,"kwh":1},{"time":2,"kwh":2}]}\n{"time":3,"kwh":3}\n', records="r") == [
        (1, 1),
        (2, 2),
        (3, 3),
    ]
    assert events('{"time":1,"kwh":1}\n') == [(1, 1)]


@pytest.mark.parametrize("text", ["1,2,77.5\n3,4,5\n", "Patient,Anna Schmidt\nZeit,Wert\n"])
def test_no_cell_of_a_first_line_is_shown(text: str) -> None:
    """It may be a row of data, or a person's name."""
    with pytest.raises(FileError) as found:
        events(text, timestamp_column="1" if "77" in text else "when", value_columns="9")
    assert not re.search("77|Anna|Zeit", found.value.message)


@pytest.mark.parametrize("written", ["%Y-%m-%d %H:%M %Z", "%d/%m/%Y %H:%M %p", "%d/%m/%Y %I:%M"])
def test_formats_that_drop_a_part_are_refused(written: str) -> None:
    """These are zones by letters, and hours from 1 to 12 without am or pm."""
    with pytest.raises(MappingError, match="time_format"):
        mapping_of({"time_format": written})


def test_what_is_no_number_is_counted() -> None:
    """For an event without a time, or text or missing values, `convert` says so and prints them unchanged."""
    mapped, found = read(f"time,kwh\n{HOURS[0]},1\n{HOURS[1]},broken\n{HOURS[2]},\nsoon,2\n")
    assert len(found) == 4
    as_they_are = "they are printed unchanged, and a policy would reject them"
    assert list(mapped.told_of_events()) == [
        f"events without a readable time (null): 1; {as_they_are}",
        f"events with a value that is not a number, true or false: 2; {as_they_are}",
    ]


def test_a_part_has_one_column() -> None:
    """If a part were named twice, the last column would silently count."""
    with pytest.raises(MappingError, match="contains a part twice"):
        mapping_of({"value_columns": "x=a,x=b"})


@pytest.mark.parametrize("written", [b"\xef\xbb\xbf", b""])
def test_files_of_mappings_are_text_of_utf_8(tmp_path: Path, written: bytes) -> None:
    """A byte order mark is optional; another encoding is reported."""
    file = tmp_path / "meter.toml"
    file.write_bytes(written + 'series = "h\u00e4user"\n'.encode())
    assert read_mapping(str(file)).series == "h\u00e4user"
    file.write_bytes('series = "h\u00e4user"\n'.encode("latin-1"))
    with pytest.raises(MappingError, match="is not UTF-8 text"):
        read_mapping(str(file))


def test_one_pass_of_an_hour_that_comes_twice_is_told() -> None:
    """The file has no second pass, so only the rows before it show that it is the first."""
    mapped, _ = read(local("01:00", "02:00", "02:30", "03:00"), **PARIS)
    (told,) = mapped.told()
    assert told.startswith("rows in an hour that clocks show twice, although no time goes back: 2; they are read as")
    assert not list(read(local("02:00", "02:30", "02:00", "02:30"), **PARIS)[0].told())


def test_a_column_of_ends_is_asked_about() -> None:
    """It is, unless `stamp` is given: landmarks would be off from the readings by one interval."""
    for name in ("End Time", "interval_end", "periodEnd", "Tot (datum)"):
        text = f"{name},kwh\n{HOURS[0]},1\n"
        (told,) = read(text, timestamp_column=name)[0].told()
        assert told.startswith(f"{name} may be the end of an interval; if so, add --stamp end")
        for stamp in ("start", "end"):
            assert not list(read(text, timestamp_column=name, stamp=stamp)[0].told())
    for name in ("Start", "Sender", "Trend", "Weekend"):
        assert not list(read(f"{name},kwh\n{HOURS[0]},1\n", timestamp_column=name)[0].told())


def test_rows_of_a_table_above_are_told() -> None:
    """Lines above the names are titles, unless they have a time in its column."""
    two = f"Export of a home\ntime,humidity\n{HOURS[0]},50\n{HOURS[1]},51\ntime,kwh\n{HOURS[2]},1\n"
    assert list(read(two)[0].told()) == ["skipped rows: 2 in a table above the line of column names"]
    assert not list(read(f"Export of a home\n\ntime,kwh\n{HOURS[2]},1\n")[0].told())


def test_first_rows_without_a_value_are_rows() -> None:
    """This holds without a header too: such rows lack a cell, and are not titles."""
    text = f"{HOURS[0]},x\n{HOURS[1]},x,1\n"
    assert events(text, no_header=True, timestamp_column="1", value_columns="3") == [
        (FIRST, ""),
        (FIRST + 3_600_000, 1),
    ]


def test_members_that_are_misspelt_are_asked_about() -> None:
    """As columns are."""
    with pytest.raises(FileError, match=re.escape("no record has heart.bpn; did you mean heart.bpm?")):
        events('{"time":1,"heart":{"bpm":60}}\n', value_columns="heart.bpn")
    with pytest.raises(FileError, match=re.escape("The first has time, heart.bpm")):
        events('[{"time":1,"heart":{"bpm":60}}]', value_columns="kwh")


def test_ids_with_a_hash_behind_an_empty_line() -> None:
    """A line that begins like a comment and has a time in its column is a row."""
    text = f"home,time,kwh\n#1,{HOURS[0]},1\n\n# a comment, of, its own\n#1,{HOURS[1]},2\n\n#2,{HOURS[2]},3\n"
    found = read(text, series_column="home")[1]
    assert [(one["series"], one["value"]) for one in found] == [("#1", 1), ("#1", 2), ("#2", 3)]


def test_lines_of_json_behind_an_empty_one() -> None:
    """The first line may be empty."""
    assert events('\n{"time":1,"kwh":1}\n{"time":2,"kwh":2}\n') == [(1, 1), (2, 2)]


def test_many_series_in_the_hour_that_comes_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """All wait for the second pass; beyond the limit the file is refused, and nothing is misinterpreted."""
    times = [f"0{hour}:{minute:02}" for hour in (1, 2, 2, 3) for minute in range(0, 60, 5)]
    text = "time,home,kwh\n" + "".join(f"2024-10-27 {at},{home},1\n" for at in times for home in "abc")
    found = read(text, series_column="home", **PARIS)[1]
    moments = [one["timestamp"] for one in found]
    assert {after - before for before, after in itertools.pairwise(moments)} == {0, 300_000}
    monkeypatch.setattr(clock, "MOST_WAITING", 20)
    with pytest.raises(FileError, match="more than 20 rows belong to an hour that clocks show twice"):
        read(text, series_column="home", **PARIS)


@pytest.mark.parametrize("levels", [98, 101, 300, 1_000, 100_000])
def test_what_is_nested_too_deeply_is_refused(levels: int) -> None:
    """The bound is our own, as Python's varies by process; it applies to a sample and to a column's cell."""
    deep = b'[{"time":"2024-01-01T00:00Z","a":%s}]' % (b'{"a":' * levels + b"1" + b"}" * levels)
    tree = b"<r>%s</r>" % (b"<a>" * levels + b"</a>" * levels)
    mapping = FileMapping(timestamp_columns=("time",), value_columns={"": "a"})
    for written in (deep, tree):
        if levels < MOST_NESTED:
            assert inspected(io.BufferedReader(io.BytesIO(written))).form in {"json", "xml"}
        else:
            with pytest.raises(FileError, match=REFUSED):
                inspected(io.BufferedReader(io.BytesIO(written)))
    if levels < MOST_NESTED:
        assert len(list(json_rows(io.BufferedReader(io.BytesIO(deep)), mapping))) == 1
    else:
        with pytest.raises(FileError, match=REFUSED):
            list(json_rows(io.BufferedReader(io.BytesIO(deep)), mapping))
