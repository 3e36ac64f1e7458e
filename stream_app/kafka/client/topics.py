"""The required topics, their names and settings, and how a cluster's topics differ from them.

Kafka's defaults lose data here: a record stamped two hours ahead fails its transaction, and records stamped years ago
are deleted within minutes. Every setting on which the guarantee or the recovery depends is therefore set explicitly and
checked.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from stream_app.kafka.client.batches import readable_codecs
from stream_app.manual import page_at

FOREVER = str(2**63 - 1)
EVENT_BYTES = 8 * 1024 * 1024
"""A size far above our own limit, so that the worker rejects an oversized event and records it."""
OUTPUT_BYTES = 4 * 1024 * 1024  # for a batch of outputs, or a state row with the landmarks of many years

# Outputs carry the times of their events: years ago in a replay, in the future if a clock is wrong.
_ANY_CODEC = {"compression.type": "producer"}  # or any readable codec: see `_suffices`
_ANY_TIME = {
    **_ANY_CODEC,
    "message.timestamp.type": "CreateTime",
    "message.timestamp.before.max.ms": FOREVER,
    "message.timestamp.after.max.ms": FOREVER,
    "segment.ms": FOREVER,
}
_KEPT = {**_ANY_TIME, "cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "-1"}
_OUTPUT = {**_KEPT, "max.message.bytes": str(OUTPUT_BYTES)}
_CHANGELOG = {
    **_ANY_TIME,
    "cleanup.policy": "compact",
    "max.message.bytes": str(OUTPUT_BYTES),
    # Every event replaces rows. Segments end by size alone (see segment.ms), and only closed segments are compacted.
    "segment.bytes": str(64 * 1024 * 1024),
    "min.cleanable.dirty.ratio": "0.2",
}
_EVENTS = {
    **_ANY_CODEC,
    "message.timestamp.type": "LogAppendTime",  # only this clock limits future events
    "cleanup.policy": "delete",
    "max.message.bytes": str(EVENT_BYTES),
}
# With three brokers, one of them can be lost without losing acknowledged records.
_REPLICATED = {"min.insync.replicas": "2", "unclean.leader.election.enable": "false"}
_REPLICAS = 3

# A higher value is accepted, too.
_AT_LEAST = frozenset({"max.message.bytes", "min.insync.replicas"})
# Tuning, not correctness: set on new topics, and later changeable by the operator.
_UNCHECKED = frozenset({"segment.bytes", "min.cleanable.dirty.ratio"})


class TopicNames(NamedTuple):
    """The names of the topics of one installation."""

    events: str
    releases: str
    ledger: str
    rejects: str
    heads: str
    changelog: str

    @classmethod
    def of(cls, prefix: str, application: str) -> "TopicNames":
        """Return the names for a prefix and an application id; Faust names the changelog after its table."""
        shared = (f"{prefix}.{topic}" for topic in cls._fields[:-1])
        return cls._make([*shared, f"{application}-state-changelog"])


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic as required or as found."""

    name: str
    partitions: int
    replication: int
    settings: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Difference:
    """One property of a topic that differs from what is required, and the remedy."""

    topic: str
    field: str
    wanted: str
    found: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.topic}: {self.field} is {self.found}, but must be {self.wanted}. {self.remedy}"


def wanted_topics(names: TopicNames, partitions: int, replication: int) -> tuple[Topic, ...]:
    """Return every topic with its required settings."""
    replicated = _REPLICATED if replication >= _REPLICAS else {}
    kinds = {
        names.events: _EVENTS,
        names.releases: _OUTPUT,
        names.ledger: _OUTPUT,
        names.rejects: _OUTPUT,
        names.heads: _OUTPUT,
        names.changelog: _CHANGELOG,
    }
    return tuple(Topic(name, partitions, replication, {**settings, **replicated}) for name, settings in kinds.items())


def differences(wanted: Iterable[Topic], found: Mapping[str, Topic]) -> tuple[Difference, ...]:
    """Return all differences from the wanted topics."""
    return tuple(difference for topic in wanted for difference in _of_topic(topic, found.get(topic.name)))


def told(found: Iterable[Difference]) -> Iterator[str]:
    """Yield each difference as one line; topics with the same difference and remedy share a line."""
    together: dict[Difference, list[str]] = {}
    for one in found:
        together.setdefault(replace(one, topic=""), []).append(one.topic)
    yield from (str(replace(one, topic=", ".join(names))) for one, names in together.items())


def _of_topic(wanted: Topic, found: Topic | None) -> list[Difference]:
    name = wanted.name
    if found is None:
        remedy = "Create it with `topics`; if it exists, allow this user to see it: `topics --acls` shows how"
        return [Difference(name, "topic", "there", "missing", remedy)]
    result = []
    if found.partitions != wanted.partitions:
        # More partitions move series to partitions without their state rows: their events would be misrouted.
        remedy = (
            "All topics need the same number of partitions, which cannot change later: set `partitions` to the number "
            "that the ledger has. If another topic grew, or you want more partitions: "
            + page_at("how-to/more-partitions.md")
        )
        result.append(Difference(name, "partition count", str(wanted.partitions), str(found.partitions), remedy))
    if found.replication < wanted.replication:
        remedy = "Add replicas with kafka-reassign-partitions, or accept fewer with `topics --replication`"
        result.append(Difference(name, "replication", str(wanted.replication), str(found.replication), remedy))
    for field, value in wanted.settings.items():
        has = found.settings.get(field, "unset")
        if field not in _UNCHECKED and not _suffices(field, value, has):
            remedy = f"kafka-configs --alter --entity-type topics --entity-name {name} --add-config {field}={value}"
            result.append(Difference(name, field, value, has, remedy))
    return result


def _suffices(field: str, wanted: str, found: str) -> bool:
    if field in _AT_LEAST and found.isdecimal():
        return int(found) >= int(wanted)
    if field in _ANY_CODEC:
        return found in {wanted, *readable_codecs()}
    return found == wanted
