"""k-ary randomized response, exactly: truth with probability ``exp(e) / (exp(e) + k - 1)``, else any other answer.

Source: Kairouz, Oh, Viswanath, Extremal mechanisms for local differential privacy, JMLR 2016 (section 4).
"""

from decimal import Context, Decimal
from functools import lru_cache

from stream_app.privacy.noise.randomness import BitStream, happens
from stream_app.privacy.rational import NANO

DIGITS = 40


def truth_precise(spend_nano: int, answers: int, digits: int) -> Decimal:
    """Return the probability of the truth at ``spend_nano`` nano-epsilon, within relative ``10**-digits``."""
    context = Context(prec=digits + 20)
    falls = context.exp(context.divide(Decimal(-spend_nano), Decimal(NANO)))
    return context.divide(Decimal(1), context.add(Decimal(1), context.multiply(Decimal(answers - 1), falls)))


@lru_cache(maxsize=4096)
def truth_probability(spend_nano: int, answers: int) -> float:
    """Return the same, computed with `decimal` and rounded once to a double: equal on every machine."""
    return float(truth_precise(spend_nano, answers, DIGITS))


def randomized_response(stream: BitStream, truth: int, answers: int, spend_nano: int) -> int:
    """Return ``truth`` or another of the ``answers`` indices; loss at most ``spend_nano``."""
    chance = truth_probability(spend_nano, answers)
    if happens(stream, chance, 2.0**-50, lambda digits: truth_precise(spend_nano, answers, digits)):
        return truth
    other = stream.below(answers - 1)
    return other + (other >= truth)
