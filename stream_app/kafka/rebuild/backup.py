"""Backups of the input: the lines that `read events` and `read rejects` print, which can be sent again.

Both files end with a line that says how far the input was processed, ``{"end":{partition: offset}}``. A file of rejects
that ends at an offset names every refused record below that offset. The events below that offset that no reject names
are therefore exactly the accepted ones, and only these are sent. Under the same key, policies and configuration, each
event produces the same bytes as the first time, because refused records had changed nothing. If refused events were
sent too, an event that was once too far in the future could be accepted now, although another event has since been
measured for its step. Events after the end of the rejects are not sent, because it is unknown whether they were
refused.
"""

import asyncio
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from stream_app.deciding.views.refusals import Refusals
from stream_app.formats import wire
from stream_app.formats.records import Observation, Watermark
from stream_app.kafka.client.cluster import group_offsets
from stream_app.kafka.client.log import LogReader
from stream_app.kafka.client.sending import Event
from stream_app.kafka.client.topicid import assert_there, describe
from stream_app.kafka.client.topics import TopicNames
from stream_app.kafka.evidence.row import last_row
from stream_app.setup.settings import Settings

_PAUSE_SECONDS = 0.2


class BackupError(Exception):
    """Files that are not a backup or may not be sent; the message names the file and the remedy."""


def event_line(record: Any) -> bytes:
    """Return a record of the events topic as a line, from which `_bytes` recovers the exact bytes."""
    place = {"topic": record.topic, "partition": record.partition, "offset": record.offset}
    return wire.dump({**place, **_member("key", record.key), **_member("value", record.value)})


def _member(name: str, value: bytes | None) -> dict[str, str | None]:
    try:
        return {name: None if value is None else value.decode()}
    except UnicodeDecodeError:
        return {f"{name}_base64": b64encode(value or b"").decode()}


def _place(fields: Mapping[str, Any]) -> tuple[str, int, int]:
    """Return the topic, partition and offset of a line.

    Raises `KeyError`, `TypeError` or `ValueError` if one is missing or has another type.
    """
    topic, partition, offset = fields["topic"], fields["partition"], fields["offset"]
    if not (isinstance(topic, str) and type(partition) is type(offset) is int):
        raise ValueError("no place")
    return topic, partition, offset


def _bytes(fields: Mapping[str, Any], name: str) -> bytes | None:
    if name in fields:
        found: str | None = fields[name]
        return None if found is None else found.encode()
    return b64decode(fields[f"{name}_base64"], validate=True)


def end_line(ends: Mapping[int, int]) -> bytes:
    """Return the last line of a backup, with the next input offset to process for each partition."""
    return wire.dump({"end": {str(partition): offset for partition, offset in ends.items()}})


async def decided(settings: Settings, names: TopicNames, topic: str) -> dict[int, int]:
    """Return each partition's next offset to process, once ``topic`` shows all earlier results.

    The offset comes from the partition's row, which is written in one transaction with all outputs of its input. If the
    row is lost, the group's offset is used, which lags while steps of collected data are open. Raises `LookupError` if
    a topic is missing or has lost its beginning, because the topic then holds no complete backup.
    """
    facts = await describe(settings, names)
    missing = [name for name in (names.events, names.rejects, names.changelog) if name not in facts]
    if missing:
        raise LookupError(f"topics {', '.join(missing)} are missing: specify their `prefix` and `application`")
    found = dict.fromkeys(range(facts[names.events].partitions), 0)
    found |= await group_offsets(settings, names.events)
    async with (
        LogReader.opened(settings, "read_committed") as committed,
        LogReader.opened(settings, "read_uncommitted") as whole,
    ):
        for partition in range(facts[names.changelog].partitions):  # the events topic may have grown
            row = await last_row(committed, names, partition)
            found[partition] = max(found.get(partition, 0), 0 if row is None else row.next_offset)
        for partition in range(facts[topic].partitions):
            first, end = await whole.bounds(topic, partition)
            if first > 0:
                raise LookupError(f"{topic}: the records before offset {first} of partition {partition} are deleted")
            # A transaction ends in its partitions one after another, so some outputs of the input may not be visible
            # yet.
            while (await committed.bounds(topic, partition))[1] < end:  # noqa: ASYNC110 (brokers tell nobody)
                await asyncio.sleep(_PAUSE_SECONDS)
    return found


class RefusedEvents(NamedTuple):
    """The contents of a file of rejects."""

    topic: str | None  # topic of the events; None if none refused
    offsets: dict[int, Refusals]  # by partition
    ends: dict[int, int]


def refused_in(path: Path) -> RefusedEvents:
    """Read a file written by `read rejects`; raises `BackupError` or `OSError`."""
    topics: set[str] = set()
    offsets: dict[int, Refusals] = {}
    ends: dict[int, int] = {}
    for number, fields in _lines(path, ends, "read rejects"):
        try:
            reason, (topic, partition, offset) = fields["reason"], _place(fields)
        except (KeyError, TypeError, ValueError):
            raise BackupError(f"{path}:{number}: not a rejected record; use the output of `read rejects`") from None
        if reason == "input-lost":
            raise BackupError(
                f"{path}:{number}: input of partition {partition} was given up (`recover --accept-lost-input` or "
                "`--accept-skipped-input`), so later decisions do not follow from it; start over with the output of "
                "`left`"
            )
        topics.add(topic)
        offsets.setdefault(partition, Refusals()).add(offset, fields.get("series"), reason)
    if len(topics) > 1:
        raise BackupError(
            f"{path}: rejected records of several topics, {', '.join(sorted(topics))}; pass those of one topic"
        )
    return RefusedEvents(next(iter(topics), None), offsets, ends)


def _none(_series: str) -> tuple[str, ...]:
    """Return no views."""
    return ()


class ResentEvents:
    """The events of a backup that were accepted, in order."""

    def __init__(self, path: Path, refused: RefusedEvents, views_of: Callable[[str], Iterable[str]] = _none) -> None:
        """Read a file from `read events` once to check that it is complete; raises `BackupError` or `OSError`.

        ``views_of`` returns the ids of the views of a series: an event that any of these views accepted is sent again.
        """
        self._path, self._refused, self._views_of = path, refused, views_of
        self.refused = self.behind = self.accepted = 0
        """The numbers of events refused, of events after the end of the rejects, and of events to send again."""
        ends: dict[int, int] = {}
        reached: dict[int, int] = {}
        for number, fields in _lines(path, ends, "read events"):
            try:
                topic, partition, offset = _place(fields)
                _bytes(fields, "key"), (value := _bytes(fields, "value"))
            except (KeyError, ValueError, TypeError, AttributeError):
                raise BackupError(f"{path}:{number}: not an event; use the output of `read events`") from None
            if refused.topic not in (None, topic):
                raise BackupError(
                    f"{path}: events of {topic}, but the rejected records are of {refused.topic}; pass two files of "
                    "one topic"
                )
            if offset <= reached.get(partition, -1):
                raise BackupError(
                    f"{path}:{number}: offset {offset} of partition {partition} does not follow the previous offset; "
                    "read the topic again"
                )
            reached[partition] = offset
            is_refused = self._is_refused(partition, offset, value)
            behind = offset >= refused.ends.get(partition, 0)
            self.refused += is_refused
            self.behind += behind
            self.accepted += not is_refused and not behind
        for partition, end in ends.items():
            known = refused.ends.get(partition, 0)
            if known < end:
                raise BackupError(
                    f"--rejects: the rejected records end at offset {known} of partition {partition}, and the events "
                    f"at {end}: events that were rejected in between could be accepted now; read the rejected records "
                    "after the events"
                )

    def __iter__(self) -> Iterator[Event]:
        for _, fields in _lines(self._path, {}, "read events"):
            partition, offset, value = fields["partition"], fields["offset"], _bytes(fields, "value")
            known = offset < self._refused.ends.get(partition, 0)
            if known and not self._is_refused(partition, offset, value):
                yield Event(_bytes(fields, "key"), value or b"")

    def _is_refused(self, partition: int, offset: int, value: bytes | None) -> bool:
        """Return whether every series that received an event refused it."""
        refusals = self._refused.offsets.get(partition)
        if refusals is None or offset not in refusals:
            return False
        found = wire.decode(value)
        if not isinstance(found, Observation | Watermark):
            return True
        return refusals.refused_by_all(offset, found.series, self._views_of(found.series))


def _lines(path: Path, ends: dict[int, int], command: str) -> Iterator[tuple[int, Any]]:
    """Yield the numbered lines of a backup, and put the contents of its last line into ``ends``."""
    ended = False
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            try:
                fields: Any = wire.load(line)
                if ended:
                    raise ValueError("lines after the end")  # noqa: TRY301 (told as every other fault of a line)
                if "end" in fields:
                    ends.update({int(partition): int(offset) for partition, offset in fields["end"].items()})
                    ended = True
                    continue
            except (ValueError, TypeError, AttributeError):
                raise BackupError(
                    f"{path}:{number}: not a line of `{command}`, or a line after its end; read it again"
                ) from None
            yield number, fields
    if not ended:
        raise BackupError(
            f"{path}: the last line `end` is missing, so the file is incomplete; read all of it again, "
            f"with `{command}` alone"
        )


async def assert_empty(settings: Settings, topic: str) -> None:
    """Check that nothing was ever sent to ``topic``; raises `BackupError`, or `LookupError` if the topic is missing."""
    await assert_there(settings, topic)
    facts = await describe(settings, (topic,))
    async with LogReader.opened(settings, "read_committed") as reader:
        for partition in range(facts[topic].partitions):
            _, end = await reader.bounds(topic, partition)
            if end > 0:
                raise BackupError(
                    f"{topic}: partition {partition} has had {end} records, but the records that are sent again must "
                    "come first and be complete: create new topics, under another `prefix` and `application` if these "
                    "topics are still needed"
                )
