"""Trouble around a worker: binding ledger entries, a stolen producer, a killed broker, curious readers."""

import asyncio
import json
import re
from typing import Any

import pytest

from stream_app.cli import main
from stream_app.kafka.client.brokers import PartitionProducer
from stream_app.kafka.client.routing import router
from stream_app.setup import keyfile
from tests.kafka.acts import abort_entries, stopped
from tests.kafka.installation import HOUR_MS, POLICY, START_MS, Installation, readings
from tests.kafka.workerprocess import WorkerProcess
from tests.run import ACCEPTING


def ledger_of(installation: Installation, events: list[dict[str, Any]], *options: str) -> list[dict[str, Any]]:
    """Return the ledger that these events must produce, replayed with additional ``options``."""
    folder = installation.folder
    (folder / "tail.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))
    (folder / "policies.jsonl").write_text(json.dumps(installation.policy))
    command = [
        "replay",
        *ACCEPTING,
        str(folder / "tail.jsonl"),
        "--out",
        str(folder / "tail"),
        "--key",
        str(folder / "key"),
        "--replace",
    ]
    assert main([*command, "--policies", str(folder / "policies.jsonl"), *options]) == 0
    return [json.loads(line) for line in (folder / "tail" / "ledger.jsonl").read_bytes().splitlines()]


def test_aborted_entries_bind(installation: Installation) -> None:
    """A changed configuration must not redraw a release that may have been read; the old one continues."""
    total = installation.send(readings(400))
    installation.decide(total)
    fresh = {"series": "home-999", "timestamp": START_MS, "value": 3}
    partition = router(installation.partitions)(b"home-999")
    offset = sum(record.partition == partition for record in installation.read(installation.names.events))
    asyncio.run(abort_entries(installation, partition, offset, ledger_of(installation, [fresh])))
    total += installation.send([fresh])

    installation.policy = {**POLICY, "epsilon": 2.0}
    stopped(installation, "tail-differs", "the configuration has fingerprint", exit_when_stopped="any")
    assert not [record for record in installation.read(installation.names.releases) if record.key == b"home-999"]

    installation.policy = dict(POLICY)
    installation.decide(total)
    installation.answered_once()

    installation.policy = {**POLICY, "epsilon": 2.0}
    total += installation.send([{"series": "home-1000", "timestamp": START_MS, "value": 3}])
    assert "accepted: the configuration has fingerprint" in installation.decide(total)


def key_info(worker: WorkerProcess) -> str:
    """Return the line of a worker's metrics that names its noise key."""
    (line,) = re.findall(r"^landmark_key_info\{.*$", worker.get("/metrics")[1], re.MULTILINE)
    return str(line)


def test_a_foreign_key_stops_a_worker(installation: Installation, capsys: pytest.CaptureFixture[str]) -> None:
    """It decides nothing, a rehearsal says so in advance, and once accepted, the audit sees series change."""
    total = installation.send(readings(60))
    with installation.worker() as worker:
        worker.await_committed(total)
        own = key_info(worker)
        worker.stop()
    foreign = keyfile.create(installation.folder / "foreign").fingerprint
    total += installation.send(
        later_readings(0, 2) + [{**event, "timestamp": event["timestamp"] + 10**9} for event in readings(60)]
    )
    installation.more["key_file"] = installation.folder / "foreign"
    config = installation.config(f'key_file = "{installation.folder}/foreign"')
    said = stopped(installation, exit_when_stopped="all")
    assert said.count("stopped (key-changed)") >= installation.partitions
    assert f"found a key with fingerprint {foreign}. " in said
    assert "--accept-new-key" in said
    assert main(["worker", "--rehearse", "--config", config]) == 1
    assert capsys.readouterr().out.count("(key-changed)") == installation.partitions
    assert main(["worker", "--rehearse", "--accept-new-key", "--config", config]) == 0
    with installation.worker("a", "--accept-new-key") as worker:
        worker.await_committed(total)
        assert key_info(worker) == f'landmark_key_info{{fingerprint="{foreign}"}} 1.0'
        assert own != key_info(worker)
        worker.stop()
    (warning, *_) = [
        line for line in worker.said().splitlines() if "because of --accept-new-key: the noise key" in line
    ]
    assert "WARNING" in warning.upper()
    assert f"has fingerprint {foreign}" in warning
    capsys.readouterr()
    assert installation.command("audit", "--json") == 0
    keys = json.loads(capsys.readouterr().out)["keys"]
    assert len(keys["used"]) == 2
    assert keys["changed_series"] == len(keys["changes"]) > 0
    assert {change["key"] for change in keys["changes"]} == {foreign}


HOURS = 2
"""The number of steps of home-999 whose entries are abandoned."""


def abandon(installation: Installation, released: int) -> tuple[int, list[dict[str, Any]], list[bytes]]:
    """Abort entries and some releases, lose their input; return the number of inputs, the entries, all releases."""
    total = installation.send(readings(400))
    installation.decide(total)
    partition = router(installation.partitions)(b"home-999")
    offset = sum(record.partition == partition for record in installation.read(installation.names.events))
    lost = later_readings(0, HOURS)
    entries = ledger_of(installation, lost)
    releases = (installation.folder / "tail" / "releases.jsonl").read_bytes().splitlines()
    asyncio.run(abort_entries(installation, partition, offset, entries, *releases[:released]))
    total += installation.send(lost)
    installation.forget_events(offset + HOURS, [partition])
    stopped(installation, "input-lost", exit_when_stopped="any")
    return total, entries, releases


def later_readings(start: int, end: int) -> list[dict[str, Any]]:
    """Return events of home-999 for these hours."""
    return [
        {"series": "home-999", "timestamp": START_MS + hour * HOUR_MS, "value": hour % 7} for hour in range(start, end)
    ]


def test_abandoned_entries_are_adopted(installation: Installation) -> None:
    """Aborted entries whose input is lost stay spent: the chain continues after them, and the audit holds."""
    total, entries, releases = abandon(installation, released=HOURS)
    assert installation.command("recover", "--accept-lost-input") == 0
    total += installation.send(later_readings(0, HOURS + 1))
    installation.decide(total)
    chain = [record.value for record in installation.read(installation.names.ledger) if record.key == b"home-999"]
    assert [json.loads(entry) for entry in chain[:-1]] == entries
    assert [json.loads(entry)["sequence"] for entry in chain] == [1, 2, 3, 4]
    found = [record.value for record in installation.read(installation.names.releases) if record.key == b"home-999"]
    assert found[:-1] == releases, "the lost steps were not decided again: their records are duplicates"
    assert installation.command("audit") == 0


def test_abandoned_entry_without_its_release_stops(
    installation: Installation, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its hash may have revealed the release, so it binds; the state after it is unknown, and recovery says so."""
    abandon(installation, released=HOURS - 1)
    assert installation.command("recover", "--accept-lost-input") == 2
    assert "release-lost" in capsys.readouterr().err


def test_stolen_producer_is_opened_again(installation: Installation) -> None:
    """Fenced while the group still counts it as the owner, a worker reads everything back and continues."""
    total = installation.send(readings(400))

    async def steal() -> None:
        """Take over the transactional id, as a stray process would."""
        for partition in range(installation.partitions):
            await (await PartitionProducer.open(installation.settings(), partition)).stop()

    with installation.worker() as worker:
        worker.await_committed(total)
        asyncio.run(steal())
        total += installation.send(readings(400, start=400))
        worker.await_committed(total)
        assert worker.stop() == 0
    assert "reopening its producer" in worker.said()
    installation.answered_once()
