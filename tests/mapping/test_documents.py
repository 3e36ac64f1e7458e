"""Records in JSON and XML, wherever a document holds them."""

import json
import re
from typing import Any

import pytest

from stream_app.mapping.cells import FileError
from tests.mapping.mapped import events, read

ROWS = [{"time": 1000, "kwh": 1.5, "at": {"x": [1], "place": {"name": " a "}}}, {"time": 2000, "kwh": 2, "at.x": 7}]
EVENTS = [(1000, 1.5), (2000, 2)]


@pytest.mark.parametrize(
    ("document", "path"),
    [
        (ROWS, None),
        ({"results": ROWS, "count": 2}, "results"),
        ({"a": {"b": ROWS}}, "a.b"),
        ([{"b": ROWS[:1]}, {"c": 5}, {"b": ROWS[1:]}], "b"),
        ({"a": [{"b": [ROWS[0]]}, {"b": [ROWS[1]]}]}, "a.b"),
        ({"a": {"only": ROWS[0]}, "b": 1}, "a.only"),
    ],
)
@pytest.mark.parametrize("indent", [None, 2])
def test_records_are_found_under_their_path(document: Any, path: str | None, indent: int | None) -> None:
    """Lists along the path are searched, on one line or on many."""
    expected = EVENTS[:1] if path == "a.only" else EVENTS
    assert events("\ufeff" + json.dumps(document, indent=indent), records=path) == expected


def test_lines_of_records_need_no_path() -> None:
    """Each line is a record, and gives its number."""
    lines = "\n".join(map(json.dumps, ROWS))
    assert events(lines) == EVENTS
    assert events(lines + "\n\n" + json.dumps({"time": 3000, "kwh": 1}) + "\n") == [*EVENTS, (3000, 1)]
    with pytest.raises(FileError, match="not valid JSON") as found:
        events(lines + '\n{"time":\n')
    assert found.value.number == 3


def test_members_within_members_are_named_by_paths() -> None:
    """A member whose own name contains a point has priority; texts have no surrounding spaces."""
    mapped, found = read(json.dumps(ROWS), where="at.place.name=a")
    assert [one["value"] for one in found] == [1.5]
    assert mapped.left_out == {"other": 1}
    assert [value for _, value in events(json.dumps(ROWS), value_columns="at.x")] == ["[1]", 7]


def test_decimals_of_json_stay_exact() -> None:
    """A factor applies to the digits in the file."""
    text = json.dumps([{"time": nth, "kwh": value} for nth, value in enumerate([13.6, 136, "0.1", True, None], 1)])
    assert [value for _, value in events(text, multiply="0.001")] == [0.0136, 0.136, 0.0001, True, None]
    assert [value for _, value in events(text, missing="''")] == [13.6, 136, 0.1, True]


@pytest.mark.parametrize(
    ("text", "members", "said"),
    [
        (
            '{"results":[{"time":1}],"other":[]}',
            {},
            "set the path to its records with --records; it may be 'other' or 'results'",
        ),
        ('{"a":1}', {"records": "b"}, "has no records under --records b"),
        ('{"a":[1]}', {"records": "a"}, "is not an object"),
        ('{"a":[{"time":1', {}, "is not valid JSON"),
        (json.dumps(ROWS), {"value_columns": "kWh"}, "no record has kWh"),
        (json.dumps([{"time": 1}] * 1_200), {}, "no record has kwh"),
    ],
)
def test_documents_that_do_not_fit_are_refused(text: str, members: dict[str, Any], said: str) -> None:
    """With where records may be."""
    with pytest.raises(FileError, match=re.escape(said)):
        events(text, **members)


GPX = """<?xml version="1.0"?>
<gpx xmlns="http://www.topografix.com/GPX/1/1" xmlns:x="http://x"><metadata><time>2020-01-01T00:00:00Z</time></metadata>
<trk><trkseg>{}</trkseg></trk></gpx>"""
POINT = (
    '<trkpt lat="48.5" lon="2.25"><ele>35</ele><time>2024-03-01T00:00:{:02}Z</time>'
    '<extensions><x:s v="1"/></extensions></trkpt>'
)


def test_elements_are_records_wherever_they_stand() -> None:
    """Attributes and children are members; names have no namespaces."""
    text = GPX.format("".join(map(POINT.format, range(50))))
    found = events(
        text, records="trkpt", value_columns="latitude=lat,longitude=lon", where=["extensions.s.v=1", "ele=35"]
    )
    assert [at for at, _ in found] == [1709251200000 + 1000 * nth for nth in range(50)]
    assert {tuple(value.items()) for _, value in found} == {(("latitude", 48.5), ("longitude", 2.25))}


@pytest.mark.parametrize(
    ("text", "records", "said"),
    [
        (GPX.format(POINT.format(1)), None, "specify the element of a record with --records"),
        (GPX.format(POINT.format(1)), "wpt", "has no element wpt"),
        (GPX.format("<trkpt>"), "trkpt", "is not valid XML"),
        ('<!DOCTYPE a [<!ENTITY b "c">]><a><trkpt>&b;</trkpt></a>', "trkpt", "contains entity declarations"),
    ],
)
def test_xml_that_does_not_fit_is_refused(text: str, records: str | None, said: str) -> None:
    """Entities are refused too, because they can make a small file very large."""
    with pytest.raises(FileError, match=re.escape(said)):
        events(text, records=records)
