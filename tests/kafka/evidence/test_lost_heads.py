"""Logs that lost their head: nobody gets budget again, and no partition continues unnoticed."""

import asyncio
import json
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from stream_app.heads.signing import SigningKey
from stream_app.kafka.evidence.row import UNKNOWN
from stream_app.localbroker.broker import LocalBroker
from tests.kafka.acts import stopped, store_row, stored_row
from tests.kafka.installation import HOUR_MS, POLICY, START_MS, Installation, readings


@pytest.fixture
def installation(broker: LocalBroker, tmp_path: Path, request: pytest.FixtureRequest) -> Installation:
    """An installation of one partition, whose logs begin with twenty series, followed by a single one."""
    name = re.sub("[^a-z]+", "-", request.node.name.removeprefix("test_")).strip("-")
    more: dict[str, Any] = {}
    if getattr(request, "param", None) == "signed":
        SigningKey.create(tmp_path / "signing")
        more = {"signing_key_file": tmp_path / "signing", "head_interval_ms": 100}
    made = Installation(broker, tmp_path, name, partitions=1, more=more)
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
    installation.configure(changelog, cleanup_policy="delete")
    installation.forget(changelog, rows[-2] + 1)
    installation.configure(changelog)
    shutil.rmtree(installation.folder / "data-a", ignore_errors=True)
    return int(rows[-2]) + 1


def test_a_changelog_without_its_head_gives_no_budget_again(
    installation: Installation, capsys: pytest.CaptureFixture[str]
) -> None:
    """Idle series have no row any more: the worker stops, and `recover` repairs it for good."""
    start = lose_changelog_head(installation)
    total = 70 + installation.send(readings(20, start=40))
    assert installation.command("topics", "--check") == 2
    assert '"reason": "changelog-short"' in capsys.readouterr().out
    stopped(installation, "stopped (changelog-short)", f"begins at {start}")
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


def lose_ledger_head(installation: Installation) -> None:
    """Delete everything before the busy series: all entries of the others."""
    ledger = installation.names.ledger
    installation.forget(ledger, next(one.offset for one in installation.read(ledger) if one.key == b"home-busy"))


def recovered(installation: Installation, capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    """Return what `recover` reports about the partition."""
    capsys.readouterr()
    assert installation.command("recover", *words) == 0
    (one,) = json.loads(capsys.readouterr().out)["partitions"]
    return dict(one)


def assert_nobody_begins_anew(installation: Installation) -> None:
    """Check that after more input every series' chain continues, with no place and no release twice."""
    total = 70 + installation.send(readings(20, start=40))
    installation.decide(total)
    entries = [json.loads(record.value) for record in installation.read(installation.names.ledger)]
    new = {entry["series"]: entry["sequence"] for entry in entries if entry["series"] != "home-busy"}
    assert len(new) == 20
    assert set(new.values()) == {4}, "a policy and two releases came before"


def test_a_ledger_without_its_head_is_noticed_while_the_rows_are_there(
    installation: Installation, capsys: pytest.CaptureFixture[str]
) -> None:
    """Later nobody could detect it; now complete releases do, or somebody agrees to continue."""
    lose_ledger_head(installation)
    assert installation.command("topics", "--check") == 2
    assert '"reason": "ledger-short"' in capsys.readouterr().out
    stopped(installation, "stopped (ledger-short)")
    assert recovered(installation, capsys)["told_by"] == "releases"
    assert installation.command("topics", "--check") == 0
    assert_nobody_begins_anew(installation)


def test_without_releases_somebody_must_accept_a_lost_head(
    installation: Installation, capsys: pytest.CaptureFixture[str]
) -> None:
    """Releases may have expired; all rows are there, and continue."""
    lose_ledger_head(installation)
    installation.forget(installation.names.releases, 1)
    assert installation.command("recover") == 2
    assert "(ledger-short)" in capsys.readouterr().err
    assert recovered(installation, capsys, "--accept-lost-ledger")["told_by"] == "nobody"
    assert recovered(installation, capsys)["told_by"] == "ledger", "the state says from where it is whole"
    assert_nobody_begins_anew(installation)


@pytest.mark.parametrize("installation", ["unsigned", "signed"], indirect=True)
def test_releases_do_not_tell_what_old_rows_lack(
    installation: Installation, capsys: pytest.CaptureFixture[str], request: pytest.FixtureRequest
) -> None:
    """If rows end before the ledger begins, entries are in neither: heads name the last ones, releases do not."""
    lose_ledger_head(installation)
    asyncio.run(store_row(installation, replace(stored_row(installation), ledger_offset=10)))
    if "unsigned" not in request.node.name:
        assert recovered(installation, capsys)["told_by"] == "heads"
        return
    assert installation.command("recover") == 2
    assert "(ledger-short)" in (said := capsys.readouterr().err)
    assert "a ledger that begins at offset 10 or earlier, because the remaining rows cover it only up to there," in said
    assert recovered(installation, capsys, "--accept-lost-ledger")["told_by"] == "nobody"


@pytest.mark.parametrize("installation", ["signed"], indirect=True)
def test_heads_tell_of_every_series(installation: Installation, capsys: pytest.CaptureFixture[str]) -> None:
    """With the rows, none is missing; if the changelog is lost too, all series of the lost part are."""
    lose_ledger_head(installation)
    installation.forget(installation.names.releases, 1)
    assert recovered(installation, capsys)["told_by"] == "heads"
    installation.delete(installation.names.changelog)
    assert installation.command("recover", "--accept-lost-ledger") == 2
    assert "found no row for 20 of them, whose entries are missing" in capsys.readouterr().err


def test_a_later_loss_of_the_changelog_forgets_nobody(
    installation: Installation, capsys: pytest.CaptureFixture[str]
) -> None:
    """The series in the lost part of the ledger have only releases: no option makes them new series."""
    lose_ledger_head(installation)
    installation.delete(installation.names.changelog)
    stopped(installation, "stopped (ledger-short)")
    for words in ((), ("--accept-lost-ledger",)):
        assert installation.command("recover", *words) == 2
        assert "(ledger-short)" in (said := capsys.readouterr().err)
        assert "found no row for 20 of them, whose entries are missing" in said


def test_rows_of_an_earlier_version_adopt_what_is_there(installation: Installation) -> None:
    """Nobody knows whether a log that does not begin at 0 once held more: the worker warns, and remembers."""
    installation.forget(installation.names.ledger, 10)
    older = replace(stored_row(installation), changelog_first=UNKNOWN, ledger_first=UNKNOWN, releases_offset=UNKNOWN)
    asyncio.run(store_row(installation, older))
    with installation.worker() as worker:
        total = 70 + installation.send(readings(20, start=40))
        worker.await_committed(total)
        assert "the ledger begins at offset 10" in worker.said()
        assert worker.stop() == 0
    assert stored_row(installation).ledger_first == 10
    installation.forget(installation.names.ledger, 20)
    stopped(installation, "stopped (ledger-short)")


def test_a_member_whose_row_is_gone_gets_no_cap_again(
    broker: LocalBroker, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its series have rows, but its cap and their claims have no row or entry: they are not counted from 0."""
    more = {"member_separator": "/", "member_epsilon": 2.0}
    made = Installation(broker, tmp_path, "member-gone", partitions=1, policy={**POLICY, "series": "*"}, more=more)
    total = made.send({**one, "series": series} for one in readings(1, series=1) for series in ("p/a", "p/b"))
    with made.worker() as worker:
        worker.await_committed(total)
        late = [START_MS + 30 * HOUR_MS]
        total += made.send({"type": "landmarks", "series": series, "add": late} for series in ("p/a", "p/b"))
        worker.await_committed(total)
        assert worker.stop() == 0
    lose_changelog_head(made)
    made.forget(
        made.names.ledger,
        next(one.offset for one in made.read(made.names.ledger) if b'"entry":"landmarks"' in one.value),
    )
    assert made.command("recover") == 2
    assert "found no row for 1 of them, whose entries are missing" in capsys.readouterr().err
