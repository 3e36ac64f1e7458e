"""What goes wrong around a worker: binding ledger entries, a stolen producer, a killed broker, curious readers."""

import asyncio
import json
import os
import re
import signal
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from stream_app.cli import main
from stream_app.kafka.client.brokers import PartitionProducer
from stream_app.kafka.client.routing import router
from stream_app.localbroker.broker import LocalBroker
from stream_app.setup import keyfile
from tests.kafka.aborted import abort_entries
from tests.kafka.installation import HOUR_MS, POLICY, START_MS, Installation, readings
from tests.kafka.workerprocess import WorkerProcess
from tests.patience import PATIENCE_SECONDS
from tests.run import ACCEPTING


@pytest.fixture
def installation(broker: LocalBroker, tmp_path: Path, request: pytest.FixtureRequest) -> Installation:
    """An installation named after the test."""
    return Installation(broker, tmp_path, request.node.name.replace("test_", "").replace("_", "-"))


def ledger_of(installation: Installation, events: list[dict[str, Any]], *options: str) -> list[dict[str, Any]]:
    """Return the ledger that these events must give, replayed with more ``options``."""
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
    """A changed configuration must not draw a release anew that may have been read; the old one goes on."""
    total = installation.send(readings(400))
    installation.decide(total)
    fresh = {"series": "home-999", "timestamp": START_MS, "value": 3}
    partition = router(installation.partitions)(b"home-999")
    offset = sum(record.partition == partition for record in installation.read(installation.names.events))
    asyncio.run(abort_entries(installation, partition, offset, ledger_of(installation, [fresh])))
    total += installation.send([fresh])

    installation.policy = {**POLICY, "epsilon": 2.0}
    with installation.worker(exit_when_stopped="any") as worker:
        assert worker.await_end() == 1
    assert "tail-differs" in worker.log.read_text()
    assert "the configuration has fingerprint" in worker.log.read_text()
    assert not [record for record in installation.read(installation.names.releases) if record.key == b"home-999"]

    installation.policy = dict(POLICY)
    installation.decide(total)
    installation.answered_once()

    installation.policy = {**POLICY, "epsilon": 2.0}
    total += installation.send([{"series": "home-1000", "timestamp": START_MS, "value": 3}])
    assert "adopted: the configuration has fingerprint" in installation.decide(total)


def key_info(worker: WorkerProcess) -> str:
    """Return the line of a worker's metrics that names its noise key."""
    *_, port = re.findall(r"http://127\.0\.0\.1:(\d+)", worker.log.read_text())
    with urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
        (line,) = re.findall(r"^landmark_key_info\{.*$", answer.read().decode(), re.MULTILINE)
    return str(line)


def test_a_foreign_key_stops_a_worker(installation: Installation, capsys: pytest.CaptureFixture[str]) -> None:
    """It decides nothing, a rehearsal says so before, and once it is accepted the audit sees series change."""
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
    with installation.worker(exit_when_stopped="all") as worker:
        assert worker.await_end() == 1
        said = worker.log.read_text()
    assert said.count("stopped (key-changed)") >= installation.partitions
    assert f"found one with fingerprint {foreign}. " in said
    assert "--accept-new-key" in said
    assert main(["worker", "--rehearse", "--config", config]) == 1
    assert capsys.readouterr().out.count("(key-changed)") == installation.partitions
    assert main(["worker", "--rehearse", "--accept-new-key", "--config", config]) == 0
    with installation.worker("a", "--accept-new-key") as worker:
        worker.await_committed(total)
        assert key_info(worker) == f'landmark_key_info{{fingerprint="{foreign}"}} 1.0'
        assert own != key_info(worker)
        worker.stop()
    (warning, *_) = [line for line in worker.log.read_text().splitlines() if "says: the noise key" in line]
    assert "WARNING" in warning.upper()
    assert f"has fingerprint {foreign}" in warning
    capsys.readouterr()
    assert installation.command("audit", "--json") == 0
    keys = json.loads(capsys.readouterr().out)["keys"]
    assert len(keys["used"]) == 2
    assert keys["changed_series"] == len(keys["changes"]) > 0
    assert {change["key"] for change in keys["changes"]} == {foreign}


HOURS = 2
"""Steps of home-999 whose entries are abandoned."""


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
    with installation.worker(exit_when_stopped="any") as worker:
        assert worker.await_end() == 1
    assert "input-lost" in worker.log.read_text()
    return total, entries, releases


def later_readings(start: int, end: int) -> list[dict[str, Any]]:
    """Return events of home-999 for these hours."""
    return [
        {"series": "home-999", "timestamp": START_MS + hour * HOUR_MS, "value": hour % 7} for hour in range(start, end)
    ]


def test_abandoned_entries_are_adopted(installation: Installation) -> None:
    """Aborted entries whose input is lost stay spent: the chain goes on behind them, and the audit holds."""
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
    """Its hash may have told the release, so it binds; the state behind it is unknown: recovery says so."""
    abandon(installation, released=HOURS - 1)
    assert installation.command("recover", "--accept-lost-input") == 2
    assert "release-lost" in capsys.readouterr().err


def test_stolen_producer_is_opened_again(installation: Installation) -> None:
    """Fenced while the group still counts it as the owner, a worker reads everything back and goes on."""
    total = installation.send(readings(400))

    async def steal() -> None:
        """Take the transactional id over, as a stray process would."""
        for partition in range(installation.partitions):
            await (await PartitionProducer.open(installation.settings(), partition)).stop()

    with installation.worker() as worker:
        worker.await_committed(total)
        asyncio.run(steal())
        total += installation.send(readings(400, start=400))
        worker.await_committed(total)
        assert worker.stop() == 0
    assert "opens its producer again" in worker.log.read_text()
    installation.answered_once()


def test_broker_killed_midway(tmp_path: Path) -> None:
    """A worker outlives its broker's death and goes on when it is back."""
    with LocalBroker.start(tmp_path / "kafka") as broker:
        installation = Installation(broker, tmp_path, "killed", more={"batch_records": 50})
        total = installation.send(readings(4_000))
        with installation.worker() as worker:
            worker.await_committed(200)
            os.kill(broker.pid, signal.SIGKILL)
            worker._await(lambda: LocalBroker.find(tmp_path / "kafka") is None, "death", PATIENCE_SECONDS)  # noqa: SLF001
            with LocalBroker.start(tmp_path / "kafka") as again:
                installation.broker = again
                worker.await_committed(total)
                assert worker.stop() == 0
                installation.answered_once()


def test_raw_values_are_found_nowhere(installation: Installation) -> None:
    """Logs at debug level, state, changelog and outputs hold no raw value, of any fate."""
    canaries = ["7.654321987", "8.123456789", "canary-secret"]
    events: list[dict[str, Any]] = [
        {"series": "home-1", "timestamp": START_MS, "value": float(canaries[0])},
        {"series": "home-1", "timestamp": START_MS, "value": float(canaries[1])},  # duplicate
        {"series": "home-1", "timestamp": START_MS + 9_000_000, "value": canaries[2]},  # invalid-value
        {"series": "car-1", "timestamp": START_MS, "value": float(canaries[1])},  # no-policy
        {"series": "home-2", "type": "policy", "version": 1, "note": canaries[2]},  # invalid-policy
    ]
    total = installation.send(events)
    places = {"log": installation.decide(total, log_level="debug").encode()}
    for topic in installation.names[1:]:
        places[topic] = b"".join(
            (record.key or b"") + (record.value or b"") for record in installation.read(topic, "read_uncommitted")
        )
    for file in installation.settings().data_folder.rglob("*"):
        if file.is_file():
            places[str(file)] = file.read_bytes()
    found = [(name, canary) for name, content in places.items() for canary in canaries if canary.encode() in content]
    assert found == []
