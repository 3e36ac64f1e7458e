"""The exponential mechanism over scored options, exactly: option i with probability in proportion to exp(e * u_i / 2).

Scores are rationals of sensitivity 1. One lazily extended uniform is compared with the cumulated weights, which
`decimal` gives to as many digits as that takes. Source: McSherry and Talwar, Mechanism design via differential
privacy, FOCS 2007 (theorem 6: loss at most e).
"""

from bisect import bisect_right
from collections.abc import Sequence
from decimal import Context, Decimal
from fractions import Fraction
from itertools import accumulate

import numpy as np

from stream_app.privacy.noise.randomness import DIGITS_PER_BIT, MORE_BITS, TOP_UNIT, BitStream
from stream_app.privacy.values import NANO

GUARD_DIGITS = 20
"""Beyond those of the uniform: for up to 16,384 roundings, and so that hardly any second round is needed."""
SPARE_DIGITS = 30
"""Of the arithmetic: exponents are below 1e22, so a weight is right to far beyond its last digit, then cut off."""
SHOWN_DIGITS = 40


MARGIN = 2.0**-44
"""Of cumulated weights in doubles, for each option: 16 times what rounding can make of the largest sum."""


def chosen(stream: BitStream, scores: Sequence[Fraction | int], epsilon_nano: int) -> int:
    """Return the index of an option, drawn at ``epsilon_nano`` nano-epsilon; there is at least one."""
    if len(scores) == 1:
        return 0
    top = stream.take(MORE_BITS)
    quick = chosen_fast(top, scores, epsilon_nano)
    return chosen_precise(stream, top, scores, epsilon_nano) if quick is None else quick


def chosen_fast(top: int, scores: Sequence[Fraction | int], epsilon_nano: int) -> int | None:
    """Decide by the first 64 bits in double precision, or return None: too close to tell."""
    best = max(scores)
    falls = np.array([float(score - best) for score in scores]) * (epsilon_nano / (2 * NANO))
    # A weight w = exp(-x) is off by less than w * (2x + 4) ulp, and w * x is below 1/2; a sum by an ulp an option more.
    sums = np.cumsum(np.exp(falls))
    aim = top * TOP_UNIT * sums[-1]
    found = min(int(np.searchsorted(sums, aim, side="right")), len(scores) - 1)
    margin = MARGIN * len(scores) * sums[-1]
    after = found == 0 or sums[found - 1] + margin < aim
    before = found == len(scores) - 1 or aim < sums[found] - margin
    return found if after and before else None


def chosen_precise(stream: BitStream, top: int, scores: Sequence[Fraction | int], epsilon_nano: int) -> int:
    """Decide by as many bits and digits as it takes; ``top`` holds the first 64 bits."""
    bits = MORE_BITS
    while True:
        sums = [0, *accumulate(weights(scores, epsilon_nano, int(bits * DIGITS_PER_BIT) + GUARD_DIGITS))]
        found = min(bisect_right(sums, top * sums[-1] >> bits), len(scores)) - 1
        if _certain(sums, found, top, bits):
            return found
        top, bits = (top << MORE_BITS) | stream.take(MORE_BITS), bits + MORE_BITS


def _certain(sums: Sequence[int], found: int, top: int, bits: int) -> bool:
    """Return whether every uniform that begins with ``top`` chooses ``found``, whatever the weights' last digit is."""
    doubt = len(sums)  # of a sum, either way: one for each weight, and more
    after = found == 0 or (sums[found] + doubt) << bits <= top * (sums[-1] - doubt)
    before = found == len(sums) - 2 or (top + 1) * (sums[-1] + doubt) <= (sums[found + 1] - doubt) << bits
    return after and before


def weights(scores: Sequence[Fraction | int], epsilon_nano: int, digits: int) -> list[int]:
    """Return ``exp(e * (u - max u) / 2)`` of each score in units of ``10**-digits``, less than 1.1 off."""
    context = Context(prec=digits + SPARE_DIGITS)
    best = max(scores)
    found = []
    for score in scores:
        fall = (score - best) * Fraction(epsilon_nano, 2 * NANO)
        exponent = context.divide(Decimal(fall.numerator), Decimal(fall.denominator))
        found.append(int(context.scaleb(context.exp(exponent), digits)))
    return found


def probabilities(scores: Sequence[Fraction | int], epsilon_nano: int) -> list[float]:
    """Return the probability of each option, rounded to a double."""
    found = weights(scores, epsilon_nano, SHOWN_DIGITS)
    total = sum(found)
    return [weight / total for weight in found]
