"""What looks wrong with the rows of a file: `replay` and `send` ask before anything is written or sent."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from stream_app.cli import main
from stream_app.replaying.doubts import CHECKS
from tests.run import LOCATION, observation, policy

LANDMARKS = {"level": "landmark", "landmarks": [[150, 160]], "step": 1}
WEEK: list[Any] = [observation("a", at, 1.0) for at in range(1, 201)]
SHUFFLED = [*WEEK[100:140], *WEEK[:100], *WEEK[140:]]
DOUBTED: dict[str, tuple[list[Any], str]] = {
    "landmarks": ([one for one in WEEK if not 150 <= one["timestamp"] < 160], "0 of 10 landmark steps met an event: "),
    "seconds": (
        [observation("a", 1_700_000_000 + at, 1.0) for at in range(200)],
        "200 of 201 rows: 1700000000 looks like seconds: as milliseconds it is 1970-01-20T",
    ),
    "order": (SHUFFLED, "100 of 201 rows lie before a row of their series that comes earlier in the input: "),
    "refused": (
        [*WEEK, *(observation("a", 201 + at, "x") for at in range(3))],
        "3 of 204 rows would be refused (3 invalid-value); ",
    ),
}
DOUBTED["outside"] = (
    [observation("a", at, 1.0) for at in range(1000, 1200)],
    "0 of 10 landmark steps met an event: the events are of 1970-01-01T00:00:01",
)


def written(path: Path, records: Iterable[Any]) -> str:
    """Write records, one a line; return the name of the file."""
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return str(path)


def rows(name: str) -> list[Any]:
    """Return a file with something wrong, and its policy in front."""
    protection = {**LANDMARKS, "landmarks": [[1_700_000_050, 1_700_000_060]]} if name == "seconds" else LANDMARKS
    return [policy("a", protection=protection, epsilon=50.0), *DOUBTED[name][0]]


@pytest.mark.parametrize("name", DOUBTED)
def test_replay_asks_before_it_writes(tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    """What was found, the remedy and the name that accepts it; then nothing is there, not even a key."""
    check = "landmarks" if name == "outside" else name
    file = written(tmp_path / "events.jsonl", rows(name))
    command = ["replay", file, "--out", str(tmp_path / "out")]
    others = [word for other in CHECKS if other != check for word in ("--accept", other)]
    for more in ([], others, ["--json"]):
        assert main([*command, *more]) == 2
        said = capsys.readouterr()
        assert said.out == ""
        assert said.err.startswith(f"landmark-stream replay: {file}: {DOUBTED[name][1]}")
        assert said.err.count(" if that is meant, add --accept ") == said.err.count(f"--accept {check}\n") == 1
        assert said.err.endswith(f"{file}: nothing was written, and no budget is spent\n")
        assert not (tmp_path / "out").exists()
    assert main([*command, "--accept", check]) == 0
    assert (tmp_path / "out" / "releases.jsonl").stat().st_size > 0


@pytest.mark.parametrize("name", DOUBTED)
def test_send_asks_before_it_sends(tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    """Before it looks for a broker, which is not there: only what is accepted gets so far."""
    check = "landmarks" if name == "outside" else name
    config = tmp_path / "away.toml"
    config.write_text('bootstrap_servers = "127.0.0.1:1"\n')
    command = ["send", written(tmp_path / "events.jsonl", rows(name)), "--config", str(config)]
    assert main(command) == 2
    said = capsys.readouterr().err
    assert DOUBTED[name][1] in said
    assert f"--accept {check}\n" in said
    assert said.endswith("nothing was sent\n")
    assert main([*command, "--accept", check]) == 2
    assert "127.0.0.1:1" in capsys.readouterr().err


def test_send_looks_at_order_without_a_policy(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The topic may have the policy, so nothing is refused for want of one; times alone tell what comes late."""
    config = tmp_path / "away.toml"
    config.write_text('bootstrap_servers = "127.0.0.1:1"\n')
    for records, told in ((WEEK, "127.0.0.1:1"), (SHUFFLED, "100 of 200 rows lie before a row of their series")):
        assert main(["send", written(tmp_path / "events.jsonl", records), "--config", str(config)]) == 2
        assert told in capsys.readouterr().err


def test_one_per_cent_may_be_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two of 200 rows are told below the totals; a row more asks."""
    for wrong, code in ((2, 0), (3, 2)):
        records = [
            policy("a", epsilon=50.0),
            *WEEK[: 199 - wrong],
            *(observation("a", 300 + at, "x") for at in range(wrong)),
        ]
        file = written(tmp_path / "events.jsonl", records)
        assert main(["replay", file, "--out", str(tmp_path / f"out-{wrong}")]) == code
        assert f"{file}:" in capsys.readouterr().err


def test_checks_regard_new_rows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What was accepted once is not asked about again; new rows are, but not those that repeat earlier ones."""
    path, out = tmp_path / "events.jsonl", tmp_path / "out"
    earlier = [policy("a", protection=LANDMARKS, epsilon=50.0), *SHUFFLED]

    def code(records: list[Any], *words: str) -> int:
        return main(["replay", written(path, records), "--out", str(out), *words])

    assert code(earlier) == 2
    assert code(earlier, "--accept", "order") == 0
    before = (out / "ledger.jsonl").read_bytes()
    assert code(earlier) == 0, "nothing is new"
    later = [observation("a", at, 1.0) for at in range(300, 340)]
    grown = [*earlier, *later]
    assert code(grown) == 0, "landmarks that lie before the new rows were met by earlier ones"
    assert (out / "ledger.jsonl").read_bytes().startswith(before)
    repeated = [*grown, *SHUFFLED[:100], *(observation("a", at, 1.0) for at in range(400, 440))]
    assert code(repeated) == 0, "an export that begins anew with rows of before"
    held = (out / "ledger.jsonl").read_bytes()
    capsys.readouterr()
    assert code([*repeated, observation("a", 7, 2.5), observation("a", 500, 1.0)]) == 2
    assert "1 of 2 rows lie before a row of their series" in capsys.readouterr().err
    assert (out / "ledger.jsonl").read_bytes() == held
    assert code([*repeated, *later[:3], observation("a", 500, "x"), observation("a", 501, 1.0)]) == 2
    assert "1 of 5 rows would be refused (1 invalid-value)" in capsys.readouterr().err


def test_a_replacement_that_is_refused_moves_nothing(tmp_path: Path) -> None:
    """The files of before stay where they are, and no spare key is left."""
    path, out = tmp_path / "events.jsonl", tmp_path / "out"
    assert main(["replay", written(path, [policy("a"), *WEEK]), "--out", str(out)]) == 0
    before = {each.name: each.read_bytes() for each in out.iterdir()}
    assert main(["replay", written(path, [policy("a"), *SHUFFLED]), "--out", str(out), "--replace"]) == 2
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
def test_clamped_values_are_told_privately(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str, command: str
) -> None:
    """On standard error alone, with its mark; no output has the count, and no value shows."""
    begun, values = CLAMPED[kind]
    records = [begun, *(observation("a", at, value) for at, value in enumerate(values, 1))]
    file, config = written(tmp_path / "events.jsonl", records), tmp_path / "away.toml"
    config.write_text('bootstrap_servers = "127.0.0.1:1"\n')
    words = ["--out", str(tmp_path / "out"), "--json"] if command == "replay" else ["--config", str(config), "--json"]
    assert main([command, file, *words]) == (0 if command == "replay" else 2)
    said = capsys.readouterr()
    told = f"2 of {len(records)} rows have a value outside the range of their policy"
    assert f"landmark-stream {command}: PRIVATE, keep it as the raw data: {told}" in said.err
    assert "clamped" not in said.out
    if command == "replay":
        assert not [each for each in (tmp_path / "out").iterdir() if b"outside" in each.read_bytes()]
