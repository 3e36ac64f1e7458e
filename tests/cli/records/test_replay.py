"""``replay``: files in, files out, as a user runs it."""

import json
import stat
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from stream_app.cli import main
from stream_app.deciding.context import Context, Limits
from stream_app.setup import keyfile
from tests.collected import schedules
from tests.deciding.test_rows import records
from tests.hostile import hostile
from tests.run import ACCEPTING, KINDS, NUMBER, Run, observation, policy

POLICY = {"series": "home-*", "epsilon": 1.0, "protection": {"level": "landmark", "landmarks": [2000], "step": 1000}}
CSV = """when,kwh,house
1970-01-01T01:00:01+01:00,1.5,home-7
2000,2.25,home-7
3000,oops,home-7
2000,3,home-7
9,1,shed
"""


def policies(folder: Path) -> Path:
    """Write the default policies of these tests."""
    path = folder / "policies.jsonl"
    path.write_text(json.dumps({**POLICY, "scheme": {"name": "uniform"}, "value": NUMBER}) + "\n")
    return path


def test_csv_and_json_lines_of_the_same_events_decide_alike(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """ISO and integer timestamps, numbers and text read as the records they stand for."""
    key, table, lines = tmp_path / "key", tmp_path / "events.csv", tmp_path / "events.jsonl"
    keyfile.create(key)
    table.write_text(CSV)
    rows = [
        ("home-7", 1000, 1.5),
        ("home-7", 2000, 2.25),
        ("home-7", 3000, "oops"),
        ("home-7", 2000, 3),
        ("shed", 9, 1),
    ]
    lines.write_text("".join(json.dumps(observation(*row)) + "\n" for row in rows))
    common = ["--policies", str(policies(tmp_path)), "--key", str(key), "--json"]
    mapping = ["--series-column", "house", "--timestamp-column", "when", "--value-columns", "kwh"]
    assert main(["replay", str(table), "--out", str(tmp_path / "a"), *mapping, *common, *ACCEPTING]) == 0
    assert main(["replay", str(lines), "--out", str(tmp_path / "b"), *common, *ACCEPTING]) == 0
    totals = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert totals[0] == totals[1]
    assert (totals[0]["events"], totals[0]["perturbed"], totals[0]["rejected"]) == (5, 2, 3)
    for name in ("releases", "ledger", "rejects"):
        assert (tmp_path / "a" / f"{name}.jsonl").read_bytes() == (tmp_path / "b" / f"{name}.jsonl").read_bytes()
    rejects = [json.loads(line) for line in (tmp_path / "a" / "rejects.jsonl").read_text().splitlines()]
    assert [(reject["series"], reject["timestamp"], reject["reason"]) for reject in rejects] == [
        ("home-7", 3000, "invalid-value"),
        ("home-7", 2000, "duplicate"),
        ("shed", 9, "no-policy"),
    ]
    assert main(["audit", "--ledger", str(tmp_path / "a" / "ledger.jsonl")]) == 0


def test_it_says_why_records_were_rejected(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A line for each reason below the totals: how many, what it means, what to do; no value and no series."""
    events = tmp_path / "events.jsonl"
    rows = [("home-7", 2000, 1.5), ("home-7", 1000, 4.5), ("home-7", 500, 4.5), ("secret-shed", 9, 1)]
    events.write_text("".join(json.dumps(observation(*row)) + "\n" for row in rows))
    out = ["--out", str(tmp_path / "out"), "--policies", str(policies(tmp_path))]
    assert main(["replay", str(events), *out, *ACCEPTING]) == 0
    _, totals, *reasons, _ = capsys.readouterr().out.splitlines()
    assert "3 rejected" in totals
    assert [line.partition(":")[0] for line in reasons] == ["2 late", "1 no-policy"]
    assert all("; what to do: " in line for line in reasons)
    assert "secret" not in "".join(reasons)


def test_whatever_was_rejected_is_explained(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each record that can be written has a sentence of its own, and none of them an error of Python's."""
    odd: list[dict[str, Any]] = [
        observation("home-7", 2000, found) for found in ([1], [], {"a": [1]}, {}, None, True, "")
    ]
    odd += [{"type": "member", "member": "", "epsilon": 3}, {"type": "member"}, {"type": ["member"]}, {"series": [1]}]
    odd += [{"type": name, "series": 5} for name in ("policy", "landmarks", "watermark", "intrusion", "contribution")]
    events, out = tmp_path / "events.jsonl", tmp_path / "out"
    for nth, record in enumerate(odd):
        events.write_text(f"{json.dumps(observation('home-7', 1000, 1.5))}\n{json.dumps(record)}\n")
        words = ["replay", str(events), "--out", str(out / str(nth)), "--policies", str(policies(tmp_path))]
        assert main([*words, *ACCEPTING]) == 0
        said = capsys.readouterr().err
        assert f"{events}:2: " in said, record
        assert record.get("type") != "member" or "series" not in said.partition(":2: ")[2]


@pytest.mark.parametrize("json_too", [[], ["--json"]])
def test_a_series_that_no_policy_is_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], json_too: list[str]
) -> None:
    """Where all records lack a policy the code is 2, and nothing is written; the option and the file are named."""
    table, rules = tmp_path / "events.csv", policies(tmp_path)
    table.write_text("t,v\n1000,1\n2000,2\n")
    words = ["replay", str(table), "--out", str(tmp_path / "out"), "--timestamp-column", "t", "--value-columns", "v"]
    assert main([*words, "--series", "shed", "--policies", str(rules), *json_too]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert not (tmp_path / "out").exists()
    assert said.err == (
        f"landmark-stream replay: no record was decided: no policy of {rules} (--policies) is for --series shed; "
        "write both alike\n"
    )
    assert main([*words, "--series", "shed", *json_too]) == 2
    assert "give --policies" in capsys.readouterr().err
    table.write_text("t,v\n")
    assert main([*words, "--series", "shed", *json_too]) == 0, "nothing was to be decided"


def test_it_decides_what_the_decision_path_decides(tmp_path: Path) -> None:
    """Without ``--key`` the noise key is made of the folder's own one and of the input; the outputs are of that key."""
    records = [policy("a"), *(observation("a", step, 1) for step in range(5)), {"type": "close", "series": "a"}]
    events = tmp_path / "events.jsonl"
    events.write_text("".join(json.dumps(record) + "\n" for record in records))
    out = tmp_path / "out"
    assert main(["replay", str(events), "--out", str(out)]) == 0
    told = json.loads((out / "replay.json").read_text())
    keys = keyfile.load(out / "replay.key").derived(bytes.fromhex(told["digest"]))
    assert (told["first"], told["records"], told["key"]) == (told["digest"], len(records), keys.fingerprint)
    run = Run(type(Run().context)(keys)).feed_all(json.dumps(record).encode() for record in records)
    assert (out / "ledger.jsonl").read_bytes().splitlines() == run.ledger
    assert (out / "releases.jsonl").read_bytes().splitlines() == run.releases


def test_wrong_words_exit_2_with_the_remedy(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A missing mapping, a missing column and a faulty policy each name field and remedy."""
    table = tmp_path / "events.csv"
    table.write_text(CSV)
    out = ["--out", str(tmp_path / "out")]
    assert main(["replay", str(table), *out]) == 2
    assert "--timestamp-column" in capsys.readouterr().err
    mapping = ["--series", "x", "--timestamp-column", "time", "--value-columns", "kwh"]
    assert main(["replay", str(table), *out, *mapping]) == 2
    assert "no column time" in capsys.readouterr().err
    faulty = tmp_path / "faulty.jsonl"
    faulty.write_text(json.dumps({**POLICY, "scheme": {"name": "skip"}, "value": NUMBER, "sparee": 2}) + "\n")
    assert main(["replay", str(table), *out, *mapping, "--policies", str(faulty)]) == 2
    assert "sparee" in capsys.readouterr().err


OUTPUTS = ("releases", "ledger", "rejects")


def outputs(folder: Path) -> list[bytes]:
    """Return the bytes of all three files."""
    return [(folder / f"{name}.jsonl").read_bytes() for name in OUTPUTS]


@pytest.mark.parametrize("kind", list(KINDS))
def test_reruns_with_the_same_key_are_identical(tmp_path: Path, kind: str) -> None:
    """Every kind: a second run in the folder, and two under one key file elsewhere, give the same bytes."""
    events = tmp_path / "events.jsonl"
    log = records(kind, "adaptive", "level")
    events.write_bytes(b"\n".join(json.dumps(record).encode() for record in log) + b"\n\n")
    first = tmp_path / "first"
    config = tmp_path / "settings.toml"
    config.write_text("lifetime_epsilon = 10.0\nmax_future_ms = 1\n")
    command = ["replay", str(events), "--config", str(config), *ACCEPTING]
    assert main([*command, "--out", str(first)]) == 0
    seen = outputs(first)
    assert seen[0].count(b"\n") > 12
    assert main([*command, "--out", str(first)]) == 0
    assert outputs(first) == seen
    keyfile.create(tmp_path / "key")
    for name in ("one", "other", "other"):
        assert main([*command, "--out", str(tmp_path / name), "--key", str(tmp_path / "key")]) == 0
    assert outputs(tmp_path / "other") == outputs(tmp_path / "one")
    assert main([*command, "--out", str(tmp_path / "fresh")]) == 0
    assert outputs(tmp_path / "fresh") != seen
    assert stat.S_IMODE((tmp_path / "fresh" / "replay.key").stat().st_mode) == 0o600
    files = ["--ledger", str(first / "ledger.jsonl"), "--releases", str(first / "releases.jsonl")]
    # The ledger alone does not say what lifetime the operator allowed beyond the first epsilon.
    assert main(["audit", *files, "--lifetime", "10"]) == 0


def test_no_raw_value_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Neither messages nor outputs of rejected and unreadable input hold a cell of it."""
    table = tmp_path / "events.csv"
    out = ["--out", str(tmp_path / "out")]
    mapping = ["--series", "b", "--timestamp-column", "t", "--value-columns", "v"]
    for text in (
        "1000,canary1\n2000,canary2\n",
        "t,v\n1000,canary\n--5,canary\n²,canary\n",
        "t,v\n2026-01-31T08:00:00,canary\n",
        't,v\n1000,"canary\n',
        "t,v\n1000," + "canary" * 30_000 + "\n",
    ):
        table.write_text(text)
        assert main(["replay", str(table), *out, *mapping, *ACCEPTING]) in {0, 2}
        said = capsys.readouterr()
        assert "canary" not in said.out + said.err
    table.write_bytes(b"t,v\n1000,canary\xff\n")
    assert main(["replay", str(table), *out, *mapping]) == 2
    assert "UTF-8" in capsys.readouterr().err
    assert "canary" not in "".join(path.read_text() for path in (tmp_path / "out").iterdir())


def test_unusable_files_leave_earlier_results(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A missing input, policies or key, or a folder that is a file, is exit 2, and nothing is emptied."""
    events = tmp_path / "events.jsonl"
    events.write_text("".join(json.dumps(record) + "\n" for record in (policy("a"), observation("a", 1, 1))))
    out = tmp_path / "out"
    assert main(["replay", str(events), "--out", str(out)]) == 0
    before = outputs(out)
    for words in (
        [str(tmp_path / "none.jsonl"), "--out", str(out)],
        [str(tmp_path / "none.csv"), "--out", str(out)],
        [str(events), "--out", str(out), "--policies", str(tmp_path / "none")],
        [str(events), "--out", str(out), "--key", str(tmp_path / "none")],
        [str(events), "--out", str(out), "--config", str(tmp_path / "none")],
        [str(events), "--out", str(events)],
    ):
        assert main(["replay", *words]) == 2
        assert "Traceback" not in capsys.readouterr().err
        assert outputs(out) == before


@settings(max_examples=10, suppress_health_check=list(HealthCheck))
@given(log=schedules())
def test_collected_data(tmp_path: Path, log: list[dict[str, Any]]) -> None:
    """Contributions, watermarks and intrusions are decided byte for byte as by the worker's decision path."""
    key, events, config = tmp_path / "key", tmp_path / "events.jsonl", tmp_path / "settings.toml"
    if not key.exists():
        keyfile.create(key)
    events.write_text("".join(json.dumps(record) + "\n" for record in log))
    config.write_text("lifetime_epsilon = 1000000\n")
    words = ["--out", str(tmp_path / "out"), "--key", str(key), "--config", str(config)]
    assert main(["replay", str(events), *words, *ACCEPTING, "--replace"]) == 0
    context = Context(keyfile.load(key), limits=Limits(lifetime_nano=10**15))
    run = Run(context).feed_all(log)
    assert outputs(tmp_path / "out") == [b"".join(line + b"\n" for line in lines) for lines in run.outputs]


def test_hostile_lines_are_answered(tmp_path: Path) -> None:
    """A file of any bytes is replayed to its end, one reject or decision a line."""
    lines = [record for record, _ in hostile(np.random.default_rng(5), 2000) if record and b"\n" not in record]
    events = tmp_path / "events.jsonl"
    events.write_bytes(b"\n".join(lines))
    wanted = sum(bool(line.strip()) for line in lines)
    assert main(["replay", str(events), "--out", str(tmp_path), *ACCEPTING]) == 0
    entries = [json.loads(line) for line in outputs(tmp_path)[1].splitlines()]
    decided = sum(entry["entry"] != "policy" for entry in entries)
    own = sum(entry["entry"] == "policy" for entry in entries)
    assert decided + own + outputs(tmp_path)[2].count(b"\n") == wanted
