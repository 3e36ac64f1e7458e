"""Claims: records that say which application a ledger partition belongs to.

Two applications under one prefix would each decide every step, and each spend its budget. So before its first entry an
application writes a claim into each ledger partition: a record with an empty key and without the header `input`, of no
series, in no chain and under no head. The committed claim of the lowest offset rules for ever; a partition older than
claims has other records before it. An application that finds another one's claim stops (`foreign-writer`).
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
    """Who claims a ledger partition, and where."""

    offset: int
    application: str
    prefix: str


def is_claim(record: Any) -> bool:
    """Tell whether a record of the ledger is no entry but a claim."""
    return bool(record.key == CLAIM_KEY)


class FoundClaim(NamedTuple):
    """What was found of a ledger partition's claim."""

    offset: int  # of this application's claim, which rules; `NO_CLAIM`: none below ``start``
    start: int


async def find(site: Site, partition: int) -> FoundClaim:
    """Return where this application's claim is, by the partition row or the ledger; raises if another one's rules."""
    async with site.brokers.reader("read_committed") as reader:
        row = await last_row(reader, site.names, partition)
        if row is not None and row.claim != NO_CLAIM:
            return FoundClaim(row.claim, 0)
        start, claim = await _ruling(reader, site.names.ledger, partition, 0)
    return FoundClaim(NO_CLAIM if claim is None else _own(site, partition, claim), start)


async def write(site: Site, partition: int, writer: Writer, start: int) -> int:
    """Claim a ledger partition that has no claim below offset ``start``; return where.

    Another claim may lie before it in a transaction that is still open, so all transactions before it are waited for.
    Raises `PartitionStoppedError` if another application was faster.
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
            # Committed records are shown up to the first transaction that is still open.
            start, found = await _ruling(reader, ledger, partition, start)
            if found is not None:
                return _own(site, partition, found)
            await asyncio.sleep(_PAUSE_SECONDS)


async def holds_entries(reader: Reader, topic: str, partition: int) -> bool:
    """Tell whether a ledger partition has any record but claims."""
    async for records in reader.records(topic, partition, 0):
        if not all(map(is_claim, records)):
            return True
    return False


def _own(site: Site, partition: int, claim: Claim) -> int:
    """Return the offset of a claim; raises when it is not this application's."""
    settings = site.settings
    if (claim.application, claim.prefix) != (settings.application, settings.prefix):
        asked = f"{site.names.ledger} for application {settings.application} under prefix {settings.prefix}"
        found = f"the claim of application {claim.application} under prefix {claim.prefix}"
        raise PartitionStoppedError(partition, "foreign-writer", asked, found)
    return claim.offset


async def _ruling(reader: Reader, topic: str, partition: int, start: int) -> tuple[int, Claim | None]:
    """Return the first claim from ``start`` on, and up to where there is none."""
    async for records in reader.records(topic, partition, start):
        for record in records:
            if is_claim(record) and (claim := _decoded(record)) is not None:
                return start, claim
        start = records[-1].offset + 1
    return start, None


def _decoded(record: Any) -> Claim | None:
    """Return the claim that a record holds; None where somebody else wrote something else without a key."""
    try:
        found: Any = wire.load(record.value)
        return Claim(record.offset, str(found["application"]), str(found["prefix"]))
    except (ValueError, TypeError, LookupError):
        what = "partition %d: offset %d of the ledger is neither an entry nor a claim"
        logger.warning(what, record.partition, record.offset)
        return None
