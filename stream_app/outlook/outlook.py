"""The future cost of a policy's schemes in noise, error and loss, as planned and with more landmarks."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import fsum
from typing import Final, NamedTuple

from stream_app.loss.temporal import TemporalLoss
from stream_app.outlook.bound import epsilon_within, temporal_loss
from stream_app.outlook.course import Horizon, Watch
from stream_app.outlook.error import expected_error
from stream_app.outlook.request import PlanRequest, Variant, courses_of, draws, epsilons_of, variants
from stream_app.outlook.ward import contributors, lead
from stream_app.privacy.kinds import Choice
from stream_app.privacy.policy import Policy, policy_of
from stream_app.privacy.protection import LandmarkLevel
from stream_app.privacy.values import NANO

COUNTS: Final = (1, 2, 5, 10, 20, 50, 100)
"""Numbers of consecutive landmarks to try, with one regular step before and one after them."""


class MeanRange(NamedTuple):
    """A figure's mean, smallest and largest value over the published steps."""

    mean: float
    least: float
    most: float


@dataclass(frozen=True, slots=True)
class Side:
    """The figures for the landmarks or for the regular steps, as means over all courses."""

    steps: int
    published: float
    epsilon: MeanRange | None  # of a published step; like scale and error, None if none is
    scale: MeanRange | None  # of the noise, as in the kind's `expected_scale`
    error: MeanRange | None  # expected absolute error of the measurement, in the kind's unit
    contributors: int | None = None
    """The number of contributors needed to bring every published step within the requested error.

    None if too many are needed or no error is requested.
    """
    lead: int | None = None
    """The lead, in contributors, that an item needs in order to be drawn at every published step.

    None if the kind is not a choice.
    """

    def means(self) -> tuple[tuple[str, MeanRange | None], ...]:
        """Return the figures by name."""
        return ("epsilon", self.epsilon), ("scale", self.scale), ("error", self.error)


@dataclass(frozen=True, slots=True)
class Outlook:
    """The figures of one variant."""

    variant: Variant
    landmark: Side
    regular: Side
    spent: float  # epsilon of all steps together, the mean over all courses; bounds the loss under any correlation
    epsilons: tuple[float, ...]  # of each step of the first course
    landmarks: tuple[bool, ...]  # which steps of that course are landmarks
    loss: TemporalLoss | None  # of each step of the course that loses most, under the correlation; None without one
    epsilon_within: float | None
    """The policy's epsilon that keeps this loss within the requested bound; None if there is no such epsilon."""


def events_of(request: PlanRequest) -> int:
    """Return the minimum number of events that `outlooks` processes, for a progress bar."""
    events = request.horizon.events
    return sum(draws(variant, events) * events for variant in variants(request.policy))


def outlooks(request: PlanRequest, watch: Watch) -> Iterator[Outlook]:
    """Yield the figures for each scheme at the policy's level.

    Raises `CourseError` if the policy rejects the horizon.
    """
    for variant in variants(request.policy):
        yield _outlook(request, variant, watch)


def _outlook(request: PlanRequest, variant: Variant, watch: Watch) -> Outlook:
    courses = courses_of(request.parameters, variant, request.horizon, watch)
    spends = [epsilons_of(spends) for spends in courses]
    loss = None
    if request.adversary is not None:
        losses = [temporal_loss(request.adversary, epsilons, request.gap) for epsilons in spends]
        loss = max(losses, key=lambda found: max(found.total))
    every = [spend for spends in courses for spend in spends]
    return Outlook(
        variant,
        _side([spend.spend_nano for spend in every if spend.landmark], len(courses), request),
        _side([spend.spend_nano for spend in every if not spend.landmark], len(courses), request),
        fsum(fsum(epsilons) for epsilons in spends) / len(spends),
        spends[0],
        tuple(spend.landmark for spend in courses[0]),
        loss,
        epsilon_within(request, variant, spends, watch),
    )


def _side(spends_nano: Sequence[int], courses: int, request: PlanRequest) -> Side:
    policy, wanted = request.policy, request.error
    published = [spend for spend in spends_nano if spend]
    values = sorted(set(published))
    if not values:
        return Side(len(spends_nano) // courses, 0.0, None, None, None)
    weights = Counter(published)

    def over(figure: Callable[[int], float]) -> MeanRange:
        figures = {value: figure(value) for value in values}
        mean = fsum(figures[value] * weight for value, weight in weights.items()) / len(published)
        return MeanRange(mean, min(figures.values()), max(figures.values()))

    return Side(
        len(spends_nano) // courses,
        len(published) / courses,
        over(lambda spend: spend / NANO),
        over(policy.kind.expected_scale),
        over(lambda spend: expected_error(policy, spend)),
        None if wanted is None else contributors(policy, values[0], wanted),
        lead(policy.kind, values[0]) if isinstance(policy.kind, Choice) else None,
    )


class Crowd(NamedTuple):
    """The policy's outlook with a number of made-up landmarks; it shows how the noise grows with that number."""

    landmarks: int
    outlooks: tuple[Outlook, ...]  # of all schemes of the policy's level


def crowds(policy: Policy, watch: Watch) -> Iterator[Crowd]:
    """Yield an outlook for each number in `COUNTS`; yield nothing if landmarks are hidden or the level has none."""
    for request in _requests(policy):
        yield Crowd(request.horizon.events - 2, tuple(outlooks(request, watch)))


def crowd_events(policy: Policy) -> int:
    """Return how many events `crowds` processes, for a progress bar."""
    return sum(events_of(request) for request in _requests(policy))


def _requests(policy: Policy) -> Iterator[PlanRequest]:
    if not isinstance(policy.protection, LandmarkLevel) or policy.dummies is not None:
        return
    protection: object = policy.parameters["protection"]
    assert isinstance(protection, dict), "a policy's parameters have the form of its record"
    step_ms = policy.step_ms
    for count in COUNTS:
        spread = {**protection, "landmarks": [[step_ms, (count + 1) * step_ms]]}
        crowded = policy_of({**policy.parameters, "protection": spread}, 1)
        yield PlanRequest(crowded, Horizon(0, step_ms, count + 2), None, None)
