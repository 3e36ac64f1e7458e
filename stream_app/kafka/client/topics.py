"""The topics: their names, their settings, and what differs from them on a cluster.

Kafka's defaults lose data here: a record stamped two hours ahead fails its transaction, and records stamped years ago
are deleted within minutes. So every setting that the guarantee or the recovery rests on is given, and checked.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from stream_app.kafka.client.batches import readable_codecs
from stream_app.manual import page_at

FOREVER = str(2**63 - 1)
EVENT_BYTES = 8 * 1024 * 1024
"""Far above our own limit: what is too large gets a reject, not only an error at its sender."""
OUTPUT_BYTES = 4 * 1024 * 1024  # a batch of outputs; and one state row with the landmarks of a long life

# A series' outputs carry the times of its events: years ago in a replay, ahead when a clock is wrong.
_ANY_CODEC = {"compression.type": "producer"}  # or any codec that can be read here: see `_suffices`
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
    # Rows are replaced at every event. Segments end by size alone (see segment.ms), and only ended ones are compacted.
    "segment.bytes": str(64 * 1024 * 1024),
    "min.cleanable.dirty.ratio": "0.2",
}
_EVENTS = {
    **_ANY_CODEC,
    "message.timestamp.type": "LogAppendTime",  # the only clock of the bound on future events
    "cleanup.policy": "delete",
    "max.message.bytes": str(EVENT_BYTES),
}
# Where three brokers are, one of them may be lost without losing what was acknowledged.
_REPLICATED = {"min.insync.replicas": "2", "unclean.leader.election.enable": "false"}
_REPLICAS = 3
_LONGEST_PREFIX = 80  # so that names that begin with it are not too long for a topic or a setting

# More than asked is as good.
_AT_LEAST = frozenset({"max.message.bytes", "min.insync.replicas"})
# Tuning, not correctness: given to new topics, the operator's choice from then on.
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


def verified_prefix(prefix: str) -> str:
    """Return what all names of a worker begin with that `verify --worker` runs: topics, group, transactional ids."""
    return f"{prefix[:_LONGEST_PREFIX]}-verify-"


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic as it is to be, or as it is found."""

    name: str
    partitions: int
    replication: int
    settings: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing about a topic that is not as it must be, and what mends it."""

    topic: str
    field: str
    wanted: str
    found: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.topic}: {self.field} is {self.found}, but must be {self.wanted}. {self.remedy}"


def wanted_topics(names: TopicNames, partitions: int, replication: int) -> tuple[Topic, ...]:
    """Return every topic with the settings it must have."""
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
    """Return everything that differs."""
    return tuple(difference for topic in wanted for difference in _of_topic(topic, found.get(topic.name)))


def told(found: Iterable[Difference]) -> Iterator[str]:
    """Yield each difference as one line; what several topics have in common, remedy included, is one line of all."""
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
        # More partitions move series to others, whose state rows do not know them: their events would be misrouted.
        remedy = (
            "All topics need the same number of partitions, which cannot change later: set `partitions` to the number "
            "of the ledger. If another topic grew, or you want more partitions: " + page_at("how-to/more-partitions.md")
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
