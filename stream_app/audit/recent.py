"""The digests of a series' latest records, so that a repeated record can be told from a conflicting one."""

from array import array
from bisect import bisect_left

WINDOW = 64
"""How many records back a repeat can still be compared; at most twice as many are held, 40 bytes each."""

DIGEST_BYTES = 32


class Recent:
    """The last `WINDOW` to `2 * WINDOW` (number, digest) pairs of a series, by rising number."""

    __slots__ = ("_digests", "_forgotten", "_numbers")

    def __init__(self) -> None:
        """Begin with nothing."""
        self._forgotten = -1  # the highest number that is no longer held
        self._numbers = array("q")
        self._digests = bytearray()

    def add(self, number: int, digest: bytes) -> None:
        """Take in a record whose number exceeds all earlier ones."""
        if len(self._numbers) >= 2 * WINDOW:
            self._forgotten = self._numbers[WINDOW - 1]
            del self._numbers[:WINDOW]
            del self._digests[: WINDOW * DIGEST_BYTES]
        self._numbers.append(number)
        self._digests += digest

    def get(self, number: int) -> bytes | None:
        """The digest under `number`, or None when it was never added or is forgotten."""
        place = bisect_left(self._numbers, number)
        if place == len(self._numbers) or self._numbers[place] != number:
            return None
        return bytes(self._digests[place * DIGEST_BYTES : (place + 1) * DIGEST_BYTES])

    def covers(self, number: int) -> bool:
        """Tell whether a record of this number, had it been added, would still be known."""
        return number > self._forgotten
