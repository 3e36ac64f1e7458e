"""The rows of partitions in memory: the database of `recover` and of the dry run, and a disk in simulations."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from stream_app.kafka.brokers import DamagedCopyError

_PATH = Path("memory")
_UNDONE = 16  # how many writes of a partition can be lost

_Rows = dict[bytes, bytes]


class _Copy:
    """One partition's rows, and how they were before the last writes."""

    def __init__(self) -> None:
        self.rows: _Rows = {}
        self.offset: int | None = None
        self.before: list[tuple[dict[bytes, bytes | None], int | None]] = []


class MemoryRows:
    """The rows of one worker's partitions; in simulations they outlive it, as files on a disk do."""

    def __init__(self) -> None:
        """Begin empty."""
        self._copies: dict[int, _Copy] = {}
        self._damage: dict[int, DamagedCopyError] = {}

    def reopen(self, partition: int) -> DamagedCopyError | None:
        """Open the rows of a partition; those that are damaged are discarded, and the damage returned."""
        damage = self._damage.get(partition)
        if damage is not None:
            self.discard(partition)
        return damage

    def read(self, partition: int, key: bytes) -> bytes | None:
        """Return the value at ``key``."""
        return self._copy(partition).rows.get(key)

    def read_all(self, partition: int, keys: Iterable[bytes]) -> list[bytes | None]:
        """Return the value at each of some keys."""
        return list(map(self._copy(partition).rows.get, keys))

    def scan(self, partition: int, prefix: bytes) -> Iterator[bytes]:
        """Yield all values whose keys begin with ``prefix``, in the order of the keys."""
        rows = self._copy(partition).rows
        yield from (rows[key] for key in sorted(rows) if key.startswith(prefix))

    def series(self, partition: int) -> Iterator[str]:
        """Yield the series that have a row."""
        yield from (key[1:].decode() for key in self._copy(partition).rows if key[:1] == b"s")

    def members(self, partition: int) -> Iterator[str]:
        """Yield the names of the chains of members that have a row."""
        yield from (key[1:].decode() for key in self._copy(partition).rows if key[:1] == b"m")

    def offset(self, partition: int) -> int | None:
        """Return the changelog offset up to which, itself included, the rows hold the changelog."""
        return self._copy(partition).offset

    def write(self, partition: int, rows: Iterable[tuple[bytes, bytes | None]], offset: int | None) -> None:
        """Write rows and changelog offset, all or nothing; a value of None deletes, an offset of None stays."""
        copy, written = self._copy(partition), dict(rows)
        copy.before = [*copy.before[1 - _UNDONE :], ({key: copy.rows.get(key) for key in written}, copy.offset)]
        _put(copy.rows, written)
        copy.offset = copy.offset if offset is None else offset

    def load(self, partition: int, rows: Mapping[bytes, bytes | None], offset: int) -> None:
        """Write rows and changelog offset, all or nothing; a value of None deletes."""
        self.write(partition, rows.items(), offset)

    def discard(self, partition: int) -> None:
        """Forget the rows of a partition."""
        self._copies.pop(partition, None)
        self._damage.pop(partition, None)

    def lose_last(self, partition: int, writes: int = 1) -> None:
        """Lose the last writes, as a machine does that loses power before they reached its disk: at most 16."""
        copy = self._copies.get(partition, _Copy())
        for _ in range(min(writes, len(copy.before))):
            rows, copy.offset = copy.before.pop()
            _put(copy.rows, rows)

    def damage(self, partition: int) -> None:
        """Let the rows of a partition be unreadable from now on, until they are opened again."""
        self._damage[partition] = DamagedCopyError(_PATH, "corrupt", "checksums differ")

    def _copy(self, partition: int) -> _Copy:
        if partition in self._damage:
            raise self._damage[partition]
        return self._copies.setdefault(partition, _Copy())


def _put(rows: _Rows, written: dict[bytes, bytes | None]) -> None:
    for key, value in written.items():
        if value is None:
            rows.pop(key, None)
        else:
            rows[key] = value
