"""The partition row: a partition's progress, and the configuration under which its state was computed."""

from dataclasses import asdict, dataclass
from typing import Any, Final, Self

from stream_app.formats import wire
from stream_app.kafka.brokers import Reader
from stream_app.kafka.client.topics import TopicNames

PARTITION_KEY: Final = b"\x00partition"  # its key in the changelog; other keys begin with a letter

UNKNOWN: Final = -1  # a value that a row of an earlier version does not contain


@dataclass(frozen=True, slots=True)
class PartitionRow:
    """The progress of a partition, committed together with the state it describes."""

    topic: str  # id of the events topic: offsets mean nothing in another one
    changelog: str  # id of the changelog topic: a local copy of another one is useless
    partitions: int  # partition count: another count would place series elsewhere
    next_offset: int  # the first unprocessed input offset
    recall_offset: int
    """Where to start reading input again for open steps, which exist only in memory; otherwise the next offset."""
    ledger_offset: int  # every earlier ledger record is either in the state or not binding
    key: str  # fingerprint of the noise key
    configuration: str  # fingerprint of all configuration that affects decisions
    last_offset: int = -1  # offset of the last processed record; -1 if none, or before this was stored
    last_append_ms: int = 0
    """When the broker appended the last processed record.

    The time differs if the events topic lost its tail and has since grown.
    """
    changelog_first: int = UNKNOWN
    """The offset from which the changelog must be complete: if it begins later, it lost rows of series."""
    ledger_first: int = UNKNOWN  # offset from which the ledger must be complete
    releases_offset: int = UNKNOWN
    """All releases before this offset are written; releases of the last batch may come after it."""
    last_reject: int = UNKNOWN  # input offset of the last reject; -1 if none is known
    releases_lost: int = -1  # the loss of releases of input up to here was accepted
    rejects_lost: int = -1  # the loss of rejects of input up to here was accepted
    group_offset: int = UNKNOWN  # the group's offset that `recover` reset; earlier input is processed again
    life: str = ""
    """A name that changes when the changelog is rewritten from an earlier point; other copies are then discarded."""
    claim: int = UNKNOWN  # offset of this application's valid claim to the ledger partition
    producer: int = UNKNOWN  # producer id of the owner that wrote it; unknown after `recover`
    separator: str = ""
    """The separator after person names in series ids, used to place the series; empty if there are no persons."""

    def encode(self) -> bytes:
        """Return the encoded row; if there are no persons, the format is the one used before persons existed."""
        fields = asdict(self)
        if not self.separator:
            del fields["separator"]
        return wire.dump(fields)

    @classmethod
    def decode(cls, value: bytes) -> Self:
        """Decode a stored row; ignore fields of later versions."""
        fields: Any = wire.load(value)
        fields.setdefault("recall_offset", fields["next_offset"])  # rows from before collected data existed
        return cls(**{name: fields[name] for name in cls.__slots__ if name in fields})


async def placed_by(reader: Reader, names: TopicNames, partitions: int) -> PartitionRow | None:
    """Return the first row found in ``partitions``, which shows how series were assigned to partitions, or None."""
    for partition in range(partitions):
        if (row := await last_row(reader, names, partition)) is not None:
            return row
    return None


async def last_row(reader: Reader, names: TopicNames, partition: int) -> PartitionRow | None:
    """Return a partition's row, read from the end of the changelog, or None if the partition has no row."""
    found = await reader.last(names.changelog, partition, lambda record: record.key == PARTITION_KEY)
    return None if found is None or found.value is None else PartitionRow.decode(found.value)
