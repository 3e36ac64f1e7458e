"""The epsilon with which a scheme keeps temporal loss under a bound."""

from collections.abc import Sequence
from math import floor

from stream_app.loss.temporal import Adversary
from stream_app.outlook.course import Watch
from stream_app.outlook.forecast import temporal_loss
from stream_app.outlook.question import Question, courses_of, epsilons_of
from stream_app.outlook.variant import Variant
from stream_app.privacy.parameters import LARGEST_EPSILON
from stream_app.privacy.values import NANO

_ENOUGH = 2.0**-24
"""Relative width at which the search ends; six digits are given."""
_ATTEMPTS = 3


def epsilon_within(
    question: Question, variant: Variant, spends: Sequence[Sequence[float]], watch: Watch
) -> float | None:
    """Return the largest epsilon, to about six digits, with which no step of the courses loses more than the bound.

    ``spends`` are those of the policy as it is. They grow in proportion with epsilon but for rounding to
    nano-epsilon, so the factor is searched, and the epsilon that it gives is walked. None when nothing is asked, or
    none is small enough.
    """
    adversary, bound, policy = question.adversary, question.bound, question.policy
    if adversary is None or bound is None:
        return None
    now = policy.epsilon_nano / NANO
    most = LARGEST_EPSILON / now
    low, high = 0.0, min(1.0, most)
    while high < most and _loss(adversary, spends, high, question.gap) <= bound:
        low, high = high, min(2 * high, most)
    while high - low > high * _ENOUGH and high > 1 / policy.epsilon_nano:
        middle = (low + high) / 2
        low, high = (middle, high) if _loss(adversary, spends, middle, question.gap) <= bound else (low, middle)
    for attempt in range(_ATTEMPTS):
        found = _rounded(now * low * (1 - attempt * 1e-5))
        if not found:
            return None
        walked = courses_of({**question.parameters, "epsilon": found}, variant, question.horizon, watch)
        if _loss(adversary, [epsilons_of(spends) for spends in walked], 1.0, question.gap) <= bound:
            return found
    return None


def _loss(adversary: Adversary, courses: Sequence[Sequence[float]], factor: float, gap: int) -> float:
    """Return the largest temporal loss of any step when every spend is multiplied."""
    scaled = ([factor * epsilon for epsilon in course] for course in courses)
    return max(max(temporal_loss(adversary, course, gap).total) for course in scaled)


def _rounded(epsilon: float) -> float:
    """Return epsilon with six digits, rounded down; 0 below a nano-epsilon."""
    if epsilon < 1 / NANO:
        return 0.0
    unit = 10.0 ** (int(f"{epsilon:e}".partition("e")[2]) - 5)
    return float(f"{floor(epsilon / unit) * unit:.6g}")
