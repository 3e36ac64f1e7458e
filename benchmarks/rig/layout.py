"""The layout of a worker's output: transactions and record sizes, for another client to reproduce."""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple

from benchmarks.rig.site import Site
from stream_app.formats import wire
from stream_app.kafka.client.log import LogReader
from stream_app.kafka.evidence.claim import is_claim
from stream_app.kafka.evidence.foreign import input_offset


class Transaction(NamedTuple):
    """One transaction: the end of its input, and its number of records in each topic."""

    end: int
    releases: int
    ledger: int
    changelog: int


@dataclass(frozen=True, slots=True)
class Layout:
    """All transactions of a run by partition, and the mean bytes of a record's value in each topic."""

    transactions: tuple[tuple[Transaction, ...], ...]
    release_bytes: int
    ledger_bytes: int
    changelog_bytes: int

    @classmethod
    def read(cls, site: Site) -> "Layout":
        """Read the layout from the output topics of a finished run without rejects."""
        return asyncio.run(cls._read(site))

    @classmethod
    async def _read(cls, site: Site) -> "Layout":
        names = site.names
        topics = [await _topic(site, name) for name in (names.releases, names.ledger, names.changelog)]
        transactions = []
        for releases, ledger, changelog in zip(*(topic.partitions for topic in topics), strict=True):
            # The changelog's first transaction is the row of a partition in which nothing was decided so far.
            rows = changelog[len(changelog) - len(releases) :]
            transactions.append(
                tuple(
                    Transaction(released.input_end, released.records, entered.records, changed.records)
                    for released, entered, changed in zip(releases, ledger, rows, strict=True)
                )
            )
        release, ledger_entry, row = (topic.value_bytes // max(1, topic.records) for topic in topics)
        return cls(tuple(transactions), release, ledger_entry, row)

    @property
    def batch_records(self) -> float:
        """The mean number of events per transaction."""
        runs = [transaction.releases for partition in self.transactions for transaction in partition]
        return sum(runs) / len(runs)

    @property
    def event_bytes(self) -> float:
        """The mean bytes of output values per event."""
        every = [transaction for partition in self.transactions for transaction in partition]
        written = sum(
            one.releases * self.release_bytes + one.ledger * self.ledger_bytes + one.changelog * self.changelog_bytes
            for one in every
        )
        return written / sum(one.releases for one in every)

    def dump(self) -> bytes:
        """Return the layout as JSON."""
        transactions = [[tuple(one) for one in partition] for partition in self.transactions]
        return wire.dump([transactions, self.release_bytes, self.ledger_bytes, self.changelog_bytes])

    @classmethod
    def load(cls, content: bytes) -> "Layout":
        """Return the layout that ``dump`` wrote."""
        document: Any = wire.load(content)
        transactions, *sizes = document
        return cls(tuple(tuple(Transaction(*one) for one in partition) for partition in transactions), *sizes)


@dataclass(slots=True)
class _Written:
    """What one transaction wrote to one topic."""

    records: int = 0
    input_end: int = 0


@dataclass(slots=True)
class _Topic:
    partitions: list[list[_Written]] = field(default_factory=list)
    records: int = 0
    value_bytes: int = 0


async def _topic(site: Site, name: str) -> _Topic:
    found = _Topic()
    async with LogReader.opened(site.settings, "read_committed") as reader:
        for partition in range(site.sizes.partitions):
            every = [record async for several in reader.records(name, partition, 0) for record in several]
            records = [record for record in every if not is_claim(record)]
            found.records += len(records)
            found.value_bytes += sum(len(record.value) for record in records)
            found.partitions.append(list(_transactions(records)))
    return found


def _transactions(records: list[Any]) -> Iterable[_Written]:
    """Yield a partition's transactions; each ends with a marker, an offset that readers do not get."""
    written = _Written()
    for record, after in pairwise([*records, None]):
        written.records += 1
        if after is None or after.offset > record.offset + 1:
            written.input_end = input_offset(record) + 1 if record.headers else 0
            yield written
            written = _Written()
