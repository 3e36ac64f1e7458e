"""The transactional producer of a partition, on a real broker: its requests for a transaction."""

import asyncio
from collections import Counter
from typing import Any

import pytest
from aiokafka.client import AIOKafkaClient
from aiokafka.errors import (
    ConcurrentTransactions,
    KafkaConnectionError,
    KafkaError,
    KafkaTimeoutError,
    NodeNotReadyError,
    RequestTimedOutError,
    UnknownTopicOrPartitionError,
)
from aiokafka.producer.message_accumulator import BatchBuilder
from aiokafka.protocol.transaction import EndTxnResponse_v0

from stream_app.kafka.client.brokers import KafkaPages, PartitionProducer
from stream_app.kafka.client.security import client_arguments
from stream_app.kafka.stops import can_reopen
from tests.admin import administration
from tests.kafka.installation import Installation
from tests.patience import awaited


async def send_record(writer: PartitionProducer, topic: str) -> None:
    """Send a page of one record."""
    pages = writer.pages()
    pages.append(b"key", b"value", 0, [])
    await writer.send(topic, pages)


def test_one_request_takes_all_topics_into_a_transaction(
    installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever is sent first, the coordinator gets one request for the topics and one for the end."""
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
                await send_record(writer, topic)
            await writer.commit()
        finally:
            await writer.stop()

    asyncio.run(write())
    wanted = {"AddPartitionsToTxnRequest": 1, "EndTxnRequest": 1, "ProduceRequest": 3}
    assert {name: asked[name] for name in wanted} == wanted


@pytest.mark.parametrize("count", [1, 2])
def test_a_topic_that_is_gone_is_not_waited_for_without_end(installation: Installation, count: int) -> None:
    """Its partition cannot be added to the transaction; meanwhile the answers for all pages are awaited."""
    bounds = {"transaction_timeout_ms": 10_000, "output_batch_bytes": 300_000}
    names, settings = installation.names, installation.settings().model_copy(update=bounds)

    async def send(writer: PartitionProducer, topic: str) -> None:
        """Send as many pages."""
        pages = writer.pages()
        for _ in range(count):
            pages.append(b"key", bytes(200_000), 0, [])
        assert len(pages.pages) == count
        await writer.send(topic, pages)

    async def transaction(writer: PartitionProducer, topic: str) -> None:
        """Send pages in a transaction of their own."""
        await writer.begin(names.ledger, names.releases)
        await send(writer, topic)
        await writer.commit()

    async def write() -> None:
        """Write to a topic, delete it, and write again."""
        writer = await PartitionProducer.open(settings, 0)
        try:
            await transaction(writer, names.releases)
            async with administration(**client_arguments(settings)) as admin:
                await admin.delete_topics([names.releases])
                await asyncio.sleep(2)
                assert names.releases not in await admin.list_topics()
            # Where the client has looked at its topics since, it says so; where not, only the coordinator knows.
            with pytest.raises((RequestTimedOutError, UnknownTopicOrPartitionError)) as found:
                await transaction(writer, names.releases)
            assert can_reopen(found.value), "and if the topic stays away, the partition stops"
        finally:
            await writer.stop()

    async def bounded() -> None:
        """Do so, and wait long enough for whatever ends by itself."""
        async with asyncio.timeout(60):
            await write()

    asyncio.run(bounded())


@pytest.mark.parametrize("act", ["commit", "abort"])
@pytest.mark.parametrize("error", [KafkaConnectionError, RequestTimedOutError])
def test_an_end_without_an_answer_is_not_repeated(
    installation: Installation, monkeypatch: pytest.MonkeyPatch, act: str, error: type[KafkaError]
) -> None:
    """A late copy would end a later transaction of the same epoch; under the next owner's epoch it is refused."""
    asked: list[Any] = []
    send = AIOKafkaClient.send

    async def unanswered(client: Any, node: int, request: Any, **named: Any) -> Any:
        """Send a request, and lose the answer if it ends a transaction."""
        answer = await send(client, node, request, **named)
        if type(request).__name__ == "EndTxnRequest":
            asked.append((client, node, request, named))
            raise error
        return answer

    async def written(writer: PartitionProducer) -> None:
        """Write a record in a transaction that stays open."""
        await writer.begin(installation.names.ledger)
        await send_record(writer, installation.names.ledger)

    async def end() -> None:
        """End a transaction without an answer; then the next owner begins one and the late copy arrives."""
        writer = await PartitionProducer.open(installation.settings(), 0)
        with monkeypatch.context() as lossy:
            lossy.setattr(AIOKafkaClient, "send", unanswered)
            await written(writer)
            if act == "commit":
                with pytest.raises(error) as found:
                    await asyncio.wait_for(writer.commit(), 5)
                assert can_reopen(found.value)
            else:
                await writer.abort()
            await asyncio.sleep(0.5)  # aiokafka asks again after 0.1 s
            assert len(asked) == 1
        owner = await PartitionProducer.open(installation.settings(), 0)
        try:
            await written(owner)
            client, node, request, named = asked[0]
            answer = await send(client, node, request, **named)
            assert answer.error_code in {47, 90}  # fenced
            await owner.commit()
        finally:
            await owner.stop()
            await writer.stop()

    asyncio.run(end())
    expected = 2 if act == "commit" else 1
    awaited(lambda: len(installation.read(installation.names.ledger)) >= expected)  # a commit's marker comes later
    assert len(installation.read(installation.names.ledger)) == expected


@pytest.mark.parametrize("error", [ConcurrentTransactions, NodeNotReadyError])
def test_an_end_that_was_refused_or_not_sent_is_asked_again(
    installation: Installation, monkeypatch: pytest.MonkeyPatch, error: type[KafkaError]
) -> None:
    """No copy of it is in flight; a worker that gave up would cause a needless takeover of the partition."""
    send, asked = AIOKafkaClient.send, 0

    async def refused(client: Any, node: int, request: Any, **named: Any) -> Any:
        """Refuse the first two requests that end a transaction."""
        nonlocal asked
        if type(request).__name__ != "EndTxnRequest":
            return await send(client, node, request, **named)
        asked += 1
        if asked > 2:
            return await send(client, node, request, **named)
        if error is NodeNotReadyError:
            raise error
        return EndTxnResponse_v0(throttle_time_ms=0, error_code=error.errno)

    async def end() -> None:
        """Commit a record."""
        writer = await PartitionProducer.open(installation.settings(), 0)
        monkeypatch.setattr(AIOKafkaClient, "send", refused)
        try:
            await writer.begin(installation.names.ledger)
            await send_record(writer, installation.names.ledger)
            await writer.commit()
        finally:
            await writer.stop()

    asyncio.run(end())
    assert asked == 3
    assert len(installation.read(installation.names.ledger)) == 1


def test_brokers_that_are_slow_stop_no_partition() -> None:
    """A page that waited for the previous one longer than aiokafka allows is sent again by a new owner."""
    assert can_reopen(KafkaTimeoutError("Batch is closed"))


def test_records_appended_together_are_the_same_batches() -> None:
    """The bytes of the batches are equal, even across page ends and with single records in between."""
    values = [bytes([nth % 251]) * (nth % 97) for nth in range(500)]
    keys = [b"home-%d" % (nth % 7) for nth in range(500)]
    times = list(range(1_000, 1_500))
    headers = [[("input", b"%d" % nth)] if nth % 3 else [] for nth in range(500)]
    alone, together = (KafkaPages(lambda: BatchBuilder(2_000, 0, is_transactional=1)) for _ in range(2))
    for record in zip(keys, values, times, headers, strict=True):
        alone.append(*record)
    for first, end in ((0, 1), (1, 200), (200, 200), (200, 499)):
        some = slice(first, end)
        together.extend(keys[some], values[some], times[some], headers[some])
    together.append(keys[-1], values[-1], times[-1], headers[-1])
    assert alone.records == together.records == 500
    pages = [[(page.record_count(), bytes(page._build())) for page in each.sealed()] for each in (alone, together)]  # noqa: SLF001
    assert pages[0] == pages[1]
    assert len(pages[0]) > 10
    with pytest.raises(ValueError, match="shorter"):
        together.extend(keys[:2], values[:1], times[:2], headers[:2])
