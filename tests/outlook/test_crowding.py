"""Landmarks versus noise: by formula if there is one, otherwise by the policy with that many landmarks."""

import pytest

from stream_app.outlook.outlook import COUNTS, Crowd, crowd_events, crowds, outlooks
from stream_app.privacy.policy import Policy, policy_of
from tests.outlook.test_outlook import HOUR_MS, LANDMARKS, asked
from tests.run import ADAPTIVE, BALANCED, KINDS, UNIFORM


def policy(scheme: dict[str, object], protection: dict[str, object] = LANDMARKS, **more: object) -> Policy:
    """Return a policy of epsilon 1 over numbers."""
    parameters = {"epsilon": 1.0, "protection": protection, "scheme": scheme, "value": KINDS["number"]}
    return policy_of({**parameters, **more}, 1)


def found(asked_of: Policy) -> list[Crowd]:
    """Return the crowds, whose events are the announced ones."""
    told: list[None] = []
    result = list(crowds(asked_of, lambda: told.append(None)))
    assert len(told) == crowd_events(asked_of)
    return result


@pytest.mark.parametrize("spare", [0, 3])
def test_uniform_shares_the_budget_by_all_of_them(spare: int) -> None:
    """The scale is range * (landmarks + spare + 1) / epsilon, for landmarks as for other steps."""
    reach = KINDS["number"]["upper"] - KINDS["number"]["lower"]  # type: ignore[operator]
    result = found(policy(UNIFORM, {**LANDMARKS, "spare": spare}))
    assert [crowd.landmarks for crowd in result] == list(COUNTS)
    for crowd in result:
        (uniform,) = [outlook for outlook in crowd.outlooks if outlook.variant.own]
        shares = crowd.landmarks + spare + 1
        # A share is rounded down to a nano-epsilon, and the other step gets what all of them leave.
        wanted = pytest.approx((reach * shares, reach * shares), rel=shares**2 / 1e9)
        assert uniform.landmark.scale is not None
        assert uniform.regular.scale is not None
        assert (uniform.landmark.steps, uniform.regular.steps) == (crowd.landmarks, 2)
        assert (uniform.landmark.scale.mean, uniform.regular.scale.mean) == wanted


@pytest.mark.parametrize("scheme", [ADAPTIVE, BALANCED])
def test_it_is_what_the_policy_with_so_many_comes_to(scheme: dict[str, object]) -> None:
    """Planned by itself."""
    crowd = next(crowd for crowd in found(policy(scheme)) if crowd.landmarks == 5)
    itself = asked(scheme, {**LANDMARKS, "landmarks": [[HOUR_MS, 6 * HOUR_MS]]})
    assert crowd.outlooks == tuple(outlooks(itself, lambda: None))


def test_none_where_there_are_no_landmarks_to_count() -> None:
    """Other levels have none, and dummies hide their number."""
    assert found(policy(UNIFORM, {"level": "event"})) == []
    dummies = {"method": "padding", "start": 8 * HOUR_MS, "end": 24 * HOUR_MS, "probability": 0.5}
    assert found(policy(UNIFORM, dummies=dummies)) == []
