"""Detects input that the group's offset skips although no output shows that it was processed.

A worker's group offset never passes unprocessed input, and every processed record has an output that names it, with two
exceptions: a contribution, and a watermark that closes nothing. While the steps that these records belong to are open,
the group's offset stays before them. So if there are records between the last input that outputs name and the group's
offset, somebody must have advanced that offset. This is uncertain only if the records are of those two kinds. Offsets
without a record are transaction markers.

A reading of a unit has no output either, and the group's offset passes it at once: input of series with units below
that offset counts as processed.
"""

from collections.abc import Container
from typing import NamedTuple

from stream_app.formats import wire
from stream_app.formats.records import Contribution, Observation, Watermark
from stream_app.kafka.brokers import Reader
from stream_app.kafka.client.topics import TopicNames
from stream_app.kafka.stops import PartitionStoppedError


class SkippedRecords(NamedTuple):
    """Records below the group's offset that no output names."""

    first: int
    last: int
    records: int
    unsure: int  # how many are contributions or watermarks, which may lack output

    def refused(self, names: TopicNames, partition: int, told: int, committed: int) -> PartitionStoppedError:
        """Return the error for a recovery that would skip these records; outputs name only input below ``told``."""
        asked = f"outputs for all input from {names.events} below the group's offset {committed}"
        unsure = (
            f", of which {self.unsure} are contributions or watermarks, which need no output" if self.unsure else ""
        )
        found = f"no output for {self.records} records, offsets {self.first} to {self.last}{unsure}"
        end = f"the outputs end with the input before offset {told}"
        return PartitionStoppedError(partition, "input-skipped", asked, f"{found}; {end}")


async def skipped(
    reader: Reader, topic: str, partition: int, told: int, committed: int, units: Container[str] = ()
) -> SkippedRecords | None:
    """Return the records from ``told`` on that the group's offset ``committed`` skips, or None.

    ``units`` are the series with units.
    """
    offsets: list[int] = []
    unsure = 0
    if told >= committed:
        return None
    async for records in reader.records(topic, partition, told, committed):
        for record in records:
            found = wire.decode(record.value)
            read = isinstance(found, Observation | Watermark) and found.series in units
            if record.offset < committed and not read:
                offsets.append(record.offset)
                unsure += isinstance(found, Contribution | Watermark)
    return SkippedRecords(offsets[0], offsets[-1], len(offsets), unsure) if offsets else None
