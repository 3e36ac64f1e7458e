"""CSV files of every kind, and their timestamps."""

import json
from pathlib import Path

import pytest

from stream_app.cli import main
from stream_app.deciding.context import Context
from stream_app.setup import keyfile
from tests.cli.records.test_replay import outputs
from tests.run import KINDS, MADE_UP, Run, default, observation, policy

CSVS = {
    "location": (
        "bus,time,latitude,longitude\nb,1000,-10.9,-37.1\nb,2000,x,-37.1\nb,3000,,\n",
        ["--series-column", "bus", "--timestamp-column", "time", "--value-columns", "latitude,longitude"],
        [
            {"latitude": -10.9, "longitude": -37.1},
            {"latitude": "x", "longitude": -37.1},
            {"latitude": "", "longitude": ""},
        ],
    ),
    "counts": (
        "\ufefftime;x,walk,ride\n1000,3,4\n2000,3.5,1\n3000,-1,0\n",
        ["--series", "b", "--timestamp-column", "time;x", "--value-columns", "walk,ride"],
        [{"walk": 3, "ride": 4}, {"walk": 3.5, "ride": 1}, {"walk": -1, "ride": 0}],
    ),
    "category": (
        "time,state\n1000, ill \n2000,TRUE\n3000,--5\n",
        ["--series", "b", "--timestamp-column", "time", "--value-columns", "state"],
        ["ill", True, "--5"],
    ),
    "vector": (
        "time,oxygen,pulse\n1000,0.97,71.5\n2000,,70\n3000,1,300\n",
        ["--series", "b", "--timestamp-column", "time", "--value-columns", "pulse,oxygen"],
        [{"pulse": 71.5, "oxygen": 0.97}, {"pulse": 70, "oxygen": ""}, {"pulse": 300, "oxygen": 1}],
    ),
    "number": (
        "time,v\n1000,0.0015\n2000,1e3\n3000,²\n",
        ["--series", "b", "--timestamp-column", "time", "--value-columns", "v"],
        [0.0015, 1000.0, "²"],
    ),
}


@pytest.mark.parametrize("kind", list(CSVS))
def test_every_kind_comes_from_csv(tmp_path: Path, kind: str) -> None:
    """Columns become numbers, positions, counts, vectors or categories; any other cell is an invalid value."""
    text, mapping, values = CSVS[kind]
    table = tmp_path / "events.CSV"
    table.write_text(text)
    rules = tmp_path / "policies.jsonl"
    rules.write_text(json.dumps({**policy("*", value=KINDS[kind]), "version": 1}))
    key = tmp_path / "key"
    ring = keyfile.create(key)
    out = tmp_path / "out"
    words = ["--key", str(key), "--policies", str(rules), *mapping]
    assert main(["replay", *MADE_UP, str(table), "--out", str(out), *words, "--accept", "refused"]) == 0
    run = Run(Context(ring, (default("*", value=KINDS[kind]),)))
    run.feed_all(observation("b", 1000 * nth, value) for nth, value in enumerate(values, 1))
    assert outputs(out)[:2] == [b"".join(line + b"\n" for line in lines) for lines in run.outputs[:2]]
    assert outputs(out)[2].count(b"invalid-value") == len(run.rejects)
    assert len(run.releases) >= 1


@pytest.mark.parametrize(
    ("cell", "timestamp"),
    [
        ("1970-01-01T00:00:01Z", 1000),
        ("1970-01-01 01:00:01.999999+01:00", 1999),
        ("2026-01-31T08:00:00.1+01:00", 1769842800100),
        ("  5 ", 5),
        ("-5", None),
        ("5.5", None),
        ("", None),
        ("yesterday", None),
        ("0001-01-01T00:00:00+23:59", None),
        ("99999999999999999999", None),
        ("9999-12-31T23:59:59.999Z", 253402300799999),
    ],
)
def test_timestamps_of_csv(tmp_path: Path, cell: str, timestamp: int | None) -> None:
    """ISO 8601 and integers are exact to the millisecond; anything else makes a malformed record."""
    table = tmp_path / "events.csv"
    table.write_text(f"t,v\n{cell},5\n")
    rules = tmp_path / "policies.jsonl"
    rules.write_text(json.dumps(policy("*")))
    mapping = ["--series", "b", "--timestamp-column", "t", "--value-columns", "v"]
    words = ["replay", str(table), "--out", str(tmp_path), "--policies", str(rules), *mapping, "--accept", "times"]
    assert main(words) == (2 if timestamp is None else 0), "2 where every record is rejected"
    assert timestamp is not None or main([*words, "--accept", "refused"]) == 0
    releases, _, rejects = outputs(tmp_path)
    if timestamp is None:
        assert b"malformed" in rejects
    else:
        assert json.loads(releases)["timestamp"] == timestamp
