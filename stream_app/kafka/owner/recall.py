"""Recall: reads processed input again, because the content of open steps is kept only in memory."""

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Any

from stream_app.deciding.collection import Collection
from stream_app.deciding.columns.counting import Counting
from stream_app.deciding.decision import recall as recall_record
from stream_app.deciding.rows import Lookup
from stream_app.deciding.units.blocks import Blocks, Table
from stream_app.formats import wire
from stream_app.formats.records import InputRecord, Parsed
from stream_app.kafka.brokers import Reader
from stream_app.kafka.evidence.ends import counts_lost
from stream_app.kafka.evidence.row import PartitionRow
from stream_app.kafka.parts import Site
from stream_app.kafka.stops import PartitionStoppedError

logger = logging.getLogger(__name__)

_SLICE = 128  # records recalled before yielding


async def recall(
    site: Site, partition: int, row: PartitionRow, find: Lookup, sealed: Callable[[bytes], bytes | None]
) -> Collection:
    """Return the counts of the steps that are open after ``row``, without writing output.

    ``find`` returns series' rows, and ``sealed`` reads the rows that need no recall. Raises `PartitionStoppedError` if
    input of open steps is lost.
    """
    collection = Collection(site.secret(), Blocks(Table(site.context.keys, row.topic, sealed)))
    if row.recall_offset == row.next_offset:
        return collection
    began = time.perf_counter()
    async with site.brokers.reader("read_committed") as reader:
        await _count_again(reader, site, partition, row, find, collection)
        # If the topic was deleted meanwhile, it may have been read only in part.
        first, _ = await reader.bounds(site.names.events, partition)
    if first > row.recall_offset:
        raise counts_lost(row.recall_offset, first).stopped(partition)
    if collection.floor() != row.recall_offset:
        asked = f"the oldest open step to be opened by the watermark at offset {row.recall_offset}"
        found = f"offset {collection.floor()} after the input was read again"
        raise PartitionStoppedError(partition, "state-damaged", asked, found)
    count, seconds = row.next_offset - row.recall_offset, time.perf_counter() - began
    logger.info("partition %d: read %d records of open steps again in %.1f s", partition, count, seconds)
    return collection


async def _count_again(
    reader: Reader, site: Site, partition: int, row: PartitionRow, find: Lookup, collection: Collection
) -> None:
    counting = Counting(site.context, find, collection)
    async for records in reader.records(site.names.events, partition, row.recall_offset, row.next_offset):
        for start in range(0, len(records), _SLICE):
            some = [one for one in records[start : start + _SLICE] if one.offset < row.next_offset]
            parsed = wire.parsed_all([one.value for one in some])
            for nth in counting.others([one.key for one in some], parsed):
                recall_record(site.context, find, collection, input_record(some[nth], parsed[nth]))
            await asyncio.sleep(0)


def input_record(record: Any, parsed: Parsed | None = None) -> InputRecord:
    """Return a log record as an input record."""
    where = (record.topic, record.partition, record.offset, record.timestamp)
    return InputRecord(*where, record.key, record.value, parsed)
