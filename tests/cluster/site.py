"""A site: the topics of one partition on the cluster in memory, and the workers that own it in turn."""

import asyncio
import json
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from stream_app.deciding.context import Context, DefaultPolicy, Limits
from stream_app.formats.records import InputRecord, Records
from stream_app.heads.signing import SigningKey
from stream_app.kafka.brokers import TopicFacts
from stream_app.kafka.client.topics import TopicNames
from stream_app.kafka.evidence.row import PARTITION_KEY
from stream_app.kafka.memory.rows import MemoryRows
from stream_app.kafka.owner.inbox import Delivery
from stream_app.kafka.owner.partitions import Partitions
from stream_app.kafka.parts import WorkerParts
from stream_app.kafka.rebuild.recover import Rebuilding, RebuiltPartition
from stream_app.kafka.rebuild.survey import AcceptedLosses
from stream_app.kafka.stops import StopReason
from stream_app.monitoring.metrics import Metrics
from stream_app.setup import keyfile
from stream_app.setup.settings import Settings
from tests.cluster.brokers import MemoryBrokers
from tests.cluster.cluster import MemoryCluster
from tests.cluster.group import Place
from tests.cluster.log import Draft
from tests.patience import PATIENCE_SECONDS
from tests.run import KEYS, Record, default, observation

NAMES = TopicNames.of("life", "life")
EVENTS = [observation("home-1", nth, 1.0) for nth in (1, 2, 3)]


class Feed:
    """A feed that delivers the content of the events topic to a partition, from any offset and as often as asked."""

    def __init__(self, cluster: MemoryCluster) -> None:
        """Begin without an owner."""
        self._cluster = cluster
        self.owner: Partitions | None = None
        self.acked = 0
        self.ours = True

    async def start(self, partition: int, offset: int) -> None:
        """Deliver everything from an offset on."""
        await self.seek(partition, offset)

    async def seek(self, partition: int, offset: int) -> None:
        """Deliver everything from an offset on, in a single delivery."""
        found = self._cluster.log(NAMES.events, partition).visible(offset, 1 << 30, "read_committed")
        records = [InputRecord(NAMES.events, partition, one.offset, one.timestamp, one.key, one.value) for one in found]
        if records and self.owner is not None:
            self.owner.put(partition, Delivery(Records.of(records), records[0].offset, records[-1].offset + 1), self)

    def ack(self) -> None:
        """Count an acknowledgement."""
        self.acked += 1

    def pause(self, partition: int) -> None:
        """Do nothing: everything was already delivered."""

    def resume(self, partition: int) -> None:
        """Do nothing."""

    async def earliest(self, partition: int) -> int:
        """Return the first offset that the log still has."""
        return self._cluster.log(NAMES.events, partition).first

    async def owns(self, partition: int, offset: int) -> bool:  # noqa: ARG002 (as the protocol says)
        """Return what the test has set."""
        return self.ours

    def keep(self, partition: int, offset: int) -> None:
        """Commit nothing."""


class Site:
    """One partition, and workers that may own it."""

    def __init__(self, folder: Path) -> None:
        """Make the topics."""
        self.cluster = MemoryCluster(lambda: int(time.time() * 1000))
        for name in NAMES:
            self.cluster.make(name, 1, append_time=name == NAMES.events)
        self.key = folder / "key"
        keyfile.create(self.key)
        self.keys = KEYS
        self.signing_key: SigningKey | None = None
        self.policy = default("home-*")
        self.views: tuple[DefaultPolicy, ...] = ()

    def worker(self, name: str, limits: Limits | None = None, **more: Any) -> tuple[Partitions, Feed]:
        """Return the partitions of a worker that owns none yet; ``more`` replaces parts, such as its brokers."""
        given: dict[str, Any] = {"partitions": 1, "key_file": self.key, "prefix": "life", "application": "life"}
        given |= more.pop("settings", {})
        feed = Feed(self.cluster)
        parts: dict[str, Any] = {"metrics": Metrics(), "rows": MemoryRows(), "signing_key": self.signing_key}
        parts |= {"brokers": MemoryBrokers(self.cluster, name, "life", NAMES)} | more
        context = Context(self.keys, (self.policy, *self.views), limits or Limits(), partition_of=lambda _: 0)
        feed.owner = Partitions(
            WorkerParts(settings=Settings(**given), context=context, names=NAMES, feed=feed, **parts)
        )
        return feed.owner, feed

    async def started(self, name: str, **more: Any) -> tuple[Partitions, Feed]:
        """Assign the partition to a worker, and return the worker's partitions once it works or has stopped."""
        partitions, feed = self.worker(name, **more)
        await partitions.assign([0], 1)
        await until(lambda: bool(partitions.working or partitions.stopped))
        return partitions, feed

    async def working(self, name: str, **more: Any) -> tuple[Partitions, Feed]:
        """Assign the partition to a worker, and return the worker's partitions; fail if the partition stopped."""
        partitions, feed = await self.started(name, **more)
        assert (partitions.working, partitions.stopped) == ([0], {})
        return partitions, feed

    async def stops(self, name: str, reason: StopReason, **more: Any) -> None:
        """Check that a worker to which the partition is assigned stops for this reason and writes nothing."""
        partitions, feed = await self.started(name, **more)
        before = self.outputs()
        await feed.seek(0, 0)
        await until(lambda: self.decided() == self.sent or bool(partitions.stopped))
        assert (partitions.stopped, self.outputs()) == ({0: reason}, before)
        await partitions.close()

    async def goes_on(self, name: str, *batches: Sequence[Record], **more: Any) -> None:
        """Let a worker decide the waiting input, then each of these batches, and then close it."""
        partitions, feed = await self.started(name, **more)
        for records in ((), *batches):
            begin = self.sent
            self.append(*records)
            await feed.seek(0, begin)
            await until(lambda: self.decided() == self.sent or bool(partitions.stopped))
        assert partitions.stopped == {}
        await partitions.close()

    def grow(self, partitions: int) -> None:
        """Increase the number of partitions of all topics."""
        for name in NAMES:
            self.cluster.grow(name, partitions)

    async def recover(self, accepted: AcceptedLosses | None = None, limits: Limits | None = None) -> RebuiltPartition:
        """Run `recover`."""
        facts = {name: TopicFacts(*found) for name in NAMES if (found := self.cluster.facts(name)) is not None}
        parts = self.worker("recover", limits)[0]._parts  # noqa: SLF001 (of the same settings)
        losses = accepted or AcceptedLosses()
        return await Rebuilding(parts, facts, self.signing_key).recover(0, losses, lambda _, __: None)

    def append(self, *records: Record) -> None:
        """Append records to the input, each under its series' member, if there is one."""
        for record in records:
            key = str(record.get("member") or record["series"]).partition("/")[0].encode()
            self.cluster.append(Place(NAMES.events, 0), [Draft(key, json.dumps(record).encode(), 0)])

    @property
    def sent(self) -> int:
        """The number of records appended to the input."""
        return self.cluster.log(NAMES.events, 0).end

    async def send(self, feed: Feed, count: int = 3) -> None:
        """Append events and deliver them."""
        begin = self.sent
        self.append(*(observation("home-1", begin + nth, 1.0) for nth in range(1, count + 1)))
        await feed.seek(0, begin)

    async def write(self, written: Mapping[str, Sequence[Any]], application: str = "life", end: str = "commit") -> None:
        """Write records to topics in one transaction, as another owner of the partition would."""
        writer = await MemoryBrokers(self.cluster, "writes", application, NAMES).fence(0)
        await writer.begin(*written)
        for topic, records in written.items():
            pages = writer.pages()
            for record in records:
                pages.append(record.key, record.value, record.timestamp, list(record.headers))
            await writer.send(topic, pages)
        await (writer.commit() if end == "commit" else writer.abort())

    def committed(self, topic: str) -> list[Any]:
        """Return the committed records of a topic."""
        return self.cluster.records(topic, 0)

    def outputs(self) -> list[list[Any]]:
        """Return the committed records of the ledger, the releases and the rejects, without claims."""
        found = [self.committed(topic) for topic in (NAMES.ledger, NAMES.releases, NAMES.rejects)]
        return [[(one.key, one.value, one.headers) for one in records if one.key != b""] for records in found]

    def rows(self) -> list[dict[str, Any]]:
        """Return the committed partition rows."""
        found = [one.value for one in self.committed(NAMES.changelog) if one.key == PARTITION_KEY]
        return [json.loads(value) for value in found if value is not None]

    def lose_last(self, topic: str) -> None:
        """Truncate a log before its last committed record."""
        self.cluster.log(topic, 0).lose_tail(self.committed(topic)[-1].offset)

    def lose_rows(self, next_offset: int) -> None:
        """Truncate the changelog after the partition row whose next offset is ``next_offset``."""
        rows = [one for one in self.committed(NAMES.changelog) if one.key == PARTITION_KEY]
        last = next(one.offset for one in rows if json.loads(one.value)["next_offset"] == next_offset)
        self.cluster.log(NAMES.changelog, 0).lose_tail(last + 2)

    def lose_outputs(self, topic: str, *inputs: int) -> None:
        """Delete the records that these inputs led to from a log, and keep later ones."""
        for record in self.committed(topic):
            if record.key != b"" and int(dict(record.headers)["input"]) in inputs:
                self.cluster.log(topic, 0).lose_within(record.offset, record.offset + 1)

    def decided(self) -> int:
        """Return the next input offset according to the last committed row, or -1 without a row."""
        rows = self.rows()
        return int(rows[-1]["next_offset"]) if rows else -1

    async def all_decided(self) -> None:
        """Wait until all input was decided."""
        await until(lambda: self.decided() == self.sent)

    def holds_commits(self, of: str = "") -> tuple[asyncio.Event, asyncio.Event]:
        """Block commits of workers whose names match; return an event set by a commit, and one that ends the block."""
        committing, ended = asyncio.Event(), asyncio.Event()

        async def at(point: str, client: str) -> None:
            """Block a commit."""
            await asyncio.sleep(0)
            if point == "commit" and client.startswith(of):
                committing.set()
                await ended.wait()

        self.cluster.at = at
        return committing, ended


async def until(holds: Callable[[], bool]) -> None:
    """Wait until a condition holds."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not holds():  # noqa: ASYNC110 (no event tells it)
            await asyncio.sleep(0.01)
