"""One partition's rows in memory, in the place of a worker's database."""

from collections.abc import Iterable, Iterator


class RowCopy:
    """The rows of one partition."""

    def __init__(self) -> None:
        """Hold nothing yet."""
        self._found: dict[bytes, bytes] = {}
        self._offset: int | None = None

    def reopen(self, partition: int) -> None:
        """Do nothing: memory is not damaged."""

    def read(self, partition: int, key: bytes) -> bytes | None:  # noqa: ARG002 (there is one)
        """Return the value at ``key``."""
        return self._found.get(key)

    def scan(self, partition: int, prefix: bytes) -> Iterator[bytes]:  # noqa: ARG002
        """Yield all values whose keys begin with ``prefix``."""
        yield from (value for key, value in self._found.items() if key.startswith(prefix))

    def offset(self, partition: int) -> int | None:  # noqa: ARG002
        """Return the changelog offset up to which, itself included, the changelog is held."""
        return self._offset

    def series(self) -> Iterator[str]:
        """Yield the series that have a row."""
        yield from (key[1:].decode() for key in self._found if key[:1] == b"s")

    def write(self, partition: int, rows: Iterable[tuple[bytes, bytes | None]], offset: int | None) -> None:  # noqa: ARG002
        """Take rows and changelog offset; a value of None deletes."""
        for key, value in rows:
            if value is None:
                self._found.pop(key, None)
            else:
                self._found[key] = value
        self._offset = offset

    def discard(self, partition: int) -> None:  # noqa: ARG002
        """Hold nothing any more."""
        self._found.clear()
        self._offset = None
