"""Steps and series without formulas: every figure is the ledger's, and no formula remains."""

from collections.abc import Sequence
from math import exp
from pathlib import Path

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stream_app.audit.explain.inquiry import Inquiry
from stream_app.audit.explain.text import plain_of
from stream_app.privacy.noise.mechanisms import truth_probability
from stream_app.words.amount import amount, of_limit
from tests.audit.histories import DATA, History, histories
from tests.audit.test_agreement import literally_spent
from tests.audit.written import LEDGERS, write
from tests.collected import collected, contribution, watermark
from tests.command import Cli
from tests.run import NUMBER, Record, Run, observation, policy
from tests.suite.speeds import scaled
from tests.used import literally_used

SAID = {
    "perturbed": "was published with fresh noise",
    "approximated": "repeats what is known",
    "withheld": "Nothing was",
}


@settings(max_examples=scaled(60), suppress_health_check=[HealthCheck.too_slow])
@given(histories(), st.data())
def test_a_step_in_plain_words(history: History, data: st.DataObject) -> None:
    """Its outcome, its cost and the amount used after it agree with literal sums over the ledger up to it."""
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
    assert (f"This cost epsilon {amount(spend)}." if spend else "This cost nothing.") in text
    used = literally_used(history.ledger[: place + 1])[entry["series"], entry["policy"]]
    assert f"After it, {of_limit(*used)} is used" in text
    assert not {"//", "=", "_nano", "None"} & set(text.replace(".", " ").split())


CATEGORY = {"kind": "category", "categories": ["a", "b", "c", "d"]}
COUNTS = {"kind": "counts", "keys": ["x", "y"], "sensitivity": 2}
PLACE = {
    "kind": "location",
    "radius": 120,
    "resolution": 10,
    "bounds": {"south": -10.95, "west": -37.1, "north": -10.9, "east": -37},
}
CHOICE = {"kind": "choice", "items": ["x", "y"]}


@pytest.mark.parametrize("epsilon", [0.5, 2, 1000])
def test_noise_in_plain_words(epsilon: float) -> None:
    """Its effect on a measurement agrees with the mechanism's own probability and with sums over its law."""

    def told(value: Record, data: object) -> str:
        return noise_of([policy("a", epsilon=epsilon, protection={"level": "event"}, value=value), observed(data)])

    def observed(data: object) -> Record:
        return observation("a", 5, data)

    chance = truth_probability(int(epsilon * 10**9), 4)
    truth = (
        f"It is the true category with a probability of {100 * chance:.3g} %, and otherwise any of the other "
        "categories."
    )
    assert told(CATEGORY, "a") == truth
    decay = exp(-epsilon / 2)
    off = sum(2 * size * decay**size for size in range(1, 1000)) * (1 - decay) / (1 + decay)
    assert told(COUNTS, {"x": 1, "y": 2}) == f"Each count has an average error of {off:.4g}."
    metres = 2 * 120 / epsilon
    assert told(PLACE, DATA["location"]) == f"The noisy position has an average error of {metres:.4g} metres."
    assert told(NUMBER, 3) == f"The noisy value has an average error of {10 / epsilon:.4g}, in the unit of the values."


@pytest.mark.parametrize(("neighbours", "halved"), [("replace", 2), ("add-remove", 1)])
def test_a_draw_in_plain_words(neighbours: str, halved: int) -> None:
    """This many fewer contributors divide an item's weight by e.

    Theorem 6 of McSherry and Talwar halves epsilon.
    """
    collect = {"neighbours": neighbours, "open_steps": 2}
    given = collected(1, collect, series="a", epsilon=0.25, value=CHOICE)
    opened, ended = (watermark(at, series="a") for at in (0, 45))
    log = [given, opened, contribution(5, "m", "x", series="a"), ended]
    assert f"An item chosen by {halved / 0.25:.4g} fewer contributors is e (2.72) times less likely" in noise_of(log)


def noise_of(log: Sequence[Record]) -> str:
    """Return the sentence about the noise of a log's first release."""
    run = Run().feed_all(log)
    (entry, *_) = (entry for entry in map(orjson.loads, run.ledger) if entry["entry"] == "release")
    inquiry = Inquiry("a", entry["timestamp"])
    inquiry.entries(run.ledger)
    (_, after) = plain_of(inquiry.answer()).split("Its value was published with fresh noise. ")
    return after[: after.index(" This cost")]


def test_both_commands_speak_plainly(tmp_path: Path, cli: Cli) -> None:
    """They describe a step and a series, with a paragraph for the person unless the ledger does not hold."""
    written, ledger = write(LEDGERS["uniform"]), tmp_path / "ledger.jsonl"
    ledger.write_bytes(b"".join(line + b"\n" for line in written.lines()))
    step = str(next(entry["timestamp"] for entry in written.entries if entry["entry"] == "release"))
    said = cli("explain", "home-7", step, "--plain", "--ledger", ledger).out
    assert said.startswith("The step of home-7 that begins at 1970-01-01T00:0")
    standing = ("standing", "home-7", "--plain", "--ledger", ledger)
    promise, told = cli(*standing).out.split("\n\n")
    assert promise.startswith("home-7: the guarantee\n  Take two histories of home-7 that differ only at ")
    assert told.startswith("home-7: what to tell the person\n  Values about you (home-7) are published")
    assert all(len(line) < 80 for line in f"{promise}\n{told}".splitlines())
    del written.entries[2]
    ledger.write_bytes(b"".join(line + b"\n" for line in written.lines()))
    said = " ".join(cli(*standing, code=1).out.split())
    assert "Do not tell the person anything yet: the ledger has 1 fault here" in said
