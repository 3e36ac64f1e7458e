"""``convert`` and ``inspect``: what a file means, and what it is."""

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from stream_app.api import Error, Number, Policy, read_events, release
from stream_app.mapping.members import shipped
from stream_app.plain import PRIVATE
from tests.command import Cli

METER = """Meter 12345;electricity
Zeit;Verbrauch kWh
26.10.2024 23:45;0,31
27.10.2024 00:00;-
27.10.2024 00:15;0,33
"""
WORDS = ["--timestamp-column", "Zeit", "--time-format", "%d.%m.%Y %H:%M", "--zone", "Europe/Berlin"]
WORDS += ["--value-columns", "Verbrauch kWh", "--decimal", ",", "--missing=-", "--series", "home-7"]
EVENTS = [(1729979100000, 0.31), (1729980900000, 0.33)]


@pytest.fixture
def meter(tmp_path: Path) -> Path:
    """Return a file in the form that a meter's website provides."""
    path = tmp_path / "meter.csv"
    path.write_text(METER)
    return path


def test_convert_prints_the_events(meter: Path, cli: Cli) -> None:
    """They have the form that `replay` takes; skipped rows are reported apart, with their mark."""
    said = cli("convert", meter, *WORDS)
    found = [json.loads(line) for line in said.out.splitlines()]
    assert [(one["timestamp"], one["value"]) for one in found] == EVENTS
    assert {(one["type"], one["series"]) for one in found} == {("observation", "home-7")}
    private = "landmark-stream convert: PRIVATE, protect this like the raw data: skipped rows: "
    assert said.err == f"{private}1 without a value, as --missing says\n"


def test_replay_of_a_file_decides_what_replay_of_its_events_decides(meter: Path, tmp_path: Path, cli: Cli) -> None:
    """Under one key, both give the same bytes."""
    policy = Policy.event(epsilon=1, value=Number(0, 8, 0.01), step=900_000, series="home-7")
    (tmp_path / "policies.jsonl").write_text(json.dumps(policy.record))
    (tmp_path / "events.jsonl").write_text(cli("convert", meter, *WORDS).out)
    cli("keys", "new", tmp_path / "key")
    shared: list[str | Path] = ["--policies", tmp_path / "policies.jsonl", "--key", tmp_path / "key"]
    cli("replay", meter, *WORDS, *shared, "--out", tmp_path / "file")
    cli("replay", tmp_path / "events.jsonl", *shared, "--out", tmp_path / "events")
    for name in ("ledger.jsonl", "releases.jsonl", "rejects.jsonl"):
        assert (tmp_path / "file" / name).read_bytes() == (tmp_path / "events" / name).read_bytes()


def test_a_file_holds_the_mapping(meter: Path, tmp_path: Path, cli: Cli) -> None:
    """Options rule over it."""
    (tmp_path / "meter.toml").write_text(
        'timestamp_column = "Zeit"\ntime_format = "%d.%m.%Y %H:%M"\nvalue_columns = "Verbrauch kWh"\n'
        'zone = "UTC"\ndecimal = ","\nmissing = "-"\n'
    )
    words: list[str | Path] = ["convert", meter, "--mapping", tmp_path / "meter.toml", "--series", "home-7"]
    assert json.loads(cli(*words).out.splitlines()[0])["timestamp"] == EVENTS[0][0] + 2 * 3_600_000
    assert json.loads(cli(*words, "--zone", "Europe/Berlin").out.splitlines()[0])["timestamp"] == EVENTS[0][0]


def test_mappings_are_listed(cli: Cli) -> None:
    """Each mapping is listed with its purpose."""
    said = cli("convert", "--mappings").out.splitlines()
    assert [line.split()[0] for line in said] == list(shipped())
    assert all(len(line.split()) > 2 for line in said)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "convert: FILE is missing"),
        (["meter.csv"], "meter.csv: a file with columns needs a mapping\n--timestamp-column: is missing"),
        (["meter.csv", "--mapping", "fluvous"], "--mapping: unknown mapping fluvous; did you mean fluvius?"),
        (["meter.csv", "--zone", "Paris", "--multiply", "x"], '--zone: found "Paris"; use a zone from the IANA'),
        (["none.csv", *WORDS], "none.csv: there is no such file"),
    ],
)
def test_what_is_wrong_is_said(
    meter: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch, words: list[str], said: str
) -> None:
    """Every fault of a mapping is reported at once, by its option."""
    monkeypatch.chdir(meter.parent)
    assert said in cli("convert", *words, code=2).err


def test_inspect_says_what_a_file_is_and_what_lacks(meter: Path, cli: Cli) -> None:
    """The output ends with the command to run, in which only one word is missing."""
    said = cli("inspect", meter).out
    assert f"{meter}: text with columns, separated by semicolons; line 2 contains the column names\n" in said
    assert (
        "3 rows from 2024-10-26T23:45Z to 2024-10-27T00:15Z as if local times were UTC; most are 15 min apart\n" in said
    )
    assert "Times have no UTC offset: set their time zone with --zone" in said
    assert "`inspect` proposes no lower or upper bound" in said
    words = "--series my-series --timestamp-column Zeit --time-format '%d.%m.%Y %H:%M' --value-columns 'Verbrauch kWh'"
    assert "Specify what these words in the value column mean, with --words or --missing: -.\n" in said
    assert said.endswith(f"\nNext: landmark-stream convert {meter} {words} --decimal , --zone ZONE\n")
    assert "0,31" not in said


def test_inspect_knows_the_shipped_mappings(tmp_path: Path, cli: Cli) -> None:
    """They are recognised by the columns they name; programs can read the result."""
    path = tmp_path / "enedis.csv"
    rows = "".join(f"2024-10-27T0{hour}:{minute}:00+02:00;5\n" for hour in (1, 0) for minute in ("30", "00"))
    path.write_text(f"Identifiant PRM;Unite\n1;W\nHorodate;Valeur\n{rows}")
    found = json.loads(cli("inspect", path, "--json").out)
    assert (found["form"], found["separator"], found["header_line"], found["mappings"]) == ("text", ";", 3, ["enedis"])
    assert (found["local"], found["rows"]["interval_ms"], found["rows"]["backwards"]) == (False, 1_800_000, 0)
    assert found["next"] == f"landmark-stream convert {path} --series my-series --mapping enedis"
    assert " newest first" in cli("inspect", path).out


def test_the_library_reads_what_convert_reads(meter: Path, tmp_path: Path) -> None:
    """`release` gets rows under the same names, and faults name the argument."""
    given: Any = {"timestamp_column": "Zeit", "time_format": "%d.%m.%Y %H:%M", "value_columns": "Verbrauch kWh"}
    rows = read_events(meter, series="home-7", zone="Europe/Berlin", decimal=",", missing="-", **given)
    assert [(row["timestamp"], row["value"]) for row in rows] == EVENTS
    policy = Policy.event(epsilon=1, value=Number(0, 8, 0.01), step=900_000)
    assert len(release(rows, policy, out=tmp_path / "out").releases) == len(EVENTS)
    with pytest.raises(Error, match=r"^zone: ") as found:
        read_events(meter, zone="Paris", multiply="x", **given)
    assert {fault.member for fault in found.value.faults} == {"zone", "multiply"}
    with pytest.raises(Error, match=r"^file: .*meter\.csv:3: Zeit: a time like .* has no time zone"):
        read_events(meter, series="home-7", **given)


def test_a_file_of_which_no_row_is_left_is_refused(tmp_path: Path, cli: Cli) -> None:
    """The value column may be the wrong one, and an empty run would look like a valid one."""
    (tmp_path / "meter.csv").write_text("time,kwh,note\n2024-01-01T00:00Z,1,\n2024-01-01T01:00Z,2,\n")
    words = ["--series", "a", "--timestamp-column", "time", "--value-columns", "note", "--missing", "''"]
    said = cli("convert", tmp_path / "meter.csv", *words, code=2).err
    told = (
        "meter.csv: no row became an event; skipped rows: 2 without a value, as --missing says; check --value-columns"
    )
    assert PRIVATE in said
    assert told in said


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("seconds,kwh\n0,1.5\n300,2.5\n600,1\n", "line 1 contains the column names"),
        (
            "time,steps\n" + "".join(f'2024-03-0{day}T00:00Z,"1{day},000"\n' for day in range(1, 9)),
            "may mean 13.6 (add",
        ),
        (
            "time,kwh\n" + "".join(f"2024-03-01 {hour:02d}:00,{hour}.5\n" for hour in range(20)) + "broken,\n",
            "--timestamp-column time --value-columns kwh --missing \"''\" --zone ZONE\n",
        ),
        (
            ",kwh\n" + "".join(f"2024-03-01 {hour:02d}:00:00,{hour}.5\n" for hour in range(20)),
            "--timestamp-column 1 --value-columns 2 --no-header --zone ZONE\n",
        ),
    ],
    ids=["no times", "thousands", "a broken time", "an index"],
)
def test_inspect_reads_what_is_not_quite_regular(tmp_path: Path, cli: Cli, content: str, said: str) -> None:
    """It handles names above numbers that are not times, ambiguous commas, and a few cells that are not times."""
    (tmp_path / "a.csv").write_text(content)
    assert said in cli("inspect", tmp_path / "a.csv").out


def test_inspect_reads_rows_that_end_with_a_separator(tmp_path: Path, cli: Cli) -> None:
    """It also reads tables that repeat their column names; the command that it suggests omits empty values."""
    rows = "".join(f"2024-01-01 0{hour}:00:00,{hour}.5,\n" for hour in range(5)) + "2024-01-01 05:00:00,,\n"
    (tmp_path / "meter.csv").write_text(f"a title\ntime,rate\n{rows}time,rate,\n{rows.replace('01-01', '01-02')}")
    said = cli("inspect", tmp_path / "meter.csv").out
    assert "line 2 contains the column names" in said
    assert shlex.split(said.splitlines()[-1])[6:] == [
        *("--timestamp-column", "time", "--value-columns", "rate", "--missing", "''", "--zone", "ZONE")
    ]
