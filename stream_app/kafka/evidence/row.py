"""The partition row: how far a partition's state has advanced, and what it was computed with."""

from dataclasses import asdict, dataclass
from typing import Any, Final, Self

from stream_app.formats import wire
from stream_app.kafka.brokers import Reader
from stream_app.kafka.client.topics import TopicNames

PARTITION_KEY: Final = b"\x00partition"  # its key in the changelog; other keys begin with a letter

UNKNOWN: Final = -1  # in a row of an earlier version: a value that it does not contain


@dataclass(frozen=True, slots=True)
class PartitionRow:
    """How far a partition has come, committed with the state it describes."""

    topic: str  # id of the events topic: offsets mean nothing in another one
    changelog: str  # id of the changelog topic: a local copy of another one is useless
    partitions: int  # partition count: with another one, series would lie elsewhere
    next_offset: int  # the first unprocessed input offset
    recall_offset: int
    """Where input is read again from: open steps exist in memory alone; without any, the next offset."""
    ledger_offset: int  # every earlier ledger record is either in the state or not binding
    key: str  # fingerprint of the noise key
    configuration: str  # fingerprint of all configuration that affects decisions
    last_offset: int = -1  # offset of the last processed input record; -1: none, or processed before this was kept
    last_append_ms: int = 0
    """When the broker appended it: if the events topic lost its end and grew again, this time differs."""
    changelog_first: int = UNKNOWN
    """The offset from which the changelog must be complete: if it begins later, it lost rows of series."""
    ledger_first: int = UNKNOWN  # the offset from which the ledger must be whole
    releases_offset: int = UNKNOWN
    """All releases before this offset are written; those of the last batch may follow it."""
    last_reject: int = UNKNOWN  # input offset of the last reject; -1: the row knows of none
    releases_lost: int = -1  # releases of input up to here may be missing: this was accepted
    rejects_lost: int = -1  # rejects of input up to here may be missing: this was accepted
    group_offset: int = UNKNOWN  # the group's offset when `recover` went back; input below is processed again
    life: str = ""
    """Changes when the changelog is rewritten from an earlier point: copies with another are discarded."""
    claim: int = UNKNOWN  # offset of this application's valid claim to the ledger partition
    producer: int = UNKNOWN  # producer id of the owner that wrote it; unknown after `recover`
    separator: str = ""
    """What ends the person's name in series ids; empty: no persons. Series were placed by it."""

    def encode(self) -> bytes:
        """Return the encoded row; without persons it has the format from before there were any."""
        fields = asdict(self)
        if not self.separator:
            del fields["separator"]
        return wire.dump(fields)

    @classmethod
    def decode(cls, value: bytes) -> Self:
        """Decode a stored row; fields of later versions are omitted."""
        fields: Any = wire.load(value)
        fields.setdefault("recall_offset", fields["next_offset"])  # rows from before collected data existed
        return cls(**{name: fields[name] for name in cls.__slots__ if name in fields})


async def placed_by(reader: Reader, names: TopicNames, partitions: int) -> PartitionRow | None:
    """Return the first row found in ``partitions``, which shows how series were placed, or None."""
    for partition in range(partitions):
        if (row := await last_row(reader, names, partition)) is not None:
            return row
    return None


async def last_row(reader: Reader, names: TopicNames, partition: int) -> PartitionRow | None:
    """Return a partition's row, read from the end of the changelog, or None if it has none."""
    found = await reader.last(names.changelog, partition, lambda record: record.key == PARTITION_KEY)
    return None if found is None or found.value is None else PartitionRow.decode(found.value)
