"""Aborted ledger entries whose input was deleted, so that nobody will compute them again.

Readers of uncommitted records may have seen them: what was spent on them is spent. Recovery therefore adopts them,
entry and release byte for byte, and the chains go on behind them.
"""

import asyncio
from collections.abc import Mapping
from typing import Any, NamedTuple

from stream_app.deciding.context import Context
from stream_app.deciding.rebuild import Rebuilt
from stream_app.formats import encoding
from stream_app.kafka.brokers import Brokers, LogRecord, Reader, Writer
from stream_app.kafka.client.topics import TopicNames
from stream_app.kafka.evidence.claim import is_claim
from stream_app.kafka.evidence.foreign import entry_of, input_offset
from stream_app.kafka.rebuild.folding import Folded
from stream_app.kafka.rebuild.given_up import GivenUp
from stream_app.kafka.stops import PartitionStoppedError

_LOOK_SECONDS = 0.05


class _Entry(NamedTuple):
    record: Any
    entry: Any


class Aborted(NamedTuple):
    """Records to write again, in the order of the log, and the rows after them."""

    entries: list[Any]
    releases: list[Any]
    told: Rebuilt
    """With the rows after them."""


async def aborted_entries(
    reader: Reader, context: Context, names: TopicNames, partition: int, before: int, past: Folded, given_up: GivenUp
) -> Aborted:
    """Return what was aborted for input below offset ``before`` and follows from the rows of ``past``.

    ``reader`` reads uncommitted records.

    Raises:
        PartitionStoppedError: if the release of such an entry never reached the log, and may not be ``given_up``.
    """
    told = Rebuilt(context, past.rows, past.members)
    aborted = await _aborted(reader, names.ledger, partition, before, told)
    wanted = {entry["release"] for _, entry in aborted if entry["entry"] == "release"}
    releases = await _releases(reader, names.releases, partition, wanted) if wanted else {}
    by_hash = {found: record.value for found, record in releases.items()}
    moved = Aborted([], [], told)
    for record, entry in aborted:
        sequence, previous = told.place(entry["series"])
        known: Mapping[str, bytes] = by_hash
        if (entry["sequence"], entry["previous"]) != (sequence + 1, previous):
            continue
        if entry["entry"] == "release":
            # PRIVACY: the entry's hash tells a release of few possible values as well as the release would, so the
            # series cannot go on before it; and behind it only as one whose release is given up.
            known = given_up.or_given_up(entry, input_offset(record), by_hash)
            if entry["release"] not in known:
                raise PartitionStoppedError(
                    partition,
                    "release-lost",
                    asked=f"the release of an aborted ledger entry, sequence {entry['sequence']}, whose input is lost",
                    found="none in the log: the worker died between the two",
                )
            if entry["release"] in releases:
                moved.releases.append(releases[entry["release"]])
        moved.entries.append(record)
        told.take(record.value, known)
    return moved


async def abort_open(brokers: Brokers, writer: Writer, names: TopicNames, partition: int) -> None:
    """Abort what is open in logs though their only writer has no transaction: its next commit would commit that.

    A commit that came late has ended the transaction for its coordinator, and the producer wrote on, where brokers do
    not verify partitions (KIP-890). A marker of this producer ends it: one record of it is written again, and aborted.
    """
    async with brokers.reader("read_committed") as ended, brokers.reader("read_uncommitted") as whole:
        found: dict[str, LogRecord] = {}
        for topic in (names.ledger, names.releases, names.rejects, names.changelog):
            _, end = await ended.bounds(topic, partition)
            async for records in whole.records(topic, partition, end):
                found[topic] = records[0]
                break
        if not found:
            return
        await writer.begin(*found)
        for topic, record in found.items():
            pages = writer.pages()
            pages.append(record.key, record.value, record.timestamp, list(record.headers))
            await writer.send(topic, pages)
        await writer.abort()
        for topic, record in found.items():
            while (await ended.bounds(topic, partition))[1] <= record.offset:  # noqa: ASYNC110 (brokers tell nobody)
                await asyncio.sleep(_LOOK_SECONDS)


async def adopt(writer: Writer, names: TopicNames, found: Aborted) -> None:
    """Write the records again, committed: entries before releases, as ever."""
    await writer.begin()
    for topic, records in ((names.ledger, found.entries), (names.releases, found.releases)):
        pages = writer.pages()
        for record in records:
            pages.append(record.key, record.value, record.timestamp, list(record.headers))
        if pages.records:
            await writer.send(topic, pages)
    await writer.commit()


async def _aborted(reader: Reader, topic: str, partition: int, before: int, told: Rebuilt) -> list[_Entry]:
    """Return the first copy of each entry beyond the rows, of input below ``before``."""
    found: dict[tuple[str, int], _Entry] = {}
    async for records in reader.records(topic, partition, 0):
        for record in records:
            if is_claim(record) or input_offset(record) >= before:
                continue
            entry = entry_of(record)
            if entry["sequence"] > told.place(entry["series"])[0]:
                found.setdefault((entry["series"], entry["sequence"]), _Entry(record, entry))
    return list(found.values())


async def _releases(reader: Reader, topic: str, partition: int, wanted: set[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    async for records in reader.records(topic, partition, 0):
        for record in records:
            digest = encoding.digest(record.value)
            if digest in wanted:
                found[digest] = record
    return found
