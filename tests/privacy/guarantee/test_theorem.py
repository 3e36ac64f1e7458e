"""The guarantee over all short traces: what was really spent over L and any one step never exceeds the budget."""

from collections.abc import Callable, Iterable

import pytest

from stream_app.privacy.guard import Guard, WindowLevel
from stream_app.privacy.landmarks import LandmarkSet
from stream_app.privacy.place import Place, proposal
from stream_app.privacy.policy import Policy
from stream_app.privacy.state import State
from tests.privacy.guarantee.broken_guards import ChargesOnce, DoesNotCharge, NeverRefuses
from tests.privacy.guarantee.enumeration import Rules, Search, policy_under, search
from tests.suite.combined import combined

UNIFORM: dict[str, object] = {"name": "uniform"}
ADAPTIVE: dict[str, object] = {"name": "adaptive"}
SKIP: dict[str, object] = {"name": "skip", "accept_risk": True}
BALANCED: dict[str, object] = {"name": "balanced", "regular_share": 0.3}
HALVED: dict[str, object] = {"name": "balanced"}


@pytest.mark.parametrize(("steps", "traces"), [(5, 4 * 10**6), pytest.param(6, 2 * 10**8, marks=pytest.mark.long)])
@pytest.mark.parametrize(
    ("scheme", "epsilon_nano"),
    [(UNIFORM, 7), (ADAPTIVE, 5), (SKIP, 3), (BALANCED, 4)],
    ids=lambda part: str(part["name"]) if isinstance(part, dict) else str(part),
)
def test_five_and_six_steps(scheme: dict[str, object], epsilon_nano: int, steps: int, traces: int) -> None:
    """Over all traces of so many steps no sum breaks the budget, and the guard refuses no scheme's proposal."""
    found = search(Rules(), scheme, epsilon_nano, steps=steps, spares=(0,))
    assert found.traces > traces
    assert found.registered > 0
    assert found.not_registered > 0
    assert (found.violations, found.refusals, found.miscounts) == (0, 0, 0)


@pytest.mark.parametrize(
    ("epsilon_nano", "scheme"), combined([1, 2, 3, 4, 5, 6, 11], [UNIFORM, SKIP, BALANCED, HALVED], every=2)
)
def test_spare_landmarks_and_many_budgets(epsilon_nano: int, scheme: dict[str, object]) -> None:
    """The same holds over four steps for budgets that round in every way, with landmarks held in reserve."""
    found = search(Rules(), scheme, epsilon_nano, steps=4, spares=(0, 2))
    assert (found.violations, found.refusals, found.miscounts) == (0, 0, 0)


@pytest.mark.parametrize("level", [{"level": "event"}, {"level": "user", "length": 4}, {"level": "user", "length": 6}])
@pytest.mark.parametrize("epsilon_nano", [1, 3, 7, 10])
@pytest.mark.parametrize("scheme", [UNIFORM, ADAPTIVE], ids=["uniform", "adaptive"])
def test_event_and_user_level(level: dict[str, object], epsilon_nano: int, scheme: dict[str, object]) -> None:
    """At event level no single step exceeds the budget; at user level the sum of all steps does not."""
    found = Search(Rules(), [policy_under(scheme, epsilon_nano, level)], 6).run()
    assert (found.violations, found.refusals) == (0, 0)
    rules = Rules(
        proposals=lambda policy, state, step, at: [proposal(policy, state, step, at) + 1], spend=alone(_trusting)
    )
    assert Search(rules, [policy_under(scheme, epsilon_nano, level)], 6).run().violations > 0


def _any(policy: Policy, state: State, step: int, at: Place) -> Iterable[int]:
    """Propose every spend, so that only the guard decides."""
    assert policy.epsilon_nano == state.guard.budget_nano
    assert step > state.clock.last_step
    assert at[1] >= 0
    return range(1, policy.epsilon_nano + 1)


def test_the_guard_alone_keeps_the_theorem() -> None:
    """Whatever a scheme proposes, the guard lets nothing break the theorem; it refuses some and allows some."""
    found = search(Rules(proposals=_any), UNIFORM, 4, steps=4, spares=(0,))
    assert found.violations == 0
    assert found.refusals > 0
    assert found.states > 5_000


Spend = Callable[[Guard, bool, int], Guard | None]


def alone(spend: Spend) -> Callable[[Policy, State, int, Place, int], Guard | None]:
    """Return a guard's answer for the search, from a guard that only knows budgets."""
    return lambda _policy, state, _step, at, spend_nano: spend(state.guard, at[0], spend_nano)


def _trusting(guard: Guard, landmark: bool, spend_nano: int) -> Guard:  # noqa: FBT001 (the search's call)
    """Book every spend, refuse none."""
    budget, spent, peak, _ = guard
    return Guard(budget, spent + spend_nano, peak) if landmark else Guard(budget, spent, max(peak, spend_nano))


def test_schemes_alone_keep_the_theorem() -> None:
    """Proposals need no guard to stop them: they always fit, whatever was registered."""
    for scheme in (UNIFORM, BALANCED, SKIP):
        assert search(Rules(spend=alone(_trusting)), scheme, 7, steps=5, spares=(0,)).violations == 0


def _without_min(policy: Policy, state: State, step: int, at: Place) -> Iterable[int]:
    """Propose Uniform's shares without the `min`: R landmarks need not fit beside M."""
    assert step > state.clock.last_step
    landmark, left = at
    budget = policy.epsilon_nano - state.guard.landmark_spent_nano
    share = budget // (left + 1) if left else 0
    return (share if landmark else budget - left * share,)


def test_a_share_without_min_is_caught() -> None:
    """Without the `min` the guard must refuse proposals, and without a guard the theorem breaks."""
    assert search(Rules(proposals=_without_min), UNIFORM, 7, steps=4, spares=(0,)).refusals > 0
    assert (
        search(Rules(proposals=_without_min, spend=alone(_trusting)), UNIFORM, 7, steps=4, spares=(0,)).violations > 0
    )


def _landmarks_lower_the_peak(guard: Guard, landmark: bool, spend_nano: int) -> Guard | None:  # noqa: FBT001
    after = guard.spend(None, 0, 0, landmark=landmark, spend_nano=spend_nano)
    return after._replace(regular_peak_nano=max(0, after[2] - spend_nano)) if after and landmark else after


def _landmarks_end_the_peak(guard: Guard, landmark: bool, spend_nano: int) -> Guard | None:  # noqa: FBT001
    after = guard.spend(None, 0, 0, landmark=landmark, spend_nano=spend_nano)
    return after._replace(regular_peak_nano=0) if after and landmark else after


def _the_last_regular_spend_counts(guard: Guard, landmark: bool, spend_nano: int) -> Guard | None:  # noqa: FBT001
    after = guard.spend(None, 0, 0, landmark=landmark, spend_nano=spend_nano)
    return after if not after or landmark else after._replace(regular_peak_nano=spend_nano)


def _landmarks_forget_the_peak(guard: Guard, landmark: bool, spend_nano: int) -> Guard | None:  # noqa: FBT001
    fits = spend_nano <= guard.budget_nano - guard.landmark_spent_nano
    return _trusting(guard, landmark, spend_nano) if fits else None


def _regular_steps_forget_landmarks(guard: Guard, landmark: bool, spend_nano: int) -> Guard | None:  # noqa: FBT001
    if landmark:
        return guard.spend(None, 0, 0, landmark=landmark, spend_nano=spend_nano)
    return _trusting(guard, landmark, spend_nano) if spend_nano <= guard.budget_nano else None


def _landmarks_are_free(guard: Guard, landmark: bool, spend_nano: int) -> Guard | None:  # noqa: FBT001
    after = guard.spend(None, 0, 0, landmark=landmark, spend_nano=spend_nano)
    return guard if after and landmark else after


@pytest.mark.parametrize(
    "spend",
    [
        _landmarks_lower_the_peak,
        _landmarks_end_the_peak,
        _the_last_regular_spend_counts,
        _landmarks_forget_the_peak,
        _regular_steps_forget_landmarks,
        _landmarks_are_free,
    ],
)
def test_broken_spends_are_caught(spend: Spend) -> None:
    """Each wrong way to charge a spend breaks the theorem in some short trace, and the search sees it."""
    assert search(Rules(proposals=_any, spend=alone(spend)), UNIFORM, 3, steps=4, spares=(0,)).violations > 0


@pytest.mark.parametrize("scheme", [UNIFORM, BALANCED], ids=["uniform", "balanced"])
@pytest.mark.parametrize("spend", [_landmarks_lower_the_peak, _landmarks_end_the_peak])
def test_a_lowered_peak_is_caught_under_the_schemes(spend: Spend, scheme: dict[str, object]) -> None:
    """`M -= spend` and `M = 0` after a landmark break the theorem under the schemes' own proposals."""
    assert search(Rules(spend=alone(spend)), scheme, 7, steps=4, spares=(0,)).violations > 0


class _ForgetsThePeak(Guard):
    """Treats the largest regular spend as moved to the landmarks."""

    def charge_passed(self, level: WindowLevel | None, steps: int, added: LandmarkSet) -> Guard | None:
        after = Guard(*self).charge_passed(level, steps, added)
        return after._replace(regular_peak_nano=0) if after and steps else after


class _LowersThePeak(Guard):
    """Subtracts its charges from the largest regular spend."""

    def charge_passed(self, level: WindowLevel | None, steps: int, added: LandmarkSet) -> Guard | None:
        budget, spent, peak, _ = self
        after = Guard(*self).charge_passed(level, steps, added)
        return Guard(budget, after[1], max(0, peak - (after[1] - spent))) if after else None


class _LeavesNoRoom(Guard):
    """Forgets that the largest regular spend may belong to yet another step."""

    def charge_passed(self, level: WindowLevel | None, steps: int, added: LandmarkSet) -> Guard | None:
        assert level is None
        assert len(added) >= steps
        budget, spent, peak, _ = self
        return Guard(budget, spent + steps * peak, peak) if spent + steps * peak <= budget else None


@pytest.mark.parametrize("scheme", [UNIFORM, BALANCED], ids=["uniform", "balanced"])
@pytest.mark.parametrize(
    "guard", [NeverRefuses, DoesNotCharge, _ForgetsThePeak, _LowersThePeak, ChargesOnce, _LeavesNoRoom]
)
def test_broken_registrations_are_caught(guard: type[Guard], scheme: dict[str, object]) -> None:
    """Each wrong way to register decided steps breaks the theorem in some short trace, and the search sees it."""
    steps = 5 if guard is ChargesOnce else 4  # three equal spends and two registered ones take five steps
    assert search(Rules(guard=guard), scheme, 7, steps=steps, spares=(0,)).violations > 0
