"""Which cell a number belongs to: exactly that of its written decimal, whatever doubles make of it."""

from decimal import Decimal
from fractions import Fraction
from itertools import product
from math import floor, inf, nextafter

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from stream_app.privacy.kinds.axis import _NOTHING, LARGEST_CELL, Axis, saturated
from stream_app.privacy.values import exact, nano

RESOLUTIONS = ["0.001", "0.1", "0.3", "0.0007", "1e-06", "1e-15", "2.5", "7", "1e+20", "123.456"]


def nearest(number: float, resolution: str) -> int:
    """Return ``floor(v / res + 1/2)`` by fractions of decimal text, which is what the design specifies."""
    quotient = Fraction(Decimal(repr(number))) / Fraction(Decimal(resolution)) + Fraction(1, 2)
    return quotient.numerator // quotient.denominator


def axis(resolution: str) -> Axis:
    """Return an axis with cells of a given width."""
    return Axis(1 / Fraction(Decimal(resolution)), 0, 0)


def _boundaries(resolution: str) -> list[float]:
    """Return doubles at and around boundaries between cells, written as decimals."""
    numbers = []
    cells = [0, 1, 2, 3, 7, 10, 99, 1000, 12345, 10**6 + 1, 2**31, 2**45 + 1, 2**49]
    for cell, sign in product(cells, (1, -1)):
        decimal = sign * (Decimal(cell) + Decimal("0.5")) * Decimal(resolution)
        number = float(decimal)
        numbers += [number, nextafter(number, 1e300), nextafter(number, -1e300), number + float(resolution) / 2]
    return numbers


@pytest.mark.parametrize("resolution", RESOLUTIONS)
def test_boundaries_between_cells(resolution: str) -> None:
    """At and beside k + 1/2 cells the cell is that of exact decimal arithmetic."""
    grid = axis(resolution)
    for number in _boundaries(resolution):
        assert grid.nearest(number) == nearest(number, resolution), number


def test_every_four_decimals_on_a_grid_of_three() -> None:
    """All numbers of four decimals from 0 to 10 fall in their cell; doubles misplace over one in a hundred."""
    grid = axis("0.001")
    misplaced = 0
    for tenthousandth in range(100_000):
        number = float(f"{tenthousandth // 10_000}.{tenthousandth % 10_000:04}")
        cell = (tenthousandth + 5) // 10
        assert grid.nearest(number) == cell
        misplaced += int(number / 0.001 + 0.5) != cell
    assert misplaced > 1000


FINITE = st.floats(allow_nan=False, allow_infinity=False)
DECIMALS = st.builds(lambda digits, exponent: f"{digits}e{exponent}", st.integers(1, 10**17), st.integers(-120, 100))
"""Resolutions as long and as fine as any that a policy may have, and beyond."""


@given(FINITE, st.one_of(st.sampled_from(RESOLUTIONS), DECIMALS))
@example(-0.0, "0.001")
@example(5e-324, "1e-120")
@example(-2.2250738585072014e-308, "1e-100")
@example(1.7976931348623157e308, "1e-15")
@example(2.0**53 + 2, "7")
def test_any_double(number: float, resolution: str) -> None:
    """Subnormal, tiny and huge doubles fall in the cell of exact arithmetic."""
    assert axis(resolution).nearest(number) == nearest(number, resolution)


@given(
    st.fractions(min_value=Fraction(1, 10**40), max_value=10**40).filter(bool),
    st.integers(-(2**50), 2**50),
    st.integers(-3, 3),
)
def test_doubles_beside_any_boundary(cells_per_unit: Fraction, cell: int, beside: int) -> None:
    """This also holds on non-decimal lattices, as for locations: some doubles on both sides of k + 1/2 cells."""
    number = float((cell + Fraction(1, 2)) / cells_per_unit)
    for _ in range(abs(beside)):
        number = nextafter(number, beside * inf)
    scaled = Fraction(Decimal(repr(number))) * cells_per_unit + Fraction(1, 2)
    assert Axis(cells_per_unit, 0, 0).nearest(number) == floor(scaled)


@given(
    st.one_of(FINITE, st.integers(-(2**63), 2**64 - 1).map(float)),
    DECIMALS,
    st.tuples(st.integers(-(2**50), 2**50), st.integers(-(2**50), 2**50)),
    st.one_of(st.none(), st.tuples(st.integers(0, 1), st.integers(-2, 2))),
)
def test_raw_numbers_are_clamped_to_the_range(
    number: float, resolution: str, ends: tuple[int, int], beside: tuple[int, int] | None
) -> None:
    """Clamping a number before it is measured gives the same cell as clamping afterwards."""
    grid = Axis(1 / Fraction(Decimal(resolution)), min(ends), max(ends))
    if beside is not None:  # near an end
        number = float((ends[beside[0]] + Fraction(beside[1], 2)) / grid.cells_per_unit)
    assert grid.within(number) == max(min(ends), min(nearest(number, resolution), max(ends)))


@pytest.mark.parametrize("resolution", ["0.001", "0.1", "0.3", "0.0007", "1e-06", "2.5", "7"])
def test_many_at_once_have_the_cells_of_each(resolution: str) -> None:
    """At and beside boundaries, tiny, subnormal and far outside, a column has the cells of exact decimals."""
    grid = Axis(1 / Fraction(Decimal(resolution)), -(10**7), 10**7)
    assert grid.boundaries is not None
    tiny = [0.0, 5e-324, 1e-310, 2.3e-308, 1e-300, 1e-200, nextafter(1e-200, 1), 1e-183, 1e-30]
    numbers = [*_boundaries(resolution), *tiny, *(-number for number in tiny), 1e308, -1e308]
    cells = grid.within(np.array(numbers)).tolist()
    assert cells == [max(-(10**7), min(nearest(number, resolution), 10**7)) for number in numbers]


def test_what_is_added_to_many_changes_no_larger_number() -> None:
    """From 1e-183 on a double stays unchanged; a smaller one becomes one that does not slow processors down."""
    larger = 10.0 ** np.random.default_rng(5).uniform(-183, 300, 10_000)
    assert (larger + _NOTHING == larger).all()
    assert (-larger + _NOTHING == -larger).all()
    smaller = np.array([5e-324, 1e-310, 2.3e-308, 1e-250])
    assert (np.concatenate([smaller, -smaller]) + _NOTHING > np.finfo(np.float64).smallest_normal).all()


def test_random_doubles_at_every_magnitude() -> None:
    """Doubles of every size, including where the quick way gives way to the exact one, fall in the exact cell."""
    generator = np.random.default_rng(3)
    for resolution in RESOLUTIONS:
        grid = axis(resolution)
        cells = 2.0 ** generator.uniform(-3, 60, 2000)
        for cell in cells:
            number = float(cell) * float(resolution)
            assert grid.nearest(number) == nearest(number, resolution)


@pytest.mark.parametrize("resolution", RESOLUTIONS)
def test_a_cell_reads_back_from_its_double(resolution: str) -> None:
    """Up to the largest cell, the published form of a cell leads back to it: releases can be read again."""
    grid = axis(resolution)
    generator = np.random.default_rng(4)
    cells = [0, 1, -1, LARGEST_CELL, -LARGEST_CELL, LARGEST_CELL - 1]
    cells += [int(sign * 2**power) for power, sign in zip(generator.uniform(0, 50, 3000), [1, -1] * 1500, strict=True)]
    for cell in cells:
        assert grid.nearest(grid.double(cell)) == cell


def test_further_cells_would_not_read_back() -> None:
    """Some cells beyond the limit do share their double with a neighbour."""
    grid = axis("0.001")
    assert any(grid.nearest(grid.double(8 * LARGEST_CELL + odd)) != 8 * LARGEST_CELL + odd for odd in range(1, 100))


def test_saturation() -> None:
    """Cells beyond the limit end at the limit, and others stay."""
    assert [saturated(cell) for cell in (-(10**30), -5, 0, LARGEST_CELL, LARGEST_CELL + 1)] == [
        -LARGEST_CELL,
        -5,
        0,
        LARGEST_CELL,
        LARGEST_CELL,
    ]


@pytest.mark.parametrize(
    ("number", "nanos"),
    [(1.0, 10**9), (0.1, 10**8), (0.3, 3 * 10**8), (1e-9, 1), (9.99e-10, 0), (1 / 3, 333_333_333), (7e-9, 7)],
)
def test_nano_rounds_the_decimal_down(number: float, nanos: int) -> None:
    """Nano-epsilon is the decimal text times 10^9, rounded down; a product of doubles would lose some."""
    assert nano(number) == nanos == Decimal(repr(number)) * 10**9 // 1


def test_exact_reads_the_shortest_decimal() -> None:
    """0.1 is one tenth, not the double beside it."""
    assert exact(0.1) == Fraction(1, 10) != Fraction(0.1)
