"""A worker's partition rows as files on disk: they outlive it, lose the last writes and can be damaged."""

from collections.abc import Callable, Iterable
from pathlib import Path

from stream_app.kafka.brokers import DamagedCopyError
from stream_app.kafka.memory.rows import Copy, MemoryRows

_UNDONE = 16  # how many writes of a partition can be lost

_Written = dict[bytes, bytes | None]


class DiskRows(MemoryRows):
    """Rows in memory that a machine treats as it does files."""

    def __init__(self) -> None:
        """Begin empty."""
        super().__init__()
        self._damage: dict[int, DamagedCopyError] = {}
        self._before: dict[int, list[tuple[_Written, int | None]]] = {}
        self.at: Callable[[str], None] = lambda _: None
        """Called at the moments before and after a write at which a process can die."""

    def reopen(self, partition: int) -> DamagedCopyError | None:
        """Open the rows of a partition; damaged rows are discarded, and the damage is returned."""
        damage = self._damage.get(partition)
        if damage is not None:
            self.discard(partition)
        return damage

    def write(self, partition: int, rows: Iterable[tuple[bytes, bytes | None]], offset: int | None) -> None:
        """Write as in memory, and keep the previous state."""
        self.at("before a write")
        copy, written = self.copy(partition), dict(rows)
        before = self._before.get(partition, [])
        self._before[partition] = [*before[1 - _UNDONE :], ({key: copy.rows.get(key) for key in written}, copy.offset)]
        super().write(partition, written.items(), offset)
        self.at("after a write")

    def discard(self, partition: int) -> None:
        """Forget the rows of a partition."""
        super().discard(partition)
        self._damage.pop(partition, None)
        self._before.pop(partition, None)

    def lose_last(self, partition: int, writes: int = 1) -> None:
        """Lose the last writes, at most 16, like a machine that loses power before they reach its disk."""
        copy, before = super().copy(partition), self._before.get(partition, [])  # damaged rows may be lost as well
        for _ in range(min(writes, len(before))):
            rows, copy.offset = before.pop()
            copy.put(rows.items())

    def damage(self, partition: int) -> None:
        """Make the rows of a partition unreadable from now on, until they are opened again."""
        self._damage[partition] = DamagedCopyError(Path("memory"), "corrupt", "checksums differ")

    def copy(self, partition: int) -> Copy:
        """Return the rows of a partition; raise `DamagedCopyError` if they cannot be read."""
        if partition in self._damage:
            raise self._damage[partition]
        return super().copy(partition)
