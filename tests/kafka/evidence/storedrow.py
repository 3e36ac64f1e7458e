"""The partition row that an installation's changelog holds: read, and written as a test would have it."""

from stream_app.kafka.client.brokers import PartitionProducer
from stream_app.kafka.evidence.row import PARTITION_KEY, PartitionRow
from tests.kafka.installation import Installation


def stored_row(installation: Installation) -> PartitionRow:
    """Return the newest row of an installation of one partition."""
    (*_, newest) = (record for record in installation.read(installation.names.changelog) if record.key == PARTITION_KEY)
    return PartitionRow.decode(newest.value)


async def store_row(installation: Installation, row: PartitionRow) -> None:
    """Commit a row of partition 0, as its owner would."""
    producer = await PartitionProducer.open(installation.settings(), 0)
    pages = producer.pages()
    pages.append(PARTITION_KEY, row.encode(), 0, [])
    await producer.begin()
    await producer.send(installation.names.changelog, pages)
    await producer.commit()
    await producer.stop()
