"""The in-memory rows of partitions: the database of `recover` and of the dry run."""

from collections.abc import Iterable, Iterator, Mapping

from stream_app.deciding.rows import ROWS
from stream_app.kafka.brokers import DamagedCopyError

_Rows = dict[bytes, bytes]


class Copy:
    """One partition's rows, and the last changelog offset that they include."""

    def __init__(self) -> None:
        self.rows: _Rows = {}
        self.offset: int | None = None

    def put(self, rows: Iterable[tuple[bytes, bytes | None]]) -> None:
        """Store rows; None deletes a row, and a key's last row wins."""
        for key, value in rows:
            if value is None:
                self.rows.pop(key, None)
            else:
                self.rows[key] = value


class MemoryRows:
    """The rows of one worker's partitions."""

    def __init__(self) -> None:
        self._copies: dict[int, Copy] = {}

    def reopen(self, partition: int) -> DamagedCopyError | None:  # noqa: ARG002 - what is in memory is never damaged
        """Open the rows of a partition."""
        return None

    def read(self, partition: int, key: bytes) -> bytes | None:
        """Return the value at ``key``."""
        return self.copy(partition).rows.get(key)

    def read_all(self, partition: int, keys: Iterable[bytes]) -> list[bytes | None]:
        """Return the value at each of the given keys."""
        return list(map(self.copy(partition).rows.get, keys))

    def scan(self, partition: int, prefix: bytes) -> Iterator[bytes]:
        """Yield all values whose keys begin with ``prefix``, in the order of the keys."""
        rows = self.copy(partition).rows
        yield from (rows[key] for key in sorted(rows) if key.startswith(prefix))

    def series(self, partition: int) -> Iterator[str]:
        """Yield the series that have a row."""
        yield from (key[1:].decode() for key in self.copy(partition).rows if key[:1] == ROWS)

    def members(self, partition: int) -> Iterator[str]:
        """Yield the chain names of the people who have a row."""
        yield from (key[1:].decode() for key in self.copy(partition).rows if key[:1] == b"m")

    def offset(self, partition: int) -> int | None:
        """Return the last changelog offset that the rows include, or None."""
        return self.copy(partition).offset

    def write(self, partition: int, rows: Iterable[tuple[bytes, bytes | None]], offset: int | None) -> None:
        """Write rows and the changelog offset atomically; None deletes a row, and a None offset is not stored."""
        copy = self.copy(partition)
        copy.put(rows)
        copy.offset = copy.offset if offset is None else offset

    def load(self, partition: int, rows: Mapping[bytes, bytes | None], offset: int) -> None:
        """Write rows and the changelog offset atomically; None deletes a row."""
        self.write(partition, rows.items(), offset)

    def discard(self, partition: int) -> None:
        """Discard the rows of a partition."""
        self._copies.pop(partition, None)

    def copy(self, partition: int) -> Copy:
        """Return the current rows of a partition, or an empty copy if there are none."""
        return self._copies.setdefault(partition, Copy())
