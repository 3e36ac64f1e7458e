"""The answer to one record of the events topic: the record is sent, and what a worker writes of it is waited for."""

import asyncio
from collections.abc import Mapping
from typing import Any, NamedTuple

from aiokafka import TopicPartition
from aiokafka.errors import KafkaError

from stream_app.deciding.decider import INPUT_HEADER
from stream_app.formats import wire
from stream_app.kafka.client.log import LogReader
from stream_app.kafka.client.sending import Event, Place, Sender
from stream_app.kafka.client.topicid import assert_there
from stream_app.kafka.client.topics import TopicNames
from stream_app.setup.settings import Settings


class WorkersAnswer(NamedTuple):
    """Where a record stands, and its ledger entry or its reject; neither when no worker decided it in time."""

    place: Place
    entry: Mapping[str, Any] | None = None
    reject: Mapping[str, Any] | None = None


class UnheardError(Exception):
    """A record was sent, and its answer could not be read."""

    def __init__(self, place: Place, why: KafkaError) -> None:
        super().__init__(place, why)
        self.place, self.why = place, why


async def answer_to(settings: Settings, event: Event, kind: str, seconds: float) -> WorkersAnswer:
    """Send a record whose own ledger entry is of a kind, and wait for that or for its reject, at most some seconds.

    The record is sent once, and stays in the log whatever becomes of the waiting. Raises aiokafka's errors and
    `LookupError` when it was not sent, and `UnheardError` when it was.
    """
    names = TopicNames.of(settings.prefix, settings.application)
    await assert_there(settings, names.events, names.ledger, names.rejects)
    async with Sender.opened(settings) as sender, LogReader.opened(settings, "read_committed") as reader:
        # A worker writes all that comes of a record to the record's own partition of each topic.
        places = [TopicPartition(topic, sender.partition_of(event)) for topic in (names.ledger, names.rejects)]
        starts = {place: (await reader.bounds(*place))[1] for place in places}
        place = await sender.send(event)
        try:
            async with asyncio.timeout(seconds):
                return await _answer(reader, starts, names.rejects, place, kind)
        except TimeoutError:
            return WorkersAnswer(place)
        except KafkaError as error:
            raise UnheardError(place, error) from error


async def _answer(
    reader: LogReader, starts: Mapping[TopicPartition, int], rejects: str, place: Place, kind: str
) -> WorkersAnswer:
    wanted = (INPUT_HEADER, b"%d" % place.offset)
    async for record in reader.following(starts):
        if wanted not in record.headers:
            continue
        found: Any = wire.load(record.value)
        if record.topic == rejects:
            return WorkersAnswer(place, reject=found)
        if found["entry"] == kind:  # before it stand entries of a policy that it made rule
            return WorkersAnswer(place, entry=found)
    raise AssertionError("a log is followed for ever")
