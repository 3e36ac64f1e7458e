"""Streams of bits for tests: keyed by a number, or starting with given bits."""

from collections.abc import Callable

from stream_app.privacy.noise.randomness import FAST_BITS, BitStream

SECRET = bytes(range(32))


def stream(number: int, purpose: bytes = b"landmark-test") -> BitStream:
    """Return the stream of a number, which is the same on every machine."""
    return BitStream(SECRET, purpose, number.to_bytes(16, "big"))


class GivenBits(BitStream):
    """A stream that begins with given draws of any width and continues as a keyed one."""

    __slots__ = ("_given",)

    def __init__(self, *given: int) -> None:
        """Set the results of the first calls of `take`."""
        super().__init__(SECRET, b"landmark-given", b"")
        self._given = list(given)

    def take(self, bits: int) -> int:
        """Return the next given draw, then keyed bits."""
        if self._given:
            drawn = self._given.pop(0)
            assert drawn < 1 << bits
            return drawn
        return super().take(bits)


def turning_point(holds: Callable[[int], bool]) -> int:
    """Return the number of 53-bit draws, from 0 up, for which ``holds`` is true; it must turn false once."""
    low, high = 0, 1 << FAST_BITS
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if holds(middle) else (low, middle)
    return low
