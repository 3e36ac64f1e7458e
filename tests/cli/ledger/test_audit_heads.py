"""``audit`` with signed heads, and the proof of one series, from files: inputs, messages and exit codes."""

import json
from pathlib import Path
from typing import Any

import orjson
import pytest

from stream_app.cli import main
from stream_app.heads.signing import SigningKey
from tests.audit.heads.signed import Signer, Story, heads_in, tell_story
from tests.command import Cli

SERIES = "home-uniform"
AUDIT = ("audit", "--ledger", "ledger.jsonl", "--heads", "heads.jsonl", "--public-key", "key.pem")
CHECK = ("audit", "--proof", "proof.json", "--ledger", "entry.jsonl", "--public-key", "key.pem")
"""Arguments that check the proof against the single entry in the file beside it."""


@pytest.fixture
def story() -> Story:
    """Return six signed series."""
    return tell_story()


@pytest.fixture
def folder(tmp_path: Path, story: Story, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a working folder for commands, with the story's ledger, heads and public key."""
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "ledger.jsonl", story.ledger())
    write(tmp_path / "heads.jsonl", story.sign(Signer()))
    (tmp_path / "key.pem").write_text(SigningKey(Signer().private).public_pem())
    return tmp_path


def write(path: Path, lines: list[bytes]) -> None:
    """Write lines."""
    path.write_bytes(b"".join(line + b"\n" for line in lines))


@pytest.mark.usefixtures("folder")
def test_a_signed_ledger_holds(story: Story, cli: Cli) -> None:
    """The verdict comes first; the reach of the heads and what cannot be seen come last."""
    said = cli(*AUDIT).out
    unsigned = len(story.ledger()) - sum(map(story.signed, story.written))
    assert said.startswith("HOLDS: no findings\n")
    assert "signed checkpoints (heads): 8 of 2 partitions; the witness has 0 of them" in said
    assert f"{unsigned} entries follow the last checkpoints; nothing shows whether entries are missing there" in said
    assert "without a witness" in said
    document = cli(*AUDIT, "--json").document
    assert document["heads"]["unsigned"] == unsigned
    assert document["holds"] is True


def test_a_shortened_ledger_does_not(folder: Path, story: Story, cli: Cli) -> None:
    """The finding names the series and the first missing entry; without heads the ledger passes."""
    written = story.written[SERIES].copy()
    del written.entries[5:]
    write(folder / "ledger.jsonl", story.ledger({SERIES: written}))
    cli("audit", "--ledger", "ledger.jsonl")
    (finding,) = cli(*AUDIT, "--json", code=1).document["findings"]
    assert (finding["code"], finding["series"], finding["sequence"]) == (
        "signed-missing",
        SERIES,
        story.rounds[1][SERIES],
    )


def test_a_witness_is_compared(folder: Path, cli: Cli) -> None:
    """Comparing with heads kept elsewhere reveals heads that were cut off."""
    (folder / "witness.jsonl").write_bytes((folder / "heads.jsonl").read_bytes())
    assert "the witness has 8 of them" in cli(*AUDIT, "--witness", "witness.jsonl").out
    lines = (folder / "heads.jsonl").read_bytes().splitlines()
    write(folder / "heads.jsonl", lines[: next(index for index, head in heads_in(lines) if head["number"] == 3) + 1])
    assert "witness  -  the witness has head" in cli(*AUDIT, "--witness", "witness.jsonl", code=1).out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--ledger", "ledger.jsonl", "--heads", "heads.jsonl"], "--public-key"),
        (["--ledger", "ledger.jsonl", "--heads", "--public-key", "key.pem"], "add its FILE"),
        (["--ledger", "ledger.jsonl", "--public-key", "key.pem"], "add --heads"),
        (["--ledger", "ledger.jsonl", "--witness", "heads.jsonl"], "add --heads"),
        (["--ledger", "ledger.jsonl", "--heads", "none", "--public-key", "key.pem"], "none: there is no such file"),
        (["--ledger", "ledger.jsonl", "--heads", "heads.jsonl", "--public-key", "none"], "none: there is no such file"),
        (["--ledger", "ledger.jsonl", "--heads", "heads.jsonl", "--public-key", "heads.jsonl"], "keys public"),
        (["--prove", SERIES, "--heads", "heads.jsonl"], "--out FILE"),
        (["--prove", SERIES, "--out", "proof.json"], "--heads"),
        (["--prove", "home", "--heads", "heads.jsonl", "--out", "proof.json"], "no entry for series"),
        (["--prove", SERIES, "--heads", "heads.jsonl", "--out", "none/proof"], "there is no such folder"),
        (["--proof", "key.pem", "--ledger", "ledger.jsonl", "--public-key", "key.pem"], "invalid JSON"),
        (["--proof", "heads.jsonl", "--ledger", "ledger.jsonl", "--public-key", "key.pem"], "audit --prove"),
        (["--proof", "none", "--ledger", "ledger.jsonl", "--public-key", "key.pem"], "none: there is no such file"),
        (["--proof", "none", "--public-key", "key.pem"], "--ledger FILE"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_what_cannot_be_used_exits_2(words: list[str], said: str, cli: Cli) -> None:
    """No report is printed, and the error names what has to be fixed."""
    captured = cli("audit", *words, code=2)
    assert captured.out == ""
    assert said in captured.err


def prove(folder: Path, series: str) -> dict[str, Any]:
    """Write the proof of a series and return it."""
    out = folder / "proof.json"
    assert main(["audit", "--prove", series, "--heads", "heads.jsonl", "--out", str(out)]) == 0
    document: dict[str, Any] = json.loads(out.read_bytes())
    return document


def test_a_proof_needs_one_entry_and_the_key(folder: Path, story: Story, cli: Cli) -> None:
    """The proof of each series is for its last signed entry, and holds with that entry alone."""
    for series, written in story.written.items():
        document = prove(folder, series)
        count = story.signed(series)
        assert document["leaf"] == [series, count, written.entries[count - 1]["hash"]]
        write(folder / "entry.jsonl", [written.lines()[count - 1]])
        cli.said()
        assert cli(*CHECK).out.startswith(
            "HOLDS: the signed checkpoint includes this entry; `audit` of the ledger checks the guarantee"
        )
        write(folder / "entry.jsonl", written.lines())
        assert cli(*CHECK, "--json").document["holds"] is True


def test_a_false_proof_does_not_hold(folder: Path, story: Story, cli: Cli) -> None:
    """Each change is found by its code: another entry, leaf, path, place, head or key."""
    true = prove(folder, SERIES)
    count = story.signed(SERIES)
    lines = story.written[SERIES].lines()
    entry = lines[count - 1]
    forged = orjson.loads(entry)
    forged["key"] = "f" * 16
    for ledger, code in (
        ([], "signed-missing"),
        ([lines[0]], "signed-missing"),
        ([orjson.dumps(forged)], "signed-differs"),
    ):
        write(folder / "entry.jsonl", ledger)
        assert code in cli(*CHECK, code=1).out
    write(folder / "entry.jsonl", [entry])
    head = true["head"]
    for changed, code in (
        ({"index": true["index"] + 1}, "head-leaves"),
        ({"path": true["path"][:-1]}, "head-leaves"),
        ({"path": [*true["path"], "ab" * 32]}, "head-leaves"),
        ({"leaf": [SERIES, count - 1, true["leaf"][2]]}, "head-leaves"),
        ({"head": {**head, "root": "ab" * 32}}, "head-signature"),
        ({"head": {**head, "time": head["time"] + 1}}, "head-signature"),
        ({"head": {**head, "key": "ab" * 8}}, "head-signature"),
    ):
        (folder / "proof.json").write_bytes(orjson.dumps({**true, **changed}))
        found = {finding["code"] for finding in cli(*CHECK, "--json", code=1).document["findings"]}
        assert code in found
    (folder / "proof.json").write_bytes(orjson.dumps(true))
    (folder / "key.pem").write_text(SigningKey(Signer(bytes(32)).private).public_pem())
    assert "head-signature" in cli(*CHECK, code=1).out


def test_the_heads_name_their_ledger(folder: Path, story: Story, cli: Cli) -> None:
    """A file cannot say which ledger was meant, so the report names the heads' ledger, whatever its name."""
    assert "\nthe checkpoints belong to the ledger landmark.ledger\n" in cli(*AUDIT).out
    write(folder / "heads.jsonl", story.sign(Signer(topic="other\x1b[2J")))
    assert "\nthe checkpoints belong to the ledger 'other\\x1b[2J'\n" in cli(*AUDIT).out
    assert cli(*AUDIT, "--json").document["heads"]["topic"] == "other\x1b[2J"


def test_a_hostile_proof_drives_no_terminal(folder: Path, story: Story, cli: Cli) -> None:
    """Its topic, its series and deeply nested content send no control codes to the terminal."""
    true = prove(folder, SERIES)
    write(folder / "entry.jsonl", story.written[SERIES].lines())
    hostile = "\x1b[2J\x1b[HHOLDS\n"
    (folder / "proof.json").write_bytes(
        orjson.dumps({**true, "leaf": [hostile, *true["leaf"][1:]], "head": {**true["head"], "topic": hostile}})
    )
    cli.said()
    said = cli(*CHECK, code=1).out
    assert "\x1b" not in said
    assert "\nHOLDS" not in said
    deep = "[" * 400 + "]" * 400
    (folder / "proof.json").write_text(json.dumps({**true, "head": {"type": 0}}).replace("0}", deep + "}"))
    assert "`head` is not a signed head" in cli(*CHECK, code=2).err
