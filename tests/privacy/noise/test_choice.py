"""The exponential mechanism: exact chances, to the last bit, and its loss."""

from decimal import Context, Decimal
from fractions import Fraction
from itertools import accumulate, pairwise
from math import exp

import numpy as np
import pytest

from stream_app.privacy.noise.mechanisms import chosen, probabilities, weights
from tests.privacy.noise.bits import GivenBits, stream
from tests.privacy.noise.fit import SURE, fit

DIGITS = Context(prec=90)
NANO = 10**9
WORD = 64
SCORES = [
    [Fraction(-number) for number in range(1, 12)],
    [Fraction(0), Fraction(-1, 3), Fraction(-2, 7), Fraction(-1), Fraction(-1, 3)],
    [Fraction(-5), Fraction(-5)],
]


def exact_sums(scores: list[Fraction], epsilon_nano: int) -> list[Decimal]:
    """Return the cumulative chances to 80 digits, from weights that are not normalised by the best score."""
    found = []
    for score in scores:
        exponent = score * Fraction(epsilon_nano, 2 * NANO)
        found.append(DIGITS.exp(DIGITS.divide(Decimal(exponent.numerator), Decimal(exponent.denominator))))
    total = DIGITS.plus(Decimal(0))
    sums = []
    for weight in found:
        total = DIGITS.add(total, weight)
        sums.append(total)
    return [DIGITS.divide(each, total) for each in sums]


@pytest.mark.parametrize("scores", SCORES)
@pytest.mark.parametrize("epsilon", [0.01, 2.0])
def test_options_have_the_exact_distribution(scores: list[Fraction], epsilon: float) -> None:
    """Draws fit the exact chances; those of a 20 % larger epsilon, or without halving it, are rejected."""
    bits = stream(1, b"landmark-options")
    drawn = [chosen(bits, scores, int(epsilon * NANO)) for _ in range(2_500)]

    def chances(rate: float) -> dict[int, float]:
        parts = [exp(rate * float(score)) for score in scores]
        return {nth: part / sum(parts) for nth, part in enumerate(parts)}

    assert fit(drawn, chances(epsilon / 2)) > SURE
    if epsilon == 2:
        assert fit(drawn, chances(epsilon)) < SURE or scores == SCORES[2]
        assert fit(drawn, chances(epsilon * 0.6)) < SURE or scores != SCORES[0]


@pytest.mark.parametrize("scores", SCORES[:2])
@pytest.mark.parametrize("epsilon_nano", [1, 10_000_000, 142_857_148, 2 * NANO])
def test_edges_lie_at_the_exact_chances(scores: list[Fraction], epsilon_nano: int) -> None:
    """An option ends at its exact cumulated chance, found by bisection over the first 64 bits."""
    for nth, edge in enumerate(exact_sums(scores, epsilon_nano)[:-1]):
        low, high = 0, 1 << WORD
        while low < high:
            middle = (low + high) // 2
            below = chosen(GivenBits(middle), scores, epsilon_nano) <= nth
            low, high = (middle + 1, high) if below else (low, middle)
        # Bits beyond the first 64 decide within the one word in which the edge lies.
        assert low in {
            int(DIGITS.multiply(edge, Decimal(1 << WORD))),
            int(DIGITS.multiply(edge, Decimal(1 << WORD))) + 1,
        }


def test_a_uniform_on_the_edge_takes_more_bits() -> None:
    """If the first word contains an edge, the next 64 bits decide, as the exact chance does."""
    scores, epsilon_nano = SCORES[0], 10_000_000
    edge = exact_sums(scores, epsilon_nano)[3]
    scaled = DIGITS.multiply(edge, Decimal(1 << (2 * WORD)))
    top, rest = divmod(int(scaled), 1 << WORD)
    assert chosen(GivenBits(top, rest - 1), scores, epsilon_nano) == 3
    assert chosen(GivenBits(top, rest + 1), scores, epsilon_nano) == 4
    assert chosen(GivenBits(0), scores, epsilon_nano) == 0
    assert chosen(GivenBits((1 << WORD) - 1), scores, epsilon_nano) == len(scores) - 1


def test_one_option_needs_no_draw() -> None:
    """A certain choice takes no bits."""
    bits = stream(2)
    assert chosen(bits, [Fraction(-3)], NANO) == 0
    assert bits.take(WORD) == stream(2).take(WORD)


def test_the_loss_is_at_most_epsilon() -> None:
    """If two score lists differ by at most 1 everywhere, no option's chance differs by more than exp(epsilon)."""
    of = np.random.default_rng(1)
    largest = 0.0
    for _ in range(300):
        number, epsilon_nano = int(of.integers(2, 9)), int(of.integers(1, 4 * NANO))
        one = [Fraction(int(of.integers(-40, 1)), 8) for _ in range(number)]
        moves = of.choice([-8, 8], number) if of.random() < 0.5 else of.integers(-8, 9, number)
        other = [score + Fraction(int(move), 8) for score, move in zip(one, moves, strict=True)]
        chances = [probabilities(scores, epsilon_nano) for scores in (one, other)]
        losses = [abs(np.log(here / there)) for here, there in zip(*chances, strict=True)]
        assert max(losses) <= epsilon_nano / NANO * (1 + 1e-12)
        largest = max(largest, max(losses) * NANO / epsilon_nano)
    assert largest > 0.9


def test_weights_are_exact_to_their_last_digit() -> None:
    """More digits give the same first digits; a fall beyond all digits has no weight."""
    scores = [Fraction(0), Fraction(-10, 7), Fraction(-(10**5))]
    few, many = (weights(scores, NANO, digits) for digits in (30, 60))
    assert all(abs(weight - more // 10**30) <= 1 for weight, more in zip(few, many, strict=True))
    assert few[0] == 10**30
    assert few[2] == 0
    assert sum(probabilities(scores, NANO)) == pytest.approx(1, abs=1e-15)


def test_many_options() -> None:
    """The last of two thousand options can be drawn, and the chances of all sum to 1."""
    scores = [Fraction(-number) for number in range(1, 2_001)]
    sums = list(accumulate(probabilities(scores, 1_000_000)))
    assert all(here < there for here, there in pairwise(sums))
    assert chosen(GivenBits((1 << WORD) - 1), scores, 1_000_000) == 1_999
