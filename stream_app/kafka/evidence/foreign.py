"""Finds records that another application wrote into this application's topics.

Every output carries the `input` header, no matter which application wrote it, and an application with the same key
writes the same bytes. Only the producer id in the batch header distinguishes the applications: the brokers assign it to
a transactional id, and thus to one application and partition. A working owner need not read anything to rule out other
writers: the owner's next batch begins right after the marker of its last transaction only if there are no other
writers.
"""

from collections.abc import Collection, Mapping
from typing import Any, Final

from stream_app.deciding.decider import input_of
from stream_app.formats import wire
from stream_app.kafka.brokers import Brokers, Extent, Reader
from stream_app.kafka.evidence.claim import is_claim
from stream_app.kafka.evidence.row import UNKNOWN
from stream_app.kafka.stops import PartitionStoppedError

_ENTRY: Final = {"entry": str, "series": str, "sequence": int, "previous": str, "hash": str}
"""The fields of every ledger entry."""


def entry_of(record: Any) -> Any:
    """Return the entry in a ledger record; raises `PartitionStoppedError` if there is none."""
    found = content(record)
    if not all(isinstance(found.get(name), kind) for name, kind in _ENTRY.items()):
        raise stray(record)
    return found


def content(record: Any) -> Any:
    """Return the fields of an output record; raises `PartitionStoppedError` if it is not a JSON object."""
    try:
        found: Any = wire.load(record.value)
    except (ValueError, TypeError):
        raise stray(record) from None
    if not isinstance(found, dict):
        raise stray(record)
    return found


def input_offset(record: Any) -> int:
    """Return the input offset in an output record's header; raises `PartitionStoppedError` if there is none."""
    if record.value is None:  # no output is a tombstone
        raise stray(record)
    try:
        return input_of(record.headers)
    except (StopIteration, ValueError, TypeError):  # anyone may have written these headers
        raise stray(record) from None


def stray(record: Any) -> PartitionStoppedError:
    """Return the error for a record that this application cannot have written."""
    asked = f"only records of this application in {record.topic}"
    found = f"a record at offset {record.offset} that no version of it writes"
    return PartitionStoppedError(record.partition, "foreign-writer", asked, found)


class Ownership:
    """The offset at which the next batch in each output topic must begin, for one partition and one owner."""

    def __init__(self, brokers: Brokers, partition: int) -> None:
        self._brokers, self._partition = brokers, partition
        self._next: dict[str, tuple[int, int]] = {}
        """For each topic, the offset checked so far, and where the next batch begins if there is no other writer."""

    async def begin(self, starts: Mapping[str, int], own: Collection[int]) -> None:
        """Check each topic from its start offset (-1: unknown) to its end; from then on, expect only our own records.

        ``own`` contains the producer ids of this application; if an offset or an id is unknown, nothing is checked.
        Raises `PartitionStoppedError` if another producer wrote there.
        """
        async with self._brokers.reader("read_uncommitted") as reader:
            for topic, start in starts.items():
                _, end = await reader.bounds(topic, self._partition)
                if start != UNKNOWN and UNKNOWN not in own:
                    await self._judge(reader, topic, start, end, own)
                self._next[topic] = end, end

    async def check(self, topic: str, written: Extent, count: int, own: int) -> None:
        """Check that only markers precede or separate the ``count`` records just written; raise as `begin` does."""
        expected = self._next.pop(topic, None)
        if written.first is None or written.end is None:
            return  # a repeated request has no offsets; the next batch restarts the check
        if expected is not None:
            judged, due = expected
            if written.end - written.first != count or written.first > due:
                async with self._brokers.reader("read_uncommitted") as reader:
                    await self._judge(reader, topic, judged, written.end, {own})
        # The marker that ends the transaction follows; another writer's record may precede the marker.
        self._next[topic] = written.end, written.end + 1

    async def _judge(self, reader: Reader, topic: str, start: int, end: int, own: Collection[int]) -> None:
        async for records in reader.records(topic, self._partition, start, end):
            for record in records:
                if record.offset < end and record.producer not in own and not is_claim(record):
                    asked = f"only records of this application in {topic}"
                    found = f"a record from another producer ({record.producer}) at offset {record.offset}"
                    raise PartitionStoppedError(self._partition, "foreign-writer", asked, found)
