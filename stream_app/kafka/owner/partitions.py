"""All input partitions that this worker owns."""

import asyncio
import logging
from collections.abc import Iterable, Mapping

from stream_app.kafka.brokers import Brokers, Message, TopicFacts
from stream_app.kafka.owner.cache import RowReader
from stream_app.kafka.owner.inbox import Delivery
from stream_app.kafka.owner.partition import Partition
from stream_app.kafka.parts import ReadBack, WorkerParts
from stream_app.kafka.stops import StopReason

logger = logging.getLogger(__name__)

_CLOSE_SHARE = 0.3  # of the session timeout: a rebalance waits this long for us


class _Facts:
    """The brokers' facts about the topics, requested on first use and at most once per assignment."""

    def __init__(self, brokers: Brokers) -> None:
        self._brokers = brokers
        self._lock = asyncio.Lock()
        self._known: Mapping[str, TopicFacts] | None = None

    async def get(self) -> Mapping[str, TopicFacts]:
        """Return the facts about each existing topic; after a failure, the next call requests them again."""
        async with self._lock:
            if self._known is None:
                self._known = await self._brokers.facts()
            return self._known


class Partitions:
    """The assigned partitions, each of which fails independently."""

    def __init__(self, parts: WorkerParts) -> None:
        self._parts = parts
        self._patience = parts.settings.session_timeout_ms / 1000 * _CLOSE_SHARE
        self._owned: dict[int, Partition] = {}
        self._generation: int | None = None
        self._settled = False
        self._closed = asyncio.Event()
        self._changes = asyncio.Lock()

    async def hold(self) -> None:
        """Let running transactions finish, and start no new ones until partitions are assigned again."""
        self._settled = False
        await asyncio.gather(*(partition.hold(self._patience) for partition in self._owned.values()))

    async def assign(self, numbers: Iterable[int], generation: int) -> None:
        """Own exactly these partitions, in this generation of the group.

        Partitions already owned in the previous generation continue after `hold`. The others are taken over separately
        after this call returns, so a slow one does not delay the rest. After `close`, no partition is owned.
        """
        async with self._changes:
            await self._assign(sorted(numbers), generation)

    async def _assign(self, numbers: list[int], generation: int) -> None:
        if self._closed.is_set():
            return
        # If a generation was skipped, another worker may have owned them.
        follows = self._generation is not None and generation == self._generation + 1
        kept = {number: self._owned[number] for number in numbers if follows and self._works(number)}
        gone = [partition for number, partition in self._owned.items() if number not in kept]
        self._owned, self._generation = kept, generation
        await asyncio.gather(*(partition.close(self._patience) for partition in gone))
        if self._closed.is_set():  # a signal came meanwhile; the rest is closed next
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
        """Whether the group is settled and every partition works or has stopped."""
        owned = self._owned.values()
        return self._settled and all(partition.works or partition.stopped is not None for partition in owned)

    @property
    def idle(self) -> list[int]:
        """The partitions that have been idle for some time."""
        return [number for number, partition in self._owned.items() if partition.idle]

    @property
    def working(self) -> list[int]:
        """The partitions that process input."""
        return [number for number in self._owned if self._works(number)]

    @property
    def read_back(self) -> ReadBack:
        """The progress of restoring states."""
        return self._parts.read_back

    def _works(self, number: int) -> bool:
        return number in self._owned and self._owned[number].works

    def runs(self, number: int) -> bool:
        """Return whether a partition accepts input."""
        partition = self._owned.get(number)
        return partition is not None and partition.runs

    def positions(self) -> Mapping[int, int]:
        """Return the next offset of each running partition."""
        return {number: partition.next_offset for number, partition in self._owned.items() if partition.runs}

    def miss(self, number: int) -> None:
        """Refetch input that was fetched for a partition but did not reach it."""
        if number in self._owned:
            self._owned[number].miss()

    def put(self, number: int, fetched: Delivery, message: Message) -> None:
        """Pass a fetch to its partition; ``message`` is acknowledged once the whole fetch is committed."""
        partition = self._owned.get(number)
        if partition is not None:
            partition.put(fetched, message)

    def fail(self, number: int, error: Exception) -> None:
        """Stop a partition with an input error once it has processed everything before the error."""
        partition = self._owned.get(number)
        if partition is not None:
            partition.fail(error)

    async def close(self) -> None:
        """Let running transactions finish, and own no partition from now on, even if some are assigned."""
        self._settled = False
        self._closed.set()
        async with self._changes:  # an assignment may still be closing some
            owned, self._owned, self._generation = self._owned, {}, None
            await asyncio.gather(*(partition.close(self._patience) for partition in owned.values()))

    @property
    def running(self) -> list[int]:
        """The partitions that accept input."""
        return [number for number, partition in self._owned.items() if partition.runs]

    def rows(self) -> list[RowReader]:
        """Return the row readers of the partitions that work."""
        return [rows for partition in self._owned.values() if (rows := partition.rows) is not None]

    @property
    def stopped(self) -> dict[int, StopReason]:
        """The stopped partitions with their reason codes."""
        return {number: reason for number, reason in self.owned.items() if reason is not None}

    @property
    def owned(self) -> dict[int, StopReason | None]:
        """The partitions of this worker, each with the reason why it stopped, or None if it has not."""
        return {number: partition.stopped for number, partition in self._owned.items()}
