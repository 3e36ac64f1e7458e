"""The consumer of one worker: fetches input and changelogs, hands them on, and reports acknowledgements."""

import asyncio
from collections.abc import Collection, Mapping
from random import Random  # noqa: TID251 (draws which copies stand by and how they lag, no noise)
from typing import TYPE_CHECKING

from aiokafka.errors import IllegalGenerationError, KafkaError, RebalanceInProgressError, UnknownMemberIdError

from stream_app.formats.records import InputRecord, Records
from stream_app.kafka.owner.changelogcopy import StandbyCopies
from stream_app.kafka.owner.inbox import Delivery
from tests.cluster.brokers import MemoryReader, columns
from tests.cluster.client import Client
from tests.cluster.group import Assignment, Place
from tests.cluster.log import MemoryRecord

if TYPE_CHECKING:
    from tests.simulation.life import Life

SESSION_MS = 6_000
_POLL_MS = 1_000_000
"""How long a consumer may go without asking for records before it leaves its group, like a hanging app."""
_HEARTBEAT_SECONDS = 0.6
_COMMIT_SECONDS = 1.0
_RETRY_SECONDS = 0.3
_MOST_FETCHED = 12
_STANDS_BY = 0.7
_LAGS_SECONDS = (0.1, 0.5, 2.0, 10.0)


class Follower:
    """The part that fills standby copies: it reads the changelogs of partitions owned by other workers."""

    def __init__(self, life: "Life") -> None:
        """Follow nothing; the lag differs from one life to the next."""
        world = life.world
        self._life, self._changelog = life, world.names.changelog
        self._draw = Random(f"follows {world.schedule.seed} {life.name}")
        self._lag_seconds, fetched = self._draw.choice(_LAGS_SECONDS), self._draw.choice((1, _MOST_FETCHED))
        self._reader = MemoryReader(Client(world.cluster, life.name), "read_committed", fetched)
        self._copies = StandbyCopies(life.rows, world.metrics)
        self._positions: dict[int, int] = {}
        self._filled: set[int] = set()

    def leave(self) -> None:
        """Follow nothing: the group rebalances."""
        self._copies.leave()
        self._positions = {}

    def assign(self, owned: Collection[int]) -> None:
        """Follow the changelogs of some partitions owned by others, each from its copy's last record on."""
        if self._life.world.schedule.standbys:
            for partition in range(self._life.world.schedule.partitions):
                if partition not in owned and self._draw.random() < _STANDS_BY:
                    self._positions[partition] = self._copies.open(partition) or 0

    async def follow(self) -> None:
        """Fill the copies, for ever."""
        while True:
            await asyncio.sleep(self._draw.uniform(0.1, 1.9) * self._lag_seconds)
            for partition, position in list((positions := self._positions).items()):
                found, reached = await self._reader.fetch(self._changelog, partition, position)
                if positions is self._positions:  # else it was assigned anew, and begins where the copies end
                    positions[partition] = reached
                    if found and self._copies.follows(partition):
                        self._apply(partition, columns(self._changelog, partition, found))

    def _apply(self, partition: int, records: Records) -> None:
        if self._copies.apply(partition, records):
            self._filled.add(partition)
        else:
            self._life.world.faults.happened["standby copy given up"] += 1

    def promoted(self, partition: int) -> None:
        """Count a copy that becomes its owner's."""
        if partition in self._filled:
            self._filled.remove(partition)
            self._life.world.faults.happened["standby copy promoted"] += 1


class Handed:
    """The records of one fetch, to be acknowledged together."""

    def __init__(self, feed: "Feed", partition: int, end: int) -> None:
        """Store where the records came from, and the offset after them."""
        self._feed, self._partition, self._end = feed, partition, end

    def ack(self) -> None:
        """Let the group's offset move past them."""
        self._feed.acked[self._partition] = self._end


class Feed:
    """Plays Faust's consumer."""

    def __init__(self, life: "Life") -> None:
        """Fetch nothing yet."""
        self._life = life
        self._positions: dict[int, int] = {}
        self._paused: set[int] = set()
        self._kept: dict[int, int] = {}
        self._due = asyncio.Event()
        self._member: str | None = None
        self.follower = Follower(life)
        self.generation = 0
        self.acked: dict[int, int] = {}
        self.rejoins = False
        """Whether it rejoins at its next heartbeat, although nobody asks."""
        self._waits = False
        """Whether it is asking for records while there are none."""
        self._asked_ms = life.world.now_ms()
        """When it last asked before that."""

    # What a partition asks for

    async def start(self, partition: int, offset: int) -> None:
        """Fetch from an offset on."""
        self._life.took_over(partition)
        self.follower.promoted(partition)
        self._positions[partition] = offset
        self.resume(partition)

    async def seek(self, partition: int, offset: int) -> None:
        """Go on at an offset."""
        self._positions[partition] = offset
        self._due.set()

    def pause(self, partition: int) -> None:
        """Fetch no more for now."""
        self._paused.add(partition)

    def resume(self, partition: int) -> None:
        """Fetch again."""
        self._paused.discard(partition)
        self._due.set()

    async def earliest(self, partition: int) -> int:
        """Return the first input offset kept."""
        return await self._life.ask("earliest", lambda: self._life.world.events(partition).first)

    async def owns(self, partition: int, offset: int) -> bool:
        """Return whether the group accepts an offset from this worker."""
        try:
            await self._commit({partition: offset})
        except KafkaError:
            return False
        return True

    def keep(self, partition: int, offset: int) -> None:
        """Let the group's offset go no further than this."""
        self._kept[partition] = offset

    # What it does by itself

    def look(self) -> None:
        """Fetch again: records came."""
        self._due.set()

    async def fetch(self) -> None:
        """Hand on the available records, forever."""
        while True:
            self._due.clear()
            self._asked_ms, brought = self._life.world.now_ms(), False
            for partition in () if self._hangs() else sorted(self._positions):  # outside its group it has none
                try:
                    brought |= await self._fetch(partition)
                except KafkaError:
                    await asyncio.sleep(_RETRY_SECONDS)
                    brought = True
            if not brought:
                self._waits = True
                await self._due.wait()
                self._waits = False

    async def _fetch(self, partition: int) -> bool:
        position, log = self._positions.get(partition), self._life.world.events(partition)
        if (
            position is None
            or partition in self._paused
            or log.first <= position == log.end
            or not self._life.takes_input(partition)
        ):
            return False
        start, topic_id, found = await self._life.ask("fetch", lambda: self._found(partition, position))
        if self._positions.get(partition) != position or partition in self._paused:
            return True
        if not found:
            self._positions[partition] = start
            return start != position
        records = [
            InputRecord(one.topic, one.partition, one.offset, one.timestamp, one.key, one.value) for one in found
        ]
        end = self._positions[partition] = records[-1].offset + 1
        self._life.delivered(partition, topic_id, records)
        self._life.partitions.put(partition, Delivery(Records.of(records), start, end), Handed(self, partition, end))
        return True

    def _found(self, partition: int, position: int) -> tuple[int, str, list[MemoryRecord]]:
        world, log = self._life.world, self._life.world.events(partition)
        if not log.first <= position <= log.end:
            position = log.first  # as auto.offset.reset "earliest" does
        found = log.visible(position, min(log.end, position + _MOST_FETCHED), "read_committed")
        return position, world.events_id, found

    async def commit(self) -> None:
        """Report acknowledgements to the group every second."""
        while True:
            await asyncio.sleep(_COMMIT_SECONDS)
            await self.commit_acked()

    async def commit_acked(self) -> None:
        """Report to the group what was acknowledged so far."""
        offsets = {partition: min(end, self._kept[partition]) for partition, end in sorted(self.acked.items())}
        self.acked.clear()
        if offsets:
            try:
                await self._commit(offsets)
            except KafkaError:
                return

    async def _commit(self, offsets: Mapping[int, int]) -> None:
        life, world, member = self._life, self._life.world, self._member
        if member is None:
            raise UnknownMemberIdError
        places = {Place(world.names.events, partition): offset for partition, offset in offsets.items()}
        generation = self.generation
        await self._life.ask("commit offsets", lambda: life.group.commit(member, generation, places, world.now_ms()))

    async def belong(self) -> None:
        """Belong to the group, generation after generation."""
        while True:
            while self._hangs():  # noqa: ASYNC110 (it passes with time, and by no event)
                await asyncio.sleep(_RETRY_SECONDS)
            try:
                assigned = await self._join()
            except UnknownMemberIdError:
                self._member = None
                continue
            except KafkaError:
                await asyncio.sleep(_RETRY_SECONDS)
                continue
            self.generation = assigned.generation
            numbers = [place.partition for place in assigned.places]
            self._positions = {number: at for number, at in self._positions.items() if number in numbers}
            await self._life.partitions.assign(numbers, assigned.generation)
            self.follower.assign(numbers)
            await self._stay()
            self.follower.leave()
            await self._life.partitions.hold()
            await self.commit_acked()
            if self._hangs():
                await self.leave()
                self._member = None

    async def _join(self) -> Assignment:
        world, life = self._life.world, self._life

        def join() -> str:
            topics = (world.names.events,)
            return life.group.join(self._member, life.name, topics, SESSION_MS, world.now_ms())

        def assigned() -> Assignment | None:
            found = life.group.assignment(member)
            if found is None:
                join()  # another rebalance may have begun before this member heard how the last one ended
            return found

        member = self._member = await life.ask("join", join)
        while True:
            found = await life.ask("assignment", assigned)
            if found is not None:
                return found
            await asyncio.sleep(_RETRY_SECONDS)

    async def _stay(self) -> None:
        """Send heartbeats until the group rebalances."""
        life, world, member, generation = self._life, self._life.world, self._member, self.generation
        assert member is not None, "it has joined"
        while not (self.rejoins or self._hangs()):
            await asyncio.sleep(_HEARTBEAT_SECONDS)
            try:
                await self._life.ask("heartbeat", lambda: life.group.heartbeat(member, generation, world.now_ms()))
            except (UnknownMemberIdError, IllegalGenerationError, RebalanceInProgressError):
                return
            except KafkaError:
                continue
        self.rejoins = False

    def _hangs(self) -> bool:
        return not self._waits and self._life.world.now_ms() - self._asked_ms > _POLL_MS

    async def leave(self) -> None:
        """Be a member no more."""
        life, world, member = self._life, self._life.world, self._member
        if member is not None:
            try:
                await self._life.ask("leave", lambda: life.group.leave(member, world.now_ms()))
            except KafkaError:
                return
