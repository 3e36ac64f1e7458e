"""The ids of topics: a topic that is deleted and created again has a new id under the same name."""

import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import NodeNotReadyError, TopicAuthorizationFailedError, UnknownTopicOrPartitionError
from aiokafka.protocol.api import Request, RequestStruct, Response
from aiokafka.protocol.types import Boolean, CompactArray, CompactString, Int16, Int32, Schema, TaggedFields

from stream_app.kafka.brokers import TopicFacts
from stream_app.kafka.client.security import administered, client_arguments
from stream_app.setup.settings import Settings

# aiokafka 0.14 supports this request up to version 5; version 10 added ids, and 12 allows asking by name alone.
# https://kafka.apache.org/protocol.html#The_Messages_Metadata


class _Id:
    """A 16-byte UUID, as encoded by the protocol."""

    @classmethod
    def encode(cls, value: uuid.UUID) -> bytes:
        return value.bytes

    @classmethod
    def decode(cls, data: Any) -> uuid.UUID:
        return uuid.UUID(bytes=data.read(16))

    @classmethod
    def repr(cls, value: uuid.UUID) -> str:
        return str(value)


_TEXT, _NUMBERS, _TAGS = CompactString("utf-8"), CompactArray(Int32), ("tags", TaggedFields)
_BROKER = (("node_id", Int32), ("host", _TEXT), ("port", Int32), ("rack", _TEXT), _TAGS)
_LEADER = (("error_code", Int16), ("partition", Int32), ("leader", Int32), ("leader_epoch", Int32))
_REPLICAS = (("replicas", _NUMBERS), ("isr", _NUMBERS), ("offline", _NUMBERS), _TAGS)
_TOPIC = (("error_code", Int16), ("name", _TEXT), ("topic_id", _Id), ("is_internal", Boolean))
_PARTITIONS = (("partitions", CompactArray(*_LEADER, *_REPLICAS)), ("topic_authorized_operations", Int32), _TAGS)


class _MetadataResponse(Response):
    API_KEY = 3
    API_VERSION = 12
    SCHEMA = Schema(
        ("throttle_time_ms", Int32),
        ("brokers", CompactArray(*_BROKER)),
        ("cluster_id", _TEXT),
        ("controller_id", Int32),
        ("topics", CompactArray(*_TOPIC, *_PARTITIONS)),
        _TAGS,
    )


class _MetadataStruct(RequestStruct):
    API_KEY = 3
    API_VERSION = 12
    FLEXIBLE_VERSION = True
    RESPONSE_TYPE = _MetadataResponse
    SCHEMA = Schema(
        ("topics", CompactArray(("topic_id", _Id), ("name", _TEXT), _TAGS)),
        ("allow_auto_topic_creation", Boolean),
        ("include_topic_authorized_operations", Boolean),
        _TAGS,
    )


class _MetadataRequest(Request[_MetadataStruct]):
    API_KEY = 3

    def __init__(self, topics: Iterable[str]) -> None:
        self._topics: list[Any] = [(uuid.UUID(int=0), topic, {}) for topic in topics]

    def build(self, request_struct_class: type[_MetadataStruct]) -> _MetadataStruct:
        return request_struct_class(self._topics, False, False, {})  # noqa: FBT003 (fields in the protocol's order)


async def ask(admin: AIOKafkaAdminClient, node: int, topics: Iterable[str]) -> Any:
    """Return a broker's answer about the named topics."""
    return await admin._send_request_to_node(node, _MetadataRequest(topics))  # noqa: SLF001 (no public call sends one's own)


def any_node(admin: AIOKafkaAdminClient) -> int:
    """Return any broker; raises `NodeNotReadyError` if none is known yet."""
    node = admin._client.get_random_node()  # noqa: SLF001
    if node is None:
        raise NodeNotReadyError("no broker is known yet")
    return int(node)


async def describe(settings: Settings, topics: Iterable[str]) -> Mapping[str, TopicFacts]:
    """Return the facts about each named topic that exists."""
    return {
        name: TopicFacts(str(topic_id), len(partitions))
        for error, name, topic_id, _, partitions, _, _ in await _asked(settings, topics)
        if error == 0
    }


async def assert_there(settings: Settings, *topics: str) -> None:
    """Check that topics exist, without creating them and without waiting 40 s as a producer does.

    Raises `LookupError` if some are missing, and `TopicAuthorizationFailedError` if this user may not see one.
    """
    found = {name: error for error, name, *_ in await _asked(settings, topics)}
    for name, error in found.items():
        if error == TopicAuthorizationFailedError.errno:
            raise TopicAuthorizationFailedError(name)
    if missing := [name for name in topics if found.get(name) == UnknownTopicOrPartitionError.errno]:
        said = f"topic {missing[0]} is" if len(missing) == 1 else f"topics {', '.join(missing)} are"
        raise LookupError(
            f"{said} missing; create missing topics with `topics`, or set `prefix` to the same value as the workers"
        )


async def _asked(settings: Settings, topics: Iterable[str]) -> Sequence[Any]:
    async with administered(client_arguments(settings)) as admin:
        return list((await ask(admin, any_node(admin), topics)).topics)
