"""Exact samplers: Laplace noise, randomized response, private dissimilarity, exponential mechanism.

* Discrete Laplace: ``P(k) = (1 - q) / (1 + q) * q**|k|`` with ``q = exp(-rate)``. It inverts the geometric distribution
  with a lazily extended uniform U: ``floor(-ln(U) / rate)`` has ``P(>= g) = P(U <= exp(-rate * g))``, which is exact
  because no rational bit pattern of U is ever a power of e. Sources: Ghosh, Roughgarden, Sundararajan, Universally
  utility-maximizing privacy mechanisms, STOC 2009 (geometric mechanism); Mironov, On significance of the least
  significant bits, CCS 2012 (why not in floating point).
* Planar Laplace on an integer lattice: ``P(x, y)`` proportional to ``exp(-rate * norm(x, y))``. It is drawn by
  rejection from two independent discrete Laplace draws, whose product dominates it because ``|x| + |y|`` is at most
  ``sqrt(2) * norm``. Source: Andres et al., Geo-indistinguishability, CCS 2013 (the continuous mechanism). The lattice
  and the exact acceptance test are this project's own, and address the precision attacks that the paper leaves open.
* k-ary randomized response: the truth with probability ``exp(e) / (exp(e) + k - 1)``, otherwise another answer. Source:
  Kairouz, Oh, Viswanath, Extremal mechanisms for local differential privacy, JMLR 2016 (section 4).
* Private dissimilarity: whether a step differs enough from the last release to be worth publishing. The mean distance
  of the value from that release, under Laplace noise, is compared with the noise that a publication adds. Source:
  Kellaris et al., VLDB 2014, section 5.2 (sub mechanism M_{i,1}).
* Exponential mechanism over scored options: option i with probability proportional to ``exp(e * u_i / 2)``. Scores are
  rationals of sensitivity 1. One lazily extended uniform is compared with the cumulative weights, which `decimal`
  computes to as many digits as needed. Source: McSherry and Talwar, Mechanism design via differential privacy, FOCS
  2007 (theorem 6: loss at most e).
"""

from bisect import bisect_right
from collections.abc import Sequence
from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from math import exp, sqrt

import numpy as np
import numpy.typing as npt

from stream_app.privacy.amounts import Flag, Flags, Ints, Real, logarithm, most, whole_part
from stream_app.privacy.guard import WindowLevel
from stream_app.privacy.noise.randomness import DIGITS_PER_BIT, FAST_BITS, MORE_BITS, TOP_UNIT, BitStream, happens
from stream_app.privacy.values import NANO, RawCells, ReleasedCells

UNIT = 2.0**-FAST_BITS
TOLERANCE = 2.0**-47
"""Ten times the relative error of ``log``, of the rate's quotient and of the product.

The error of ``log`` is at most 4 ulp, also in numpy.
"""


def discrete_laplace(stream: BitStream, numerator: int, denominator: int) -> int:
    """Return one draw of discrete Laplace noise of rate ``numerator / denominator`` (both positive)."""
    while True:
        bits = stream.take(FAST_BITS + 1)
        top = bits >> 1
        quick, sure = geometric(float(top), denominator / numerator)
        magnitude = int(quick) if sure else geometric_precise(stream, top, numerator, denominator)
        if not bits & 1:
            return magnitude
        if magnitude:  # (negative, 0) is drawn again, or 0 would be twice as likely
            return -magnitude


def geometric(top: Real, scale: Real) -> tuple[Real, Flag]:
    """Return ``floor(-ln(U) * scale)`` for U in ``[top, top + 1) / 2^53``, and whether doubles suffice.

    ``top`` is an integer below 2^53, as a double.
    """
    low = -logarithm((top + 1) * UNIT) * scale
    high = low * (1.0 + TOLERANCE) + scale / most(top, 1) * (1.0 + TOLERANCE)  # ln(top + 1) - ln(top) <= 1 / top
    found = whole_part(low * (1.0 - TOLERANCE))
    return found, (top > 0) & (high < found + 1.0) & (found < _LARGEST_MAGNITUDE)


Words = npt.NDArray[np.uint64]
"""The first 64 bits of many streams."""
_LARGEST_MAGNITUDE = 2.0**62


def discrete_laplace_by(words: Words, numerators: Ints, denominator: int) -> tuple[Ints, Flags]:
    """Return `discrete_laplace` for many streams, and flags that mark where 54 bits and doubles suffice.

    `discrete_laplace` must draw the others; their entries in the result are meaningless. ``denominator`` is below 2^63.
    """
    top = ((words >> np.uint64(1)) & np.uint64((1 << FAST_BITS) - 1)).astype(np.float64)
    negative = (words & np.uint64(1)).astype(np.bool_)
    found, decided = geometric(top, denominator / numerators.astype(np.float64))
    sure = decided & ~(negative & (found == 0.0))
    magnitudes = np.where(sure, found, 0.0).astype(np.int64)
    return np.where(negative, -magnitudes, magnitudes), sure


def geometric_precise(stream: BitStream, top: int, numerator: int, denominator: int) -> int:
    """Return the exact floor of `geometric`, using as many bits and digits as needed.

    ``top`` holds the first 53 bits of U.
    """
    bits = FAST_BITS
    while True:
        # A logarithm near U = 1 loses as many digits as U has bits, so carry twice as many and trust only the first
        # half.
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


HALF_ROOT = Fraction(70710678118654752440, 10**20)
"""1/sqrt(2) rounded down: with a slower rate, the proposal still dominates."""


def planar_laplace(stream: BitStream, rate: Fraction) -> tuple[int, int]:
    """Return one draw of planar Laplace noise, in lattice steps; ``rate`` is per lattice step (positive)."""
    proposal = rate * HALF_ROOT
    while True:
        x = discrete_laplace(stream, proposal.numerator, proposal.denominator)
        y = discrete_laplace(stream, proposal.numerator, proposal.denominator)
        if x == y == 0 or accepts(stream, x, y, rate):
            return x, y


def accepts(stream: BitStream, x: int, y: int, rate: Fraction) -> bool:
    """Return True with probability ``exp(-rate*norm(x, y) + rate*HALF_ROOT*(|x| + |y|))``.

    It is not defined for the origin.
    """
    square, corner = x * x + y * y, abs(x) + abs(y)
    slope = rate.numerator / rate.denominator
    far, near = slope * sqrt(square), slope * float(HALF_ROOT) * corner

    def precise(digits: int) -> Decimal:
        # `far` and `near` may agree in their first 20 digits, as HALF_ROOT does with 1/sqrt(2).
        context = Context(prec=digits + 50 + len(str(corner)) + max(0, len(str(int(far)))))
        norm = context.sqrt(Decimal(square))
        less = context.multiply(context.divide(Decimal(HALF_ROOT.numerator), Decimal(HALF_ROOT.denominator)), corner)
        scaled = context.multiply(context.subtract(less, norm), Decimal(rate.numerator))
        return context.exp(context.divide(scaled, Decimal(rate.denominator)))

    return happens(stream, exp(near - far), (far + near + 1.0) * 2.0**-47, precise)


DIGITS = 40


def truth_precise(spend_nano: int, answers: int, digits: int) -> Decimal:
    """Return the probability of the truth at ``spend_nano``, with a relative error up to ``10**-digits``."""
    context = Context(prec=digits + 20)
    falls = context.exp(context.divide(Decimal(-spend_nano), Decimal(NANO)))
    return context.divide(Decimal(1), context.add(Decimal(1), context.multiply(Decimal(answers - 1), falls)))


@lru_cache(maxsize=4096)
def truth_probability(spend_nano: int, answers: int) -> float:
    """Return `truth_precise`, computed with `decimal` and rounded once to a double.

    The result is the same on every machine.
    """
    return float(truth_precise(spend_nano, answers, DIGITS))


def randomized_response(stream: BitStream, truth: int, answers: int, spend_nano: int) -> int:
    """Return ``truth`` or another of the ``answers`` indices; the loss is at most ``spend_nano``."""
    chance = truth_probability(spend_nano, answers)
    if happens(stream, chance, 2.0**-50, lambda digits: truth_precise(spend_nano, answers, digits)):
        return truth
    other = stream.below(answers - 1)
    return other + (other >= truth)


def differs(stream: BitStream, level: WindowLevel, cells: RawCells, released: ReleasedCells, spend_nano: int) -> bool:
    """Return whether ``(sum|c - o| + noise) * x > d*D*10^9``; the loss is at most ``level.charge_nano``.

    c are the current cells, o the last released cells, d their number and x the cost of a publication, all in grid
    units. Both sides are integers, so nothing is rounded.
    """
    distance = sum(abs(cell - old) for cell, old in zip(list(cells), list(released), strict=True))
    # PRIVACY: neighbours' cells are at most D apart in L1, so their distances from the same released cells also differ
    # by at most D (triangle inequality). With noise of rate e1/D, the noisy distance, and so this branch, loses at most
    # e1. The guard counts e1 for every event of a window, whether or not its distance was requested.
    noisy = distance + discrete_laplace(stream, level.charge_nano, level.sensitivity * NANO)
    return noisy * spend_nano > len(cells) * level.sensitivity * NANO


GUARD_DIGITS = 20
"""Digits beyond those of the uniform: they cover 16,384 roundings and make a second round rare."""
SPARE_DIGITS = 30
"""Extra digits of the arithmetic.

Exponents are below 1e22, so a weight is correct far beyond its last digit and is then cut off.
"""
SHOWN_DIGITS = 40


MARGIN = 2.0**-44
"""Margin per option for cumulative weights in doubles: 16 times the rounding error of the sum."""


def chosen(stream: BitStream, scores: Sequence[Fraction | int], epsilon_nano: int) -> int:
    """Return the index of an option, drawn at ``epsilon_nano`` nano-epsilon; there is at least one option."""
    if len(scores) == 1:
        return 0
    top = stream.take(MORE_BITS)
    quick = chosen_fast(top, scores, epsilon_nano)
    return chosen_precise(stream, top, scores, epsilon_nano) if quick is None else quick


def chosen_fast(top: int, scores: Sequence[Fraction | int], epsilon_nano: int) -> int | None:
    """Choose by the first 64 bits in double precision, or return None if the choice is too close."""
    best = max(scores)
    falls = np.array([float(score - best) for score in scores]) * (epsilon_nano / (2 * NANO))
    # A weight w = exp(-x) has an error below w * (2x + 4) ulp, and w * x is below 1/2; each option adds an ulp to a
    # sum.
    sums = np.cumsum(np.exp(falls))
    aim = top * TOP_UNIT * sums[-1]
    found = min(int(np.searchsorted(sums, aim, side="right")), len(scores) - 1)
    margin = MARGIN * len(scores) * sums[-1]
    after = found == 0 or sums[found - 1] + margin < aim
    before = found == len(scores) - 1 or aim < sums[found] - margin
    return found if after and before else None


def chosen_precise(stream: BitStream, top: int, scores: Sequence[Fraction | int], epsilon_nano: int) -> int:
    """Choose with as many bits and digits as needed; ``top`` holds the first 64 bits."""
    bits = MORE_BITS
    while True:
        sums = [0, *accumulate(weights(scores, epsilon_nano, int(bits * DIGITS_PER_BIT) + GUARD_DIGITS))]
        found = min(bisect_right(sums, top * sums[-1] >> bits), len(scores)) - 1
        if _certain(sums, found, top, bits):
            return found
        top, bits = (top << MORE_BITS) | stream.take(MORE_BITS), bits + MORE_BITS


def _certain(sums: Sequence[int], found: int, top: int, bits: int) -> bool:
    """Return whether every uniform that begins with ``top`` chooses ``found``, despite rounded weights."""
    doubt = len(sums)  # error of a sum either way: one per weight plus one
    after = found == 0 or (sums[found] + doubt) << bits <= top * (sums[-1] - doubt)
    before = found == len(sums) - 2 or (top + 1) * (sums[-1] + doubt) <= (sums[found + 1] - doubt) << bits
    return after and before


def weights(scores: Sequence[Fraction | int], epsilon_nano: int, digits: int) -> list[int]:
    """Return ``exp(e * (u - max u) / 2)`` for each score, in units of ``10**-digits``, with an error below 1.1."""
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
