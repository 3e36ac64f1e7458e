"""The Faust app: one agent over whole fetches, one table; what of Faust could leak or lose records is switched off."""

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
_ACKNOWLEDGE_SECONDS = 0.25  # one small request; whoever watches the group's lag sees what was decided
_LOOK_SECONDS = 0.05  # how often standby copies are asked whether they are complete
_LAST_SECONDS = 5.0  # to acknowledge what was decided; the partition rows know it anyway


class WholeFetch(faust.Schema[Any, Any]):
    """Passes a fetch on undecoded: its records are decoded one by one when they are decided."""

    def loads_key(self, app: Any, message: Any, **_: Any) -> None:
        """Return no key: a fetch has none of its own."""

    def loads_value(self, app: Any, message: Any, **_: Any) -> Any:  # noqa: ARG002 (Faust's signature)
        """Return the fetch."""
        return message.value


class Assignor(PartitionAssignor):
    """Faust's assignor, under a name that tells what ends the names of members.

    The brokers let no worker into a group whose assignor is called otherwise: two that place series and keep members'
    budgets by different separators would each spend one person's budget.
    """

    @property
    def name(self) -> str:
        """The name that is compared; without members it is Faust's own."""
        separator = cast("App", self.app).separator
        return "faust" if separator is None else f"faust-members-{ord(separator):x}"


class Recovery(FaustRecovery):
    """Faust's recovery, used for standby copies alone: an owned partition reads its own state back (`Restorer`).

    Faust would let no partition of a worker go on before the last one is read back. And it waits for the last *record*
    of the changelog, which in a transactional log is a marker that no consumer is given: here a copy is complete when
    the consumer's position has passed the end that the log had.
    """

    app: Any

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._reached: dict[TP, int] = {}
        self.standby_rows = 0
        self.copies = StandbyCopies(self.app.store, self.app.measures)

    def add_standby(self, table: Any, tp: TP) -> None:
        """Open the copy of a partition that another worker owns, and let the changelog be read from where it ends."""
        self.standby_offsets[tp] = cast("int", self.copies.open(tp.partition))  # Faust keeps that of a discarded one
        super().add_standby(table, tp)

    def apply(self, tp: TP, records: Records) -> None:
        """Write changelog records into the copy of a partition that another worker owns."""
        if self.copies.apply(tp.partition, records):
            self.standby_offsets[tp] = records.offsets[-1]
            self.standby_rows += len(records)

    def follows(self, tp: TP) -> bool:
        """Tell whether a copy of this changelog partition is kept here for another worker."""
        return self.copies.follows(tp.partition)

    def reach(self, positions: Mapping[TP, int]) -> None:
        """Note how far the log was read: everything below is applied."""
        for tp, position in positions.items():
            if self.follows(tp):
                self._reached[tp] = position

    def active_remaining(self) -> Counter[TP]:
        """Return nothing: no owner waits for Faust."""
        return Counter()

    def standby_remaining(self) -> Counter[TP]:
        """Return how many offsets each standby partition is behind the end that it had when it was assigned."""
        remaining: Counter[TP] = Counter()
        for tp, highwater in self.standby_highwaters.items():  # the last offset, marker or record; -1: empty
            done: int | None = self.standby_offsets[tp]  # None until it was looked up
            behind = highwater - (-1 if done is None else done)
            remaining[tp] = 0 if self._reached.get(tp, -1) > highwater else max(0, behind)
        return remaining

    async def on_rebalance(self, *arguments: Any, **named: Any) -> None:
        """Forget how far the copies of the last assignment were read."""
        self._reached.clear()
        self.copies.leave()
        await super().on_rebalance(*arguments, **named)

    async def on_recovery_completed(self, generation_id: int = 0) -> None:
        """Hand on no fetch until the flow resumes: Faust empties its queues then, and seeks to nothing after it."""
        self.app.consumer.stop_flow()
        await super().on_recovery_completed(generation_id)

    @Service.task
    async def _watch_end(self) -> None:
        while not self.should_stop:
            await self.sleep(_LOOK_SECONDS)
            if self.standby_tps and not self.tables.standbys_ready and not self.standby_remaining_total():
                self.tables.on_standbys_ready()


class TableManager(FaustTableManager):
    """Faust's table manager with our recovery."""

    async def on_start(self) -> None:
        """Begin at once: Faust waits a second for tables that modules add late; here the only one is there."""
        await self._update_channels()
        await self.recovery.start()

    @property
    def recovery(self) -> Recovery:
        """Return the recovery service."""
        if self._recovery is None:
            self._recovery = Recovery(self.app, self, beacon=self.beacon, loop=self.loop)
        return cast("Recovery", self._recovery)


class App(faust.App):
    """Faust's app around our consumer, recovery and partitions."""

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
            # Members learn of a rebalance with a heartbeat, and all wait for the last one to learn.
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
            recovery_consistency_check=False,  # it ends the whole worker; `Restorer` stops the one partition
            stream_wait_empty=False,  # it would wait for what a stopped partition never acknowledges
            topic_disable_leader=True,
            web_enabled=False,  # it serves the table's content to whoever asks
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
        # What `self.agent` does, without its search for the source files of all loaded modules: 0.1 s of each start.
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
        """The recovery of the state table."""
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
        """Before anything else stops, wait for running transactions and acknowledge their input."""
        await self.partitions.close()
        cast("Consumer", self.consumer).thread.answer_for(_LAST_SECONDS)
        await self.consumer.commit()
        await super().on_stop()
        await self._topic.close()


def rebalance_seconds(settings: Settings) -> float:
    """Return how long a rebalance waits for members at most."""
    return max(60.0, settings.session_timeout_ms / 1000)


def _credentials(settings: Settings) -> CredentialsT | None:
    """Return Faust's credentials; its own rule (no TLS context, so plain text) must never choose the protocol."""
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
