"""What a policy's schemes will cost: noise and error of landmarks and regular steps, and the temporal loss in all."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import fsum
from typing import NamedTuple

from stream_app.loss.temporal import TemporalLoss
from stream_app.outlook.bound import epsilon_within
from stream_app.outlook.course import Watch
from stream_app.outlook.error import expected_error
from stream_app.outlook.forecast import temporal_loss
from stream_app.outlook.question import Question, courses_of, draws, epsilons_of
from stream_app.outlook.variant import Variant, variants
from stream_app.privacy.policy import Policy
from stream_app.privacy.values import NANO


class Mean(NamedTuple):
    """The mean over the steps that are published, and the range."""

    mean: float
    least: float
    most: float


@dataclass(frozen=True, slots=True)
class Side:
    """What the landmarks, or the regular steps, come to; means over all courses."""

    steps: int
    published: float
    epsilon: Mean | None
    """Of a published step; None, as scale and error, when none is."""
    scale: Mean | None
    """Of the noise, as releases name it."""
    error: Mean | None
    """Expected absolute error of the measurement, in the kind's unit."""

    def means(self) -> tuple[tuple[str, Mean | None], ...]:
        """Return the figures by name."""
        return ("epsilon", self.epsilon), ("scale", self.scale), ("error", self.error)


@dataclass(frozen=True, slots=True)
class Outlook:
    """What one variant comes to."""

    variant: Variant
    landmark: Side
    regular: Side
    spent: float
    """Epsilon of all steps together: bounds the loss whatever is correlated; the mean over all courses."""
    epsilons: tuple[float, ...]
    """Of each step of the first course."""
    landmarks: tuple[bool, ...]
    """Which steps of that course are landmarks."""
    loss: TemporalLoss | None
    """Of each step of the course that loses most, under the correlation; None without one."""
    epsilon_within: float | None
    """The policy's epsilon with which this loss stays within the bound asked for; None when none was, or none does."""


def events_of(question: Question) -> int:
    """Return how many events `outlooks` decides at least, for a progress bar."""
    events = question.horizon.events
    return sum(draws(variant, events) * events for variant in variants(question.policy))


def outlooks(question: Question, watch: Watch) -> Iterator[Outlook]:
    """Yield what each scheme of the policy's level comes to; raises `CourseError` for a horizon that it rejects."""
    for variant in variants(question.policy):
        yield _outlook(question, variant, watch)


def _outlook(question: Question, variant: Variant, watch: Watch) -> Outlook:
    policy = question.policy
    courses = courses_of(question.parameters, variant, question.horizon, watch)
    spends = [epsilons_of(spends) for spends in courses]
    loss = None
    if question.adversary is not None:
        losses = [temporal_loss(question.adversary, epsilons, question.gap) for epsilons in spends]
        loss = max(losses, key=lambda found: max(found.total))
    return Outlook(
        variant,
        _side([spend.spend_nano for spends in courses for spend in spends if spend.landmark], len(courses), policy),
        _side(
            [spend.spend_nano for spends in courses for spend in spends if not spend.landmark],
            len(courses),
            policy,
        ),
        fsum(fsum(epsilons) for epsilons in spends) / len(spends),
        spends[0],
        tuple(spend.landmark for spend in courses[0]),
        loss,
        epsilon_within(question, variant, spends, watch),
    )


def _side(spends_nano: Sequence[int], courses: int, policy: Policy) -> Side:
    published = [spend for spend in spends_nano if spend]
    values = sorted(set(published))
    if not values:
        return Side(len(spends_nano) // courses, 0.0, None, None, None)
    weights = Counter(published)

    def over(figure: Callable[[int], float]) -> Mean:
        figures = {value: figure(value) for value in values}
        mean = fsum(figures[value] * weight for value, weight in weights.items()) / len(published)
        return Mean(mean, min(figures.values()), max(figures.values()))

    return Side(
        len(spends_nano) // courses,
        len(published) / courses,
        over(lambda spend: spend / NANO),
        over(policy.kind.scale),
        over(lambda spend: expected_error(policy, spend)),
    )
