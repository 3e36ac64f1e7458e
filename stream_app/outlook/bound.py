"""The temporal loss of planned events, and the epsilon that keeps a scheme within a bound."""

from collections.abc import Sequence
from math import floor

from stream_app.loss.envelope import Envelope, faded
from stream_app.loss.planning import constant_epsilon, even_epsilon, schedule
from stream_app.loss.temporal import Adversary, TemporalLoss
from stream_app.outlook.course import Watch
from stream_app.outlook.request import PlanRequest, Variant, courses_of, epsilons_of
from stream_app.privacy.parameters import LARGEST_EPSILON
from stream_app.privacy.values import NANO


def within_of(request: PlanRequest) -> dict[str, float | None] | None:
    """Return what each event may spend within the bound under any scheme; None if no bound is requested.

    ``constant`` applies forever and ``even`` over the horizon; ``first``, ``between`` and ``last`` (by the event's
    place) are the largest amounts of all. Raises `PlanError` if the bound is not finite and above 0.
    """
    adversary, bound, events = request.adversary, request.bound, request.horizon.events
    if adversary is None or bound is None:
        return None
    planned = schedule(adversary, bound, events)
    return {
        "bound": bound,
        "constant": constant_epsilon(adversary, bound),
        "even": even_epsilon(adversary, bound, events),
        "first": planned[0],
        "between": planned[1] if events > 2 else None,
        "last": planned[-1],
    }


def temporal_loss(adversary: Adversary, epsilons: Sequence[float], gap: int) -> TemporalLoss:
    """Return the losses of events ``gap`` steps apart; between events, nothing is spent and knowledge fades.

    The result equals `Adversary.temporal_loss` at the events, with zeros between them (Cao et al. 2017, equations 10 to
    15).
    """
    if gap == 1:
        return adversary.temporal_loss(epsilons)
    backward, _ = _accumulated(adversary.backward, epsilons, gap)
    forward, handed = _accumulated(adversary.forward, epsilons[::-1], gap)
    total = tuple(at + after for at, after in zip(backward, handed[::-1], strict=True))
    return TemporalLoss(tuple(backward), tuple(forward[::-1]), total)


def _accumulated(envelope: Envelope, epsilons: Sequence[float], gap: int) -> tuple[list[float], list[float]]:
    """Return the loss after each epsilon, and the loss that remained before it."""
    after: list[float] = []
    before: list[float] = []
    kept = 0.0
    for epsilon in epsilons:
        before.append(kept)
        after.append(kept + epsilon)
        kept = faded(envelope, after[-1], gap)
    return after, before


_ENOUGH = 2.0**-24  # relative width at which the search ends; six digits are shown
_ATTEMPTS = 3


def epsilon_within(
    request: PlanRequest, variant: Variant, spends: Sequence[Sequence[float]], watch: Watch
) -> float | None:
    """Return the largest epsilon, to about six digits, that keeps each step of the courses within the bound.

    ``spends`` are the spends of the unchanged policy. They are proportional to epsilon, except for rounding to
    nano-epsilon. The search therefore finds a factor, and real courses check the resulting epsilon. Return None if no
    bound is set or no epsilon is small enough.
    """
    adversary, bound, policy = request.adversary, request.bound, request.policy
    if adversary is None or bound is None:
        return None
    now = policy.epsilon_nano / NANO
    most = LARGEST_EPSILON / now
    low, high = 0.0, min(1.0, most)
    while high < most and _loss(adversary, spends, high, request.gap) <= bound:
        low, high = high, min(2 * high, most)
    while high - low > high * _ENOUGH and high > 1 / policy.epsilon_nano:
        middle = (low + high) / 2
        low, high = (middle, high) if _loss(adversary, spends, middle, request.gap) <= bound else (low, middle)
    for attempt in range(_ATTEMPTS):
        found = _rounded(now * low * (1 - attempt * 1e-5))
        if not found:
            return None
        walked = courses_of({**request.parameters, "epsilon": found}, variant, request.horizon, watch)
        if _loss(adversary, [epsilons_of(spends) for spends in walked], 1.0, request.gap) <= bound:
            return found
    return None


def _loss(adversary: Adversary, courses: Sequence[Sequence[float]], factor: float, gap: int) -> float:
    scaled = ([factor * epsilon for epsilon in course] for course in courses)
    return max(max(temporal_loss(adversary, course, gap).total) for course in scaled)


def _rounded(epsilon: float) -> float:
    """Return epsilon rounded down to six digits, or 0 if it is below a nano-epsilon."""
    if epsilon < 1 / NANO:
        return 0.0
    unit = 10.0 ** (int(f"{epsilon:e}".partition("e")[2]) - 5)
    return float(f"{floor(epsilon / unit) * unit:.6g}")
