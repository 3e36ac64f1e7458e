"""The records of the heads from their topic, in full: they come before the ledger's."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from aiokafka import AIOKafkaConsumer

from stream_app.audit.topic import WAIT_MS, TopicError, find

FETCH_RECORDS: Final = 500
"""Records at once: those of leaves have 64 KiB."""


async def read_head_topic(client: Mapping[str, Any], topic: str, feed: Callable[[bytes, int], None]) -> None:
    """Feed each committed record with its partition, up to where the topic ends now.

    A head is begun after all that it covers was committed, so a ledger that is read later has every entry it names.

    Raises:
        TopicError: the topic is not there, or its start was deleted.
        aiokafka.errors.KafkaError: the brokers cannot be reached or refuse.
    """
    await find(client, [topic])
    consumer = AIOKafkaConsumer(
        topic, **client, isolation_level="read_committed", enable_auto_commit=False, auto_offset_reset="earliest"
    )
    try:
        await consumer.start()
        places = list(consumer.assignment())
        for place, start in (await consumer.beginning_offsets(places)).items():
            if start > 0:
                raise TopicError(f"topic {topic} was deleted up to offset {start} of {place.partition}")
        ends = await consumer.end_offsets(places)
        while unread := [place for place, end in ends.items() if await consumer.position(place) < end]:
            fetched = await consumer.getmany(*unread, timeout_ms=WAIT_MS, max_records=FETCH_RECORDS)
            for place, records in fetched.items():
                for record in records:
                    feed(record.value or b"", place.partition)
    finally:
        await consumer.stop()
