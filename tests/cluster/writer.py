"""The transactional producer of one partition's owner, in memory."""

import asyncio
from collections.abc import Awaitable, Iterable, Sequence
from typing import Literal

from aiokafka.errors import (
    DuplicateSequenceNumber,
    IllegalOperation,
    InvalidProducerEpoch,
    KafkaError,
    ProducerFenced,
    UnknownTopicOrPartitionError,
)

from stream_app.kafka.brokers import Extent, Headers
from tests.cluster.client import BACKOFF_SECONDS, REQUEST_SECONDS, Client
from tests.cluster.group import Place
from tests.cluster.log import Draft
from tests.cluster.transactions import Identity, Kind


class MemoryPages:
    """Records for one topic, in batches of limited size in bytes."""

    def __init__(self, batch_bytes: int) -> None:
        """Begin empty."""
        self._batch_bytes, self._room = batch_bytes, 0
        self.batches: list[list[Draft]] = []

    @property
    def records(self) -> int:
        """How many there are."""
        return sum(map(len, self.batches))

    def append(self, key: bytes | None, value: bytes | None, timestamp_ms: int, headers: Headers) -> None:
        """Add a record after the others."""
        size = len(key or b"") + len(value or b"")
        if not self.batches or size > self._room:
            self.batches.append([])
            self._room = self._batch_bytes
        self._room -= size
        self.batches[-1].append(Draft(key, value, timestamp_ms, headers))

    def extend(
        self,
        keys: Sequence[bytes | None],
        values: Sequence[bytes | None],
        timestamps_ms: Iterable[int],
        headers: Iterable[Headers],
    ) -> None:
        """Add as many records as there are keys."""
        for record in zip(keys, values, timestamps_ms, headers, strict=True):
            self.append(*record)


class MemoryWriter:
    """One transaction at a time, under an id that only the partition's owner may use."""

    def __init__(
        self, client: Client, transactional_id: str, partition: int, given: Identity, batch_bytes: int
    ) -> None:
        """Write to one partition of any topic, as the producer that a fence gave."""
        self._client, self._transactional_id = client, transactional_id
        self._partition, self._given, self._batch_bytes = partition, given, batch_bytes
        self._state: Literal["ready", "open", "failed"] = "ready"
        self._named: list[Place] = []  # when it began, and not added yet
        self._added: set[Place] = set()
        self._adding = asyncio.Lock()
        self._sequences: dict[Place, int] = {}

    @property
    def id(self) -> int:
        """The producer id, which is in every batch."""
        return self._given.producer

    @property
    def identity(self) -> Identity:
        """The identity that the fence returned; later ones are larger."""
        return self._given

    def pages(self) -> MemoryPages:
        """Return empty pages."""
        return MemoryPages(self._batch_bytes)

    async def begin(self, *topics: str) -> None:
        """Begin a transaction; the cluster learns of it and of all these topics with its first record."""
        assert self._state == "ready", f"begin() of a writer that is {self._state}"
        named = [Place(topic, self._partition) for topic in topics]
        for place in named:
            await self._find(place)
        self._state = "open"
        self._added.clear()
        self._named = named

    async def send(self, topic: str, pages: MemoryPages) -> Extent:
        """Send everything and wait until it is acknowledged; return where it was written."""
        place = Place(topic, self._partition)
        await self._find(place)
        if self._state != "open":
            raise IllegalOperation("Can't send messages while not in transaction")
        async with self._adding:  # one request at a time, for all that was named by then
            if place not in self._added:
                await self._add(*self._named, place)
        offsets = [(await self._written(place, drafts), len(drafts)) for drafts in pages.batches]
        first, (last, count) = offsets[0][0], offsets[-1]
        return Extent(first, None if last is None else last + count)

    async def commit(self) -> None:
        """Commit, and ask only once; if this raises, only the log shows whether the commit succeeded."""
        await self._end("commit")

    async def abort(self) -> None:
        """Abort if that is still possible; otherwise the start of the next owner does so."""
        if self._state != "open":
            return
        try:
            await self._end("abort")
        except KafkaError:
            return

    async def stop(self) -> None:
        """Disconnect; an open transaction stays open until somebody takes the id over."""
        self._state = "failed"

    async def _add(self, *places: Place) -> None:
        cluster, given = self._client.cluster, self._given

        def add() -> None:
            """Let the coordinator take them."""
            cluster.transactions.add(self._transactional_id, given, places, cluster.now_ms())

        await self._coordinated(self._client.insist("add", add))
        self._added.update(places)
        self._named = []

    async def _end(self, kind: Kind) -> None:
        assert self._state == "open", f"{kind}() of a writer that is {self._state}"
        if self._named:
            await self._add(*self._named)
        cluster, given = self._client.cluster, self._given

        def end() -> None:
            """Let the coordinator end it."""
            cluster.transactions.end(self._transactional_id, given, kind, cluster.marker_due_ms)

        if self._added:  # a copy that comes late would end a later transaction: a new owner alone may ask again
            await self._coordinated(self._client.ask(kind, end))
        self._state = "ready"

    async def _find(self, place: Place) -> None:
        """Return once the topic exists, or raise an error if it does not."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + REQUEST_SECONDS
        while (facts := self._client.cluster.facts(place.topic)) is None or facts[1] <= place.partition:
            if loop.time() >= deadline:
                raise UnknownTopicOrPartitionError
            await asyncio.sleep(BACKOFF_SECONDS)

    async def _coordinated(self, answer: Awaitable[None]) -> None:
        """Wait for the coordinator's answer; a writer that is refused or gets no answer becomes unusable."""
        try:
            await answer
        except InvalidProducerEpoch as error:
            self._state = "failed"
            raise ProducerFenced from error
        except KafkaError as error:  # aiokafka tells of it as the cause alone
            self._state = "failed"
            raise KafkaError("Unexpected error during batch delivery") from error

    async def _written(self, place: Place, drafts: list[Draft]) -> int | None:
        sequence = self._sequences.get(place, 0)
        self._sequences[place] = sequence + len(drafts)
        cluster, given = self._client.cluster, self._given
        try:
            return await self._client.insist("send", lambda: cluster.append(place, drafts, given, sequence))
        except DuplicateSequenceNumber:  # it lies there, and nobody knows where
            return None
        except InvalidProducerEpoch as error:
            raise ProducerFenced from error
