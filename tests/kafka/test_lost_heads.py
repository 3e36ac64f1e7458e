"""Logs that lost their head: nobody gets budget again, and nothing goes on unnoticed."""

import asyncio
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from stream_app.kafka.broker import LocalBroker
from stream_app.kafka.row import UNKNOWN
from tests.kafka.installation import Installation, readings
from tests.kafka.storedrow import store_row, stored_row


@pytest.fixture
def installation(broker: LocalBroker, tmp_path: Path, request: pytest.FixtureRequest) -> Installation:
    """An installation of one partition, in whose logs twenty series come first, and then one alone."""
    made = Installation(broker, tmp_path, request.node.name.replace("test_", "").replace("_", "-"), partitions=1)
    total = made.send(readings(40))
    with made.worker() as worker:
        worker.await_committed(total)
        total += made.send({**one, "series": "home-busy"} for one in readings(30, series=1))
        worker.await_committed(total)
        assert worker.stop() == 0
    return made


def lose_changelog_head(installation: Installation) -> int:
    """Delete all but the last transaction, as weeks of ``cleanup.policy=delete`` do; return the new start."""
    changelog = installation.names.changelog
    rows = [record.offset for record in installation.read(changelog) if record.key == b"\x00partition"]
    installation.reconfigure(changelog, cleanup_policy="delete")
    installation.forget(changelog, rows[-2] + 1)
    installation.reconfigure(changelog)
    shutil.rmtree(installation.folder / "data-a", ignore_errors=True)
    return int(rows[-2]) + 1


def test_a_changelog_without_its_head_gives_no_budget_again(
    installation: Installation, capsys: pytest.CaptureFixture[str]
) -> None:
    """Idle series have no row any more: it stops, and `recover` mends it for good."""
    start = lose_changelog_head(installation)
    total = 70 + installation.send(readings(20, start=40))
    assert installation.command("topics", "--check") == 2
    assert '"reason": "changelog-short"' in capsys.readouterr().out
    with installation.worker() as worker:
        assert worker.await_end() == 1
        assert "stopped (changelog-short)" in worker.log.read_text()
        assert f"begins at {start}" in worker.log.read_text()
    assert installation.command("recover") == 0
    assert stored_row(installation).changelog_first == start
    assert installation.command("topics", "--check") == 0
    for _ in range(2):
        shutil.rmtree(installation.folder / "data-a", ignore_errors=True)
        with installation.worker() as worker:
            worker.await_committed(total)
            total += installation.send(readings(20, start=total - 30))
            worker.await_committed(total)
            assert worker.stop() == 0
    installation.answered_once()
    assert installation.command("audit") == 0


def test_a_ledger_without_its_head_is_noticed_while_the_rows_are_there(
    installation: Installation, capsys: pytest.CaptureFixture[str]
) -> None:
    """Later `recover` would know nothing of the series that stood in it."""
    installation.forget(installation.names.ledger, 10)
    assert installation.command("topics", "--check") == 2
    assert '"reason": "ledger-short"' in capsys.readouterr().out
    with installation.worker() as worker:
        assert worker.await_end() == 1
        assert "stopped (ledger-short)" in worker.log.read_text()
    assert installation.command("recover") == 2
    assert "(ledger-short)" in capsys.readouterr().err


def test_rows_of_an_earlier_version_adopt_what_is_there(installation: Installation) -> None:
    """Nobody knows whether a log that does not begin at 0 ever held more: the worker warns, and remembers."""
    installation.forget(installation.names.ledger, 10)
    older = replace(stored_row(installation), changelog_first=UNKNOWN, ledger_first=UNKNOWN, releases_offset=UNKNOWN)
    asyncio.run(store_row(installation, older))
    with installation.worker() as worker:
        total = 70 + installation.send(readings(20, start=40))
        worker.await_committed(total)
        assert "the ledger begins at offset 10" in worker.log.read_text()
        assert worker.stop() == 0
    assert stored_row(installation).ledger_first == 10
    installation.forget(installation.names.ledger, 20)
    with installation.worker() as worker:
        assert worker.await_end() == 1
        assert "stopped (ledger-short)" in worker.log.read_text()
