"""What an open unit holds of its readings: the latest time, how many there were, and one cell or a sum of cells.

A unit takes 16 bytes, an empty one too: nothing of its size or of its layout depends on a value.
"""

from struct import Struct
from typing import Final, NamedTuple

from stream_app.privacy.kinds import Category, UnitStatistic
from stream_app.privacy.reason import Reason
from stream_app.privacy.units.units import Units

MOST_READINGS: Final = 65_535
"""Readings of one unit."""
_LAYOUT: Final = Struct(">HIHq")
UNIT_BYTES: Final = _LAYOUT.size
"""The latest time in 6 bytes, the number of readings in 2, the cell or sum in 8, each with its highest byte first."""
_LOW_BITS: Final = 32
_LOW: Final = (1 << _LOW_BITS) - 1


class OpenUnit(NamedTuple):
    """A unit of an open step; ``latest`` is the latest time, in ms after the unit's start, plus 1, or 0: it is empty.

    ``held`` is the cell of the last or the highest reading, or the sum of all cells, each of which was brought to the
    declared range: at most 2^31 in size, so 65,535 of them fit.
    """

    latest: int = 0
    readings: int = 0
    held: int = 0

    def __repr__(self) -> str:
        """Return nothing of what it holds."""
        # PRIVACY: whatever prints a unit, a traceback too, shows nothing that was read.
        return "OpenUnit()"

    def packed(self) -> bytes:
        """Return its 16 bytes."""
        latest, readings, held = self
        return _LAYOUT.pack(latest >> _LOW_BITS, latest & _LOW, readings, held)

    @classmethod
    def unpacked(cls, stored: bytes | bytearray, at: int = 0) -> "OpenUnit":
        """Return the unit that 16 bytes are, from a place in others on."""
        high, low, readings, held = _LAYOUT.unpack_from(stored, at)
        return cls(high << _LOW_BITS | low, readings, held)

    def untimely(self, since_ms: int) -> Reason | None:
        """Return why it takes no reading of a time so many ms after its start, or None; a value has no part in it."""
        if since_ms + 1 <= self.latest:
            return "duplicate" if since_ms + 1 == self.latest else "late"
        return "too-large" if self.readings == MOST_READINGS else None

    def joined(self, units: Units, since_ms: int, cell: int) -> "OpenUnit":
        """Return the unit after a valid reading, so many ms after its start, that was not untimely."""
        # PRIVACY: a raw cell becomes part of a raw unit, which stays sealed until its step is decided.
        held = cell
        if self.readings and units.aggregate != "last":
            held = max(self.held, cell) if units.aggregate == "max" else self.held + cell
        return OpenUnit(since_ms + 1, self.readings + 1, held)

    def cell(self, units: Units, kind: UnitStatistic) -> int:
        """Return the cell that it stands for, within the declared range; it is not empty."""
        item = kind.item
        if isinstance(item, Category) or units.aggregate in {"last", "max"}:
            return self.held
        total = self.held if units.aggregate == "sum" else (2 * self.held + self.readings) // (2 * self.readings)
        return item.axis.clamp(total)


EMPTY: Final = OpenUnit()
