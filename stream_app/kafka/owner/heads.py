"""The signed checkpoints of one partition: collecting ledger changes, and writing the next checkpoint.

A signed checkpoint (head) is a separate transaction between two batches, under the partition's transactional id. A
zombie therefore cannot write one, and a crash leaves either no checkpoint or a complete one. Its transaction begins
only after the transactions of all entries that the checkpoint covers have ended, so these entries become visible before
the checkpoint does.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable
from itertools import filterfalse

from stream_app.deciding.members import Claims
from stream_app.formats import encoding
from stream_app.heads.records import Head, Leaf, LeafPages, decode
from stream_app.heads.signing import SigningKey
from stream_app.kafka.brokers import Pages, Reader, Writer
from stream_app.kafka.evidence.claim import is_claim
from stream_app.kafka.evidence.foreign import entry_of
from stream_app.kafka.parts import WorkerParts
from stream_app.kafka.stops import PartitionStoppedError, StopReason
from stream_app.monitoring.metrics import WorkerMetric

logger = logging.getLogger(__name__)

_MOST_LEAVES = 100_000  # changed series that trigger an early checkpoint: about 25 MB of memory


class Heads:
    """Writes signed checkpoints at intervals, at the end and after many changes, if there is a signing key."""

    def __init__(self, parts: WorkerParts, partition: int, wake: Callable[[], None]) -> None:
        self._parts, self._partition, self._wake = parts, partition, wake
        self._last: tuple[Head, str] | None = None  # and the hash of its record
        # Values of `_packed` need a third of the memory of leaves, and are not garbage-collected.
        self._changed: dict[str, bytes] = {}
        self._covered = 0
        self._due = False
        self._timer: asyncio.TimerHandle | None = None

    async def restore(self, producer: Writer) -> None:
        """Find the last checkpoint and later changes; raise if it is damaged or the ledger ends before it."""
        key = self._parts.signing_key
        if key is None:
            return
        self._settle()
        self._last = None
        topic = self._parts.names.ledger
        async with self._parts.brokers.reader("read_committed") as reader:
            self._last = await self._find_last(reader, key)
            self._covered = self._last[0].ledger_offset if self._last else 0
            _, end = await reader.bounds(topic, self._partition)
            if end < self._covered:
                asked = f"a ledger up to offset {self._covered}, which the last checkpoint covers"
                raise self._stopped("ledger-short", asked, f"that it ends at {end}: entries are lost")
            async for records in reader.records(topic, self._partition, self._covered):
                for entry in map(entry_of, filterfalse(is_claim, records)):
                    self._changed[entry["series"]] = _packed(entry["sequence"], entry["hash"])
                self._covered = records[-1].offset + 1
                if len(self._changed) >= _MOST_LEAVES:
                    await self._write(producer, key)
        self._due = self._last is None or bool(self._changed)

    def note(self, links: Iterable[tuple[str, int, str]], claims: Iterable[Claims], ledger_offset: int) -> None:
        """Record the last entries of a committed batch; all entries below ``ledger_offset`` are now recorded."""
        if self._parts.signing_key is None:
            return
        self._changed.update({series: _packed(sequence, link) for series, sequence, link in links})
        for before, member in claims:
            if member.sequence > (before.sequence if before else 0):
                self._changed[member.chain] = _packed(member.sequence, member.previous)
        # ``ledger_offset`` does not advance while a failed batch's entries are binding; the offset read at the start
        # may be higher.
        self._covered = max(self._covered, ledger_offset)
        if len(self._changed) >= _MOST_LEAVES:
            self._due = True
        elif self._changed and self._timer is None:
            seconds = self._parts.settings.head_interval_ms / 1000
            self._timer = asyncio.get_running_loop().call_later(seconds, self._fall_due)

    async def write_due(self, producer: Writer) -> None:
        """Write a checkpoint if it is due."""
        if self._due:
            await self.write(producer)

    async def write(self, producer: Writer) -> None:
        """Write a checkpoint if anything changed since the last one, or if the partition has none yet."""
        key = self._parts.signing_key
        if key is not None and (self._changed or self._last is None):
            await self._write(producer, key)

    def stop(self) -> None:
        """Cancel the timer."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _fall_due(self) -> None:
        self._due = True
        self._wake()

    def _settle(self) -> None:
        self.stop()
        self._changed = {}
        self._due = False

    async def _write(self, producer: Writer, key: SigningKey) -> None:
        last, previous = self._last or (None, encoding.NO_HASH)
        number = last.number + 1 if last else 1
        # If the clock was set back, a checkpoint must not be dated before its predecessor.
        now_ms = max(self._parts.now_ms(), last.time_ms if last else 0)
        pages = producer.pages()
        leaf_pages = await self._fill(pages, LeafPages(self._partition, number), now_ms)
        head = Head(
            topic=self._parts.names.ledger,
            partition=self._partition,
            partitions=self._parts.settings.partitions,
            number=number,
            time_ms=now_ms,
            ledger_offset=self._covered,
            leaves=leaf_pages.tree.size,
            root=leaf_pages.tree.root().hex(),
            previous=previous,
            key=key.fingerprint,
        )
        record = head.encode(key)
        pages.append(None, record, now_ms, [])
        await producer.begin()
        try:
            await producer.send(self._parts.names.heads, pages)
        except Exception:
            await producer.abort()
            raise
        await producer.commit()
        self._last = head, encoding.digest(record)
        self._settle()
        self._parts.metrics.count(WorkerMetric.HEADS, 1, str(self._partition))

    async def _fill(self, pages: Pages, leaf_pages: LeafPages, now_ms: int) -> LeafPages:
        for series in sorted(self._changed):
            sequence, _, link = self._changed[series].decode().partition(" ")
            record = leaf_pages.add(Leaf(series, int(sequence), link))
            if record is not None:
                pages.append(None, record, now_ms, [])
                await asyncio.sleep(0)  # yield to others
        record = leaf_pages.rest()
        if record is not None:
            pages.append(None, record, now_ms, [])
        return leaf_pages

    async def _find_last(self, reader: Reader, key: SigningKey) -> tuple[Head, str] | None:
        topic = self._parts.names.heads
        found = await reader.last(topic, self._partition)
        if found is None:
            return None
        head = decode(found.value, key)
        if head is None or head.partition != self._partition or head.topic != self._parts.names.ledger:
            asked = f"a head of this partition as the last record of {topic}"
            raise self._stopped("head-damaged", asked, f"a different record at offset {found.offset}")
        if head.key != key.fingerprint:
            logger.info(
                "partition %d: checkpoints were signed with key %s, and are now signed with %s",
                self._partition,
                head.key,
                key.fingerprint,
            )
        return head, encoding.digest(found.value)

    def _stopped(self, reason: StopReason, asked: str, found: str) -> PartitionStoppedError:
        return PartitionStoppedError(self._partition, reason, asked, found)


def _packed(sequence: int, link: str) -> bytes:
    """Return the sequence and hash of a series' last entry in compact form, to be kept until a checkpoint is due."""
    return f"{sequence} {link}".encode()
