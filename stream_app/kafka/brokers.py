"""What the owner of a partition asks of Kafka and of its store, as protocols.

Nothing in `owner/` and `evidence/` knows more of a cluster than this. A worker uses `stream_app.kafka.client` and
`stream_app.kafka.faust` behind it, a simulation a cluster in memory. Partitions are those of the events topic.
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
LocalReason = Literal["disk-full", "file-limit", "local-state"]  # why a partition stops here and can go on elsewhere


class TopicFacts(NamedTuple):
    """What the brokers say of a topic: its id, which no other topic ever gets, and how many partitions it has."""

    id: str
    partitions: int


class Extent(NamedTuple):
    """Where pages were written: the offset of the first record and that after the last; None where it is unknown.

    An offset is unknown when a repeated request found its batch written already.
    """

    first: int | None
    end: int | None


class LogRecord(NamedTuple):
    """One record of a log, with its place."""

    topic: str
    partition: int
    offset: int  # offsets without a record are transaction markers, or records that compaction removed
    timestamp: int
    """Milliseconds since 1970-01-01 UTC: when it was appended (events), or what its producer said (all others)."""
    key: bytes | None
    value: bytes | None
    headers: Sequence[tuple[str, bytes]]
    producer: int | None
    """The producer id in the header of the record's batch; -1 or None where no idempotent producer wrote it."""


class Reader(Protocol):
    """Reads stretches of logs, outside of any consumer group, at one isolation level."""

    async def bounds(self, topic: str, partition: int) -> tuple[int, int]:
        """Return the first offset kept and the one after the last.

        At "read_committed" the second is the last stable offset: that of the oldest transaction still open, if any.
        """

    async def last(self, topic: str, partition: int, wanted: Callable[[Any], bool] = ...) -> Any | None:
        """Return the last record for which ``wanted`` is true, all by default; None when there is none."""

    def records(self, topic: str, partition: int, start: int, before: int | None = None) -> AsyncIterator[list[Any]]:
        """Yield `LogRecord`s from offset ``start`` on in lists, none empty, to the end found at the first call.

        Reading stops once everything below ``before`` was given; the last list may reach beyond it. At
        "read_committed" aborted records are left out.
        """

    def rows(self, topic: str, partition: int, start: int) -> AsyncIterator[Records]:
        """Yield what ``records`` does without headers, as columns, which cost less."""


class Pages(Protocol):
    """Records for one topic, collected until they are sent."""

    @property
    def records(self) -> int:
        """How many there are."""

    def append(self, key: bytes | None, value: bytes | None, timestamp_ms: int, headers: Headers) -> None:
        """Add a record after the others."""

    def extend(
        self, keys: Keys, values: Sequence[bytes | None], timestamps_ms: Iterable[int], headers: Iterable[Headers]
    ) -> None:
        """Add as many records as there are keys: for many this costs less than to append each."""


class Writer(Protocol):
    """The transactional producer of one partition's owner; all of its records go to that partition of their topics."""

    @property
    def id(self) -> int:
        """The producer id that the brokers gave to the transactional id; it stands in the header of every batch."""

    def pages(self) -> Pages:
        """Return empty pages, which only this writer can send."""

    async def begin(self, *topics: str) -> None:
        """Begin a transaction; one that was begun must have been committed or aborted.

        ``topics`` are those that it will write to: the coordinator hears of all at once, and each gets a marker at the
        end. A topic that is not named is added, by a request of its own, when it is first sent to. Raises
        `aiokafka.errors.KafkaError` if one of them is missing; nothing is begun then.
        """

    async def send(self, topic: str, pages: Any) -> Extent:
        """Send pages that are not empty; return where they lie once all replicas have them.

        Raises:
            aiokafka.errors.ProducerFenced: if somebody fenced the partition since.
            aiokafka.errors.KafkaError: for any other failure; the transaction can only be aborted then.
        """

    async def commit(self) -> None:
        """Commit; when this raises, only the log knows whether it was."""

    async def abort(self) -> None:
        """Abort, if that is still possible; if not, whoever fences the partition next does it. Raises nothing."""

    async def stop(self) -> None:
        """Disconnect; an open transaction stays open until it times out or somebody fences. Raises nothing."""


class Brokers(Protocol):
    """The cluster, as the owner of a partition sees it."""

    async def fence(self, partition: int) -> Writer:
        """Return a writer for a partition; every earlier one is fenced, and its open transaction aborted."""

    def reader(self, isolation: Isolation) -> AbstractAsyncContextManager[Reader]:
        """Return a reader, open within the ``with`` block."""

    async def committed(self, partition: int) -> int | None:
        """Return the group's committed offset of a partition; None: it has none."""

    async def facts(self) -> Mapping[str, TopicFacts]:
        """Return the facts of those of events topic and changelog that exist."""

    async def confirm(self, partition: int, topic_id: str) -> None:
        """Return once the broker that leads a partition says that the events topic's id still is ``topic_id``.

        It asks until one answers, and while the topic is missing. Raises `PartitionStoppedError` if it is another topic
        (`topic-replaced`).
        """


class Feed(Protocol):
    """The consumer that fetches the input and hands it to the owner; positions and pauses are by partition."""

    async def start(self, partition: int, offset: int) -> None:
        """Fetch from ``offset`` on, and hand on what is fetched."""

    async def seek(self, partition: int, offset: int) -> None:
        """Go on at ``offset``; what was fetched and not handed on is forgotten."""

    def pause(self, partition: int) -> None:
        """Fetch no more for now: what was handed on waits."""

    def resume(self, partition: int) -> None:
        """Fetch again."""

    async def earliest(self, partition: int) -> int:
        """Return the first input offset kept."""

    async def owns(self, partition: int, offset: int) -> bool:
        """Tell whether the group still counts this worker as the owner, by a commit of ``offset``."""

    def keep(self, partition: int, offset: int) -> None:
        """Let the group's offset go no further than ``offset``, whatever is acknowledged."""


class Message(Protocol):
    """What a feed handed on in one go."""

    def ack(self) -> Any:
        """Acknowledge it: its input is decided and committed."""


class DamagedCopyError(LoggableError):
    """A local copy that cannot be read; it answers nothing until it is discarded, so no lost row passes for absent."""

    def __init__(self, path: Path, cause: Literal["corrupt", "unreadable"], found: str) -> None:
        """Keep folder, cause (a label of the metric) and what RocksDB said; it names files, and no row's content."""
        super().__init__(f"the local state in {path} is damaged: {found}")
        self.path = path
        self.cause = cause
        self.found = found

    __repr__ = LoggableError.__str__  # it names itself


class LocalStateError(LoggableError):
    """A local copy that cannot be used on this machine: a full disk, too many open files, a folder without rights."""

    def __init__(self, reason: LocalReason, path: Path, found: str, *, passing: bool = False) -> None:
        """Keep the reason, the folder and what was found; ``passing``: it may be over soon."""
        super().__init__(f"the local state in {path}: {found}")
        self.reason = reason
        self.path = path
        self.found = found
        self.passing = passing

    __repr__ = LoggableError.__str__


class Rows(Protocol):
    """The local copies of the changelog, one a partition, keys and values raw bytes: RocksDB, or memory.

    Each call but ``discard`` raises `DamagedCopyError` for rows that cannot be read, from then on until ``reopen``, and
    `LocalStateError` where they cannot be used on this machine.
    """

    def reopen(self, partition: int) -> DamagedCopyError | None:
        """Open the rows of a partition; those that are damaged are discarded, and the damage returned."""

    def read(self, partition: int, key: bytes) -> bytes | None:
        """Return the value at ``key``."""

    def read_all(self, partition: int, keys: Sequence[bytes]) -> Sequence[bytes | None]:
        """Return the value at each of some keys."""

    def scan(self, partition: int, prefix: bytes) -> Iterator[bytes]:
        """Yield all values whose keys begin with ``prefix``."""

    def offset(self, partition: int) -> int | None:
        """Return the changelog offset up to which, itself included, the rows hold the changelog; None: no row."""

    def write(self, partition: int, rows: Iterable[tuple[bytes, bytes | None]], offset: int | None) -> None:
        """Write rows and changelog offset, all or nothing; a value of None deletes, an offset of None stays."""

    def load(self, partition: int, rows: Mapping[bytes, bytes | None], offset: int) -> None:
        """Write as ``write`` does rows of which there are many, as when a changelog is read back: that costs less."""

    def discard(self, partition: int) -> None:
        """Forget the rows of a partition; raises `LocalStateError` if they stay."""
