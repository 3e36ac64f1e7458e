"""Admin requests for a cluster's topics, their settings, and the consumer group's progress."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any, Final

from aiokafka import errors
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType

from stream_app.kafka.client.security import administered, client_arguments
from stream_app.kafka.client.topicid import any_node, ask
from stream_app.kafka.client.topics import Topic
from stream_app.setup.settings import Settings

VERIFICATION: Final = "transaction.partition.verification.enable"
"""The setting that makes brokers reject late records of a transaction that has ended."""
_PATIENCE_SECONDS = 30
_ATTEMPTS = 60
_PAUSE_SECONDS = 0.5


class ClusterError(Exception):
    """A request that the cluster refused."""

    def __init__(self, asked: str, found: str) -> None:
        super().__init__(f"{asked}: {found}")
        self.asked, self.found = asked, found


class Cluster:
    """Admin requests about the topics of one cluster; create instances with ``connected``."""

    def __init__(self, admin: AIOKafkaAdminClient) -> None:
        self._admin = admin

    @classmethod
    @asynccontextmanager
    async def connected(cls, client: Mapping[str, Any]) -> AsyncIterator["Cluster"]:
        """Connect with the options that all clients share: ``bootstrap_servers`` and security."""
        async with administered(client) as admin:
            yield cls(admin)

    async def brokers(self) -> int:
        """Return the number of brokers."""
        return len((await self._asked()).brokers)

    async def unverified(self) -> tuple[int, ...]:
        """Return the brokers that do not verify a transaction's partitions; omit any that cannot be queried."""
        nodes = [str(node) for node, *_ in (await self._asked()).brokers]
        resources = [ConfigResource(ConfigResourceType.BROKER, node, {VERIFICATION: None}) for node in nodes]
        answers = [found for answer in await self._admin.describe_configs(resources) for found in answer.resources]
        return tuple(
            int(name)
            for code, _, _, name, entries in answers
            if not code and any(entry[:2] == (VERIFICATION, "false") for entry in entries)
        )

    async def find(self, names: Iterable[str]) -> dict[str, Topic]:
        """Return the named topics that exist and that all queried brokers already know."""
        replicas = await self._replicas(names)
        settings = await self._settings(replicas)
        return {
            name: Topic(name, len(found), min(found), settings[name])
            for name, found in replicas.items()
            if name in settings
        }

    async def make(self, topics: Iterable[Topic]) -> dict[str, Topic]:
        """Create topics and return them as created; raises `ClusterError` with every refusal."""
        wanted = [
            NewTopic(one.name, one.partitions, one.replication, topic_configs=dict(one.settings)) for one in topics
        ]
        if not wanted:
            return {}
        answer = await self._admin.create_topics(wanted)
        _check("making topics", answer.topic_errors)
        # The controller answers before the other brokers know the topics.
        names = {topic.name for topic in wanted}
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while missing := names - (found := await self.find(names)).keys():
            if time.monotonic() > deadline:
                raise ClusterError("making topics", f"still missing after {_PATIENCE_SECONDS} s: {', '.join(missing)}")
            await asyncio.sleep(0.05)
        return found

    async def _asked(self, topics: Iterable[str] = ()) -> Any:
        # Ask only for what is needed: a cluster may have thousands of topics. This request never creates a topic.
        return await ask(self._admin, any_node(self._admin), topics)

    async def _replicas(self, names: Iterable[str]) -> dict[str, list[int]]:
        """Return the replica count of each partition of the named topics that exist and that this user may see."""
        topics = (await self._asked(names)).topics
        return {name: [len(one[4]) for one in parts] for _, name, _, _, parts, *_ in topics if parts}

    async def _settings(self, names: Iterable[str]) -> dict[str, dict[str, str]]:
        resources = [ConfigResource(ConfigResourceType.TOPIC, name) for name in names]
        result: dict[str, dict[str, str]] = {}
        for answer in await self._admin.describe_configs(resources) if resources else ():
            for code, message, _, name, entries in answer.resources:
                if code == errors.UnknownTopicOrPartitionError.errno:
                    continue
                if code:
                    raise ClusterError(f"settings of {name}", _reason(code, message)) from errors.for_code(code)()
                result[name] = {entry[0]: entry[1] for entry in entries}
        return result


async def group_members(settings: Settings) -> int:
    """Return the current number of workers in the group."""
    async with administered(client_arguments(settings)) as admin:
        await _coordinator(admin, settings.application)
        (answer,) = await admin.describe_consumer_groups([settings.application])
    return sum(len(group[5]) for group in answer.groups)


async def group_offsets(settings: Settings, topic: str) -> Mapping[int, int]:
    """Return the group's offset for each partition of ``topic`` that has one."""
    async with administered(client_arguments(settings)) as admin:
        await _coordinator(admin, settings.application)
        offsets = await admin.list_consumer_group_offsets(settings.application)
    return {tp.partition: found.offset for tp, found in offsets.items() if tp.topic == topic and found.offset >= 0}


async def _coordinator(admin: AIOKafkaAdminClient, group: str) -> None:
    """Wait for the group's coordinator: a new cluster creates the offsets topic only at the first request."""
    for _ in range(_ATTEMPTS - 1):
        with suppress(errors.GroupCoordinatorNotAvailableError, errors.GroupLoadInProgressError):
            await admin.find_coordinator(group)
            return
        await asyncio.sleep(_PAUSE_SECONDS)
    await admin.find_coordinator(group)


def _check(asked: str, answers: Iterable[Any]) -> None:
    """Raise `ClusterError` with every refusal in the answers to a request about topics."""
    refused = [(name, code, *rest) for name, code, *rest in answers if code]
    if refused:
        told = "; ".join(f"{name}: {_reason(*why)}" for name, *why in refused)
        raise ClusterError(asked, told) from errors.for_code(refused[0][1])()


def _reason(code: int, message: str | None = None) -> str:
    kind = errors.for_code(code)
    return message or str(getattr(kind, "description", "") or kind.__name__)
