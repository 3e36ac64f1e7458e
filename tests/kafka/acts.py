"""What tests do to the topics of an installation, and what they see its workers do."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from aiokafka import AIOKafkaProducer

from stream_app.kafka.client.brokers import PartitionProducer
from stream_app.kafka.evidence.row import PARTITION_KEY, PartitionRow
from tests.cluster.log import Draft
from tests.kafka.installation import START_MS, Installation


def stopped(installation: Installation, *said: str, name: str = "a", code: int = 1, **changed: str) -> str:
    """Check that a worker ends by itself with this code, and logs all of these texts; return the log."""
    with installation.worker(name, **changed) as worker:
        assert worker.await_end() == code
    log = worker.said()
    assert [each for each in said if each not in log] == [], log[-3000:]
    return log


async def write(
    installation: Installation, written: Mapping[str, Iterable[Any]], partition: int = 0, end: str = "commit"
) -> None:
    """Write records to topics in one transaction of the partition's owner."""
    producer = await PartitionProducer.open(installation.settings(), partition)
    await producer.begin()
    for topic, records in written.items():
        pages = producer.pages()
        for record in records:
            pages.append(record.key, record.value, record.timestamp, list(record.headers))
        await producer.send(topic, pages)
    if end != "nothing":
        await (producer.commit() if end == "commit" else producer.abort())
    await producer.stop()


async def send_raw(
    installation: Installation,
    topic: str,
    value: bytes | None,
    key: bytes | None = None,
    timestamp_ms: int | None = None,
    partition: int | None = 0,
) -> int:
    """Send bytes as any producer can; return the offset."""
    async with AIOKafkaProducer(bootstrap_servers=installation.broker.bootstrap_servers) as producer:
        written = await producer.send_and_wait(topic, value, key, partition, timestamp_ms)
    return int(written.offset)


async def abort_entries(
    installation: Installation, partition: int, offset: int, entries: list[dict[str, Any]], *releases: bytes
) -> None:
    """Leave ledger entries and releases behind like a worker that dies before its commit."""
    headers = [("input", b"%d" % offset)]
    values = [json.dumps(entry, separators=(",", ":"), ensure_ascii=False).encode() for entry in entries]
    written = {
        topic: [Draft(json.loads(value)["series"].encode(), value, START_MS, headers) for value in found]
        for topic, found in ((installation.names.ledger, values), (installation.names.releases, releases))
        if found
    }
    await write(installation, written, partition, "abort")


def stored_row(installation: Installation) -> PartitionRow:
    """Return the newest row of an installation of one partition."""
    (*_, newest) = (record for record in installation.read(installation.names.changelog) if record.key == PARTITION_KEY)
    return PartitionRow.decode(newest.value)


async def store_row(installation: Installation, row: PartitionRow) -> None:
    """Commit a row of partition 0, as its owner would."""
    await write(installation, {installation.names.changelog: [Draft(PARTITION_KEY, row.encode(), 0)]})


def places_of(installation: Installation, log: bytes) -> dict[str, bytes]:
    """Return everything that an installation holds, by its place: log output, topics, local state."""
    places = {"log": log}
    for topic in installation.names:
        records = installation.read(topic, "read_uncommitted")
        places[topic] = b"\n".join((record.key or b"") + b" " + (record.value or b"") for record in records)
    files = filter(Path.is_file, installation.settings().data_folder.rglob("*"))
    return places | {str(file): file.read_bytes() for file in files}
