"""What `replay` says about the records that it refuses: each kind once, at its first line, with the remedy."""

from pathlib import Path
from typing import Any

import pytest

from stream_app.cli import main
from tests.cli.records.test_doubts import START
from tests.command import Cli, saved
from tests.run import LOCATION, MADE_UP, observation, policy
from tests.units import units


def test_what_a_reading_of_a_unit_repeats(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A unit takes many readings, so moment and unit are named; a step takes one record, or one per moment."""
    hour, half = 3_600_000, 1_800_000
    readings = [observation("sugar-1", at, 1.0) for at in (half, hour + 1, half, 1)]
    divided = units(series="sugar-1", protection={"step": 4 * hour, "unit": hour, "open_steps": 1})
    words = [
        "replay",
        saved(tmp_path / "units.jsonl", divided, *readings),
        "--accept",
        "refused",
        "--accept",
        "order",
        *MADE_UP,
    ]
    assert main([*words, "--out", str(tmp_path / "units")]) == 0
    said = capsys.readouterr().err
    second = "a second reading of sugar-1 at 1970-01-01T00:30Z, in the unit that begins at 1970-01-01T00:00Z"
    assert f"units.jsonl:4: {second}, which accepts one reading per time\n" in said
    assert "is earlier than another reading of the unit that begins at 1970-01-01T00:00Z, or its step is over" in said
    within = policy("a", protection={"level": "event", "step": hour, "within": "sum", "open_steps": 1})
    twice = [observation("a", half, 1.0)] * 2
    for name, ruling, told in (
        ("within", within, "a second reading of a at 1970-01-01T00:30Z; a step accepts one reading per time\n"),
        (
            "plain",
            policy("a"),
            "a second record of a for the step that begins at 1970-01-01T00:30Z, which can have only one release; if",
        ),
    ):
        file = saved(tmp_path / f"{name}.jsonl", ruling, *twice)
        assert main(["replay", *MADE_UP, file, "--out", str(tmp_path / name), "--accept", "refused"]) == 0
        assert f"{name}.jsonl:3: {told}" in capsys.readouterr().err


def test_points_under_a_decimal_comma_and_series_without_a_policy_are_explained(tmp_path: Path, cli: Cli) -> None:
    """The message blames no quotes that the file lacks; it names the series but no line."""
    (tmp_path / "a.csv").write_text(f"time;home;kwh\n{START};a;1.5\n{START + 1};b;1,5\n")
    rules = saved(tmp_path / "policies.jsonl", policy("a", epsilon=50.0))
    words: list[str | Path] = ["replay", tmp_path / "a.csv", "--policies", rules, "--series-column", "home"]
    words += ["--timestamp-column", "time", "--value-columns", "kwh", "--decimal", ",", "--out", tmp_path / "out"]
    said = cli(*words, code=2).err
    assert "a.csv:2: kwh: a number has a point: if it is like 1.5, omit --decimal , and if it is like 1.500,0," in said
    assert "a.csv: no policy matches b (rows: 1); correct the series or the policy's glob" in said


def test_each_sort_of_refused_rows_is_explained_once(tmp_path: Path, cli: Cli) -> None:
    """Each explanation has the first line and the number of rows."""
    cells = ["1.5"] * 10 + ['"1,5"'] * 3 + ["2 kWh"] * 2 + ["", "13,600".join('""')]
    (tmp_path / "a.csv").write_text("time;kwh\n" + "".join(f"{at};{cell}\n" for at, cell in enumerate(cells, START)))
    words: list[str | Path] = [
        "replay",
        tmp_path / "a.csv",
        "--policies",
        saved(tmp_path / "policies.jsonl", policy("a", epsilon=50.0)),
    ]
    words += ["--series", "a", "--timestamp-column", "time", "--value-columns", "kwh", "--out", tmp_path / "out"]
    said = cli(*words, code=2).err
    assert "a.csv:12: kwh: a number like 1,5 has a decimal comma; add --decimal , (3 such rows)\n" in said
    assert (
        "a.csv:15: kwh: a number like 1.5 kWh contains more than digits and a decimal point; write only the number (2"
    ) in said
    assert "a.csv:17: kwh: is empty; add --missing \"''\" to skip rows with an empty cell\n" in said
    assert "a.csv:18: kwh: a number like 13,600 may mean 13.6 (add --decimal ,) or 13600 (write it without" in said


@pytest.mark.parametrize(
    ("columns", "value", "told"),
    [
        ("x,y", LOCATION, "has the parts x, y, but the policy's kind needs latitude, longitude; specify columns as in"),
        (
            "x",
            LOCATION,
            "has no parts, but the policy's kind needs latitude, longitude; specify columns as in --value-",
        ),
        ("x,y", None, "has the parts x, y, but the policy's kind accepts one value; specify one column"),
    ],
)
def test_columns_are_compared_with_the_parts_of_a_kind(
    tmp_path: Path, cli: Cli, columns: str, value: Any, told: str
) -> None:
    """Valid numbers are not called invalid."""
    (tmp_path / "a.csv").write_text(f"time,x,y\n{START},1.5,2.5\n")
    rules = saved(tmp_path / "policies.jsonl", policy("a", **({} if value is None else {"value": value})))
    words: list[str | Path] = ["replay", tmp_path / "a.csv", "--series", "a", "--policies", rules]
    said = cli(*words, "--timestamp-column", "time", "--value-columns", columns, "--out", tmp_path / "out", code=2).err
    assert told in said


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("a.txt", "time;kwh\n2024-01-01 00:00;1,5\n2024-01-01 01:00;1,6\n", "is text with columns"),
        ("a.json", '[\n {"date": "2024-01-01", "sgv": 110},\n {"date": "2024-01-02", "sgv": 120}\n]\n', "is JSON"),
        ("a.gpx", '<?xml version="1.0"?>\n<gpx><trkpt lat="1" lon="2"/>\n<trkpt lat="1" lon="2"/></gpx>\n', "is XML"),
    ],
)
def test_files_without_event_records_are_told_from_faulty_ones(
    tmp_path: Path, cli: Cli, name: str, content: str, told: str
) -> None:
    """The message names the command that says what the files contain."""
    (tmp_path / name).write_text(content)
    rules = saved(tmp_path / "policies.jsonl", policy("*"))
    said = cli("replay", tmp_path / name, "--policies", rules, "--out", tmp_path / "out", code=2).err
    file = tmp_path / name
    assert f"{file}: {told}, not event records; `landmark-stream inspect {file}` shows how" in said
    assert cli("inspect", file).out
