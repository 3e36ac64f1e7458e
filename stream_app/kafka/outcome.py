"""Counts the outcomes of a file's records, or finds the outcome of one record, in the ledger and rejects."""

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from aiokafka import TopicPartition
from aiokafka.errors import KafkaError, TopicAuthorizationFailedError

from stream_app.deciding.decider import INPUT_HEADER
from stream_app.formats import wire
from stream_app.kafka.client.cluster import group_offsets
from stream_app.kafka.client.log import LogReader
from stream_app.kafka.client.sending import Event, Place, Sender, SentEvents
from stream_app.kafka.client.topicid import assert_there, describe
from stream_app.kafka.client.topics import TopicNames
from stream_app.kafka.evidence.row import last_row
from stream_app.privacy.reason import Reason
from stream_app.setup.settings import Settings


class WorkersAnswer(NamedTuple):
    """A record's position, and its ledger entry or reject; both are None if the record was not processed in time."""

    place: Place
    entry: Mapping[str, Any] | None = None
    reject: Mapping[str, Any] | None = None


class UnheardError(Exception):
    """A record was sent, but its answer could not be read."""

    def __init__(self, place: Place, why: KafkaError) -> None:
        super().__init__(place, why)
        self.place, self.why = place, why


async def answer_to(settings: Settings, event: Event, kind: str, seconds: float) -> WorkersAnswer:
    """Send a record; wait at most ``seconds`` for its ledger entry of the given kind or its reject.

    The record is sent once, and stays in the log even if no answer comes. Raises aiokafka's errors and `LookupError` if
    the record was not sent, and `UnheardError` if it was sent.
    """
    names = TopicNames.of(settings.prefix, settings.application)
    await assert_there(settings, names.events, names.ledger, names.rejects)
    async with Sender.opened(settings) as sender, LogReader.opened(settings, "read_committed") as reader:
        # A worker writes all outputs of a record to the record's own partition of each topic.
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
        if found["entry"] == kind:  # an activated policy's entries come first
            return WorkersAnswer(place, entry=found)
    raise AssertionError("following a log never ends")


POLL_SECONDS = 0.5
PAUSE_SECONDS = 0.1
Starts = Mapping[tuple[str, int], int]
"""The ends of the ledger and rejects before anything was sent, by topic and partition."""


@dataclass(slots=True)
class Outcome:
    """Counts of records by outcome; ``kept`` counts records that wait in an open step or had no reported effect."""

    sent: int
    answered: int = 0
    decisions: Counter[str] = field(default_factory=Counter)
    rejects: Counter[Reason] = field(default_factory=Counter)
    kept: int = 0

    def document(self) -> dict[str, Any]:
        """Return the counts as a dictionary."""
        return {name: getattr(self, name) for name in self.__slots__}


async def ends_of(settings: Settings) -> Starts:
    """Return the current ends of the ledger and rejects.

    This sends one request of every kind that `outcome_of` needs, so missing permissions are noticed before records are
    sent. Raises aiokafka's errors, and `LookupError` for missing topics.
    """
    names = TopicNames.of(settings.prefix, settings.application)
    await assert_there(settings, names.events, names.ledger, names.rejects)
    await group_offsets(settings, names.events)
    # Use the topics' partition counts, not the sender's `partitions`: records of an omitted partition would seem to
    # wait.
    facts = await describe(settings, (names.ledger, names.rejects))
    places = [(topic, partition) for topic, found in facts.items() for partition in range(found.partitions)]
    async with LogReader.opened(settings, "read_committed") as reader:
        return {place: (await reader.bounds(*place))[1] for place in places}


async def outcome_of(
    settings: Settings, sent: SentEvents, starts: Starts, seconds: float, told: Callable[[int], None]
) -> Outcome:
    """Wait at most ``seconds`` until workers have passed all sent records; return the counts by outcome.

    ``told`` receives the number of answered records at each poll. Raises aiokafka's errors.
    """
    names = TopicNames.of(settings.prefix, settings.application)
    found = Outcome(sent.events)
    offsets: Mapping[int, int] = {}
    # If a sender may not read the state, contributions count as answered only once their step ends.
    rows = (await describe(settings, (names.changelog,))).get(names.changelog)
    partitions = [] if rows is None else [each for each in sent.places if each < rows.partitions]
    try:
        async with asyncio.timeout(seconds), LogReader.opened(settings, "read_committed") as reader:
            while True:
                offsets = await _decided(settings, names, reader, partitions)
                found.answered = _passed(sent, offsets)
                told(found.answered)
                if found.answered == sent.events:
                    break
                await asyncio.sleep(POLL_SECONDS)
    except TimeoutError:
        pass
    heard = await _read(settings, names, sent, starts, found)
    # The group's offset does not advance while steps of collected data are open, so records with output count as
    # answered.
    ahead = sum(offset >= offsets.get(partition, 0) for partition, offset in heard)
    found.kept = found.answered - (len(heard) - ahead)
    found.answered += ahead
    return found


async def _read(
    settings: Settings, names: TopicNames, sent: SentEvents, starts: Starts, found: Outcome
) -> set[tuple[int, int]]:
    """Count the outcomes of the sent records in the ledger and rejects, and return these records' positions."""
    heard: set[tuple[int, int]] = set()
    async with (
        LogReader.opened(settings, "read_committed") as reader,
        LogReader.opened(settings, "read_uncommitted") as whole,
    ):
        for (topic, partition), start in starts.items():
            mine = sent.places.get(partition, [])
            if not mine:
                continue
            # A transaction ends in each partition at a different time, so a row or an offset may be ahead of what is
            # visible here.
            _, end = await whole.bounds(topic, partition)
            while (await reader.bounds(topic, partition))[1] < end:  # noqa: ASYNC110 (brokers tell nobody)
                await asyncio.sleep(PAUSE_SECONDS)
            async for records in reader.records(topic, partition, start):
                for record in records:
                    offset = next((int(value) for name, value in record.headers if name == INPUT_HEADER), None)
                    if offset is None or not any(offset in each for each in mine):
                        continue
                    heard.add((partition, offset))
                    document: Any = wire.load(record.value)
                    if topic == names.rejects:
                        found.rejects[document["reason"]] += 1
                    else:
                        found.decisions[document.get("decision") or document["entry"]] += 1
    return heard


async def _decided(
    settings: Settings, names: TopicNames, reader: LogReader, partitions: Sequence[int]
) -> Mapping[int, int]:
    """Return the end of each partition's processed input, from the group offset and any rows that may be read.

    The group's offset does not advance while steps are open for contributions or readings.
    """
    found = dict(await group_offsets(settings, names.events))
    with suppress(TopicAuthorizationFailedError):
        for partition in partitions:
            row = await last_row(reader, names, partition)
            found[partition] = max(found.get(partition, 0), 0 if row is None else row.next_offset)
    return found


def _passed(sent: SentEvents, offsets: Mapping[int, int]) -> int:
    return sum(
        max(0, min(offsets.get(partition, 0), each.stop) - each.start)
        for partition, ranges in sent.places.items()
        for each in ranges
    )
