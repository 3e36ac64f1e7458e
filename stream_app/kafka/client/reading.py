"""Reading a topic, committed records or aborted ones too, from its beginning, in each partition's order."""

from collections.abc import AsyncIterator

from aiokafka import AIOKafkaConsumer
from aiokafka.structs import ConsumerRecord

from stream_app.kafka.client.security import client_arguments, started
from stream_app.kafka.owner.brokers import Isolation
from stream_app.setup.settings import Settings

POLL_MS = 200


async def records_of(
    settings: Settings,
    topic: str,
    *,
    isolation: Isolation = "read_committed",
    follow: bool = False,
    from_end: bool = False,
    since_ms: int | None = None,
) -> AsyncIterator[ConsumerRecord]:
    """Yield the records of ``topic`` up to its end when the call began, or for ever with ``follow``.

    It begins at the start of each partition; with ``from_end`` behind what is there. With ``since_ms`` records of an
    earlier timestamp are left out, without reading those before the first later one.
    Commits no offsets and joins no group. Raises `LookupError` when the topic is not there.
    """
    client = AIOKafkaConsumer(
        topic,
        **client_arguments(settings),
        isolation_level=isolation,
        enable_auto_commit=False,
        auto_offset_reset="earliest",
    )
    async with started(client) as consumer:
        places = list(consumer.assignment())  # without a group every partition, once the topic is known
        if not places:
            raise LookupError(
                f"topic {topic} is not there; make it with `topics`, set `prefix`, or allow this user to see it"
            )
        ends = await consumer.end_offsets(places)
        starts = ends if from_end else {}
        if since_ms is not None:
            found = await consumer.offsets_for_times(dict.fromkeys(places, since_ms))
            starts = {place: ends[place] if first is None else first.offset for place, first in found.items()}
        for place, start in starts.items():
            consumer.seek(place, start)
        while follow or [place for place in places if await consumer.position(place) < ends[place]]:
            for records in (await consumer.getmany(timeout_ms=POLL_MS)).values():
                for record in records:
                    if since_ms is None or record.timestamp >= since_ms:
                        yield record
