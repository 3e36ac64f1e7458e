"""``replay``: files in, files out, as a user runs it."""

import json
from pathlib import Path

import pytest

from stream_app import keyfile
from stream_app.cli import main
from tests.run import NUMBER, Run, observation, policy

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
    assert main(["replay", str(table), "--out", str(tmp_path / "a"), *mapping, *common]) == 0
    assert main(["replay", str(lines), "--out", str(tmp_path / "b"), *common]) == 0
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


def test_it_decides_what_the_decision_path_decides(tmp_path: Path) -> None:
    """Without ``--key`` a private key is made in the folder; its outputs are those of that key."""
    records = [policy("a"), *(observation("a", step, 1) for step in range(5)), {"type": "close", "series": "a"}]
    events = tmp_path / "events.jsonl"
    events.write_text("".join(json.dumps(record) + "\n" for record in records))
    out = tmp_path / "out"
    assert main(["replay", str(events), "--out", str(out)]) == 0
    context = type(Run().context)(keyfile.load(out / "replay.key"))
    run = Run(context).feed_all(json.dumps(record).encode() for record in records)
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
