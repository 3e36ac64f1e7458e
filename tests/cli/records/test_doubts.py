"""Doubtful rows of a file: `replay` and `send` ask before anything is written or sent."""

from pathlib import Path
from typing import Any

import pytest

from stream_app.cli import main
from stream_app.replaying.doubts import CHECKS
from tests.command import Cli, saved
from tests.run import LOCATION, observation, policy
from tests.units import units

START = 1_700_000_000_000
HOUR_MS = 3_600_000
LANDMARKS = {"level": "landmark", "landmarks": [[START + 150, START + 160]], "step": 1}


def reading(at: int, value: object = 1.0, series: str = "a") -> dict[str, object]:
    """Return an observation ``at`` milliseconds after the start."""
    return observation(series, START + at, value)


WEEK: list[Any] = [reading(at) for at in range(1, 201)]
SHUFFLED = [*WEEK[100:140], *WEEK[:100], *WEEK[140:]]
DOUBTED: dict[str, tuple[list[Any], str]] = {
    "landmarks": (
        [one for one in WEEK if not 150 <= one["timestamp"] - START < 160],
        "0 of 10 landmark steps have an event: ",
    ),
    "times": (
        [observation("a", 1_700_000_000 + at, 1.0) for at in range(200)],
        "200 of 201 rows: 1700000000 looks like seconds: in milliseconds it is 1970-01-20T",
    ),
    "order": (SHUFFLED, "100 of 201 rows are older than a row of their series that is earlier in the input: "),
    "refused": (
        [*WEEK, *(reading(201 + at, "x") for at in range(3))],
        "3 of 204 rows would be rejected (3 invalid-value); ",
    ),
}
DOUBTED["dates"] = (
    [observation("a", 20_240_301_000_000 + 3000 * at, 1.0) for at in range(20)],
    "20 of 21 rows: 20240301000000 looks like a date of 14 digits; add --time-format %Y%m%d%H%M%S",
)
DOUBTED["clock ahead"] = (
    [*WEEK, observation("a", 7_000_000_000_000, 1.0)],
    "1 of 202 rows: 7000000000000 is 2191-10-27T12:26:40Z, which is after tomorrow",
)
DOUBTED["old"] = (
    [observation("a", 600_000_000_000 + at, 1.0) for at in range(200)],
    "200 of 201 rows: 600000000000 is 1989-01-05T10:40Z, which is before 1990; times are in milliseconds since 1970",
)
DOUBTED["clamped"] = (
    [reading(at, 1000.0 if at > 20 else 1.0) for at in range(1, 201)],
    "most values of a are above the upper end of their range, so the limit is published instead; the unit may differ",
)
DOUBTED["outside"] = (
    [reading(at) for at in range(1000, 1200)],
    "0 of 10 landmark steps have an event: the events are from 2023-11-14T22:13:21",
)

CHECK_OF = {"outside": "landmarks", "dates": "times", "clock ahead": "times", "old": "times"}


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """Return settings with a broker that does not exist."""
    (tmp_path / "away.toml").write_text('bootstrap_servers = "127.0.0.1:1"\n')
    return tmp_path / "away.toml"


def rows(name: str) -> list[Any]:
    """Return a file with a fault, with its policy in front."""
    moved = {
        "times": [1_700_000_050, 1_700_000_060],
        "dates": [20_240_301_003_000, 20_240_301_003_001],
        "old": [600_000_000_050, 600_000_000_060],
    }
    protection = {**LANDMARKS, "landmarks": [moved[name]]} if name in moved else LANDMARKS
    return [policy("a", protection=protection, epsilon=50.0), *DOUBTED[name][0]]


@pytest.mark.parametrize("name", DOUBTED)
def test_replay_asks_before_it_writes(tmp_path: Path, cli: Cli, name: str) -> None:
    """The message has the finding, the remedy and the name that accepts it; nothing exists yet, not even a key."""
    check = CHECK_OF.get(name, name)
    file = saved(tmp_path / "events.jsonl", *rows(name))
    command = ["replay", file, "--out", str(tmp_path / "out")]
    others = [word for other in CHECKS if other != check for word in ("--accept", other)]
    for more in ([], others, ["--json"]):
        said = cli(*command, *more, code=2)
        assert said.out == ""
        _, marked, after = said.err.partition("clamped\n")  # the counts that are told privately stand above
        asked = after if marked else said.err
        assert asked.startswith(f"landmark-stream replay: {file}: {DOUBTED[name][1]}")
        assert said.err.count(" if this is intended, add --accept ") == said.err.count(f"--accept {check}\n") == 1
        assert said.err.endswith(f"{file}: nothing was written, and no budget was spent\n")
        assert not (tmp_path / "out").exists()
    assert main([*command, "--accept", check]) == 0
    assert (tmp_path / "out" / "releases.jsonl").stat().st_size > 0


def test_rows_out_of_order_are_told_before_the_landmarks_that_they_miss(tmp_path: Path, cli: Cli) -> None:
    """The file starts with its last row, so no other row is decided; the zone is not the problem."""
    begun = [policy("a", protection=LANDMARKS, epsilon=50.0), reading(300), *WEEK]
    file = saved(tmp_path / "events.jsonl", *begun)
    said = cli("replay", file, "--out", tmp_path / "out", code=2).err
    assert 0 < said.index("--accept order") < said.index("--accept landmarks")


@pytest.mark.parametrize("name", DOUBTED)
def test_send_asks_before_it_sends(tmp_path: Path, cli: Cli, config: Path, name: str) -> None:
    """It asks before it looks for a broker, which does not exist: only accepted input gets that far."""
    check = CHECK_OF.get(name, name)
    command = ["send", saved(tmp_path / "events.jsonl", *rows(name)), "--config", str(config)]
    said = cli(*command, code=2).err
    assert DOUBTED[name][1] in said
    assert f"--accept {check}\n" in said
    assert said.endswith("nothing was sent\n")
    assert "127.0.0.1:1" in cli(*command, "--accept", check, code=2).err


def test_send_looks_at_order_without_a_policy(tmp_path: Path, cli: Cli, config: Path) -> None:
    """The topic may have the policy, so a missing one refuses nothing; times alone reveal what is late."""
    for records, told in ((WEEK, "127.0.0.1:1"), (SHUFFLED, "100 of 200 rows are older than a row of their series")):
        assert told in cli("send", saved(tmp_path / "events.jsonl", *records), "--config", config, code=2).err


def test_one_per_cent_may_be_refused(tmp_path: Path, cli: Cli) -> None:
    """Two of 200 rows are reported below the totals; one more makes it ask."""
    for wrong, code in ((2, 0), (3, 2)):
        records = [
            policy("a", epsilon=50.0),
            *WEEK[: 199 - wrong],
            *(reading(300 + at, "x") for at in range(wrong)),
        ]
        file = saved(tmp_path / "events.jsonl", *records)
        assert f"{file}:" in cli("replay", file, "--out", str(tmp_path / f"out-{wrong}"), code=code).err


def test_checks_regard_new_rows(tmp_path: Path, cli: Cli) -> None:
    """Accepted doubts are not asked about again; new rows are, unless they repeat earlier ones."""
    path, out = tmp_path / "events.jsonl", tmp_path / "out"
    earlier = [policy("a", protection=LANDMARKS, epsilon=50.0), *SHUFFLED]

    def asked(records: list[Any], *words: str, code: int = 0) -> str:
        return cli("replay", saved(path, *records), "--out", out, *words, code=code).err

    asked(earlier, code=2)
    asked(earlier, "--accept", "order")
    before = (out / "ledger.jsonl").read_bytes()
    asked(earlier)  # nothing is new
    later = [reading(at) for at in range(300, 340)]
    grown = [*earlier, *later]
    asked(grown)  # landmarks that lie before the new rows were met by earlier ones
    assert (out / "ledger.jsonl").read_bytes().startswith(before)
    repeated = [*grown, *SHUFFLED[:100], *(reading(at) for at in range(400, 440))]
    asked(repeated)  # an export that begins anew with rows of before
    held = (out / "ledger.jsonl").read_bytes()
    again = [*repeated, reading(7, 2.5), reading(500)]
    assert "1 of 2 rows are older than a row of their series" in asked(again, code=2)
    assert (out / "ledger.jsonl").read_bytes() == held
    wrong = [*repeated, *later[:3], reading(500, "x"), reading(501)]
    assert "1 of 5 rows would be rejected (1 invalid-value)" in asked(wrong, code=2)


def test_a_replacement_that_is_refused_moves_nothing(tmp_path: Path) -> None:
    """The earlier files stay where they are, and no spare key remains."""
    path, out = tmp_path / "events.jsonl", tmp_path / "out"
    assert main(["replay", saved(path, policy("a"), *WEEK), "--out", str(out)]) == 0
    before = {each.name: each.read_bytes() for each in out.iterdir()}
    assert main(["replay", saved(path, policy("a"), *SHUFFLED), "--out", str(out), "--replace"]) == 2
    assert {each.name: each.read_bytes() for each in out.iterdir()} == before


VECTOR = {"kind": "vector", "parts": {"x": {"lower": 0, "upper": 1, "resolution": 0.1}}}
CLAMPED: dict[str, tuple[Any, list[Any]]] = {
    "number": (policy("a"), [1.0, 10.0, 10.5, -3]),
    "location": (
        policy("a", value=LOCATION),
        [{"latitude": 0.0, "longitude": 200.0}, {"latitude": 89.0, "longitude": 0.0}],
    ),
    "vector": (policy("a", value=VECTOR), [{"x": 2.0}, {"x": 1.5}, {"x": 0.5}]),
}


@pytest.mark.parametrize("kind", CLAMPED)
@pytest.mark.parametrize("command", ["replay", "send"])
def test_clamped_values_are_told_privately(tmp_path: Path, cli: Cli, config: Path, kind: str, command: str) -> None:
    """The note is on standard error only, with its mark; no output has the count, and no value appears."""
    begun, values = CLAMPED[kind]
    records = [begun, *(reading(at, value) for at, value in enumerate(values, 1))]
    file = saved(tmp_path / "events.jsonl", *records)
    words = ["--out", str(tmp_path / "out"), "--json"] if command == "replay" else ["--config", str(config), "--json"]
    said = cli(command, file, *words, code=0 if command == "replay" else 2)
    told = f"2 of {len(values)} values lie outside the range of their policy and are clamped"
    assert f"landmark-stream {command}: PRIVATE, protect this like the raw data: {told}" in said.err
    assert "clamped" not in said.out
    if command == "replay":
        assert not [each for each in (tmp_path / "out").iterdir() if b"outside" in each.read_bytes()]


@pytest.mark.parametrize("aggregate", ["sum", "mean"])
def test_steps_are_clamped_by_what_their_readings_come_to(tmp_path: Path, cli: Cli, aggregate: str) -> None:
    """24 hours of quarters in Wh under a policy in kWh: each closed step counts, and the open one does not."""
    hour = 3_600_000
    protection = {"level": "event", "step": hour, "within": aggregate, "open_steps": 1}
    readings = [reading(nth * hour // 4 - START % hour, 500.0) for nth in range(24 * 4 + 1)]
    file = saved(tmp_path / "wh.jsonl", policy("a", protection=protection, epsilon=50.0), *readings)
    said = cli("replay", file, "--out", tmp_path / "out", code=2).err
    assert "24 of 24 values lie outside the range of their policy and are clamped\n" in said
    assert "most values of a are above the upper end of their range" in said
    assert cli("replay", file, "--out", tmp_path / "out", "--accept", "clamped").out


def test_a_substitute_that_swallows_a_file_is_asked_about(tmp_path: Path, cli: Cli) -> None:
    """With decimal commas and `invalid` 0, every value would be published as 0."""
    (tmp_path / "a.csv").write_text("time;kwh\n" + "".join(f'{START + at};"1,5"\n' for at in range(20)))
    value = {"kind": "number", "lower": 0, "upper": 10, "resolution": 0.5, "invalid": 0}
    rules = saved(tmp_path / "policies.jsonl", policy("a", value=value, epsilon=50.0))
    words: list[str | Path] = ["replay", tmp_path / "a.csv", "--policies", rules, "--series", "a"]
    words += ["--timestamp-column", "time", "--value-columns", "kwh", "--out", tmp_path / "out"]
    for more in ([], ["--json"]):
        said = cli(*words, *more, code=2)
        assert "the policy's substitute (`invalid`) replaces more than 1 % of the values" in said.err
        assert "add --accept substituted\n" in said.err
        assert "a.csv:2: kwh: a number like 1,5 has a decimal comma; add --decimal ,\n" in said.err
    accepted = cli(*words, "--accept", "substituted")
    assert "PRIVATE, protect this like the raw data: the policy's substitute replaces 20 of 20 values" in accepted.err
    assert "PRIVATE" not in cli(*words, "--decimal", ",", "--replace").err


def test_each_series_must_meet_one_of_its_landmarks(tmp_path: Path, cli: Cli) -> None:
    """A series whose landmarks are a year off is named, even if all landmarks of another are met."""
    far = {**LANDMARKS, "landmarks": [[START + 5150, START + 5160]]}
    begun = [policy("a", protection=LANDMARKS, epsilon=50.0), policy("b", protection=far, epsilon=50.0)]
    rows = [reading(at, series=name) for at in range(1, 201) for name in "ab"]
    file = saved(tmp_path / "events.jsonl", *begun, *rows)
    said = cli("replay", file, "--out", tmp_path / "out", code=2).err
    assert "10 of 20 landmark steps have an event; none in b: the events are from 2023-11-14T22:13:20.001Z" in said
    assert cli("replay", file, "--out", tmp_path / "out", "--accept", "landmarks").out


def test_series_that_may_be_one_are_told(tmp_path: Path, cli: Cli) -> None:
    """This also applies to event records, whose series are taken unchanged."""
    file = saved(tmp_path / "events.jsonl", policy("a"), policy("a "), reading(1), reading(1, series="a "))
    said = cli("replay", file, "--out", tmp_path / "out").err
    assert "PRIVATE, protect this like the raw data: a and 'a ' differ only in case or spaces; if they are one" in said


@pytest.mark.parametrize("protection", [{"within": "sum", "open_steps": 1}, {"unit": HOUR_MS, "open_steps": 1}])
def test_readings_that_all_lie_in_one_open_step_are_asked_about(
    tmp_path: Path, cli: Cli, protection: dict[str, Any]
) -> None:
    """Nothing would be released, so the unit of the times may be wrong. A later run has decided steps before."""
    divided = {"level": "event", "step": HOUR_MS, **protection}
    ruling = policy("a", protection=divided, epsilon=50.0)
    if "unit" in protection:
        ruling = units(series="a", protection={"step": 24 * HOUR_MS, "unit": HOUR_MS, "open_steps": 1})
    few = [reading(at) for at in range(10)]
    said = cli("replay", saved(tmp_path / "events.jsonl", ruling, *few), "--out", tmp_path / "out", code=2).err
    assert "all readings of a are in one step, from 2023-11-14T" in said
    assert said.count("--accept times\n") == 1
    whole = saved(tmp_path / "events.jsonl", ruling, *few, reading(48 * HOUR_MS))
    cli("replay", whole, "--out", tmp_path / "out")
    closed = {"type": "watermark", "series": "a", "timestamp": START + 48 * HOUR_MS}
    cli("replay", saved(tmp_path / "closed.jsonl", ruling, *few, closed), "--out", tmp_path / "closed")
    more = saved(tmp_path / "events.jsonl", ruling, *few, *(reading(48 * HOUR_MS + at) for at in range(20)))
    cli("replay", more, "--out", tmp_path / "out")


def test_a_row_far_after_its_neighbours_is_named(tmp_path: Path, cli: Cli) -> None:
    """One clock that is ahead would make all later rows late; unordered rows are reported as such."""
    days = [reading(at * 24 * HOUR_MS) for at in range(20)]
    days[5] = reading(400 * 24 * HOUR_MS)
    said = cli("replay", saved(tmp_path / "events.jsonl", policy("a"), *days), "--out", tmp_path / "out", code=2).err
    told = "2024-12-18T22:13:20Z is 394 d later than the neighbouring rows of its series, so 14 of 21 rows would be"
    assert told in said
    assert (
        "its clock may be ahead; correct its time, or omit the row; if this is intended, add --accept order\n"
    ) in said
    assert "sort" not in said


def test_send_names_series_without_a_policy(tmp_path: Path, cli: Cli, config: Path) -> None:
    """A sender who does not wait for the answer would not learn that all rows were refused."""
    file = saved(tmp_path / "events.jsonl", policy("e"), *(reading(1, series=name) for name in "abcde"))
    told = "send: no policy for a, b, c and 1 more series is known here: a worker rejects"
    assert told in cli("send", file, "--config", config, code=2).err
    assert "is known here" not in cli("send", file, "--config", config, "--wait", "5", code=2).err
