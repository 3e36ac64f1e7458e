"""The Faust app: one agent over whole fetches, one table, and no features that leak or lose records."""

from collections import Counter
from collections.abc import Mapping
from typing import Any, cast

import faust
from faust.agents import Agent
from faust.assignor.partition_assignor import PartitionAssignor
from faust.auth import SASLCredentials, SSLCredentials
from faust.tables.manager import TableManager as FaustTableManager
from faust.tables.recovery import Recovery as FaustRecovery
from faust.types import TP
from faust.types.auth import CredentialsT
from mode import Service

from stream_app.deciding.context import Context
from stream_app.formats.records import Records
from stream_app.heads.signing import SigningKey
from stream_app.kafka.client.brokers import KafkaBrokers
from stream_app.kafka.client.eventstopic import EventsTopic
from stream_app.kafka.client.security import tls_context
from stream_app.kafka.client.topics import TopicNames
from stream_app.kafka.faust.consumer import Consumer, FaustFeed, Transport
from stream_app.kafka.faust.table import MemoryBudget, StateStore, StateTable
from stream_app.kafka.owner.changelogcopy import StandbyCopies
from stream_app.kafka.owner.partitions import Partitions
from stream_app.kafka.parts import WorkerParts
from stream_app.monitoring.metrics import Metrics
from stream_app.setup.settings import Settings

TABLE = "state"

_HEARTBEAT_SECONDS = 1.0
_ACKNOWLEDGE_SECONDS = 0.25  # one small request; it updates the group's lag for anyone watching
_LOOK_SECONDS = 0.05  # how often to check whether standby copies are complete
_LAST_SECONDS = 5.0  # to acknowledge processed input; partition rows record it anyway


class WholeFetch(faust.Schema[Any, Any]):
    """Passes on a fetch without decoding it."""

    def loads_key(self, app: Any, message: Any, **_: Any) -> None:
        """Return None: a fetch as a whole has no key."""

    def loads_value(self, app: Any, message: Any, **_: Any) -> Any:  # noqa: ARG002 (Faust's signature)
        """Return the fetch unchanged."""
        return message.value


class Assignor(PartitionAssignor):
    """Faust's assignor, whose name contains the separator that ends a person's name.

    The brokers admit a worker to a group only if the worker's assignor has the same name as the group's. Workers with
    different separators would assign series to different partitions and keep separate budgets for the same person, so
    that person's budget would be spent twice.
    """

    @property
    def name(self) -> str:
        """The name that brokers compare; if there are no persons, it is Faust's own name."""
        separator = cast("App", self.app).separator
        return "faust" if separator is None else f"faust-members-{ord(separator):x}"


class Recovery(FaustRecovery):
    """Faust's recovery, used only for standby copies: an owned partition restores itself (`Restorer`).

    In Faust, all partitions of a worker wait until the slowest one has been read back. Faust also waits for the last
    *record* of the changelog. In a transactional log, this is a marker that consumers never receive. Here, a copy is
    complete when the consumer's position has passed the end of the log.
    """

    app: Any

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._reached: dict[TP, int] = {}
        self.standby_rows = 0
        self.copies = StandbyCopies(self.app.store, self.app.measures)

    def add_standby(self, table: Any, tp: TP) -> None:
        """Open the copy of a partition that another worker owns, and read the changelog from the copy's end."""
        self.standby_offsets[tp] = cast("int", self.copies.open(tp.partition))  # Faust would keep the old offset
        super().add_standby(table, tp)

    def apply(self, tp: TP, records: Records) -> None:
        """Write changelog records to the copy of a partition that another worker owns."""
        if self.copies.apply(tp.partition, records):
            self.standby_offsets[tp] = records.offsets[-1]
            self.standby_rows += len(records)

    def follows(self, tp: TP) -> bool:
        """Return whether this worker keeps a copy of a changelog partition that another worker owns."""
        return self.copies.follows(tp.partition)

    def reach(self, positions: Mapping[TP, int]) -> None:
        """Record the positions up to which the log was read; all earlier records are applied."""
        for tp, position in positions.items():
            if self.follows(tp):
                self._reached[tp] = position

    def active_remaining(self) -> Counter[TP]:
        """Return an empty counter: no owner waits for Faust."""
        return Counter()

    def standby_remaining(self) -> Counter[TP]:
        """Return how many offsets each standby copy is short of the log's end at the time of assignment."""
        remaining: Counter[TP] = Counter()
        for tp, highwater in self.standby_highwaters.items():  # offset of the last record or marker, or -1
            done: int | None = self.standby_offsets[tp]  # None until it is known
            behind = highwater - (-1 if done is None else done)
            remaining[tp] = 0 if self._reached.get(tp, -1) > highwater else max(0, behind)
        return remaining

    async def on_rebalance(self, *arguments: Any, **named: Any) -> None:
        """Forget how far the copies of the last assignment had been read."""
        self._reached.clear()
        self.copies.leave()
        await super().on_rebalance(*arguments, **named)

    async def on_recovery_completed(self, generation_id: int = 0) -> None:
        """Do not pass on any fetch until the flow resumes: Faust now empties its queues without seeking afterwards."""
        self.app.consumer.stop_flow()
        await super().on_recovery_completed(generation_id)

    @Service.task
    async def _watch_end(self) -> None:
        while not self.should_stop:
            await self.sleep(_LOOK_SECONDS)
            if self.standby_tps and not self.tables.standbys_ready and not self.standby_remaining_total():
                self.tables.on_standbys_ready()


class TableManager(FaustTableManager):
    """Faust's table manager with this package's recovery."""

    async def on_start(self) -> None:
        """Start at once: Faust waits a second for tables that modules add late; the only table exists already."""
        await self._update_channels()
        await self.recovery.start()

    @property
    def recovery(self) -> Recovery:
        """The recovery service, created on first access."""
        if self._recovery is None:
            self._recovery = Recovery(self.app, self, beacon=self.beacon, loop=self.loop)
        return cast("Recovery", self._recovery)


class App(faust.App):
    """Faust's app with this package's consumer, recovery and partitions."""

    def __init__(
        self,
        settings: Settings,
        context: Context,
        signing_key: SigningKey | None,
        topic: EventsTopic,
        names: TopicNames,
        metrics: Metrics,
        *,
        accept_new_key: bool = False,
    ) -> None:
        self.settings = settings
        self.separator = settings.member_separator
        seconds = settings.session_timeout_ms / 1000
        super().__init__(
            settings.application,
            broker=[f"kafka://{server.strip()}" for server in settings.bootstrap_servers.split(",")],
            broker_credentials=_credentials(settings),
            broker_session_timeout=seconds,
            # Workers learn of a rebalance by a heartbeat, and all wait until the last one has learned of it.
            broker_heartbeat_interval=min(_HEARTBEAT_SECONDS, seconds / 10),
            broker_rebalance_timeout=rebalance_seconds(settings),
            broker_request_timeout=max(90.0, 2 * seconds),
            broker_commit_interval=_ACKNOWLEDGE_SECONDS,
            consumer_auto_offset_reset="earliest",
            consumer_max_fetch_size=settings.fetch_bytes,
            datadir=str(settings.data_folder),
            store="rocksdb://",
            TableManager=TableManager,
            PartitionAssignor=Assignor,
            table_standby_replicas=settings.standby_replicas,
            recovery_consistency_check=False,  # it ends the worker; `Restorer` stops only the partition
            stream_wait_empty=False,  # it would wait for input that a stopped partition never acks
            topic_disable_leader=True,
            web_enabled=False,  # it serves the table's content to anyone
            web_tables_enabled=False,
            autodiscover=False,
        )
        self.events_topic = names.events
        self.measures = metrics
        self._topic = topic
        self.table = StateTable(
            self, name=TABLE, key_type=bytes, value_type=bytes, partitions=settings.partitions, help="series rows"
        )
        self.table.budget = MemoryBudget(settings)
        self.tables.add(self.table)
        feed = FaustFeed(self, names.events)
        self.partitions = Partitions(
            WorkerParts(
                settings=settings,
                context=context,
                names=names,
                brokers=KafkaBrokers(settings, names, topic, feed.committed),
                signing_key=signing_key,
                metrics=metrics,
                rows=self.store,
                feed=feed,
                accept_new_key=accept_new_key,
            )
        )
        events = self.topic(names.events, schema=WholeFetch(), value_type=bytes)
        # Equivalent to `self.agent` without its search for the source files of all modules: 0.1 s per start.
        found = Agent(
            self._hand_on, name="landmark", app=self, channel=events, concurrency=1, on_error=self._on_agent_error
        )
        self.agents["landmark"] = found
        self.topics.beacon.add(found)

    @property
    def in_group(self) -> bool:
        """Whether this worker is a member of its consumer group, as far as it knows."""
        return cast("Consumer", self.consumer).thread.in_group

    @property
    def recovery(self) -> Recovery:
        """The recovery service of the state table."""
        return cast("TableManager", self.tables).recovery

    @property
    def store(self) -> StateStore:
        """The databases of the state table."""
        return cast("StateStore", self.table.data)

    def _new_transport(self) -> Transport:
        return Transport(self.conf.broker_consumer, self)

    async def _hand_on(self, stream: Any) -> None:
        async for event in stream.noack().events():
            self.partitions.put(event.message.partition, event.value, event)

    async def on_stop(self) -> None:
        """Wait for running transactions and acknowledge their input, before anything else stops."""
        await self.partitions.close()
        cast("Consumer", self.consumer).thread.answer_for(_LAST_SECONDS)
        await self.consumer.commit()
        await super().on_stop()
        await self._topic.close()


def rebalance_seconds(settings: Settings) -> float:
    """Return the maximum time for which a rebalance waits for members."""
    return max(60.0, settings.session_timeout_ms / 1000)


def _credentials(settings: Settings) -> CredentialsT | None:
    """Return credentials for Faust, whose own default (plain text without a TLS context) must not set the protocol."""
    if settings.security_protocol == "PLAINTEXT":
        return None
    context = tls_context(settings)
    if settings.security_protocol == "SSL":
        return SSLCredentials(context)
    credentials = SASLCredentials(
        username=settings.sasl_user,
        password=settings.password(),
        ssl_context=context,
        mechanism=settings.sasl_mechanism,
    )
    chosen = credentials.protocol.value
    if chosen != settings.security_protocol:
        raise AssertionError(f"Faust would use {chosen}, but the configuration says {settings.security_protocol}")
    return credentials
