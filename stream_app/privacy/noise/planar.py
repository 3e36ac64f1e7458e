"""Planar Laplace noise on an integer lattice, exactly: ``P(x, y)`` proportional to ``exp(-rate * norm(x, y))``.

Rejection from two independent discrete Laplace draws, whose product dominates it because ``|x| + |y|`` is at most
``sqrt(2) * norm``. Source: Andres et al., Geo-indistinguishability, CCS 2013 (the continuous mechanism); the lattice
and the exact acceptance are this project's, against the precision attacks that the paper leaves open.
"""

from decimal import Context, Decimal
from fractions import Fraction
from math import exp, sqrt

from stream_app.privacy.noise.laplace import discrete_laplace
from stream_app.privacy.noise.randomness import BitStream, happens

HALF_ROOT = Fraction(70710678118654752440, 10**20)
"""1/sqrt(2) rounded down: a slower rate of the proposal still dominates."""


def planar_laplace(stream: BitStream, rate: Fraction) -> tuple[int, int]:
    """Return one draw of planar Laplace noise, in lattice steps; ``rate`` is per lattice step (positive)."""
    proposal = rate * HALF_ROOT
    while True:
        x = discrete_laplace(stream, proposal.numerator, proposal.denominator)
        y = discrete_laplace(stream, proposal.numerator, proposal.denominator)
        if x == y == 0 or accepts(stream, x, y, rate):
            return x, y


def accepts(stream: BitStream, x: int, y: int, rate: Fraction) -> bool:
    """Return True with probability ``exp(-rate*norm(x, y) + rate*HALF_ROOT*(|x| + |y|))``; not for the origin."""
    square, corner = x * x + y * y, abs(x) + abs(y)
    slope = rate.numerator / rate.denominator
    far, near = slope * sqrt(square), slope * float(HALF_ROOT) * corner

    def precise(digits: int) -> Decimal:
        # far and near may agree in their first 20 digits, as HALF_ROOT does with 1/sqrt(2).
        context = Context(prec=digits + 50 + len(str(corner)) + max(0, len(str(int(far)))))
        norm = context.sqrt(Decimal(square))
        less = context.multiply(context.divide(Decimal(HALF_ROOT.numerator), Decimal(HALF_ROOT.denominator)), corner)
        scaled = context.multiply(context.subtract(less, norm), Decimal(rate.numerator))
        return context.exp(context.divide(scaled, Decimal(rate.denominator)))

    return happens(stream, exp(near - far), (far + near + 1.0) * 2.0**-47, precise)
