"""Discrete Laplace noise, exactly: ``P(k) = (1 - q) / (1 + q) * q**|k|`` with ``q = exp(-rate)``.

The inverse of the geometric distribution by a lazily extended uniform U: ``floor(-ln(U) / rate)`` has
``P(>= g) = P(U <= exp(-rate * g))``, which is exact because no rational bit pattern of U is ever a power of e.
Sources: Ghosh, Roughgarden, Sundararajan, Universally utility-maximizing privacy mechanisms, STOC 2009 (geometric
mechanism); Mironov, On significance of the least significant bits, CCS 2012 (why not in floating point).
"""

from decimal import Context, Decimal
from math import log

from stream_app.privacy.noise.randomness import DIGITS_PER_BIT, FAST_BITS, MORE_BITS, BitStream

UNIT = 2.0**-FAST_BITS
TOLERANCE = 2.0**-47
"""Relative error of ``log`` (below 1 ulp in every libm), of the rate's quotient and of the product, 16 times over."""


def discrete_laplace(stream: BitStream, numerator: int, denominator: int) -> int:
    """Return one draw of discrete Laplace noise of rate ``numerator / denominator`` (both positive)."""
    while True:
        bits = stream.take(FAST_BITS + 1)
        top = bits >> 1
        magnitude = geometric_fast(top, denominator / numerator)
        if magnitude is None:
            magnitude = geometric_precise(stream, top, numerator, denominator)
        if not bits & 1:
            return magnitude
        if magnitude:  # (negative, 0) is drawn again, or 0 would be twice as likely
            return -magnitude


def geometric_fast(top: int, scale: float) -> int | None:
    """Return ``floor(-ln(U) * scale)`` for U in ``[top, top + 1) / 2^53`` by doubles, or None: too close to tell."""
    if not top:
        return None
    least = -log((top + 1) * UNIT) * scale
    most = least * (1.0 + TOLERANCE) + scale / top * (1.0 + TOLERANCE)  # ln(top + 1) - ln(top) <= 1 / top
    floor_least = int(least * (1.0 - TOLERANCE))
    return floor_least if most < floor_least + 1.0 else None


def geometric_precise(stream: BitStream, top: int, numerator: int, denominator: int) -> int:
    """Return the same floor by as many bits and digits as it takes; ``top`` holds the first 53 bits of U."""
    bits = FAST_BITS
    while True:
        # A logarithm near U = 1 loses as many digits as U has bits: carry twice that, keep a margin of the first half.
        guard = int(bits * DIGITS_PER_BIT) + 30
        context = Context(prec=2 * guard + len(str(numerator)) + len(str(denominator)))
        if top:
            most = _quantile(top, bits, numerator, denominator, context)
            least = _quantile(top + 1, bits, numerator, denominator, context)
            margin = context.scaleb(most, -guard)
            low = int(max(context.subtract(least, margin), Decimal(0)))
            if context.add(most, margin) < low + 1:
                return low
        top, bits = (top << MORE_BITS) | stream.take(MORE_BITS), bits + MORE_BITS


def _quantile(top: int, bits: int, numerator: int, denominator: int, context: Context) -> Decimal:
    """Return ``-ln(top / 2^bits) * denominator / numerator``."""
    uniform = context.divide(Decimal(top), Decimal(1 << bits))
    return context.divide(
        context.multiply(context.minus(context.ln(uniform)), Decimal(denominator)), Decimal(numerator)
    )
