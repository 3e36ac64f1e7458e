"""``left`` on a real ledger: aborted entries bind, from the topic and from a file."""

import asyncio
import json
from pathlib import Path

import pytest

from stream_app.cli import main
from stream_app.kafka.client.routing import router
from stream_app.localbroker.broker import LocalBroker
from tests.kafka.acts import abort_entries
from tests.kafka.installation import HOUR_MS, START_MS, Installation
from tests.kafka.replayed import replay

STEPS = 4
SERIES = "home-1"


def test_aborted_entries_are_spent(broker: LocalBroker, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Entries that a worker left before its commit count as if committed; entries in both count once."""
    installation = Installation(broker, tmp_path / "site", "left-aborted")
    installation.policy["scheme"] = {"name": "balanced"}
    events = [{"series": SERIES, "timestamp": START_MS + step * HOUR_MS, "value": 1} for step in range(STEPS + 1)]
    total = installation.send(events[:STEPS])
    installation.decide(total)
    # The last committed entries again, as of a batch that was tried twice, and one more that never came to a commit: of
    # the step behind them, which the worker would decide next.
    (installation.folder / "key").chmod(0o600)
    installation.send(events[STEPS:])
    ledger = [json.loads(line) for line in (replay(installation) / "ledger.jsonl").read_bytes().splitlines()]
    partition = router(installation.partitions)(SERIES.encode())
    asyncio.run(abort_entries(installation, partition, STEPS - 1, ledger[-3:]))
    config = installation.config()

    def said(*words: str, code: int = 0) -> tuple[str, str]:
        """Return the standard output and the messages of a command."""
        capfd.readouterr()
        assert main([*words]) == code
        found = capfd.readouterr()
        return found.out, found.err

    everything = said("left", "--ledger", str(installation.folder / "replay" / "ledger.jsonl"), "--without-aborted")
    assert json.loads(everything[0].splitlines()[2])["timestamp"] == START_MS + (STEPS + 1) * HOUR_MS - 1
    assert said("left", "--config", config) == everything

    whole, committed = tmp_path / "whole.jsonl", tmp_path / "committed.jsonl"
    whole.write_text(said("read", "ledger", "--uncommitted", "--config", config)[0])
    committed.write_text(said("read", "ledger", "--config", config)[0])
    assert len(whole.read_text().splitlines()) == 1 + len(committed.read_text().splitlines()) + 3
    assert said("left", "--ledger", str(whole)) == everything
    assert "--uncommitted" in said("audit", "--ledger", str(whole), code=2)[1]
    assert said("audit", "--ledger", str(committed))[0].startswith("HOLDS")

    # What the page's script did: of committed entries alone it made a fence before a processed step.
    forgotten = said("left", "--ledger", str(committed), "--without-aborted")
    assert json.loads(forgotten[0].splitlines()[2])["timestamp"] == START_MS + STEPS * HOUR_MS - 1
    said("left", "--ledger", str(committed), code=2)
