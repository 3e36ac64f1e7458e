"""What workers made of records, as ledger and rejects tell: of a file of them, or of one that waits for its answer."""

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


POLL_SECONDS = 0.5
PAUSE_SECONDS = 0.1
Starts = Mapping[tuple[str, int], int]
"""The ends of ledger and rejects before anything was sent, by topic and partition."""


@dataclass(slots=True)
class Outcome:
    """Records by what became of them; those of ``kept`` wait in a step that is open, or changed nothing to tell of."""

    sent: int
    answered: int = 0
    decisions: Counter[str] = field(default_factory=Counter)
    rejects: Counter[Reason] = field(default_factory=Counter)
    kept: int = 0

    def document(self) -> dict[str, Any]:
        """Return it for programs."""
        return {name: getattr(self, name) for name in self.__slots__}


async def ends_of(settings: Settings) -> Starts:
    """Return where ledger and rejects end now.

    All that `outcome_of` will ask is asked once: who may not know what becomes of records is told before they are sent.
    Raises aiokafka's errors, and `LookupError` for topics that are missing.
    """
    names = TopicNames.of(settings.prefix, settings.application)
    await assert_there(settings, names.events, names.ledger, names.rejects)
    await group_offsets(settings, names.events)
    # By the topics, not by `partitions` of whoever sends: records of a partition that is left out would seem to wait.
    facts = await describe(settings, (names.ledger, names.rejects))
    places = [(topic, partition) for topic, found in facts.items() for partition in range(found.partitions)]
    async with LogReader.opened(settings, "read_committed") as reader:
        return {place: (await reader.bounds(*place))[1] for place in places}


async def outcome_of(
    settings: Settings, sent: SentEvents, starts: Starts, seconds: float, told: Callable[[int], None]
) -> Outcome:
    """Wait at most some seconds until workers passed all that was sent, and return what became of it until then.

    ``told`` gets how many are answered, as that grows. Raises aiokafka's errors.
    """
    names = TopicNames.of(settings.prefix, settings.application)
    found = Outcome(sent.events)
    offsets: Mapping[int, int] = {}
    # Who sends may be forbidden to read the state: then contributions are answered once their step ends.
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
    # The group's offset stays behind while steps of collected data are open: what has a record of its own is answered.
    ahead = sum(offset >= offsets.get(partition, 0) for partition, offset in heard)
    found.kept = found.answered - (len(heard) - ahead)
    found.answered += ahead
    return found


async def _read(
    settings: Settings, names: TopicNames, sent: SentEvents, starts: Starts, found: Outcome
) -> set[tuple[int, int]]:
    """Count what ledger and rejects have of the records that were sent; return the places of these records."""
    heard: set[tuple[int, int]] = set()
    async with (
        LogReader.opened(settings, "read_committed") as reader,
        LogReader.opened(settings, "read_uncommitted") as whole,
    ):
        for (topic, partition), start in starts.items():
            mine = sent.places.get(partition, [])
            if not mine:
                continue
            # A transaction ends in one partition after the other: what a row or an offset tells may not show here yet.
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
    """Return below which offset the input of each partition is decided, by the rows of those that may be read.

    The group's offset stays behind while steps are open, which take contributions or readings still.
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
