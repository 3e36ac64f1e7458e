"""Randomized response: the truth exactly as often as allowed, and every other answer equally often."""

from decimal import Context, Decimal
from math import exp

import pytest

from stream_app.privacy.noise.mechanisms import randomized_response, truth_precise, truth_probability
from stream_app.privacy.noise.randomness import FAST_BITS
from tests.privacy.noise.bits import GivenBits, stream, turning_point
from tests.privacy.noise.fit import SURE, fit

DIGITS = Context(prec=60)
NANO = 10**9


def _chances(epsilon: float, answers: int, truth: int) -> dict[int, float]:
    weight = exp(epsilon)
    total = weight + answers - 1
    return {answer: (weight if answer == truth else 1.0) / total for answer in range(answers)}


@pytest.mark.parametrize(("epsilon", "answers"), [(0.1, 2), (1.0, 2), (1.0, 3), (2.5, 7), (4.0, 40)])
def test_answers_have_the_exact_distribution(epsilon: float, answers: int) -> None:
    """Answers fit their exact chances for every truth tried; those of a 10 % larger epsilon are rejected."""
    for truth in {0, answers // 2, answers - 1}:
        bits = stream(truth, b"landmark-answers")
        said = [randomized_response(bits, truth, answers, int(epsilon * NANO)) for _ in range(40_000)]
        assert fit(said, _chances(epsilon, answers, truth)) > SURE
        if epsilon >= 1:
            assert fit(said, _chances(epsilon * 1.1, answers, truth)) < SURE


@pytest.mark.parametrize("spend_nano", [1, 1000, 142_857_148, NANO, 3 * NANO, 40 * NANO])
@pytest.mark.parametrize("answers", [2, 3, 4096])
def test_the_loss_is_exactly_the_spend(spend_nano: int, answers: int) -> None:
    """The truth is exactly exp(e) times as likely as any other answer, to 40 digits."""
    truth = truth_precise(spend_nano, answers, 50)
    other = DIGITS.divide(DIGITS.subtract(Decimal(1), truth), Decimal(answers - 1))
    loss = DIGITS.ln(DIGITS.divide(truth, other))
    assert abs(loss - Decimal(spend_nano) / NANO) < Decimal("1e-28")


@pytest.mark.parametrize(("spend_nano", "answers"), [(1, 2), (142_857_148, 3), (NANO, 2), (9 * NANO, 4096)])
def test_the_truth_is_said_by_exactly_its_share_of_draws(spend_nano: int, answers: int) -> None:
    """The edge between the truth and another answer is at the exact chance, found by bisection on the draw."""
    weight = DIGITS.exp(DIGITS.divide(Decimal(spend_nano), Decimal(NANO)))
    chance = DIGITS.divide(weight, DIGITS.add(weight, Decimal(answers - 1)))
    edge = int(DIGITS.multiply(chance, Decimal(2**FAST_BITS)))
    found = turning_point(lambda top: randomized_response(GivenBits(top), 1, answers, spend_nano) == 1)
    assert found in {edge, edge + 1}


def test_the_published_double_is_rounded_once() -> None:
    """The chance in doubles, which the category filter uses, is the double nearest to the exact chance."""
    for spend_nano in (1, 777, 142_857_148, 5 * NANO, 10**15):
        for answers in (2, 3, 17, 4096):
            assert truth_probability(spend_nano, answers) == float(truth_precise(spend_nano, answers, 60))
