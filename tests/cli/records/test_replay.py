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
from tests.command import Cli, saved
from tests.deciding.test_rows import records
from tests.hostile import hostile
from tests.run import ACCEPTING, MADE_UP, NUMBER, SAMPLES, Run, observation, policy
from tests.suite.speeds import scaled

POLICY = {"series": "home-*", "epsilon": 1.0, "protection": {"level": "landmark", "landmarks": [2000], "step": 1000}}
CSV = """when,kwh,house
1970-01-01T01:00:01+01:00,1.5,home-7
2000,2.25,home-7
3000,oops,home-7
2000,3,home-7
9,1,shed
"""


def policies(folder: Path) -> str:
    """Write the default policies of these tests."""
    return saved(folder / "policies.jsonl", {**POLICY, "scheme": {"name": "uniform"}, "value": NUMBER})


def test_csv_and_json_lines_of_the_same_events_decide_alike(tmp_path: Path, cli: Cli) -> None:
    """ISO and integer timestamps, numbers and text are read as the records they represent."""
    key, table = tmp_path / "key", tmp_path / "events.csv"
    keyfile.create(key)
    table.write_text(CSV)
    rows = [
        ("home-7", 1000, 1.5),
        ("home-7", 2000, 2.25),
        ("home-7", 3000, "oops"),
        ("home-7", 2000, 3),
        ("shed", 9, 1),
    ]
    lines = saved(tmp_path / "events.jsonl", *(observation(*row) for row in rows))
    common = ["--policies", policies(tmp_path), "--key", str(key), "--json"]
    mapping = ["--series-column", "house", "--timestamp-column", "when", "--value-columns", "kwh"]
    totals = cli("replay", table, "--out", tmp_path / "a", *mapping, *common, *ACCEPTING).document
    assert cli("replay", lines, "--out", tmp_path / "b", *common, *ACCEPTING).document == totals
    assert (totals["events"], totals["perturbed"], totals["rejected"]) == (5, 2, 3)
    for name in ("releases", "ledger", "rejects"):
        assert (tmp_path / "a" / f"{name}.jsonl").read_bytes() == (tmp_path / "b" / f"{name}.jsonl").read_bytes()
    rejects = [json.loads(line) for line in (tmp_path / "a" / "rejects.jsonl").read_text().splitlines()]
    assert [(reject["series"], reject["timestamp"], reject["reason"]) for reject in rejects] == [
        ("home-7", 3000, "invalid-value"),
        ("home-7", 2000, "duplicate"),
        ("shed", 9, "no-policy"),
    ]
    assert main(["audit", "--ledger", str(tmp_path / "a" / "ledger.jsonl")]) == 0


def test_it_says_why_records_were_rejected(tmp_path: Path, cli: Cli) -> None:
    """Each reason has a line below the totals: number, meaning and remedy, but no value and no series."""
    rows = [("home-7", 2000, 1.5), ("home-7", 1000, 4.5), ("home-7", 500, 4.5), ("secret-shed", 9, 1)]
    events = saved(tmp_path / "events.jsonl", *(observation(*row) for row in rows))
    out = ["--out", str(tmp_path / "out"), "--policies", policies(tmp_path)]
    _, totals, *reasons, _ = cli("replay", events, *out, *ACCEPTING).out.splitlines()
    assert "3 rejected" in totals
    assert [line.partition(":")[0] for line in reasons] == ["2 late", "1 no-policy"]
    assert all("; what to do: " in line for line in reasons)
    assert "secret" not in "".join(reasons)


def test_whatever_was_rejected_is_explained(tmp_path: Path, cli: Cli) -> None:
    """Each record has a sentence of its own, and none of them an error of Python's."""
    odd: list[dict[str, Any]] = [
        observation("home-7", 2000, found) for found in ([1], [], {"a": [1]}, {}, None, True, "")
    ]
    odd += [{"type": "member", "member": "", "epsilon": 3}, {"type": "member"}, {"type": ["member"]}, {"series": [1]}]
    odd += [{"type": name, "series": 5} for name in ("policy", "landmarks", "watermark", "intrusion", "contribution")]
    for nth, record in enumerate(odd):
        events = saved(tmp_path / "events.jsonl", observation("home-7", 1000, 1.5), record)
        words = ["replay", events, "--out", f"{tmp_path}/out/{nth}", "--policies", policies(tmp_path)]
        said = cli(*words, *ACCEPTING).err
        assert f"{events}:2: " in said, record
        assert record.get("type") != "member" or "series" not in said.partition(":2: ")[2]


@pytest.mark.parametrize("json_too", [[], ["--json"]])
def test_a_series_that_no_policy_is_for(tmp_path: Path, cli: Cli, json_too: list[str]) -> None:
    """If all records lack a policy, the code is 2 and nothing is written; option and file are named."""
    table, rules = tmp_path / "events.csv", policies(tmp_path)
    table.write_text("t,v\n1000,1\n2000,2\n")
    words = ["replay", str(table), "--out", str(tmp_path / "out"), "--timestamp-column", "t", "--value-columns", "v"]
    said = cli(*words, "--series", "shed", "--policies", rules, *json_too, code=2)
    assert said.out == ""
    assert not (tmp_path / "out").exists()
    assert said.err == (
        f"landmark-stream replay: no record was processed: no policy of {rules} (--policies) matches --series shed; "
        "correct the series or the policy's glob\n"
    )
    assert "add --policies" in cli(*words, "--series", "shed", *json_too, code=2).err
    table.write_text("t,v\n")
    assert main([*words, "--series", "shed", *json_too]) == 0, "nothing was to be decided"


def test_it_decides_what_the_decision_path_decides(tmp_path: Path, cli: Cli) -> None:
    """Without ``--key``, the noise key is derived from the folder's key and the input, and makes the outputs."""
    records = [policy("a"), *(observation("a", step, 1) for step in range(5)), {"type": "close", "series": "a"}]
    out = tmp_path / "out"
    cli("replay", *MADE_UP, saved(tmp_path / "events.jsonl", *records), "--out", out)
    told = json.loads((out / "replay.json").read_text())
    keys = keyfile.load(out / "replay.key").derived(bytes.fromhex(told["digest"]))
    assert (told["first"], told["records"], told["key"]) == (told["digest"], len(records), keys.fingerprint)
    run = Run(type(Run().context)(keys)).feed_all(json.dumps(record).encode() for record in records)
    assert (out / "ledger.jsonl").read_bytes().splitlines() == run.ledger
    assert (out / "releases.jsonl").read_bytes().splitlines() == run.releases


def test_wrong_words_exit_2_with_the_remedy(tmp_path: Path, cli: Cli) -> None:
    """A missing mapping, a missing column and a faulty policy each name field and remedy."""
    table = tmp_path / "events.csv"
    table.write_text(CSV)
    out = ["--out", str(tmp_path / "out")]
    assert "--timestamp-column" in cli("replay", table, *out, code=2).err
    mapping = ["--series", "x", "--timestamp-column", "time", "--value-columns", "kwh"]
    assert "not found: time" in cli("replay", table, *out, *mapping, code=2).err
    faulty = saved(tmp_path / "faulty.jsonl", {**POLICY, "scheme": {"name": "skip"}, "value": NUMBER, "sparee": 2})
    assert "sparee" in cli("replay", table, *out, *mapping, "--policies", faulty, code=2).err


OUTPUTS = ("releases", "ledger", "rejects")


def outputs(folder: Path) -> list[bytes]:
    """Return the bytes of all three files."""
    return [(folder / f"{name}.jsonl").read_bytes() for name in OUTPUTS]


@pytest.mark.parametrize("kind", SAMPLES)
def test_reruns_with_the_same_key_are_identical(tmp_path: Path, kind: str) -> None:
    """For every kind, a second run in the folder and two elsewhere under one key file give the same bytes."""
    events = tmp_path / "events.jsonl"
    log = records(kind, "adaptive", SAMPLES[kind].filters[-1])
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


def test_no_raw_value_is_said(tmp_path: Path, cli: Cli) -> None:
    """For rejected and unreadable input, neither messages nor outputs contain any of its cells."""
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
        said = cli.said()
        assert "canary" not in said.out + said.err
    table.write_bytes(b"t,v\n1000,canary\xff\n")
    assert "UTF-8" in cli("replay", table, *out, *mapping, code=2).err
    assert "canary" not in "".join(path.read_text() for path in (tmp_path / "out").iterdir())


def test_unusable_files_leave_earlier_results(tmp_path: Path, cli: Cli) -> None:
    """A missing input, policies or key, or a folder that is a file, is exit 2, and nothing is emptied."""
    events = saved(tmp_path / "events.jsonl", policy("a"), observation("a", 1, 1))
    out = tmp_path / "out"
    assert main(["replay", *MADE_UP, events, "--out", str(out)]) == 0
    before = outputs(out)
    for words in (
        [str(tmp_path / "none.jsonl"), "--out", str(out)],
        [str(tmp_path / "none.csv"), "--out", str(out)],
        [events, "--out", str(out), "--policies", str(tmp_path / "none")],
        [events, "--out", str(out), "--key", str(tmp_path / "none")],
        [events, "--out", str(out), "--config", str(tmp_path / "none")],
        [events, "--out", events],
    ):
        assert "Traceback" not in cli("replay", *words, code=2).err
        assert outputs(out) == before


@settings(max_examples=scaled(10), suppress_health_check=list(HealthCheck))
@given(log=schedules())
def test_collected_data(tmp_path: Path, log: list[dict[str, Any]]) -> None:
    """Contributions, watermarks and intrusions are decided byte for byte like in the worker's decision path."""
    key, config = tmp_path / "key", tmp_path / "settings.toml"
    if not key.exists():
        keyfile.create(key)
    events = saved(tmp_path / "events.jsonl", *log)
    config.write_text("lifetime_epsilon = 1000000\n")
    words = ["--out", str(tmp_path / "out"), "--key", str(key), "--config", str(config)]
    assert main(["replay", events, *words, *ACCEPTING, "--replace"]) == 0
    context = Context(keyfile.load(key), limits=Limits(lifetime_nano=10**15))
    run = Run(context).feed_all(log)
    assert outputs(tmp_path / "out") == [b"".join(line + b"\n" for line in lines) for lines in run.outputs]


def test_hostile_lines_are_answered(tmp_path: Path) -> None:
    """A file of any bytes is replayed to its end, with one reject or decision per line."""
    lines = [record for record, _ in hostile(np.random.default_rng(5), 2000) if record and b"\n" not in record]
    events = tmp_path / "events.jsonl"
    events.write_bytes(b"\n".join(lines))
    wanted = sum(bool(line.strip()) for line in lines)
    assert main(["replay", str(events), "--out", str(tmp_path), *ACCEPTING]) == 0
    entries = [json.loads(line) for line in outputs(tmp_path)[1].splitlines()]
    decided = sum(entry["entry"] != "policy" for entry in entries)
    own = sum(entry["entry"] == "policy" for entry in entries)
    assert decided + own + outputs(tmp_path)[2].count(b"\n") == wanted
