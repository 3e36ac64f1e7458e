"""By which partition count series were placed, as the rows of the partitions tell."""

from stream_app.kafka.client.topics import TopicNames
from stream_app.kafka.evidence.row import PARTITION_KEY, PartitionRow
from stream_app.kafka.owner.brokers import Reader


async def placed_by(reader: Reader, names: TopicNames, partitions: int) -> int | None:
    """Return the count that the first partition with a row was made with; None when no partition has one.

    ``reader`` reads committed records; ``partitions`` of the changelog are looked at.
    """
    for partition in range(partitions):
        row = await last_row(reader, names, partition)
        if row is not None:
            return row.partitions
    return None


async def last_row(reader: Reader, names: TopicNames, partition: int) -> PartitionRow | None:
    """Return a partition's row as the changelog has it, read from its end; None when it has none."""
    found = await reader.last(names.changelog, partition, lambda record: record.key == PARTITION_KEY)
    return None if found is None or found.value is None else PartitionRow.decode(found.value)
