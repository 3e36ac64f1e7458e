"""The units of a partition's open steps, in rows that are sealed in the state table.

Changes made by a batch's records stay in memory until the batch is written. Without a table, as in ``replay``, they
remain in memory. Nothing else is kept in memory, so its size does not grow with the number of open steps.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Final, NamedTuple, final

from stream_app.deciding.units.opened import BLOCK_UNITS, OpenStep, OpenUnits
from stream_app.deciding.units.sealed import BLOCK_BYTES, LostUnitsError, Place, opened, sealed
from stream_app.privacy.noise.key import KeyRing
from stream_app.privacy.policy import Policy
from stream_app.privacy.units.readings import UNIT_BYTES, OpenUnit

_EPOCHS: Final = 64
"""The number of epochs whose keys are cached."""


class Table(NamedTuple):
    """The storage of rows: the keys that seal them, their events topic, and a function that reads a row."""

    keys: KeyRing
    topic: str
    """The topic's id; another topic has different offsets."""
    read: Callable[[bytes], bytes | None]


@final
class Block:
    """Sixteen units of an open step, and the offset of the last reading stored in them."""

    __slots__ = ("epoch", "offset", "place", "row_key", "units")

    def __init__(self, place: Place, epoch: int, offset: int, units: bytearray) -> None:
        self.place: Final = place
        self.row_key: Final = place.row_key
        self.epoch: Final = epoch
        self.offset = offset
        self.units: Final = units

    def unit(self, slot: int) -> OpenUnit:
        """Return the unit in a slot."""
        return OpenUnit.unpacked(self.units, slot * UNIT_BYTES)

    def put(self, slot: int, unit: OpenUnit, offset: int) -> None:
        """Store a unit that includes the reading at ``offset``."""
        at = slot * UNIT_BYTES
        self.units[at : at + UNIT_BYTES] = unit.packed()
        self.offset = offset

    def sealed(self, secret: bytes, topic: str) -> bytes:
        """Return the sealed row to store."""
        return sealed(secret, topic, self.place, self.offset, self.units)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Block) and all(getattr(self, name) == getattr(other, name) for name in self.__slots__)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        """Return only the block's row key."""
        # PRIVACY: no printed form, including a traceback, shows any reading.
        return f"Block({self.row_key!r})"


@final
class Blocks:
    """The sealed rows of one partition after its last processed record."""

    __slots__ = ("_changed", "_secret_of", "_table")

    def __init__(self, table: Table | None = None) -> None:
        """Use the rows of a table; without one, start empty and keep everything in memory."""
        self._table: Final = table
        self._changed: Final[dict[bytes, Block | None]] = {}  # by row key; None if the row is deleted
        # Cached, because it is called for each row read or written.
        self._secret_of: Final = lru_cache(_EPOCHS)(table.keys.sealing_of if table else _no_secret)

    def find(self, key: bytes, policy: Policy, step: OpenStep, number: int, epoch: int) -> Block:
        """Return an existing row of an open step that begins in ``epoch``.

        Raises:
            LostUnitsError: if the row is missing or does not belong to the step, or if its key was erased.
        """
        place = _place(key, policy, step, number)
        row_key = place.row_key
        block = self._changed.get(row_key)
        if block is not None:
            if block.place != place:
                raise LostUnitsError(key, f"has version {block.place.version}, but its step has version {step.version}")
            return block
        table = self._table
        row = None if table is None or row_key in self._changed else table.read(row_key)
        if table is None or row is None:
            raise LostUnitsError(key, "is missing")
        secret = self._secret_of(epoch)
        if secret is None:
            raise LostUnitsError(key, "belongs to an epoch whose key was erased")
        return Block(place, epoch, *opened(secret, table.topic, place, row))

    def fresh(self, key: bytes, policy: Policy, step: OpenStep, number: int, epoch: int) -> Block:
        """Return a new, empty row of an open step, without reading any row stored under its key."""
        return Block(_place(key, policy, step, number), epoch, -1, bytearray(BLOCK_BYTES))

    def change(self, block: Block) -> None:
        """Keep a row that a reading changed, so that it is written later."""
        self._changed[block.row_key] = block

    def drop(self, key: bytes, policy: Policy, steps: Iterable[OpenStep]) -> None:
        """Delete the rows of steps without reading them."""
        for step in steps:
            for number in step.numbers:
                row_key = _place(key, policy, step, number).row_key
                if self._table is None:
                    self._changed.pop(row_key, None)
                else:
                    self._changed[row_key] = None

    def drop_all(self, key: bytes, policy: Policy, opened: OpenUnits | None) -> None:
        """Delete the rows of all open steps of a series without reading them."""
        self.drop(key, policy, () if opened is None else opened.steps)

    def written(self) -> dict[bytes, bytes | None]:
        """Return the sealed rows changed since the last call, by key; a value of None deletes the row."""
        return dict(self._written())

    def _written(self) -> Iterator[tuple[bytes, bytes | None]]:
        table = self._table
        if table is None:
            return
        for row_key, block in self._changed.items():
            secret = None if block is None else self._secret_of(block.epoch)
            # A row whose key was erased is useless, so it is deleted.
            row = None if block is None or secret is None else block.sealed(secret, table.topic)
            yield row_key, row
        self._changed.clear()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Blocks) and self._changed == other._changed

    __hash__ = None  # type: ignore[assignment]


def _no_secret(_: int) -> None:
    """Return None: without a table, rows are not sealed."""


def _place(key: bytes, policy: Policy, step: OpenStep, number: int) -> Place:
    assert policy.units is not None, "the policy's steps have units"
    per_step = policy.units.per_step
    blocks = -(-per_step // BLOCK_UNITS)
    return Place(key, step.index * blocks + number, step.version, step.index * per_step + number * BLOCK_UNITS)
