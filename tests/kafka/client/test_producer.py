"""The transactional producer of a partition, on a real broker: what it asks for a transaction."""

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from aiokafka.client import AIOKafkaClient

from stream_app.kafka.client.producer import PartitionProducer
from stream_app.localbroker.broker import LocalBroker
from tests.kafka.installation import Installation


def test_one_request_takes_all_topics_into_a_transaction(
    broker: LocalBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever is sent first, the coordinator is asked once for the topics, and once for the end."""
    installation = Installation(broker, tmp_path, "producer-requests")
    names, asked = installation.names, Counter[str]()
    send = AIOKafkaClient.send

    async def counted(client: Any, node: int, request: Any, **named: Any) -> Any:
        """Send a request, and count it."""
        asked[type(request).__name__] += 1
        return await send(client, node, request, **named)

    async def write() -> None:
        """Write to three topics in one transaction."""
        writer = await PartitionProducer.open(installation.settings(), 0)
        monkeypatch.setattr(AIOKafkaClient, "send", counted)
        try:
            await writer.begin(names.ledger, names.releases, names.changelog)
            for topic in (names.ledger, names.releases, names.changelog):
                pages = writer.pages()
                pages.append(b"key", b"value", 0, [])
                await writer.send(topic, pages)
            await writer.commit()
        finally:
            await writer.stop()

    asyncio.run(write())
    wanted = {"AddPartitionsToTxnRequest": 1, "EndTxnRequest": 1, "ProduceRequest": 3}
    assert {name: asked[name] for name in wanted} == wanted
