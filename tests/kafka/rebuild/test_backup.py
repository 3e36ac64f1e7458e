"""Backups on real brokers: a cold copy works elsewhere; a copy of the outputs alone is never used as state."""

import asyncio
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from stream_app.localbroker.broker import LocalBroker
from tests.kafka.acts import stopped, store_row, stored_row
from tests.kafka.installation import Installation, readings
from tests.kafka.replayed import assert_topics_hold_what_replay_computes


def test_a_cold_copy_goes_on_elsewhere(tmp_path: Path) -> None:
    """Another broker on the copied folder has everything; what is sent to it gives the same outputs as here."""
    with LocalBroker.start(tmp_path / "first") as first:
        installation = Installation(first, tmp_path / "site", "copied")
        total = installation.send(readings(60))
        installation.decide(total)
    shutil.copytree(tmp_path / "first" / "data", tmp_path / "second" / "data")
    with LocalBroker.start(tmp_path / "second") as second:
        moved = replace(installation, broker=second)
        shutil.rmtree(moved.folder / "data-a")  # as the page says
        total += moved.send(readings(40, start=60))
        moved.decide(total)
        moved.answered_once()
        assert moved.command("audit") == 0
        assert_topics_hold_what_replay_computes(moved)


INSTALLED: dict[str, Any] = {"partitions": 1}


@pytest.fixture
def installation(installation: Installation) -> Installation:
    """Let something be decided."""
    installation.decide(installation.send(readings(20)))
    return installation


def test_outputs_without_their_input_are_no_state(
    installation: Installation, capsys: pytest.CaptureFixture[str]
) -> None:
    """With nothing but ledger and releases, new events would be skipped: no partition continues there."""
    installation.delete(installation.names.events)
    installation.delete(installation.names.changelog)
    shutil.rmtree(installation.folder / "data-a")
    installation.send(readings(5, start=20))
    stopped(installation, "row-missing")
    capsys.readouterr()
    assert installation.command("recover") == 2
    said = capsys.readouterr().err
    assert "input-short" in said
    assert "the log ends at 5" in said
    assert len(installation.read(installation.names.releases)) == 20


def test_a_state_ahead_of_its_input_stops(installation: Installation) -> None:
    """If the events topic lost its end, later events would pass unnoticed."""
    row = stored_row(installation)
    asyncio.run(
        store_row(installation, replace(row, next_offset=row.next_offset + 1, recall_offset=row.next_offset + 1))
    )
    stopped(installation, "input-short")
