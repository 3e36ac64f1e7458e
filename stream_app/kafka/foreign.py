"""Records that this application did not write, in topics that are its own.

Every output carries the header `input`, whoever wrote it, and under one key another application writes the same bytes.
What tells them apart is the producer id in the header of a batch, which the brokers give to a transactional id, and so
to one application and partition. While one owner works, nothing has to be read to see that nobody else wrote: its next
batch then begins right behind the marker of its last transaction.
"""

from collections.abc import Collection, Mapping

from stream_app.kafka.claim import is_claim
from stream_app.kafka.log import LogReader
from stream_app.kafka.producer import Extent
from stream_app.kafka.row import UNKNOWN
from stream_app.kafka.stopped import PartitionStoppedError
from stream_app.settings import Settings


class Ownership:
    """Where the next batch of each output topic must begin, for one partition and one owner."""

    def __init__(self, settings: Settings, partition: int) -> None:
        """Expect nothing yet."""
        self._settings, self._partition = settings, partition
        self._next: dict[str, int] = {}

    async def begin(self, starts: Mapping[str, int], own: Collection[int]) -> None:
        """Look at what each topic holds from an offset on (-1: not known), and expect only own records from now on.

        ``own`` holds the producer ids of this application; where an offset or an id is not known, nothing is judged.

        Raises:
            PartitionStoppedError: if somebody else wrote there.
        """
        async with LogReader.opened(self._settings, "read_uncommitted") as reader:
            for topic, start in starts.items():
                _, end = await reader.bounds(topic, self._partition)
                if start != UNKNOWN and UNKNOWN not in own:
                    await self._judge(reader, topic, start, end, own)
                self._next[topic] = end

    async def check(self, topic: str, written: Extent, count: int, own: int) -> None:
        """Check that nothing lies before or within ``count`` records just written but markers.

        Raises:
            PartitionStoppedError: if somebody else wrote there.
        """
        due = self._next.pop(topic, None)
        if written.first is None or written.end is None:
            return  # a repeated request does not tell; the next batch begins the comparison anew
        gapless = written.end - written.first == count
        if due is not None and not (gapless and written.first <= due):
            async with LogReader.opened(self._settings, "read_uncommitted") as reader:
                await self._judge(reader, topic, due, written.end, {own})
        self._next[topic] = written.end + 1  # the marker that ends the transaction

    async def _judge(self, reader: LogReader, topic: str, start: int, end: int, own: Collection[int]) -> None:
        async for records in reader.records(topic, self._partition, start, end):
            for record in records:
                if record.offset < end and record.producer not in own and not is_claim(record):
                    raise PartitionStoppedError(
                        self._partition,
                        "foreign-writer",
                        asked=f"no records in {topic} but this application's",
                        found=f"one of another producer ({record.producer}) at offset {record.offset}",
                    )
