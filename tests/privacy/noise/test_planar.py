"""Planar Laplace noise on a lattice: the exact chance of every point."""

from decimal import Context, Decimal
from fractions import Fraction
from math import atan2, exp, hypot, pi

import pytest
from scipy.stats import chisquare

from stream_app.privacy.noise.mechanisms import HALF_ROOT, accepts, discrete_laplace, planar_laplace
from stream_app.privacy.noise.randomness import FAST_BITS
from tests.privacy.noise.bits import GivenBits, stream, turning_point
from tests.privacy.noise.fit import SURE, fit

DIGITS = Context(prec=80)


def _chances(rate: float, reach: int) -> dict[tuple[int, int], float]:
    """Return the exact chances of the lattice points in a square whose corners no draw reaches."""
    window = range(-reach, reach + 1)
    weights = {(x, y): exp(-rate * hypot(x, y)) for x in window for y in window}
    total = sum(weights.values())
    return {point: weight / total for point, weight in weights.items()}


def _draw(rate: Fraction, number: int) -> list[tuple[int, int]]:
    bits = stream(number, b"landmark-plane")
    return [planar_laplace(bits, rate) for _ in range(30_000)]


@pytest.mark.parametrize("rate", [Fraction(3), Fraction(1), Fraction(2, 5), Fraction(1, 10)])
def test_draws_have_the_exact_distribution(rate: Fraction) -> None:
    """Draws fit the exact chance of every lattice point, and a scale 10 % larger is rejected."""
    drawn = _draw(rate, 1)
    reach = int(25 / rate) + 5
    assert fit(drawn, _chances(float(rate), reach)) > SURE
    if rate > Fraction(1, 10):  # at wide scales too few draws fall in each single point to tell
        assert fit(drawn, _chances(float(rate) / 1.1, reach)) < SURE


def test_distances_and_directions_of_wide_noise() -> None:
    """At a wide scale the distance has the density r * exp(-c r), and all directions are equally likely."""
    scale = 300
    drawn = _draw(Fraction(1, scale), 2)

    def chances(scale: float) -> dict[int, float]:
        below = [1 - (1 + cell * 150 / scale) * exp(-cell * 150 / scale) for cell in range(41)]
        return {cell: below[cell + 1] - below[cell] for cell in range(40)}

    cells = [int(hypot(x, y)) // 150 for x, y in drawn]
    assert fit(cells, chances(scale)) > SURE
    assert fit(cells, chances(scale * 1.1)) < SURE
    octants = [0] * 8
    for x, y in drawn:
        if x * y * (x * x - y * y) != 0:  # points on the octants' borders count for none
            octants[int((atan2(y, x) + pi) * 4 / pi) % 8] += 1
    assert chisquare(octants).pvalue > SURE


def test_a_square_instead_of_a_circle_would_be_caught() -> None:
    """Two independent Laplace draws without the rejection fail the same test."""
    bits = stream(3, b"landmark-plane")
    drawn = [(discrete_laplace(bits, 1, 1), discrete_laplace(bits, 1, 1)) for _ in range(30_000)]
    assert fit(drawn, _chances(1.0, 30)) < SURE


@pytest.mark.parametrize("rate", [Fraction(1, 1000), Fraction(1, 3), Fraction(7, 2)])
@pytest.mark.parametrize("point", [(1, 0), (1, 1), (3, -4), (-2, 7), (40, 40), (0, 25)])
def test_acceptance_is_exact(point: tuple[int, int], rate: Fraction) -> None:
    """A proposal is kept for exactly the draws below its chance, found by bisection on the draw."""
    x, y = point
    norm = DIGITS.sqrt(Decimal(x * x + y * y))
    corner = DIGITS.multiply(
        DIGITS.divide(Decimal(HALF_ROOT.numerator), Decimal(HALF_ROOT.denominator)), Decimal(abs(x) + abs(y))
    )
    slope = DIGITS.divide(Decimal(rate.numerator), Decimal(rate.denominator))
    chance = DIGITS.exp(DIGITS.multiply(slope, DIGITS.subtract(corner, norm)))
    edge = int(DIGITS.multiply(chance, Decimal(2**FAST_BITS)))
    assert chance < 1
    assert turning_point(lambda top: accepts(GivenBits(top), x, y, rate)) in {edge, edge + 1}


def test_the_proposal_dominates() -> None:
    """The slope of the proposal is below 1/sqrt(2), so no acceptance chance exceeds 1."""
    assert 2 * HALF_ROOT**2 < 1 < 2 * (HALF_ROOT + Fraction(1, 10**20)) ** 2


def test_about_three_quarters_are_accepted() -> None:
    """The share of accepted proposals is near the 0.78 given by the areas of the two shapes."""
    bits = stream(4, b"landmark-plane")
    for _ in range(5_000):
        planar_laplace(bits, Fraction(1, 50))
    taken = bits._block * 512 - bits._left  # noqa: SLF001 (bits used so far)
    pairs = taken / (2 * (FAST_BITS + 1) + FAST_BITS)
    assert 0.74 < 5_000 / pairs < 0.82
