"""What a worker that dies before its commit leaves in the logs."""

import json
from typing import Any

from stream_app.kafka.client.brokers import PartitionProducer
from tests.kafka.installation import START_MS, Installation


async def abort_entries(
    installation: Installation, partition: int, offset: int, entries: list[dict[str, Any]], *releases: bytes
) -> None:
    """Leave ledger entries and releases behind as a worker does that dies before its commit."""
    producer = await PartitionProducer.open(installation.settings(), partition)
    pages = producer.pages()
    for entry in entries:
        value = json.dumps(entry, separators=(",", ":"), ensure_ascii=False).encode()
        pages.append(entry["series"].encode(), value, START_MS, [("input", b"%d" % offset)])
    await producer.begin()
    await producer.send(installation.names.ledger, pages)
    if releases:
        pages = producer.pages()
        for release in releases:
            series = json.loads(release)["series"].encode()
            pages.append(series, release, START_MS, [("input", b"%d" % offset)])
        await producer.send(installation.names.releases, pages)
    await producer.abort()
    await producer.stop()
