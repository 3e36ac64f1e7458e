"""What an open unit stores: the latest time, the number of readings, and one cell or a sum of cells.

Every unit takes 16 bytes, even an empty one: neither its size nor its layout depends on a value.
"""

from struct import Struct
from typing import Final, NamedTuple

from stream_app.privacy.kinds import Category, UnitStatistic
from stream_app.privacy.reason import Reason
from stream_app.privacy.units.units import Units

MOST_READINGS: Final = 65_535
"""The maximum number of readings in a unit."""
_LAYOUT: Final = Struct(">HIHq")
UNIT_BYTES: Final = _LAYOUT.size
"""The latest time takes 6 bytes, the number of readings 2, and the cell or sum 8, all big-endian."""
_LOW_BITS: Final = 32
_LOW: Final = (1 << _LOW_BITS) - 1


class OpenUnit(NamedTuple):
    """A unit of an open step.

    ``latest`` is the latest time in ms after the unit's start, plus 1; 0 means the unit is empty. ``held`` is the cell
    of the last or highest reading, or the sum of all cells. Each cell was clamped to the declared range, at most 2^31
    in size, so the sum of 65,535 of them fits.
    """

    latest: int = 0
    readings: int = 0
    held: int = 0

    def __repr__(self) -> str:
        """Return a text without the unit's contents."""
        # PRIVACY: anything that prints a unit, including a traceback, shows none of its readings.
        return "OpenUnit()"

    def packed(self) -> bytes:
        """Return the unit's 16 bytes."""
        latest, readings, held = self
        return _LAYOUT.pack(latest >> _LOW_BITS, latest & _LOW, readings, held)

    @classmethod
    def unpacked(cls, stored: bytes | bytearray, at: int = 0) -> "OpenUnit":
        """Return the unit stored in 16 bytes, beginning at offset ``at``."""
        high, low, readings, held = _LAYOUT.unpack_from(stored, at)
        return cls(high << _LOW_BITS | low, readings, held)

    def untimely(self, since_ms: int) -> Reason | None:
        """Return why a reading ``since_ms`` after the unit's start is refused, or None if it is accepted.

        The answer does not depend on any value.
        """
        if since_ms + 1 <= self.latest:
            return "duplicate" if since_ms + 1 == self.latest else "late"
        return "too-large" if self.readings == MOST_READINGS else None

    def joined(self, units: Units, since_ms: int, cell: int) -> "OpenUnit":
        """Return the unit plus a reading that `untimely` accepted and that is ``since_ms`` after the unit's start."""
        # PRIVACY: a raw cell becomes part of a raw unit, which stays sealed until its step is processed.
        held = cell
        if self.readings and units.aggregate != "last":
            held = max(self.held, cell) if units.aggregate == "max" else self.held + cell
        return OpenUnit(since_ms + 1, self.readings + 1, held)

    def cell(self, units: Units, kind: UnitStatistic) -> int:
        """Return the cell that a non-empty unit contributes, within the declared range."""
        item = kind.item
        if isinstance(item, Category) or units.aggregate in {"last", "max"}:
            return self.held
        total = self.held if units.aggregate == "sum" else (2 * self.held + self.readings) // (2 * self.readings)
        return item.axis.clamp(total)


EMPTY: Final = OpenUnit()
