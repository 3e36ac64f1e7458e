"""Recall: input that was decided before is read again, since what collected steps count is kept in memory alone."""

import asyncio
from typing import Any

from stream_app.deciding.collection import Collection
from stream_app.deciding.decision import Lookup
from stream_app.deciding.decision import recall as recall_record
from stream_app.formats.records import InputRecord
from stream_app.kafka.evidence.row import PartitionRow
from stream_app.kafka.owner.brokers import Reader
from stream_app.kafka.owner.parts import Site

_SLICE = 128
"""Records recalled before others may run."""


async def recall(reader: Reader, site: Site, partition: int, row: PartitionRow, find: Lookup) -> Collection:
    """Return the counts of the steps open behind ``row``; ``find`` gives the rows of series, and nothing is put out.

    ``reader`` reads committed records.
    """
    collection = Collection(site.secret())
    async for records in reader.records(site.names.events, partition, row.recall_offset, row.next_offset):
        for start in range(0, len(records), _SLICE):
            for record in records[start : start + _SLICE]:
                if record.offset < row.next_offset:
                    recall_record(site.context, find, collection, _input_record(record))
            await asyncio.sleep(0)
    return collection


def _input_record(record: Any) -> InputRecord:
    return InputRecord(record.topic, record.partition, record.offset, record.timestamp, record.key, record.value)
