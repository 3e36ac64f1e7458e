"""Protocols for everything that a partition's owner needs from Kafka and from its local store.

`owner/` and `evidence/` use nothing else from a cluster. A worker implements the protocols with
`stream_app.kafka.client` and `stream_app.kafka.faust`; a simulation uses an in-memory cluster. Partition numbers are
those of the events topic.
"""

from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol

from stream_app.formats.records import Records
from stream_app.monitoring.loggable import LoggableError

Isolation = Literal["read_committed", "read_uncommitted"]
Headers = list[tuple[str, bytes]]
Keys = Sequence[bytes | None]
LocalReason = Literal["disk-full", "file-limit", "local-state"]  # why a partition stops here but can run elsewhere


class TopicFacts(NamedTuple):
    """What the brokers report about a topic: its id, which is never reused, and its number of partitions."""

    id: str
    partitions: int


class Extent(NamedTuple):
    """The offset of the first record written and the offset after the last one.

    An offset is None if it is unknown because a repeated request found its batch already written.
    """

    first: int | None
    end: int | None


class LogRecord(NamedTuple):
    """One record of a log, with its offset."""

    topic: str
    partition: int
    offset: int  # gaps between offsets are transaction markers, or records removed by compaction
    timestamp: int
    """Milliseconds since 1970-01-01 UTC: the append time (events), or the producer's timestamp (others)."""
    key: bytes | None
    value: bytes | None
    headers: Sequence[tuple[str, bytes]]
    producer: int | None
    """The producer id in the header of the record's batch; -1 or None if the producer was not idempotent."""


class Reader(Protocol):
    """Reads ranges of logs at one isolation level, outside any consumer group."""

    async def bounds(self, topic: str, partition: int) -> tuple[int, int]:
        """Return the first retained offset and the offset after the last record.

        At "read_committed", the second offset is the last stable offset: the start of the oldest open transaction, if
        there is one.
        """

    async def last(self, topic: str, partition: int, wanted: Callable[[Any], bool] = ...) -> Any | None:
        """Return the last record for which ``wanted`` is true (by default, any record), or None."""

    def records(self, topic: str, partition: int, start: int, before: int | None = None) -> AsyncIterator[list[Any]]:
        """Yield non-empty lists of `LogRecord`s from offset ``start`` to the end found at the first call.

        Reading stops once everything below ``before`` has been yielded; the last list may extend beyond that offset. At
        "read_committed", aborted records are omitted.
        """

    def rows(self, topic: str, partition: int, start: int) -> AsyncIterator[Records]:
        """Yield the same records as ``records``, but in columns without headers, which costs less."""


class Pages(Protocol):
    """Records for one topic, collected before they are sent."""

    @property
    def records(self) -> int:
        """The number of records."""

    def append(self, key: bytes | None, value: bytes | None, timestamp_ms: int, headers: Headers) -> None:
        """Append a record."""

    def extend(
        self, keys: Keys, values: Sequence[bytes | None], timestamps_ms: Iterable[int], headers: Iterable[Headers]
    ) -> None:
        """Append one record per key; for many records, this costs less than repeated calls to ``append``."""


class Writer(Protocol):
    """The transactional producer of one partition's owner, which writes only to that partition of each topic."""

    @property
    def id(self) -> int:
        """The producer id that the brokers assigned to the transactional id and that every batch header contains."""

    def pages(self) -> Pages:
        """Return empty pages, which only this writer can send."""

    async def begin(self, *topics: str) -> None:
        """Begin a transaction; any earlier one must have been committed or aborted.

        ``topics`` are the topics to write to: the coordinator adds them all in one request, and each gets a marker at
        the end. Any other topic is added by a separate request when records are first sent to it. Raises
        `aiokafka.errors.KafkaError` if a topic is missing, in which case no transaction begins.
        """

    async def send(self, topic: str, pages: Any) -> Extent:
        """Send non-empty pages; return the records' offsets once all replicas have the records.

        Raises:
            aiokafka.errors.ProducerFenced: if the partition has since been fenced.
            aiokafka.errors.KafkaError: for any other failure; the transaction can then only be aborted.
        """

    async def commit(self) -> None:
        """Commit; if this raises, only the log shows whether it succeeded."""

    async def abort(self) -> None:
        """Abort if possible; otherwise the next writer to fence the partition does so. Never raises."""

    async def stop(self) -> None:
        """Disconnect; an open transaction stays open until it times out or is fenced. Never raises."""


class Brokers(Protocol):
    """The cluster, as the owner of a partition sees it."""

    async def fence(self, partition: int) -> Writer:
        """Return a writer for a partition; fence all earlier writers and abort their open transactions."""

    def reader(self, isolation: Isolation) -> AbstractAsyncContextManager[Reader]:
        """Return a reader that is open within the ``with`` block."""

    async def committed(self, partition: int) -> int | None:
        """Return the offset that the group has committed for a partition, or None if there is none."""

    async def facts(self) -> Mapping[str, TopicFacts]:
        """Return the facts about the events topic and the changelog, if they exist."""

    async def confirm(self, partition: int, topic_id: str) -> None:
        """Return once the leader of a partition confirms that the events topic still has the id ``topic_id``.

        The request is repeated until a broker answers, and while the topic is missing. Raises `PartitionStoppedError`
        if the id differs (`topic-replaced`).
        """


class Feed(Protocol):
    """The consumer that fetches the owner's input; each partition has a position and can be paused separately."""

    async def start(self, partition: int, offset: int) -> None:
        """Start fetching at ``offset``, and pass on the fetched input."""

    async def seek(self, partition: int, offset: int) -> None:
        """Continue at ``offset``, and discard anything fetched but not yet passed on."""

    def pause(self, partition: int) -> None:
        """Stop fetching for now; input already passed on has to wait."""

    def resume(self, partition: int) -> None:
        """Resume fetching."""

    async def earliest(self, partition: int) -> int:
        """Return the first retained input offset."""

    async def owns(self, partition: int, offset: int) -> bool:
        """Commit ``offset``; return whether the group still accepts this worker as the owner."""

    def keep(self, partition: int, offset: int) -> None:
        """Keep the group's offset at or below ``offset``, even if later input is acknowledged."""


class Message(Protocol):
    """Input that a feed passes on in one call."""

    def ack(self) -> Any:
        """Acknowledge the message: its input is processed and committed."""


class DamagedCopyError(LoggableError):
    """A local copy that cannot be read; reads fail until it is discarded, so lost rows never look like absent ones."""

    def __init__(self, path: Path, cause: Literal["corrupt", "unreadable"], found: str) -> None:
        """Store the folder, the cause (a metric label) and RocksDB's message, which names only files."""
        super().__init__(f"the local state in {path} is damaged: {found}")
        self.path = path
        self.cause = cause
        self.found = found

    __repr__ = LoggableError.__str__  # names itself


class LocalStateError(LoggableError):
    """A local copy that cannot be used on this machine: disk full, too many open files, or no permission."""

    def __init__(self, reason: LocalReason, path: Path, found: str, *, passing: bool = False) -> None:
        """Store the reason, the folder and the finding; ``passing`` means that the error may be temporary."""
        super().__init__(f"the local state in {path}: {found}")
        self.reason = reason
        self.path = path
        self.found = found
        self.passing = passing

    __repr__ = LoggableError.__str__


class Rows(Protocol):
    """The local copies of the changelog, one per partition, as raw bytes in RocksDB or in memory.

    Once the rows cannot be read, every call except ``discard`` raises `DamagedCopyError` until ``reopen``. All these
    calls raise `LocalStateError` if the rows cannot be used on this machine.
    """

    def reopen(self, partition: int) -> DamagedCopyError | None:
        """Open the rows of a partition; discard damaged rows and return the error."""

    def read(self, partition: int, key: bytes) -> bytes | None:
        """Return the value at ``key``."""

    def read_all(self, partition: int, keys: Sequence[bytes]) -> Sequence[bytes | None]:
        """Return the value at each of the given keys."""

    def scan(self, partition: int, prefix: bytes) -> Iterator[bytes]:
        """Yield all values whose keys begin with ``prefix``."""

    def offset(self, partition: int) -> int | None:
        """Return the last changelog offset that the rows include, or None if there are no rows."""

    def write(self, partition: int, rows: Iterable[tuple[bytes, bytes | None]], offset: int | None) -> None:
        """Write rows and the changelog offset atomically; None deletes a row, and a None offset is not stored."""

    def load(self, partition: int, rows: Mapping[bytes, bytes | None], offset: int) -> None:
        """Write many rows like ``write``, but at lower cost, for example when a changelog is read back."""

    def discard(self, partition: int) -> None:
        """Discard the rows of a partition; raises `LocalStateError` if they cannot be removed."""
