"""The cluster that implements the protocols of `stream_app.kafka.brokers`, and its producer."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from typing import Any

from aiokafka import AIOKafkaProducer, TopicPartition
from aiokafka.errors import KafkaError, NodeNotReadyError, RequestTimedOutError
from aiokafka.producer import sender

from stream_app.kafka.brokers import Extent, Headers, Isolation, Keys, TopicFacts
from stream_app.kafka.client.cluster import group_offsets
from stream_app.kafka.client.eventstopic import EventsTopic
from stream_app.kafka.client.log import LogReader
from stream_app.kafka.client.security import client_arguments
from stream_app.kafka.client.topicid import describe
from stream_app.kafka.client.topics import OUTPUT_BYTES, TopicNames
from stream_app.setup.settings import Settings

_STOP_SECONDS = 10.0

# While it writes the markers of the previous transaction, for a few milliseconds, the coordinator accepts no partition.
# aiokafka retries after 20 ms, several times the length of a whole transaction.
sender.BACKOFF_OVERRIDE = 0.003


class _EndsOnce(sender.EndTxnHandler):
    """Ends a transaction with a request that, unlike aiokafka's, is never repeated if it goes unanswered.

    A copy that arrives late would end a later transaction while it is only partly written (KIP-890). The error ends the
    producer: the next producer's epoch rejects late copies, and the log shows whether the transaction was committed.
    """

    async def do(self, node_id: int) -> bool:
        """Send the request once; return whether the transaction has ended or nothing more can be done."""
        try:
            answer = await self._sender.client.send(node_id, self.create_request(), group=self.group)
        except NodeNotReadyError:  # raised before anything is sent
            pause = self.handle_error()
        except KafkaError as error:
            self._sender._txn_manager.fatal_error(error)  # noqa: SLF001 (as aiokafka's own handlers do)
            return True
        else:
            pause = self.handle_response(answer)  # a refused request leaves no copy in flight and is repeated
        if pause is not None:
            await asyncio.sleep(pause)
        return pause is None


sender.EndTxnHandler = _EndsOnce


class KafkaPages:
    """Records for one topic, encoded immediately, in as many Kafka batches as their size requires."""

    __slots__ = ("_append", "_count", "_new", "pages", "records")

    def __init__(self, new: Callable[[], Any]) -> None:
        self._new = new
        self._append: Callable[..., Any] | None = None
        self._count = 0
        self.pages: list[Any] = []
        self.records = 0

    def append(self, key: bytes | None, value: bytes | None, timestamp_ms: int, headers: Headers) -> None:
        """Append a record."""
        self.extend((key,), (value,), (timestamp_ms,), (headers,))

    def extend(
        self, keys: Keys, values: Sequence[bytes | None], timestamps_ms: Iterable[int], headers: Iterable[Headers]
    ) -> None:
        """Append one record per key; for many records, this costs less than repeated calls to ``append``."""
        # The page's own `append` looks for serializers, which we do not use; that doubles the cost.
        append, count = self._append, self._count
        for key, value, timestamp_ms, head in zip(keys, values, timestamps_ms, headers, strict=True):
            if append is None or append(count, timestamp_ms, key, value, head) is None:
                self._count = count
                self._seal()
                page = self._new()
                self.pages.append(page)
                self._append = append = page._builder.append  # noqa: SLF001
                # The first record of a page always fits; if it exceeds a broker's limit, sending it fails.
                append(0, timestamp_ms, key, value, head)
                count = 0
            count += 1
        self._count = count
        self.records += len(keys)

    def sealed(self) -> list[Any]:
        """Return the pages; no record can be appended afterwards."""
        self._seal()
        self._append = None
        return self.pages

    def _seal(self) -> None:
        if self._append is not None:
            page = self.pages[-1]
            page._relative_offset = self._count  # noqa: SLF001 (how many records it holds)
            page.close()
            self._count = 0


class PartitionProducer:
    """The transactional producer of one partition, with an id that only the partition's owner may use."""

    def __init__(self, producer: AIOKafkaProducer, partition: int, seconds: float) -> None:
        """Wait at most ``seconds`` for an answer; the broker aborts the transaction after that time."""
        self._producer = producer
        self._partition = partition
        self._seconds = seconds

    @classmethod
    async def open(cls, settings: Settings, partition: int) -> "PartitionProducer":
        """Open the producer and fence every earlier owner, which ends that owner's open transaction and its writes."""
        producer = AIOKafkaProducer(
            **client_arguments(settings),
            transactional_id=f"{settings.application}-{partition}",
            transaction_timeout_ms=settings.transaction_timeout_ms,
            max_batch_size=settings.output_batch_bytes,
            # A row with the most landmark intervals has 2.2 MB: it gets its own batch, of any size its topic accepts.
            max_request_size=max(2 * settings.output_batch_bytes, OUTPUT_BYTES),
            acks="all",
        )
        try:
            await producer.start()
        except BaseException:
            await producer.stop()
            raise
        return cls(producer, partition, settings.transaction_timeout_ms / 1000)

    @property
    def id(self) -> int:
        """The producer id, as in `Writer`."""
        return int(self._producer._txn_manager.producer_id)  # noqa: SLF001 (no public name)

    def pages(self) -> KafkaPages:
        """Return empty pages."""
        return KafkaPages(self._producer.create_batch)

    async def begin(self, *topics: str) -> None:
        """Begin a transaction and add this partition of each given topic to it, in one request."""
        client, manager = self._producer.client, self._producer._txn_manager  # noqa: SLF001 (each send would add its own)
        for topic in topics:
            await client._wait_on_metadata(topic)  # noqa: SLF001 (`send_batch` asks the same)
        await self._producer.begin_transaction()
        for topic in topics:
            manager.maybe_add_partition_to_txn(TopicPartition(topic, self._partition))

    async def send(self, topic: str, pages: KafkaPages) -> Extent:
        """Send as in `Writer`, but also raise `RequestTimedOutError` if aiokafka would retry forever."""
        answers: list[Any] = []
        until = asyncio.get_running_loop().time() + self._seconds
        try:
            try:
                async with asyncio.timeout_at(until):
                    for page in pages.sealed():  # each waits for the one before, so may time out too
                        answers += [await self._producer.send_batch(page, topic, partition=self._partition)]
            finally:
                # aiokafka commits what was acknowledged even if batches failed, so every answer must be checked.
                async with asyncio.timeout_at(until):
                    found = await asyncio.gather(*answers, return_exceptions=True)
        except TimeoutError:
            lacking = f"{topic}, partition {self._partition}: not acknowledged within {self._seconds:g} s"
            raise RequestTimedOutError(lacking) from None
        offsets: list[int] = []
        for answer in found:
            if isinstance(answer, BaseException):
                raise self._why(answer)
            offsets.append(int(answer.offset))
        first, last = offsets[0], offsets[-1]
        return Extent(first if first >= 0 else None, last + int(pages.pages[-1].record_count()) if last >= 0 else None)

    def _why(self, error: BaseException) -> BaseException:
        """Return the error that ended the transaction, if aiokafka reported only that no transaction is open."""
        ended = self._producer._txn_manager.wait_for_transaction_end()  # noqa: SLF001
        cause: BaseException | None = ended.exception() if ended.done() and not ended.cancelled() else None
        return cause or error

    async def commit(self) -> None:
        """Commit; if this raises, only the log shows whether it succeeded."""
        await self._producer.commit_transaction()

    async def abort(self) -> None:
        """Abort if possible; otherwise the next owner does so when it starts."""
        with suppress(Exception):  # the next owner cleans up after any failure
            async with asyncio.timeout(_STOP_SECONDS):
                await self._producer.abort_transaction()

    async def stop(self) -> None:
        """Disconnect; an open transaction stays open until another producer takes over the id."""
        with suppress(Exception):  # a lost connection needs no clean close
            async with asyncio.timeout(_STOP_SECONDS):
                await self._producer.stop()


class KafkaBrokers:
    """`stream_app.kafka.brokers.Brokers` implemented with aiokafka; the contracts are documented there."""

    def __init__(
        self,
        settings: Settings,
        names: TopicNames,
        topic: EventsTopic,
        committed: Callable[[int], Awaitable[int | None]] | None = None,
    ) -> None:
        """Store the configuration without connecting; ``committed``, if given, asks a consumer of the group."""
        self._settings, self._names = settings, names
        self._ask_group = committed
        self.confirm = topic.confirm

    async def fence(self, partition: int) -> PartitionProducer:
        """Open the partition's transactional producer."""
        return await PartitionProducer.open(self._settings, partition)

    def reader(self, isolation: Isolation) -> AbstractAsyncContextManager[LogReader]:
        """Open a separate consumer."""
        return LogReader.opened(self._settings, isolation)

    async def committed(self, partition: int) -> int | None:
        """Return the group's offset for a partition."""
        if self._ask_group is not None:
            return await self._ask_group(partition)
        return (await group_offsets(self._settings, self._names.events)).get(partition)

    async def facts(self) -> Mapping[str, TopicFacts]:
        """Ask any broker for the ids of the events topic and the changelog."""
        return await describe(self._settings, (self._names.events, self._names.changelog))
