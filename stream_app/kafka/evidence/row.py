"""The partition row: how far a partition's state has come, and what it was computed with."""

from dataclasses import asdict, dataclass
from typing import Any, Final, Self

from stream_app.formats import wire
from stream_app.kafka.brokers import Reader
from stream_app.kafka.client.topics import TopicNames

PARTITION_KEY: Final = b"\x00partition"  # its key in the changelog; keys of other rows begin with a letter

UNKNOWN: Final = -1  # what a row of an earlier version tells of something that it does not hold


@dataclass(frozen=True, slots=True)
class PartitionRow:
    """Committed in the same transaction as the state it describes."""

    topic: str  # id of the events topic: offsets mean nothing in another one
    changelog: str  # id of the changelog topic: a local copy of another one is worth nothing
    partitions: int  # partition count: with another one, series would lie elsewhere
    next_offset: int  # the first input offset that is not decided
    recall_offset: int
    """Where input is read again from: what open steps count or read is in memory alone; else the next one."""
    ledger_offset: int  # every ledger record below is either in the state or was found not to bind
    key: str  # fingerprint of the noise key
    configuration: str  # fingerprint of everything in the configuration that changes decisions
    last_offset: int = -1  # offset of the last input record that was decided; -1: none, or decided before this was kept
    last_append_ms: int = 0
    """When the broker appended it: an events topic that lost its end and has grown again has another there."""
    changelog_first: int = UNKNOWN
    """The offset from which the changelog must be whole: one that begins later lost rows of series."""
    ledger_first: int = UNKNOWN  # the offset from which the ledger must be whole
    releases_offset: int = UNKNOWN
    """Releases were written up to here, itself not included; those of the last batch may lie behind it."""
    last_reject: int = UNKNOWN  # input offset of the last reject; -1: there is none that the row knows of
    releases_lost: int = -1  # releases of input up to here may be missing: that was accepted
    rejects_lost: int = -1  # rejects of input up to here may be missing: that was accepted
    group_offset: int = UNKNOWN  # the group's offset when `recover` went back; input below it is decided again
    life: str = ""
    """Changes when the changelog is written anew from an earlier point: a local copy with another one is discarded."""
    claim: int = UNKNOWN  # offset of the claim that rules the ledger partition, this application's
    producer: int = UNKNOWN  # producer id of the owner that wrote it and its batch; `recover` tells none
    separator: str = ""
    """What ends the names of members in series ids; empty: every series is its own. It placed the series."""

    def encode(self) -> bytes:
        """Return the row as it is stored: without members as it was before there were any."""
        fields = asdict(self)
        if not self.separator:
            del fields["separator"]
        return wire.dump(fields)

    @classmethod
    def decode(cls, value: bytes) -> Self:
        """Read a stored row; members of later versions are left out."""
        fields: Any = wire.load(value)
        fields.setdefault("recall_offset", fields["next_offset"])  # rows from before anything was collected
        return cls(**{name: fields[name] for name in cls.__slots__ if name in fields})


async def placed_by(reader: Reader, names: TopicNames, partitions: int) -> PartitionRow | None:
    """Return the row of the first of ``partitions`` that has one, which tells how series were placed, or None."""
    for partition in range(partitions):
        if (row := await last_row(reader, names, partition)) is not None:
            return row
    return None


async def last_row(reader: Reader, names: TopicNames, partition: int) -> PartitionRow | None:
    """Return a partition's row as the changelog has it, read from its end; None when it has none."""
    found = await reader.last(names.changelog, partition, lambda record: record.key == PARTITION_KEY)
    return None if found is None or found.value is None else PartitionRow.decode(found.value)
