"""Claims: records that show which application a ledger partition belongs to.

Two applications with the same prefix would each process every step, and each would spend the budget. Before its first
entry, an application therefore writes a claim into each ledger partition: a record with an empty key, without the
`input` header, and outside every series, chain and signed checkpoint. The committed claim with the lowest offset is
valid forever; in a partition created before claims existed, other records precede it. An application that finds another
application's claim stops (`foreign-writer`).
"""

import asyncio
import logging
from typing import Any, Final, NamedTuple

from stream_app.formats import wire
from stream_app.kafka.brokers import Reader, Writer
from stream_app.kafka.evidence.row import last_row
from stream_app.kafka.parts import Site
from stream_app.kafka.stops import PartitionStoppedError

logger = logging.getLogger(__name__)

CLAIM_KEY: Final = b""
NO_CLAIM: Final = -1
_PAUSE_SECONDS = 0.2


class Claim(NamedTuple):
    """A claim's application and prefix, and its offset."""

    offset: int
    application: str
    prefix: str


def is_claim(record: Any) -> bool:
    """Return whether a record of the ledger is a claim rather than an entry."""
    return bool(record.key == CLAIM_KEY)


class FoundClaim(NamedTuple):
    """The result of looking for a ledger partition's claim."""

    offset: int  # this application's valid claim; `NO_CLAIM` if none below ``start``
    start: int


async def find(site: Site, partition: int) -> FoundClaim:
    """Return this application's claim from the partition row or the ledger; raise if another claim is valid."""
    async with site.brokers.reader("read_committed") as reader:
        row = await last_row(reader, site.names, partition)
        if row is not None and row.claim != NO_CLAIM:
            return FoundClaim(row.claim, 0)
        start, claim = await _ruling(reader, site.names.ledger, partition, 0)
    return FoundClaim(NO_CLAIM if claim is None else _own(site, partition, claim), start)


async def write(site: Site, partition: int, writer: Writer, start: int) -> int:
    """Claim a ledger partition that has no claim below offset ``start``; return the claim's offset.

    Another claim may precede it in a transaction that is still open, so all earlier transactions must end first. Raises
    `PartitionStoppedError` if another application's claim came first.
    """
    pages, ledger = writer.pages(), site.names.ledger
    claim = {"entry": "claim", "application": site.settings.application, "prefix": site.settings.prefix}
    pages.append(CLAIM_KEY, wire.dump(claim), site.now_ms(), [])
    await writer.begin()
    try:
        await writer.send(ledger, pages)
    except Exception:
        await writer.abort()
        raise
    await writer.commit()
    async with site.brokers.reader("read_committed") as reader:
        while True:
            # Committed records are visible only up to the first open transaction.
            start, found = await _ruling(reader, ledger, partition, start)
            if found is not None:
                return _own(site, partition, found)
            await asyncio.sleep(_PAUSE_SECONDS)


async def holds_entries(reader: Reader, topic: str, partition: int) -> bool:
    """Return whether a ledger partition contains any record other than claims."""
    async for records in reader.records(topic, partition, 0):
        if not all(map(is_claim, records)):
            return True
    return False


def _own(site: Site, partition: int, claim: Claim) -> int:
    """Return the offset of a claim; raise if it belongs to another application."""
    settings = site.settings
    if (claim.application, claim.prefix) != (settings.application, settings.prefix):
        asked = f"{site.names.ledger} for application {settings.application} under prefix {settings.prefix}"
        found = f"the claim of application {claim.application} under prefix {claim.prefix}"
        raise PartitionStoppedError(partition, "foreign-writer", asked, found)
    return claim.offset


async def _ruling(reader: Reader, topic: str, partition: int, start: int) -> tuple[int, Claim | None]:
    """Return the offset below which there is no claim, and the first claim at or after ``start`` (or None)."""
    async for records in reader.records(topic, partition, start):
        for record in records:
            if is_claim(record) and (claim := _decoded(record)) is not None:
                return start, claim
        start = records[-1].offset + 1
    return start, None


def _decoded(record: Any) -> Claim | None:
    """Return the claim in a record; return None for a foreign record without a key."""
    try:
        found: Any = wire.load(record.value)
        return Claim(record.offset, str(found["application"]), str(found["prefix"]))
    except (ValueError, TypeError, LookupError):
        what = "partition %d: offset %d of the ledger is neither an entry nor a claim"
        logger.warning(what, record.partition, record.offset)
        return None
