"""The cluster: its topics, its coordinators, and the single path by which every request reaches them."""

import asyncio
import uuid
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from aiokafka.errors import UnknownTopicOrPartitionError

from tests.cluster.group import Group, Place
from tests.cluster.log import NO_PRODUCER, Draft, Isolation, Log, MemoryRecord
from tests.cluster.transactions import Identity, Kind, Transactions

Hook = Callable[[str, str], Awaitable[None]]
"""Awaited with the names of request and client: ``send`` before it takes effect, ``send answered`` after."""

_Answer = TypeVar("_Answer")

REBALANCE_MS = 60_000
NOBODY = Identity(NO_PRODUCER, -1)
"""Whoever writes without a transaction."""


async def _undisturbed(point: str, client: str) -> None:  # noqa: ARG001 (a hook's signature)
    """Let others run, as any request does."""
    await asyncio.sleep(0)


def _at_once() -> int:
    return 0


class _Topic:
    """One topic; a topic recreated under the same name is a different one."""

    def __init__(self, name: str, identity: str, partitions: int, *, append_time: bool) -> None:
        self.name, self.id, self.append_time = name, identity, append_time
        self.logs = [Log(name, partition) for partition in range(partitions)]


class MemoryCluster:
    """Brokers in one process, exact in their answers and timing: only requests and operations change them.

    Requests are made by `request` and go through the hook; all other methods are operations from outside, which are
    never disturbed. Time passes only by ``now_ms``, which the cluster checks at each request.
    """

    def __init__(
        self,
        now_ms: Callable[[], int],
        at: Hook = _undisturbed,
        marker_lag_ms: Callable[[], int] = _at_once,
        rebalance_ms: int = REBALANCE_MS,
    ) -> None:
        """Begin without topics.

        ``now_ms`` is the brokers' clock. ``marker_lag_ms`` returns, for each partition of a transaction, how long after
        the acknowledgement of its end the marker is written there. ``rebalance_ms`` is how long a rebalance waits for
        members that do not join again.
        """
        self.now_ms = now_ms
        self.at = at
        self.transactions = Transactions(self._mark)
        self._marker_lag_ms = marker_lag_ms
        self._rebalance_ms = rebalance_ms
        self._topics: dict[str, _Topic] = {}
        self._groups: dict[str, Group] = {}
        self._made = 0

    async def request(self, point: str, client: str, effect: Callable[[], _Answer]) -> _Answer:
        """Let a client's request take effect, and return the answer; the hook is awaited before and after.

        An error that the hook raises before keeps the request from the cluster; one raised after keeps the answer from
        the client.
        """
        await self.at(point, client)
        self.elapse()
        answer = effect()
        self.elapse()
        await self.at(f"{point} answered", client)
        return answer

    def elapse(self) -> None:
        """Take account of the time: process markers, transactions and group members that are due."""
        now = self.now_ms()
        self.transactions.elapse(now)
        counts = {topic.name: len(topic.logs) for topic in self._topics.values()}
        for group in self._groups.values():
            group.elapse(now, counts)

    def marker_due_ms(self) -> int:
        """Return when the marker of a transaction that ends now is written."""
        return self.now_ms() + self._marker_lag_ms()

    def group(self, name: str) -> Group:
        """Return a consumer group, which exists as soon as it is requested."""
        return self._groups.setdefault(name, Group(self._rebalance_ms))

    def make(self, name: str, partitions: int, *, append_time: bool = False) -> str:
        """Make a topic and return its id; with ``append_time`` records get the brokers' time instead of their own."""
        if name in self._topics:
            raise ValueError(f"topic {name} is there already")
        self._made += 1
        made = self._topics[name] = _Topic(name, str(uuid.UUID(int=self._made)), partitions, append_time=append_time)
        return made.id

    def delete(self, name: str) -> None:
        """Delete a topic and everything in it, including the offsets that groups committed for it."""
        del self._topics[self._topic(name).name]
        for group in self._groups.values():
            group.offsets = {place: offset for place, offset in group.offsets.items() if place.topic != name}

    def remake(self, name: str) -> str:
        """Delete a topic, create it again, empty and with another id, and return that id."""
        topic = self._topic(name)
        self.delete(name)
        return self.make(name, len(topic.logs), append_time=topic.append_time)

    def grow(self, name: str, partitions: int) -> None:
        """Give a topic more partitions."""
        logs = self._topic(name).logs
        logs += [Log(name, partition) for partition in range(len(logs), partitions)]

    def facts(self, name: str) -> tuple[str, int] | None:
        """Return the id of a topic and its number of partitions, or None if there is no such topic."""
        topic = self._topics.get(name)
        return None if topic is None else (topic.id, len(topic.logs))

    def log(self, name: str, partition: int) -> Log:
        """Return the log of a partition, to inspect or damage it.

        Raises:
            UnknownTopicOrPartitionError: if there is no such partition.
        """
        logs = self._topic(name).logs
        if partition >= len(logs):
            raise UnknownTopicOrPartitionError
        return logs[partition]

    def append(self, place: Place, drafts: Sequence[Draft], given: Identity = NOBODY, sequence: int = 0) -> int:
        """Append a batch and return its first offset; a transaction's batch has a producer ``given`` by a fence.

        ``sequence`` is the producer's count of earlier records in this partition.

        Raises:
            UnknownTopicOrPartitionError: if there is no such partition.
            InvalidProducerEpoch: if the producer was fenced.
            InvalidTxnState: if its transaction has ended, or lacks this partition; checked where it begins in this log.
            OutOfOrderSequenceNumber: if records of the producer are missing before it.
        """
        log = self.log(place.topic, place.partition)
        if given != NOBODY and not log.is_open(given.producer):
            self.transactions.verify(given, place)
        append_ms = self.now_ms() if self._topic(place.topic).append_time else None
        return log.append(drafts, append_ms=append_ms, producer=given.producer, epoch=given.epoch, sequence=sequence)

    def records(
        self, name: str, partition: int, isolation: Isolation = "read_committed", start: int = 0
    ) -> list[MemoryRecord]:
        """Return the records that a partition's reader receives from an offset on."""
        log = self.log(name, partition)
        return log.visible(start, log.end, isolation)

    def abort_open(self, partition: int) -> None:
        """Abort every open transaction in logs of a partition, as `kafka-transactions.sh abort` does."""
        for topic in self._topics.values():
            if partition < len(topic.logs):
                topic.logs[partition].abort_open()

    def _topic(self, name: str) -> _Topic:
        if name not in self._topics:
            raise UnknownTopicOrPartitionError
        return self._topics[name]

    def _mark(self, place: Place, producer: int, epoch: int, kind: Kind) -> None:
        topic = self._topics.get(place.topic)
        if topic is not None and place.partition < len(topic.logs):
            topic.logs[place.partition].mark(producer, epoch, kind)
