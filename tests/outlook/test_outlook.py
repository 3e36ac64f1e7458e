"""The results of a policy's schemes, side by side."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from stream_app.loss.correlation import Correlation
from stream_app.loss.landmark import landmark_losses
from stream_app.loss.matrix import TransitionMatrix
from stream_app.loss.temporal import Adversary
from stream_app.outlook.bound import temporal_loss
from stream_app.outlook.course import horizon_of
from stream_app.outlook.outlook import Outlook, events_of, outlooks
from stream_app.outlook.request import PlanRequest
from stream_app.privacy.policy import policy_of
from tests.run import ADAPTIVE, BALANCED, KINDS, SKIP, UNIFORM

HOUR_MS = 3_600_000
LANDMARKS: dict[str, object] = {
    "level": "landmark",
    "landmarks": [[10 * HOUR_MS, 14 * HOUR_MS], 20 * HOUR_MS],
    "step": HOUR_MS,
}
PUBLISHED = TransitionMatrix.of(np.array([[0.8, 0.2], [0.1, 0.9]]))
KNOWING = Correlation(PUBLISHED, PUBLISHED).adversary()


def asked(
    scheme: dict[str, object],
    protection: dict[str, object] = LANDMARKS,
    adversary: Adversary | None = None,
    bound: float | None = None,
    **options: Any,
) -> PlanRequest:
    """Return a request about a policy."""
    parameters = {"epsilon": 1.0, "protection": protection, "scheme": scheme, "value": KINDS["number"]}
    policy = policy_of(parameters, 1)
    return PlanRequest(policy, horizon_of(policy, **options), adversary, bound)


def answered(request: PlanRequest) -> dict[str, Outlook]:
    """Return the outlooks by label."""
    return {outlook.variant.label: outlook for outlook in outlooks(request, lambda: None)}


@pytest.mark.parametrize(
    ("scheme", "protection", "labels", "own"),
    [
        (
            {**BALANCED, "regular_share": 0.6},
            LANDMARKS,
            [f"balanced {share}" for share in (1, 0.75, 0.6, 0.5, 0.25)]
            + ["uniform", "adaptive, rate 1", "adaptive, rate 0.1"],
            ["balanced 0.6"],
        ),
        (
            SKIP,
            {"level": "event"},
            [f"balanced {share}" for share in (0.75, 0.5, 0.25)]
            + ["uniform", "adaptive, rate 1", "adaptive, rate 0.1", "skip"],
            ["skip"],
        ),
        (
            {**ADAPTIVE, "minimum": 0.3},
            {"level": "user", "length": 9},
            ["uniform", "adaptive, rate 1", "adaptive, rate 0.3"],
            ["adaptive, rate 1", "adaptive, rate 0.3"],
        ),
        (
            {"name": "bd", "dissimilarity": "private"},
            {"level": "w-event", "window": 5},
            ["uniform", "bd, data that jump", "bd, data at rest", "ba, rate 1", "ba, rate 0.1"],
            ["bd, data that jump", "bd, data at rest"],
        ),
    ],
)
def test_the_schemes_that_the_level_admits(
    scheme: dict[str, object], protection: dict[str, object], labels: list[str], own: list[str]
) -> None:
    """Each has its ends, the policy's own is marked, the one that omits landmarks leads; skip only on request."""
    request = asked(scheme, protection)
    found = answered(request)
    assert list(found) == labels
    assert [label for label, outlook in found.items() if outlook.variant.own] == own
    watched = []
    list(outlooks(request, lambda: watched.append(1)))
    assert len(watched) == events_of(request)


def test_figures_of_uniform_and_balanced() -> None:
    """By hand, five landmarks and a regular step share epsilon; balanced gives half to the latter."""
    found = answered(asked(BALANCED))
    uniform, balanced = found["uniform"], found["balanced 0.5"]
    assert (uniform.landmark.steps, uniform.regular.steps, uniform.landmark.published) == (5, 8, 5.0)
    for outlook, landmark, regular in ((uniform, 1 / 6, 1 / 6), (balanced, 0.1, 0.5)):
        for side, epsilon in ((outlook.landmark, landmark), (outlook.regular, regular)):
            means = dict(side.means())
            assert means["epsilon"] is not None
            assert means["scale"] is not None
            assert means["error"] is not None
            assert means["epsilon"].mean == pytest.approx(epsilon, abs=5e-9)
            assert means["scale"].mean == pytest.approx(10 / epsilon, rel=1e-6)
            assert means["error"].mean == pytest.approx(10 / epsilon, rel=1e-6)
            assert means["scale"].least <= means["scale"].mean <= means["scale"].most
        assert outlook.spent == pytest.approx(5 * landmark + 8 * regular, abs=1e-7)


def test_a_rate_at_its_minimum_publishes_that_share() -> None:
    """The first event is always published, each later one by a coin of 0.1 once releases look alike."""
    found = answered(asked(ADAPTIVE, {"level": "event"}))["adaptive, rate 0.1"]
    assert found.regular.steps == 100
    assert 8 <= found.regular.published <= 18
    assert answered(asked(ADAPTIVE, {"level": "event"}))["adaptive, rate 1"].regular.published == 100


def test_a_larger_regular_share_loses_more_over_time() -> None:
    """Each regular step then spends more, and what is known about one carries over to all others."""
    found = answered(asked(BALANCED, adversary=KNOWING))
    losses = [
        max(outlook.loss.total) for label, outlook in found.items() if label.startswith("balanced") and outlook.loss
    ]
    assert len(losses) == 4
    assert all(larger > smaller for larger, smaller in pairwise(losses))
    errors = [
        outlook.regular.error.mean for label, outlook in found.items() if "balanced" in label and outlook.regular.error
    ]
    assert all(smaller < larger for smaller, larger in pairwise(errors))


@pytest.mark.parametrize("gap", [1, 2, 7])
def test_between_distant_events_losses_fade(gap: int) -> None:
    """The loss is as if the steps between the events existed and spent nothing."""
    epsilons = [0.3, 0.0, 0.7, 0.1, 0.2]
    between = [spend for epsilon in epsilons for spend in (epsilon, *[0.0] * (gap - 1))]
    literal, found = KNOWING.temporal_loss(between), temporal_loss(KNOWING, epsilons, gap)
    for name in ("backward", "forward", "total"):
        assert getattr(found, name) == pytest.approx(getattr(literal, name)[::gap], rel=1e-9)
    assert landmark_losses(KNOWING, between, ())[::gap] == pytest.approx(found.total, rel=1e-9)


def test_no_policy_loses_more_than_its_steps_together() -> None:
    """Its loss is also at least its largest spend."""
    for outlook in answered(asked(ADAPTIVE, adversary=KNOWING)).values():
        assert outlook.loss is not None
        assert max(outlook.epsilons) <= max(outlook.loss.total)
        if not outlook.variant.tosses:
            assert max(outlook.loss.total) <= outlook.spent + 1e-9


@pytest.mark.parametrize("bound", [0.2, 20.0])
def test_the_epsilon_for_a_bound_keeps_it_and_no_larger_one_does(bound: float) -> None:
    """Planned again with that epsilon the loss is within the bound; with 0.01 % more it is not."""
    request = asked(BALANCED, adversary=KNOWING, bound=bound)
    for label, outlook in answered(request).items():
        found = outlook.epsilon_within
        assert found is not None
        for factor, holds in ((1.0, True), (1.0001, False)):
            policy = policy_of({**request.policy.parameters, "epsilon": found * factor}, 1)
            again = answered(request._replace(policy=policy, bound=None))[label]
            assert again.loss is not None
            assert (max(again.loss.total) <= bound) == holds


def test_a_bound_without_budget_gives_none() -> None:
    """A budget below one nano-epsilon gives no policy."""
    request = asked(UNIFORM, adversary=KNOWING, bound=1e-12)
    assert {outlook.epsilon_within for outlook in answered(request).values()} == {None}


def test_the_true_landmarks_are_among_those_of_a_plan() -> None:
    """With hardly any dummies they are all of them: a plan without them would promise a fraction of the error."""
    parameters = {"epsilon": 1.0, "protection": LANDMARKS, "scheme": UNIFORM, "value": KINDS["number"]}
    dummies = {"method": "padding", "start": 8 * HOUR_MS, "end": 24 * HOUR_MS, "probability": 1e-9}
    policy = policy_of({**parameters, "dummies": dummies}, 1)
    padded = answered(PlanRequest(policy, horizon_of(policy), None, None))["uniform"]
    assert padded.landmark == answered(asked(UNIFORM))["uniform"].landmark
    assert padded.landmark.steps == 5
