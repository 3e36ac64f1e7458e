"""What ``replay`` says first and last: the used part of the guarantee, and the sum no guarantee covers."""

from pathlib import Path
from typing import Any

import pytest

from stream_app.words.amount import largest_loss, summed
from tests.audit.test_agreement import literally_spent
from tests.command import Cli, saved
from tests.deciding.test_rows import records
from tests.run import ACCEPTING, SCHEMES, observation, policy
from tests.used import literally_used, worst

WEEK = {"level": "w-event", "window": 3, "step": 10}
PRIVATE = {"name": "ba", "dissimilarity": "private"}
LOGS: dict[str, list[Any]] = {name: records("number", name, "none") for name in SCHEMES} | {
    "vector": records("vector", "balanced", "level"),
    "user": [policy("a", protection={"level": "user", "length": 9, "step": 10}, epsilon=3.0)],
    "private": [policy("a", protection=WEEK, epsilon=2.5, scheme=PRIVATE)],
    "nothing": [{"type": "close", "series": "a"}],
}
LOGS["user"] += [observation("a", 10 * step, 1) for step in range(12)]
LOGS["private"] += [observation("a", 10 * step, step % 4) for step in range(12)]
LOGS["several"] = [*LOGS["user"], *LOGS["adaptive"]]


@pytest.mark.parametrize("name", LOGS)
def test_what_was_used_is_first_and_the_sum_is_last(tmp_path: Path, cli: Cli, name: str) -> None:
    """Both match literal sums over the written ledger; amounts are in nano-epsilon only with ``--json``."""
    command = ["replay", *ACCEPTING, saved(tmp_path / "events.jsonl", *LOGS[name]), "--out", str(tmp_path / "out")]
    printed = cli(*command).out
    totals = cli(*command, "--json").document
    ledger = (tmp_path / "out" / "ledger.jsonl").read_bytes().splitlines()
    spent, steps = literally_spent(ledger), sum(totals[each] for each in ("perturbed", "approximated", "withheld"))
    assert totals["spent_nano"] == spent
    assert printed.endswith(f"\n{summed(spent, steps)}\n")
    assert "nano" not in printed
    literal = literally_used(ledger)
    assert bool(literal) == (name != "nothing")
    if literal:
        used, epsilon = worst(literal)
        assert printed.startswith(largest_loss(used, epsilon, whose="; ")[:-1])
        assert (totals["used"]["used_nano"], totals["used"]["epsilon_nano"]) == (used, epsilon)
    else:
        assert "used" not in totals
