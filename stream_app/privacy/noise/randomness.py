"""Replay-safe randomness: a stream of bits that is a function of a secret key and a message.

The same (key, message) gives the same bits on any machine, so a replayed event never draws fresh noise. Guarantee:
without the key, the bits are indistinguishable from uniform ones, because keyed BLAKE2b is a pseudo-random function
(RFC 7693).
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
"""The number of bits from which double precision can decide, because every integer below 2^53 is a double."""
MORE_BITS = 64
TOP_UNIT = 2.0**-MORE_BITS
RATIONAL_MARGIN = 2.0**-50
DIGITS_PER_BIT = 0.30103  # log10(2), rounded up


def _fresh(key: bytes, person: bytes) -> blake2b:
    return blake2b(key=key, person=person, digest_size=BLOCK_BYTES)


@lru_cache(maxsize=64)
def _keyed(key: bytes, person: bytes) -> blake2b:
    """Return a hash that has absorbed its key; it is cached, because absorbing a key takes as long as a message.

    The cache contains the key and the hash.
    """
    return _fresh(key, person)


class BitStream:
    """A stream of bits that advances as bits are taken; it lives for one draw and is never stored."""

    __slots__ = ("_block", "_keyed", "_left", "_message", "_pool")

    def __init__(self, key: bytes, person: bytes, message: bytes, *, once: bool = False) -> None:
        """Start the stream of ``message`` under ``key``; ``person`` (at most 16 bytes) separates purposes.

        If ``once``, the key is a seed, which is not kept in memory after the stream is gone.
        """
        # PRIVACY: a hash that has absorbed its key contains it, so anyone who read the memory later would find a cached
        # seed.
        self._keyed = _fresh(key, person) if once else _keyed(key, person)
        self._message = message
        self._block = 0
        self._pool = 0
        self._left = 0

    def take(self, bits: int) -> int:
        """Return the next ``bits`` bits (1 to 512) as an integer; the last bits of each block come first."""
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
    """Return what `happens_rational` gives for the first 64 bits (as a double), and whether these bits suffice."""
    # The total error of the doubles is below 2^-51; beyond that margin they decide as the integers would.
    difference = numerator / denominator - word * TOP_UNIT
    return difference > 0.0, abs(difference) > RATIONAL_MARGIN


def first_words(base: blake2b, messages: Iterable[bytes]) -> npt.NDArray[np.uint64]:
    """Return the first 64 bits of the stream of each message, as `BitStream.take` would.

    ``base`` is a `keyed_hash` and may already hold a common prefix of the messages.
    """
    first = bytes(WORD_BYTES)  # the block number
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
    """Return a hash for the streams of all messages that share ``beginning``; the hash keeps the key."""
    base = _keyed(key, person).copy()
    base.update(beginning)
    return base


def happens(stream: BitStream, chance: float, tolerance: float, precise: Callable[[int], Decimal]) -> bool:
    """Return True with probability exactly p, a real number.

    ``chance`` is p up to a relative error of ``tolerance``, and ``precise(digits)`` is p up to a relative error of
    ``10**-digits``. A lazily extended uniform is compared with p: 53 bits and double precision decide if they can;
    otherwise, more bits and digits do.
    """
    top = stream.take(FAST_BITS)
    decided = happens_fast(top, chance, tolerance)
    return happens_precise(stream, top, precise) if decided is None else decided


def happens_fast(top: int, chance: float, tolerance: float) -> bool | None:
    """Decide by the first 53 bits in double precision, or return None if they are too close to p."""
    if (top + 1) * 2.0**-FAST_BITS <= chance * (1.0 - tolerance):
        return True
    # A ``top`` of 0 cannot rule out a chance too small for a double.
    if top > 0 and top * 2.0**-FAST_BITS >= chance * (1.0 + tolerance):
        return False
    return None


def happens_precise(stream: BitStream, top: int, precise: Callable[[int], Decimal]) -> bool:
    """Decide with as many bits and digits as needed; ``top`` holds the first 53 bits."""
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
