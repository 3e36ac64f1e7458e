"""Checks that the events topic is still the one to which the offsets in the state refer.

A topic that is deleted and created again is a different topic, in which the old offsets are meaningless. A consumer
fetches by name and may have read the new topic, so a batch takes effect only if the topic still has its old id after
the fetch. Because ids are never reused, the topic then had the same id during the fetch.

The topic can also gain partitions. Producers then assign series to partitions by the new count, and some of these
partitions have no reader.
"""

import asyncio
import logging
import time
from typing import Literal

from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import KafkaError, UnknownTopicOrPartitionError, for_code

from stream_app.kafka.brokers import TopicFacts
from stream_app.kafka.client.refusal import unauthorized
from stream_app.kafka.client.security import client_arguments
from stream_app.kafka.client.topicid import any_node, ask
from stream_app.kafka.stops import REASONS, PartitionStoppedError, StopReason
from stream_app.setup.settings import Settings

logger = logging.getLogger(__name__)

LOOK_SECONDS = 5.0
SILENT_SECONDS = 20.0
_PAUSE_SECONDS = 0.5
_ANSWER_SECONDS = 10.0  # aiokafka would wait 40 for a dead broker, and block a partition
_NO_LEADER = -1
_MOST_ASKED = 3


class EventsTopic:
    """Asks the brokers for the topic's current id, with one connection to each partition leader."""

    def __init__(self, settings: Settings, name: str, began_with: str) -> None:
        self.name = name
        self._settings = settings
        self._began_with = TopicFacts(began_with, settings.partitions)
        self._found: TopicFacts | None = self._began_with
        self._leaders: dict[int, int] = {}
        self._admin: AIOKafkaAdminClient | None = None
        self._starting = asyncio.Lock()
        self._closing: asyncio.Task[None] | None = None
        self._answered = time.monotonic()

    async def look(self) -> None:
        """Check that the topic is the one the worker started with; the states "replaced" and "grown" stay recorded.

        A worker that owns no partition notices a change only here: when a topic vanishes, the group revokes its
        partitions from all workers. If there is no answer, this raises `aiokafka.errors.KafkaError` or `TimeoutError`
        and keeps the last result.
        """
        async with asyncio.timeout(_ANSWER_SECONDS):
            found = await self._facts_of(await self._connected(), 0)
        self._answered = time.monotonic()
        if self.state in {"replaced", "grown"}:
            return
        if found is None and self.state != "missing":
            logger.warning("%s", self._missing)
        self._found = found

    async def confirm(self, partition: int, topic: str) -> None:
        """Return once the leader of ``partition`` confirms the topic id ``topic``, as `Brokers.confirm` does.

        Raises `aiokafka.errors.KafkaError` if this user may not see the topic.
        """
        while True:
            admin: AIOKafkaAdminClient | None = None
            try:
                admin = await self._connected()
                async with asyncio.timeout(_ANSWER_SECONDS):
                    found = await self._facts_of(admin, partition)
            except (KafkaError, OSError) as error:  # including TimeoutError
                if unauthorized(error):
                    raise
                logger.info("partition %d: cannot query topic %s: %r; retrying", partition, self.name, error)
                found = None
                # The brokers' addresses may have changed. Another partition may have dropped this client already.
                if self._admin is admin and admin is not None:
                    self._admin = None
                    # Close in the background: it may wait for a broker, and would swallow the partition's cancellation.
                    self._closing = asyncio.create_task(admin.close())
            if found is not None:
                if found.id == topic:
                    return
                asked, other = f"topic {self.name} with id {topic}", f"id {found.id}: it was deleted and created again"
                raise PartitionStoppedError(partition, "topic-replaced", asked, other)
            await asyncio.sleep(_PAUSE_SECONDS)

    async def close(self) -> None:
        """Disconnect."""
        async with self._starting:
            admin, self._admin = self._admin, None
            if admin is not None:
                await admin.close()
        if self._closing is not None:
            await asyncio.wait({self._closing}, timeout=_ANSWER_SECONDS)

    async def _facts_of(self, admin: AIOKafkaAdminClient, partition: int) -> TopicFacts | None:
        node = self._leaders.pop(partition, None)
        if node is None:
            node = any_node(admin)
        for _ in range(_MOST_ASKED):
            # Other brokers may not know the topic yet; the leader does, because it serves the records.
            ((error, _, topic_id, _, partitions, _, _),) = (await ask(admin, node, (self.name,))).topics
            if error == UnknownTopicOrPartitionError.errno:
                return None
            if error:
                raise for_code(error)
            leader = next((found[2] for found in partitions if found[1] == partition), _NO_LEADER)
            if leader == _NO_LEADER:
                return None
            if leader == node:
                self._leaders[partition] = leader
                return TopicFacts(str(topic_id), len(partitions))
            node = leader
        return None  # brokers disagree on the leader

    async def _connected(self) -> AIOKafkaAdminClient:
        async with self._starting:
            if self._admin is None:
                admin = AIOKafkaAdminClient(**client_arguments(self._settings))
                try:
                    await admin.start()
                except BaseException:
                    await admin.close()
                    raise
                self._admin = admin
            return self._admin

    @property
    def silent(self) -> bool:
        """Whether the brokers have not answered for some time, even though they are asked every few seconds."""
        return time.monotonic() - self._answered > SILENT_SECONDS

    @property
    def state(self) -> Literal["same", "missing", "replaced", "grown"]:
        """The result of the last look."""
        if self._found is None:
            return "missing"
        if self._found.id != self._began_with.id:
            return "replaced"
        return "same" if self._found == self._began_with else "grown"

    @property
    def trouble(self) -> str | None:
        """The expected topic, the found topic and the remedy, as text; None if the topic is unchanged."""
        began, now = self._began_with, self._found
        reason: StopReason = "topic-replaced"
        if now is None:
            return self._missing
        if self.state == "same":
            return None
        wanted, found = f"id {began.id}, with which this worker started", f"id {now.id}"
        if self.state == "grown":
            wanted, found = (
                f"{began.partitions} partitions, which determine where series are placed",
                f"{now.partitions}",
            )
            reason = "partition-count"
        return f"expected topic {self.name} with {wanted}; found {found} ({reason}). {REASONS[reason].remedy}"

    @property
    def _missing(self) -> str:
        return (
            f"expected topic {self.name}; found none, so nothing is processed. Restore all topics from one backup. If "
            "the topic exists, allow this user to see it: `topics --acls` shows how"
        )
