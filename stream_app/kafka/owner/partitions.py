"""All input partitions that this worker owns."""

import asyncio
import logging
from collections.abc import Iterable, Mapping

from stream_app.kafka.brokers import Brokers, Message, TopicFacts
from stream_app.kafka.owner.cache import RowReader
from stream_app.kafka.owner.inbox import Fetched
from stream_app.kafka.owner.partition import Partition
from stream_app.kafka.parts import ReadBack, WorkerParts
from stream_app.kafka.stops import StopReason

logger = logging.getLogger(__name__)

_CLOSE_SHARE = 0.3  # of the session timeout: a rebalance waits for us this long


class _Facts:
    """What the brokers say of the topics, asked for when first needed in an assignment, and not again."""

    def __init__(self, brokers: Brokers) -> None:
        self._brokers = brokers
        self._lock = asyncio.Lock()
        self._known: Mapping[str, TopicFacts] | None = None

    async def get(self) -> Mapping[str, TopicFacts]:
        """Return the facts of each topic that exists; after a failure the next call asks again."""
        async with self._lock:
            if self._known is None:
                self._known = await self._brokers.facts()
            return self._known


class Partitions:
    """Follows assignments; a partition's trouble is its own."""

    def __init__(self, parts: WorkerParts) -> None:
        self._parts = parts
        self._patience = parts.settings.session_timeout_ms / 1000 * _CLOSE_SHARE
        self._owned: dict[int, Partition] = {}
        self._generation: int | None = None
        self._settled = False
        self._closed = asyncio.Event()
        self._changes = asyncio.Lock()

    async def hold(self) -> None:
        """Let every running transaction end, and begin no other until partitions are assigned again."""
        self._settled = False
        await asyncio.gather(*(partition.hold(self._patience) for partition in self._owned.values()))

    async def assign(self, numbers: Iterable[int], generation: int) -> None:
        """Own these partitions and no others, from now on in this generation of the group.

        Those that were owned in the generation before go on where they were held. The others are taken over, each by
        itself and after this returns: one that takes long keeps no other from working. After `close` none is owned.
        """
        async with self._changes:
            await self._assign(sorted(numbers), generation)

    async def _assign(self, numbers: list[int], generation: int) -> None:
        if self._closed.is_set():
            return
        # With a generation between, another worker may have had them.
        follows = self._generation is not None and generation == self._generation + 1
        kept = {number: self._owned[number] for number in numbers if follows and self._works(number)}
        gone = [partition for number, partition in self._owned.items() if number not in kept]
        self._owned, self._generation = kept, generation
        await asyncio.gather(*(partition.close(self._patience) for partition in gone))
        if self._closed.is_set():  # a signal came meanwhile; what was kept is closed next
            return
        facts = _Facts(self._parts.brokers)
        self._owned = {number: kept.get(number) or Partition(number, self._parts, facts.get) for number in numbers}
        for number, partition in self._owned.items():
            if number in kept:
                partition.go_on()
        self._settled = True
        logger.info("owns partitions %s; takes over %s", numbers, [number for number in numbers if number not in kept])

    @property
    def prepared(self) -> bool:
        """Whether the group is settled and every partition takes input, or stopped."""
        owned = self._owned.values()
        return self._settled and all(partition.works or partition.stopped is not None for partition in owned)

    @property
    def idle(self) -> list[int]:
        """The partitions for which nothing has waited for a while."""
        return [number for number, partition in self._owned.items() if partition.idle]

    @property
    def working(self) -> list[int]:
        """The partitions that decide what comes."""
        return [number for number in self._owned if self._works(number)]

    @property
    def read_back(self) -> ReadBack:
        """How reading states back goes on."""
        return self._parts.read_back

    def _works(self, number: int) -> bool:
        return number in self._owned and self._owned[number].works

    def runs(self, number: int) -> bool:
        """Tell whether a partition takes input."""
        partition = self._owned.get(number)
        return partition is not None and partition.runs

    def positions(self) -> Mapping[int, int]:
        """Return where each running partition goes on."""
        return {number: partition.next_offset for number, partition in self._owned.items() if partition.runs}

    def miss(self, number: int) -> None:
        """Fetch again what was fetched of a partition, and did not reach it."""
        if number in self._owned:
            self._owned[number].miss()

    def put(self, number: int, fetched: Fetched, message: Message) -> None:
        """Give a partition what was fetched of it; ``message`` is acknowledged once all of it is committed."""
        partition = self._owned.get(number)
        if partition is not None:
            partition.put(fetched, message)

    def fail(self, number: int, error: Exception) -> None:
        """Stop a partition, for whose input there is an error, behind what came before it."""
        partition = self._owned.get(number)
        if partition is not None:
            partition.fail(error)

    async def close(self) -> None:
        """Let every running transaction end, and own nothing from now on, whatever is assigned."""
        self._settled = False
        self._closed.set()
        async with self._changes:  # what an assignment closes has to end as well
            owned, self._owned, self._generation = self._owned, {}, None
            await asyncio.gather(*(partition.close(self._patience) for partition in owned.values()))

    @property
    def running(self) -> list[int]:
        """The partitions that work."""
        return [number for number, partition in self._owned.items() if partition.runs]

    def rows(self) -> list[RowReader]:
        """Return readers of the rows of the partitions that work."""
        return [rows for partition in self._owned.values() if (rows := partition.rows) is not None]

    @property
    def stopped(self) -> dict[int, StopReason]:
        """The partitions that stopped, with their reason codes."""
        return {number: reason for number, reason in self.owned.items() if reason is not None}

    @property
    def owned(self) -> dict[int, StopReason | None]:
        """The partitions that are this worker's, with why those stopped that did."""
        return {number: partition.stopped for number, partition in self._owned.items()}
