"""What looks wrong with the rows of a file: `replay` and `send` ask before anything is written or sent."""

from pathlib import Path
from typing import Any

import pytest

from stream_app.cli import main
from stream_app.replaying.doubts import CHECKS
from tests.command import Cli, saved
from tests.run import LOCATION, observation, policy
from tests.units import units

LANDMARKS = {"level": "landmark", "landmarks": [[150, 160]], "step": 1}
WEEK: list[Any] = [observation("a", at, 1.0) for at in range(1, 201)]
SHUFFLED = [*WEEK[100:140], *WEEK[:100], *WEEK[140:]]
DOUBTED: dict[str, tuple[list[Any], str]] = {
    "landmarks": ([one for one in WEEK if not 150 <= one["timestamp"] < 160], "0 of 10 landmark steps met an event: "),
    "times": (
        [observation("a", 1_700_000_000 + at, 1.0) for at in range(200)],
        "200 of 201 rows: 1700000000 looks like seconds: as milliseconds it is 1970-01-20T",
    ),
    "order": (SHUFFLED, "100 of 201 rows lie before a row of their series that comes earlier in the input: "),
    "refused": (
        [*WEEK, *(observation("a", 201 + at, "x") for at in range(3))],
        "3 of 204 rows would be refused (3 invalid-value); ",
    ),
}
DOUBTED["dates"] = (
    [observation("a", 20_240_301_000_000 + 3000 * at, 1.0) for at in range(20)],
    "20 of 21 rows: 20240301000000 looks like a date of 14 digits; say so with --time-format %Y%m%d%H%M%S",
)
DOUBTED["clock ahead"] = (
    [*WEEK, observation("a", 7_000_000_000_000, 1.0)],
    "1 of 202 rows: 7000000000000 is 2191-10-27T12:26:40Z, which lies after tomorrow",
)
DOUBTED["clamped"] = (
    [observation("a", at, 1000.0 if at > 20 else 1.0) for at in range(1, 201)],
    "most values of a lie above the upper end of their range, which is published for them; is the unit another one",
)
DOUBTED["outside"] = (
    [observation("a", at, 1.0) for at in range(1000, 1200)],
    "0 of 10 landmark steps met an event: the events are from 1970-01-01T00:00:01",
)

CHECK_OF = {"outside": "landmarks", "dates": "times", "clock ahead": "times"}


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """Return settings with a broker that is not there."""
    (tmp_path / "away.toml").write_text('bootstrap_servers = "127.0.0.1:1"\n')
    return tmp_path / "away.toml"


def rows(name: str) -> list[Any]:
    """Return a file with something wrong, and its policy in front."""
    moved = {"times": [1_700_000_050, 1_700_000_060], "dates": [20_240_301_003_000, 20_240_301_003_001]}
    protection = {**LANDMARKS, "landmarks": [moved.get(name, [150, 160])]}
    return [policy("a", protection=protection, epsilon=50.0), *DOUBTED[name][0]]


@pytest.mark.parametrize("name", DOUBTED)
def test_replay_asks_before_it_writes(tmp_path: Path, cli: Cli, name: str) -> None:
    """What was found, the remedy and the name that accepts it; then nothing is there, not even a key."""
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
        assert said.err.count(" if that is meant, add --accept ") == said.err.count(f"--accept {check}\n") == 1
        assert said.err.endswith(f"{file}: nothing was written, and no budget is spent\n")
        assert not (tmp_path / "out").exists()
    assert main([*command, "--accept", check]) == 0
    assert (tmp_path / "out" / "releases.jsonl").stat().st_size > 0


def test_rows_out_of_order_are_told_before_the_landmarks_that_they_miss(tmp_path: Path, cli: Cli) -> None:
    """The file begins with its last row, so no other is decided; zones are not what is wrong."""
    begun = [policy("a", protection=LANDMARKS, epsilon=50.0), observation("a", 300, 1.0), *WEEK]
    file = saved(tmp_path / "events.jsonl", *begun)
    said = cli("replay", file, "--out", tmp_path / "out", code=2).err
    assert 0 < said.index("--accept order") < said.index("--accept landmarks")


@pytest.mark.parametrize("name", DOUBTED)
def test_send_asks_before_it_sends(tmp_path: Path, cli: Cli, config: Path, name: str) -> None:
    """Before it looks for a broker, which is not there: only what is accepted gets so far."""
    check = CHECK_OF.get(name, name)
    command = ["send", saved(tmp_path / "events.jsonl", *rows(name)), "--config", str(config)]
    said = cli(*command, code=2).err
    assert DOUBTED[name][1] in said
    assert f"--accept {check}\n" in said
    assert said.endswith("nothing was sent\n")
    assert "127.0.0.1:1" in cli(*command, "--accept", check, code=2).err


def test_send_looks_at_order_without_a_policy(tmp_path: Path, cli: Cli, config: Path) -> None:
    """The topic may have the policy, so nothing is refused for want of one; times alone tell what comes late."""
    for records, told in ((WEEK, "127.0.0.1:1"), (SHUFFLED, "100 of 200 rows lie before a row of their series")):
        assert told in cli("send", saved(tmp_path / "events.jsonl", *records), "--config", config, code=2).err


def test_one_per_cent_may_be_refused(tmp_path: Path, cli: Cli) -> None:
    """Two of 200 rows are told below the totals; a row more asks."""
    for wrong, code in ((2, 0), (3, 2)):
        records = [
            policy("a", epsilon=50.0),
            *WEEK[: 199 - wrong],
            *(observation("a", 300 + at, "x") for at in range(wrong)),
        ]
        file = saved(tmp_path / "events.jsonl", *records)
        assert f"{file}:" in cli("replay", file, "--out", str(tmp_path / f"out-{wrong}"), code=code).err


def test_checks_regard_new_rows(tmp_path: Path, cli: Cli) -> None:
    """What was accepted once is not asked about again; new rows are, but not those that repeat earlier ones."""
    path, out = tmp_path / "events.jsonl", tmp_path / "out"
    earlier = [policy("a", protection=LANDMARKS, epsilon=50.0), *SHUFFLED]

    def asked(records: list[Any], *words: str, code: int = 0) -> str:
        return cli("replay", saved(path, *records), "--out", out, *words, code=code).err

    asked(earlier, code=2)
    asked(earlier, "--accept", "order")
    before = (out / "ledger.jsonl").read_bytes()
    asked(earlier)  # nothing is new
    later = [observation("a", at, 1.0) for at in range(300, 340)]
    grown = [*earlier, *later]
    asked(grown)  # landmarks that lie before the new rows were met by earlier ones
    assert (out / "ledger.jsonl").read_bytes().startswith(before)
    repeated = [*grown, *SHUFFLED[:100], *(observation("a", at, 1.0) for at in range(400, 440))]
    asked(repeated)  # an export that begins anew with rows of before
    held = (out / "ledger.jsonl").read_bytes()
    again = [*repeated, observation("a", 7, 2.5), observation("a", 500, 1.0)]
    assert "1 of 2 rows lie before a row of their series" in asked(again, code=2)
    assert (out / "ledger.jsonl").read_bytes() == held
    wrong = [*repeated, *later[:3], observation("a", 500, "x"), observation("a", 501, 1.0)]
    assert "1 of 5 rows would be refused (1 invalid-value)" in asked(wrong, code=2)


def test_a_replacement_that_is_refused_moves_nothing(tmp_path: Path) -> None:
    """The files of before stay where they are, and no spare key is left."""
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
    """On standard error alone, with its mark; no output has the count, and no value shows."""
    begun, values = CLAMPED[kind]
    records = [begun, *(observation("a", at, value) for at, value in enumerate(values, 1))]
    file = saved(tmp_path / "events.jsonl", *records)
    words = ["--out", str(tmp_path / "out"), "--json"] if command == "replay" else ["--config", str(config), "--json"]
    said = cli(command, file, *words, code=0 if command == "replay" else 2)
    told = f"2 of {len(values)} values lie outside the range of their policy and are clamped"
    assert f"landmark-stream {command}: PRIVATE, protect this like the raw data: {told}" in said.err
    assert "clamped" not in said.out
    if command == "replay":
        assert not [each for each in (tmp_path / "out").iterdir() if b"outside" in each.read_bytes()]


def test_what_a_reading_of_a_unit_repeats(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A unit takes many readings, so the moment and the unit are named; a step takes one record, or one a moment."""
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
    ]
    assert main([*words, "--out", str(tmp_path / "units")]) == 0
    said = capsys.readouterr().err
    second = "a second reading of sugar-1 at 1970-01-01T00:30Z, in the unit from 1970-01-01T00:00Z on"
    assert f"units.jsonl:4: {second}, which takes one of each moment\n" in said
    assert "lies before another reading of the unit from 1970-01-01T00:00Z on, or in a step that is over" in said
    within = policy("a", protection={"level": "event", "step": hour, "within": "sum", "open_steps": 1})
    twice = [observation("a", half, 1.0)] * 2
    for name, ruling, told in (
        ("within", within, "a second reading of a at 1970-01-01T00:30Z, of which a step takes one\n"),
        ("plain", policy("a"), "a second record of a for the step of 1970-01-01T00:30Z, which has one release\n"),
    ):
        file = saved(tmp_path / f"{name}.jsonl", ruling, *twice)
        assert main(["replay", file, "--out", str(tmp_path / name), "--accept", "refused"]) == 0
        assert f"{name}.jsonl:3: {told}" in capsys.readouterr().err


@pytest.mark.parametrize("aggregate", ["sum", "mean"])
def test_steps_are_clamped_by_what_their_readings_come_to(tmp_path: Path, cli: Cli, aggregate: str) -> None:
    """24 hours of quarters in Wh where the policy has kWh: each closed one counts, and the open one does not."""
    hour = 3_600_000
    protection = {"level": "event", "step": hour, "within": aggregate, "open_steps": 1}
    readings = [observation("a", nth * hour // 4, 500.0) for nth in range(24 * 4 + 1)]
    file = saved(tmp_path / "wh.jsonl", policy("a", protection=protection, epsilon=50.0), *readings)
    said = cli("replay", file, "--out", tmp_path / "out", code=2).err
    assert "24 of 24 values lie outside the range of their policy and are clamped\n" in said
    assert "most values of a lie above the upper end of their range" in said
    assert cli("replay", file, "--out", tmp_path / "out", "--accept", "clamped").out


def test_a_substitute_that_swallows_a_file_is_asked_about(tmp_path: Path, cli: Cli) -> None:
    """Decimal commas under `invalid` 0: every value would be published as 0."""
    (tmp_path / "a.csv").write_text("time;kwh\n" + "".join(f'{1000 + at};"1,5"\n' for at in range(20)))
    value = {"kind": "number", "lower": 0, "upper": 10, "resolution": 0.5, "invalid": 0}
    rules = saved(tmp_path / "policies.jsonl", policy("a", value=value, epsilon=50.0))
    words: list[str | Path] = ["replay", tmp_path / "a.csv", "--policies", rules, "--series", "a"]
    words += ["--timestamp-column", "time", "--value-columns", "kwh", "--out", tmp_path / "out"]
    for more in ([], ["--json"]):
        said = cli(*words, *more, code=2)
        assert "the policy's substitute (`invalid`) stands for more than 1 % of the values" in said.err
        assert "add --accept substituted\n" in said.err
    accepted = cli(*words, "--accept", "substituted")
    assert "PRIVATE, protect this like the raw data: for 20 of 20 values the policy's substitute stands" in accepted.err
    assert "PRIVATE" not in cli(*words, "--decimal", ",", "--replace").err


def test_each_series_must_meet_one_of_its_landmarks(tmp_path: Path, cli: Cli) -> None:
    """One whose landmarks are a year off is named, though all of another one's are met."""
    far = {**LANDMARKS, "landmarks": [[5150, 5160]]}
    begun = [policy("a", protection=LANDMARKS, epsilon=50.0), policy("b", protection=far, epsilon=50.0)]
    rows = [observation(name, at, 1.0) for at in range(1, 201) for name in "ab"]
    file = saved(tmp_path / "events.jsonl", *begun, *rows)
    said = cli("replay", file, "--out", tmp_path / "out", code=2).err
    assert "10 of 20 landmark steps met an event; none of b: the events are from 1970-01-01T00:00:00.001Z" in said
    assert cli("replay", file, "--out", tmp_path / "out", "--accept", "landmarks").out


def test_each_sort_of_refused_rows_is_explained_once(tmp_path: Path, cli: Cli) -> None:
    """With its first line, and how many there are."""
    cells = ["1.5"] * 10 + ['"1,5"'] * 3 + ["2 kWh"] * 2 + ["", "13,600".join('""')]
    (tmp_path / "a.csv").write_text("time;kwh\n" + "".join(f"{at};{cell}\n" for at, cell in enumerate(cells, 1000)))
    words: list[str | Path] = [
        "replay",
        tmp_path / "a.csv",
        "--policies",
        saved(tmp_path / "policies.jsonl", policy("a", epsilon=50.0)),
    ]
    words += ["--series", "a", "--timestamp-column", "time", "--value-columns", "kwh", "--out", tmp_path / "out"]
    said = cli(*words, code=2).err
    assert "a.csv:12: kwh: a number like 1,5 has a decimal comma; add --decimal , (3 such rows)\n" in said
    assert "a.csv:15: kwh: a number like 1.5 kWh has more than digits and a point; write the number alone (2" in said
    assert "a.csv:17: kwh: is empty; add --missing \"''\", and rows with an empty cell are skipped\n" in said
    assert "a.csv:18: kwh: a number like 13,600 may be 13.6, then add --decimal ,; or 13 thousand, then write" in said
