"""Text with separators: the place of the column names, and the errors if there are none."""

import re

import pytest

from stream_app.mapping.cells import FileError
from tests.mapping.mapped import events, read, records

EVENTS = [(1000, 1.5), (2000, 2)]


@pytest.mark.parametrize(
    "text",
    [
        "time,kwh\n1000,1.5\n2000,2\n",
        "\ufefftime,kwh\r\n1000,1.5\r\n2000,2\r\n",
        "time;kwh\n1000;1.5\n2000;2\n",
        "time\tkwh\n1000\t1.5\n2000\t2\n",
        "other|kwh|time\nx|1.5|1000\nx|2|2000",
        "time , kwh\n1000 , 1.5\n2000 , 2\n",
        "Export of meter 5\n\ntime,kwh\n1000,1.5\n2000,2\n",
        "a;b;c\n1;2;3\ntime,kwh\n1000,1.5\n2000,2\n",
        "sep=,\ntime,kwh\n1000,1.5\n2000,2\n",
        "# units: h\ntime,kwh\n1000,1.5\n\n# a comment\n2000,2\n",
        'note,"time",kwh\n"of\nlines",1000,1.5\n"a,b",2000,2\n',
        "time,kwh,\n1000,1.5,,,\n2000,2,\n",
        "#group,false\nx,time,kwh\n,1000,1.5\n\n#group,false\nkwh,time,y\n2,2000,\n",
    ],
)
def test_columns_are_found_by_their_names(text: str) -> None:
    """Names are found below titles and marks, with any separator, and again in a second table."""
    assert events(text) == EVENTS


def test_a_header_may_stand_on_the_30th_line_and_no_later() -> None:
    """The lines above it may contain anything."""
    text = "time,kwh\n1000,1.5\n2000,2\n"
    assert events("x;y\n" * 29 + text) == EVENTS
    with pytest.raises(FileError, match="columns not found: time, kwh"):
        events("x;y\n" * 30 + text)


def test_without_a_header_rows_begin_at_the_first_time() -> None:
    """The columns are numbered from 1."""
    geolife = (
        "Track\nWGS 84\n\n0,2,255,My Track\n0\n40.1,116.3,0,2009-04-10,02:53:04\n40.2,116.4,0,2009-04-10,02:53:09\n"
    )
    found = events(
        geolife, no_header=True, timestamp_column=["4", "5"], zone="UTC", value_columns="latitude=1,longitude=2"
    )
    assert found == [
        (1239331984000, {"latitude": 40.1, "longitude": 116.3}),
        (1239331989000, {"latitude": 40.2, "longitude": 116.4}),
    ]
    assert events("1000;1.5\n2000;2\n", no_header=True, timestamp_column="1", value_columns="2") == EVENTS
    with pytest.raises(FileError, match="kwh is not a column number"):
        events("1000;1.5\n", no_header=True, timestamp_column="1")
    with pytest.raises(FileError, match="numbered from 1, but 02 is not"):
        events("1000;1.5\n", no_header=True, timestamp_column="1", value_columns="02")


def test_the_line_that_a_row_ends_on_is_told() -> None:
    """For a row over several lines it is the last one."""
    mapped, _ = read("time,kwh\n1000,1\n")
    assert mapped.series == {"s"}
    with pytest.raises(FileError) as found:
        events('title\nnote,time,kwh\n"of\nlines",1000,1\nx,1000,1,2,3\n')
    assert found.value.number == 5


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty"),
        ("\n\n", "is empty"),
        (
            "time,kwH\n1000,1\n",
            "column not found: kwh; line 1, separated by commas, has the columns time, kwH; did you mean kwH?",
        ),
        (
            "title\nTime;kWh\n1000;1\n",
            "columns not found: time, kwh; did you mean Time, kWh?",
        ),
        (
            "1000,70.5\n2000,71.5\n",
            "columns not found: time, kwh; line 1, separated by commas, has 2 cells; `landmark-",
        ),
        ("time\n1000\n", "columns not found: time, kwh; no line has several columns"),
        ("time,kwh,kwh\n1000,1,2\n", "several columns are called kwh"),
        ("time,kwh\n1000,1,5\n", "has 3 cells, but there are 2 columns"),
        ('time,kwh\n1000,"1\n' + "x" * 200_000, "a closing quote may be missing"),
    ],
)
def test_what_does_not_fit_is_said(text: str, said: str) -> None:
    """The message says what was found, but does not show cells that may be data."""
    with pytest.raises(FileError, match=re.escape(said)) as found:
        events(text)
    assert "70.5" not in found.value.message


def test_a_separator_that_is_named_is_the_only_one() -> None:
    """A name may therefore contain another separator."""
    assert events("time;x,kwh\n1000,1.5\n2000,2\n", timestamp_column="time;x", separator=",") == EVENTS
    with pytest.raises(FileError):
        events("time,kwh\n1000,1.5\n", separator=";")


def test_rows_count_that_meet_all_conditions() -> None:
    """Conditions compare the text of a cell, without surrounding spaces."""
    text = "time,kwh,type,unit\n1,1,a,kWh\n2,2,b,kWh\n3,3,a,Wh\n4,4, a ,kWh\n"
    mapped, found = read(text, where=["type=a", "unit!=Wh"])
    assert [one["value"] for one in found] == [1, 4]
    assert mapped.left_out == {"other": 2}


def test_names_of_series_have_no_spaces_around_them() -> None:
    """Two spellings would be two people with two budgets; names that differ only by case are reported."""
    mapped, found = read("who,time,kwh\nhome-7 ,1,1\n home-7,2,1\nHome-7,3,1\n,4,1\n", series_column="who")
    assert [one["series"] for one in found] == ["home-7", "home-7", "Home-7", None]
    assert any(told.startswith("Home-7 and home-7 differ only in case") for told in mapped.told())


def test_a_row_with_fewer_cells_has_empty_ones() -> None:
    """Only that row is refused, because of what it lacks."""
    assert records("time,kwh\n1000\n")[0]["value"] == ""
