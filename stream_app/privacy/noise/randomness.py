"""Replay-safe randomness: a stream of bits that is a function of a secret key and a message.

The same (key, message) gives the same bits on any machine, so a replayed event never draws fresh noise. Guarantee: the
bits are indistinguishable from uniform ones without the key, as keyed BLAKE2b is a pseudo-random function (RFC 7693).
"""

from collections.abc import Callable, Iterable
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from hashlib import blake2b
from math import floor

import numpy as np
import numpy.typing as npt

from stream_app.privacy.amounts import Flag, Real, Whole

BLOCK_BYTES = 64
WORD_BYTES = 8
FAST_BITS = 53
"""Bits that decide in double precision; every integer below 2^53 is a double."""
MORE_BITS = 64
TOP_UNIT = 2.0**-MORE_BITS
RATIONAL_MARGIN = 2.0**-50
DIGITS_PER_BIT = 0.30103  # log10(2), rounded up


def _fresh(key: bytes, person: bytes) -> blake2b:
    return blake2b(key=key, person=person, digest_size=BLOCK_BYTES)


@lru_cache(maxsize=64)
def _keyed(key: bytes, person: bytes) -> blake2b:
    """Return a hash that has taken up its key, which costs as much as a message; keeps key and hash."""
    return _fresh(key, person)


class BitStream:
    """A stream of bits; taking some moves it on. Lives for one draw, never stored."""

    __slots__ = ("_block", "_keyed", "_left", "_message", "_pool")

    def __init__(self, key: bytes, person: bytes, message: bytes, *, once: bool = False) -> None:
        """Start the stream of ``message`` under ``key``; ``person`` (at most 16 bytes) separates purposes.

        ``once``: the key is a seed, which nothing keeps when the stream is gone.
        """
        # PRIVACY: a hash that has taken up its key holds it: who looks at the memory later would read a kept seed.
        self._keyed = _fresh(key, person) if once else _keyed(key, person)
        self._message = message
        self._block = 0
        self._pool = 0
        self._left = 0

    def take(self, bits: int) -> int:
        """Return the next ``bits`` bits (1 to 512) as an integer: of each block, the last ones come first."""
        while self._left < bits:
            block = self._keyed.copy()
            block.update(self._message + self._block.to_bytes(8, "big"))
            self._block += 1
            self._pool |= int.from_bytes(block.digest(), "big") << self._left
            self._left += 8 * BLOCK_BYTES
        taken = self._pool & ((1 << bits) - 1)
        self._pool >>= bits
        self._left -= bits
        return taken

    def below(self, bound: int) -> int:
        """Return a uniform integer in ``0 .. bound - 1`` (bound at least 1), by rejection."""
        bits = (bound - 1).bit_length()
        if bits == 0:
            return 0
        while (drawn := self.take(bits)) >= bound:
            pass
        return drawn


def happens_rational(stream: BitStream, numerator: int, denominator: int) -> bool:
    """Return True with probability exactly ``numerator / denominator`` (0 <= numerator <= denominator)."""
    top, bits = stream.take(MORE_BITS), MORE_BITS
    happens, sure = happens_quickly(float(top), numerator, denominator)
    if sure:
        return bool(happens)
    while True:
        if (top + 1) * denominator <= numerator << bits:
            return True
        if top * denominator >= numerator << bits:
            return False
        top, bits = (top << MORE_BITS) | stream.take(MORE_BITS), bits + MORE_BITS


def happens_quickly(word: Real, numerator: Whole, denominator: int) -> tuple[Flag, Flag]:
    """Return `happens_rational` by the first 64 bits of a stream, as a double, and whether these decide it."""
    # The doubles are off by less than 2^-51 in all: beyond that margin they decide as the integers would.
    difference = numerator / denominator - word * TOP_UNIT
    return difference > 0.0, abs(difference) > RATIONAL_MARGIN


def first_words(base: blake2b, messages: Iterable[bytes]) -> npt.NDArray[np.uint64]:
    """Return the first 64 bits of the stream of each message; ``base`` is `keyed_hash`, and may hold their beginning.

    They are what `BitStream.take` gives of 64 bits.
    """
    first = bytes(WORD_BYTES)  # the number of the block
    blocks: list[bytes] = []
    take = blocks.append
    copy = base.copy
    for message in messages:
        block = copy()
        block.update(message)
        block.update(first)
        take(block.digest())
    words = np.frombuffer(b"".join(blocks), ">u8")
    return words[BLOCK_BYTES // WORD_BYTES - 1 :: BLOCK_BYTES // WORD_BYTES].astype(np.uint64)


def keyed_hash(key: bytes, person: bytes, beginning: bytes) -> blake2b:
    """Return the hash from which the streams of messages go that begin alike; it keeps the key."""
    base = _keyed(key, person).copy()
    base.update(beginning)
    return base


def happens(stream: BitStream, chance: float, tolerance: float, precise: Callable[[int], Decimal]) -> bool:
    """Return True with probability exactly p, a real number.

    ``chance`` is p within relative ``tolerance``; ``precise(digits)`` is p within relative ``10**-digits``. A lazily
    extended uniform is compared with p: 53 bits and double precision decide when they can, else more bits and digits.
    """
    top = stream.take(FAST_BITS)
    decided = happens_fast(top, chance, tolerance)
    return happens_precise(stream, top, precise) if decided is None else decided


def happens_fast(top: int, chance: float, tolerance: float) -> bool | None:
    """Decide by the first 53 bits in double precision, or return None: too close to tell."""
    if (top + 1) * 2.0**-FAST_BITS <= chance * (1.0 - tolerance):
        return True
    # top 0 says nothing against a chance too small for a double.
    if top > 0 and top * 2.0**-FAST_BITS >= chance * (1.0 + tolerance):
        return False
    return None


def happens_precise(stream: BitStream, top: int, precise: Callable[[int], Decimal]) -> bool:
    """Decide by as many bits and digits as it takes; ``top`` holds the first 53 bits."""
    bits = FAST_BITS
    while True:
        digits = int(bits * DIGITS_PER_BIT) + 20
        chance = Fraction(precise(digits)) * 2**bits
        margin = chance / 10**digits
        low, high = floor(chance - margin), floor(chance + margin) + 1
        if top + 1 <= low:
            return True
        if top >= high:
            return False
        top, bits = (top << MORE_BITS) | stream.take(MORE_BITS), bits + MORE_BITS
