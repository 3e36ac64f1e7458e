"""What is asked of a policy, and the courses that answer it."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from stream_app.loss.temporal import Adversary
from stream_app.outlook.course import Course, Spend, Watch
from stream_app.outlook.horizon import Horizon
from stream_app.outlook.variant import Variant
from stream_app.privacy.dummies.request import drawn
from stream_app.privacy.policy import Policy
from stream_app.privacy.values import NANO

DRAWS = 20
"""Courses over which coins are averaged, for as long as they are short."""
MOST_DRAWN = 100_000
"""Events over all courses of one variant, but for one whole course."""


class Question(NamedTuple):
    """What is asked of a policy."""

    policy: Policy
    horizon: Horizon
    adversary: Adversary | None
    bound: float | None
    """Of temporal loss; nothing comes of it without an adversary."""

    @property
    def parameters(self) -> Mapping[str, object]:
        """Return the policy's parameters; who plans knows the true landmarks, which a policy with dummies hides."""
        policy = self.policy
        if policy.dummies is None:
            return policy.parameters
        asked = drawn(policy.parameters, policy.dummies.landmarks, policy.step_ms)
        return {**asked, "dummies": policy.parameters["dummies"]}

    @property
    def gap(self) -> int:
        """Return the steps from one event to the next, rounded down: over more of them more would fade."""
        return self.horizon.every_ms // self.policy.step_ms


def courses_of(
    parameters: Mapping[str, object], variant: Variant, horizon: Horizon, watch: Watch
) -> list[tuple[Spend, ...]]:
    """Return the courses of a variant: several where coins decide, one where nothing is left to chance."""
    ran = {**parameters, "scheme": variant.ran}
    numbers = range(draws(variant, horizon.events))
    course = Course(ran, horizon, variant.rate, moving=variant.moving)
    return [course.run(f"outlook-{number}", watch) for number in numbers]


def draws(variant: Variant, events: int) -> int:
    """Return how many courses a variant has."""
    return max(1, min(DRAWS, MOST_DRAWN // events)) if variant.tosses else 1


def epsilons_of(spends: Sequence[Spend]) -> tuple[float, ...]:
    """Return what each step costs, 0 where nothing is published and no decision paid for."""
    return tuple(spend.cost_nano / NANO for spend in spends)
