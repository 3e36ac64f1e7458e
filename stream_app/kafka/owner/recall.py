"""Recall: input that was decided before is read again, since what collected steps count is kept in memory alone."""

import asyncio
from typing import Any

from stream_app.deciding.collection import Collection
from stream_app.deciding.context import Context
from stream_app.deciding.decision import Lookup
from stream_app.deciding.decision import recall as recall_record
from stream_app.formats.records import InputRecord
from stream_app.kafka.client.log import LogReader
from stream_app.kafka.evidence.row import PartitionRow
from stream_app.setup.keyfile import fresh_secret

_SLICE = 128
"""Records recalled before others may run."""


async def recall(
    reader: LogReader, topic: str, partition: int, row: PartitionRow, context: Context, find: Lookup
) -> Collection:
    """Return the counts of the steps open behind ``row``; ``find`` gives the rows of series, and nothing is put out.

    ``reader`` reads committed records.
    """
    collection = Collection(fresh_secret())
    async for records in reader.records(topic, partition, row.recall_offset, row.next_offset):
        for start in range(0, len(records), _SLICE):
            for record in records[start : start + _SLICE]:
                if record.offset < row.next_offset:
                    recall_record(context, find, collection, _input_record(record))
            await asyncio.sleep(0)
    return collection


def _input_record(record: Any) -> InputRecord:
    return InputRecord(record.topic, record.partition, record.offset, record.timestamp, record.key, record.value)
