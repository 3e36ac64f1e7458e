"""Steps and series without formulas: every figure is the one of the ledger, and no formula is left."""

from pathlib import Path

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stream_app.audit.explain.inquiry import Inquiry
from stream_app.audit.explain.plain import plain_of
from stream_app.cli import main
from stream_app.words.amount import amount, promised
from tests.audit.histories import History, histories
from tests.audit.test_agreement import literally_spent
from tests.audit.written import LEDGERS, write
from tests.used import literally_used

SAID = {
    "perturbed": "was published with fresh noise",
    "approximated": "repeats what is known",
    "withheld": "Nothing was",
}


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(histories(), st.data())
def test_a_step_in_plain_words(history: History, data: st.DataObject) -> None:
    """What became of it, what it cost and what was used since, by literal sums over the ledger up to it."""
    entries = [orjson.loads(line) for line in history.ledger]
    places = [place for place, entry in enumerate(entries) if entry["entry"] == "release"]
    if not places:
        return
    place = data.draw(st.sampled_from(places))
    entry = entries[place]
    inquiry = Inquiry(entry["series"], entry["timestamp"])
    inquiry.entries(history.ledger)
    text = plain_of(inquiry.answer())
    assert SAID[entry["decision"]] in text
    spend = literally_spent(history.ledger[: place + 1]) - literally_spent(history.ledger[:place])
    assert (f"That cost epsilon {amount(spend)};" if spend else "That cost nothing;") in text
    used = literally_used(history.ledger[: place + 1])[entry["series"], entry["policy"]]
    assert f"since then {promised(*used)} is used" in text
    assert not {"//", "=", "_nano", "None"} & set(text.replace(".", " ").split())


def test_both_commands_speak_plainly(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of a step, and of a series; with a paragraph for its person, unless the ledger does not hold."""
    written, ledger = write(LEDGERS["uniform"]), tmp_path / "ledger.jsonl"
    ledger.write_bytes(b"".join(line + b"\n" for line in written.lines()))
    step = str(next(entry["timestamp"] for entry in written.entries if entry["entry"] == "release"))
    assert main(["explain", "home-7", step, "--plain", "--ledger", str(ledger)]) == 0
    assert capsys.readouterr().out.startswith("The step of home-7 that begins at 1970-01-01T00:0")
    assert main(["standing", "home-7", "--plain", "--ledger", str(ledger)]) == 0
    promise, told = capsys.readouterr().out.split("\n\n")
    assert promise.startswith("home-7: the promise\n  Any two histories of home-7 that differ only at ")
    assert told.startswith("home-7: what to tell the person\n  About you (home-7) values are published")
    assert all(len(line) < 80 for line in (promise + told).splitlines())
    del written.entries[2]
    ledger.write_bytes(b"".join(line + b"\n" for line in written.lines()))
    assert main(["standing", "home-7", "--plain", "--ledger", str(ledger)]) == 1
    assert "Nothing may be told yet: the ledger has 1 fault here" in " ".join(capsys.readouterr().out.split())
