"""Level landmark with a window over all short traces: L and any w steps in a row never spend more than the budget."""

from collections.abc import Callable, Iterable
from dataclasses import replace

import pytest

from stream_app.privacy.guard import Guard, Window, WindowLevel
from stream_app.privacy.landmarks import LandmarkSet
from stream_app.privacy.place import Place, spent
from stream_app.privacy.policy import Policy
from stream_app.privacy.state import State
from tests.privacy.guarantee.enumeration import Rules, search
from tests.suite.combined import combined

SCHEMES: dict[str, dict[str, object]] = {
    "uniform": {"name": "uniform"},
    "skip": {"name": "skip", "accept_risk": True},
    "balanced": {"name": "balanced", "regular_share": 0.3},
    "bd": {"name": "bd"},
    "ba": {"name": "ba"},
}


@pytest.mark.parametrize("steps", [4, pytest.param(5, marks=pytest.mark.long)])
@pytest.mark.parametrize(("scheme", "shape"), combined([*SCHEMES], [(2, 7), (3, 10)], every=2))
def test_four_and_five_steps(scheme: str, shape: tuple[int, int], steps: int) -> None:
    """Over all traces with all registrations no sum breaks the budget, and the guard refuses no scheme's proposal."""
    window, epsilon_nano = shape
    found = search(Rules(), SCHEMES[scheme], epsilon_nano, steps=steps, spares=(0,), window=window)
    assert found.registered > 0
    assert found.not_registered > 0
    assert (found.violations, found.refusals, found.miscounts) == (0, 0, 0)


def _any(policy: Policy, state: State, step: int, at: Place) -> Iterable[int]:
    """Propose every spend, so that only the guard decides."""
    assert step > state.clock.last_step
    assert at[1] >= 0
    return range(1, policy.epsilon_nano + 1)


@pytest.mark.parametrize(("window", "epsilon_nano", "steps"), [(2, 3, 5), (3, 3, 5), (2, 5, 4), (3, 5, 4), (2, 2, 5)])
def test_the_guard_alone_keeps_the_theorem(window: int, epsilon_nano: int, steps: int) -> None:
    """Whatever a scheme proposes, the guard lets nothing break the theorem; it refuses some and allows some."""
    found = search(Rules(proposals=_any), SCHEMES["uniform"], epsilon_nano, steps=steps, spares=(0,), window=window)
    assert found.violations == 0
    assert found.refusals > 0


class _ChargesOnce(Guard):
    """Charges several steps like one."""

    def charge_passed(self, level: WindowLevel | None, steps: int, added: LandmarkSet) -> Guard | None:
        return Guard(*self).charge_passed(level, min(steps, 1), added)


class _LowersThePeak(Guard):
    """Takes W to be the largest sum of the ring's windows after steps have left it."""

    def charge_passed(self, level: WindowLevel | None, steps: int, added: LandmarkSet) -> Guard | None:
        after = Guard(*self).charge_passed(level, steps, added)
        if after is None or level is None:
            return after
        sums = [after.window.spent_nano(level, step + 1) for step, _ in after.window.spends]
        return after._replace(regular_peak_nano=max(sums, default=0))


class _ChargesTheRing(Guard):
    """Charges what the registered steps of the ring spent, and nothing for those that the ring forgot."""

    def charge_passed(self, level: WindowLevel | None, steps: int, added: LandmarkSet) -> Guard | None:
        after = Guard(*self).charge_passed(level, steps, added)
        known = sum(spend for step, spend in self.window.spends if step in added)
        return after and after._replace(landmark_spent_nano=self.landmark_spent_nano + known)


class _ForgetsTheLargest(Guard):
    """Mistakes the ring's largest regular spend for that of the period."""

    def charge_passed(self, level: WindowLevel | None, steps: int, added: LandmarkSet) -> Guard | None:
        near = max((spend for _, spend in self.window.spends), default=0)
        return Guard(*self[:3], self.window._replace(peak_nano=near)).charge_passed(level, steps, added)


class _LeavesNoRoom(Guard):
    """Forgets that W may belong to another window."""

    def charge_passed(self, level: WindowLevel | None, steps: int, added: LandmarkSet) -> Guard | None:
        budget, spent_nano, peak, window = self
        charged = spent_nano + steps * window.peak_nano
        after = Guard(budget, spent_nano, 0, window).charge_passed(level, steps, added)
        return Guard(budget, charged, peak, after.window) if after else None


BROKEN_REGISTRATIONS = [_ChargesOnce, _LowersThePeak, _ChargesTheRing, _ForgetsTheLargest, _LeavesNoRoom]


@pytest.mark.parametrize("guard", BROKEN_REGISTRATIONS)
def test_broken_registrations_are_caught(guard: type[Guard]) -> None:
    """Each wrong way to register decided steps breaks a sum in some short trace, and the search sees it."""
    rules = Rules(proposals=_any, guard=guard)
    assert search(rules, SCHEMES["uniform"], 5, steps=4, spares=(0,), window=2).violations > 0


Booking = Callable[[Policy, State, int, Place, int], Guard | None]


def _sees(window: Window, policy: Policy, state: State, step: int, at: Place, spend_nano: int) -> Guard | None:
    """Return the guard's answer as if it saw another window, followed by the true one."""
    guard = state.guard._replace(window=window)
    after = guard.spend(policy.windows, step, step, landmark=at[0], spend_nano=spend_nano)
    true = state.guard.window
    mine = true if at[0] else true._replace(spends=(*true.spends, (step, spend_nano)))
    return after and after._replace(window=mine._replace(peak_nano=max(true.peak_nano, after.window.peak_nano)))


def _short(policy: Policy, state: State, step: int, at: Place, spend_nano: int) -> Guard | None:
    """Look back one step less."""
    assert policy.windows is not None
    near = tuple(spend for spend in state.guard.window.spends if spend[0] > step - policy.windows.steps + 1)
    return _sees(state.guard.window._replace(spends=near), policy, state, step, at, spend_nano)


def _mixed(policy: Policy, state: State, step: int, at: Place, spend_nano: int) -> Guard | None:
    """Keep what landmarks spend in the window, with the regular steps, instead of in S."""
    return spent(policy, state, step, (False, at[1]), spend_nano)


def _windows_end(policy: Policy, state: State, step: int, at: Place, spend_nano: int) -> Guard | None:
    """Take W to be the sum of the current window."""
    after = spent(policy, state, step, at, spend_nano)
    assert policy.windows is not None
    return after and after._replace(regular_peak_nano=after.window.spent_nano(policy.windows, step + 1))


def _forgets_landmarks(policy: Policy, state: State, step: int, at: Place, spend_nano: int) -> Guard | None:
    """Let a window spend again what landmarks have already spent."""
    if at[0]:
        return spent(policy, state, step, at, spend_nano)
    bare = replace(state, guard=state.guard._replace(landmark_spent_nano=0))
    after = spent(policy, bare, step, at, spend_nano)
    return after and after._replace(landmark_spent_nano=state.guard.landmark_spent_nano)


@pytest.mark.parametrize("booking", [_short, _mixed, _windows_end, _forgets_landmarks])
def test_broken_spends_are_caught(booking: Booking) -> None:
    """Each wrong way to charge a spend breaks a sum in some short trace, and the search sees it."""
    rules = Rules(proposals=_any, spend=booking)
    assert search(rules, SCHEMES["uniform"], 3, steps=4, spares=(0,), window=2).violations > 0
