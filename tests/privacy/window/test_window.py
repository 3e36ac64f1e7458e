"""Level w-event over all short traces: no window loses more than its version promised.

Naive guards are caught.
"""

from collections.abc import Iterable, Sequence

import pytest

from stream_app.privacy import fold
from stream_app.privacy.guard import Guard, Window, WindowLevel
from stream_app.privacy.place import Place
from stream_app.privacy.policy import Policy
from stream_app.privacy.state import State
from stream_app.privacy.values import Raw
from tests.privacy.moved import adopted, begun, window_of
from tests.privacy.window.window_enumeration import LIFETIME_NANO, Rules, Search, version
from tests.run import KEYS

UNIFORM: dict[str, object] = {"name": "uniform"}
BD: dict[str, object] = {"name": "bd"}
BA: dict[str, object] = {"name": "ba"}
PRIVATE_BD: dict[str, object] = {"name": "bd", "dissimilarity": "private"}
PRIVATE_BA: dict[str, object] = {"name": "ba", "dissimilarity": "private"}
SCHEMES = {"uniform": UNIFORM, "bd": BD, "ba": BA, "private bd": PRIVATE_BD, "private ba": PRIVATE_BA}


@pytest.mark.parametrize("scheme", SCHEMES.values(), ids=SCHEMES)
@pytest.mark.parametrize(("window", "epsilon_nano"), [(1, 7), (2, 9), (3, 13), (3, 20), (4, 31)])
def test_one_version(scheme: dict[str, object], window: int, epsilon_nano: int) -> None:
    """Over all traces of eight steps no window breaks the budget, and the guard refuses no proposal of a scheme."""
    found = Search(Rules(), [version(1, scheme, epsilon_nano, window=window)], 8).run()
    assert found.published > 100
    assert (found.violations, found.refusals) == (0, 0)


def landmark(number: int, epsilon_nano: int, **protection: object) -> Policy:
    """Return a version at level landmark."""
    return version(number, UNIFORM, epsilon_nano, level="landmark", **protection)


CHAINS: dict[str, Sequence[Policy]] = {
    "same windows": (version(1, BA, 9, window=3), version(2, BD, 8, window=3)),
    "a narrower window": (version(1, BA, 8, window=4), version(2, UNIFORM, 9, window=1)),
    "a wider window": (version(1, UNIFORM, 9, window=1), version(2, BA, 8, window=4)),
    "longer steps": (version(1, BD, 9, window=3), version(2, UNIFORM, 9, window=2, step=3)),
    "shorter steps": (version(1, BA, 9, window=2, step=3), version(2, BD, 9, window=2)),
    "steps that do not align": (version(1, BA, 9, window=2, step=3), version(2, BA, 9, window=2, step=2)),
    "charges": (version(1, PRIVATE_BA, 13, window=2), version(2, PRIVATE_BD, 13, window=3)),
    "charges, then none": (version(1, PRIVATE_BD, 13, window=3), version(2, UNIFORM, 9, window=2)),
    "from another level": (landmark(1, 5), version(2, BA, 9, window=3)),
    "from another level with longer steps": (landmark(1, 5, step=3), version(2, BA, 9, window=3)),
    "another level between": (version(1, BD, 9, window=4), landmark(2, 5), version(3, UNIFORM, 9, window=2)),
    "a step after windows": (version(1, BA, 9, window=3), landmark(2, 9, landmarks=[4])),
    "longer steps after windows": (version(1, UNIFORM, 9, window=4), landmark(2, 9, step=3)),
    "landmarks with windows": (landmark(1, 9, window=3, landmarks=[2]), landmark(2, 20, window=2, landmarks=[3, 5])),
    "a window after landmarks with one": (landmark(1, 9, window=2, landmarks=[1]), version(2, BA, 9, window=4)),
    "landmarks without a window after some with one": (
        landmark(1, 9, window=3, landmarks=[1, 4]),
        landmark(2, 5, landmarks=[5]),
        landmark(3, 7, window=2, step=2, landmarks=[6]),
    ),
    "another w-event version between": (
        version(1, BD, 9, window=4),
        version(2, BA, 9, window=1),
        version(3, UNIFORM, 9, window=2),
    ),
}


@pytest.mark.parametrize("versions", CHAINS.values(), ids=CHAINS)
def test_versions(versions: Sequence[Policy]) -> None:
    """This also holds if versions follow each other at any moment, whatever their windows, steps and levels."""
    found = Search(Rules(), versions, 7).run()
    assert found.late > 100
    assert found.published > 50
    assert (found.violations, found.refusals) == (0, 0)


def test_the_wait_is_no_longer_than_it_must_be() -> None:
    """With equal windows a version publishes exactly w steps after the previous version's last spend."""
    first, second = version(1, UNIFORM, 9, window=3), version(2, UNIFORM, 9, window=3)
    state = begun(first, LIFETIME_NANO)
    for step in (0, 1):
        stepped = fold.step(KEYS, first, state, "s", step, Raw(1))
        assert isinstance(stepped, fold.StepResult)
        state = stepped.state
    assert state.guard.window.spends == ((0, 3), (1, 3))
    state = adopted(second, first, state, LIFETIME_NANO)
    for step, decision in ((2, "withheld"), (3, "withheld"), (4, "perturbed")):
        stepped = fold.step(KEYS, second, state, "s", step, Raw(1))
        assert isinstance(stepped, fold.StepResult)
        assert stepped.decision == decision
        state = stepped.state


def _any(policy: Policy, state: State, step: int, at: Place) -> Iterable[int]:
    """Propose every spend, so that only the guard decides."""
    assert step > state.clock.last_step
    assert at == (False, 0)
    return range(1, policy.epsilon_nano + 1)


GUARDED = [
    (version(1, UNIFORM, 4, window=3),),
    (version(1, PRIVATE_BD, 8, window=2),),
    (version(1, UNIFORM, 3, window=3), version(2, UNIFORM, 3, window=2, step=2)),
    (version(1, UNIFORM, 3, window=2, step=2), version(2, PRIVATE_BD, 7, window=3)),
]


@pytest.mark.parametrize("versions", GUARDED, ids=["one", "private", "longer steps", "shorter steps"])
def test_the_guard_alone_keeps_the_promise(versions: Sequence[Policy]) -> None:
    """Whatever a scheme proposes, the guard lets no window lose too much; it refuses some and allows some."""
    found = Search(Rules(proposals=_any), versions, 5).run()
    assert found.violations == 0
    assert found.refusals > 0
    assert found.published > 0


def _guarded(policy: Policy, state: State, step: int, spend_nano: int, *, window: Window, charges: int) -> Guard | None:
    """Return the answer of a guard that sees another window, or counts other charges."""
    level = window_of(policy)
    loss_nano = window.spent_nano(level, step) + spend_nano + charges
    waits = step * policy.step_ms < state.guard.window.opens_ms
    after = Guard(policy.epsilon_nano).spend(None, step, 0, landmark=False, spend_nano=loss_nano)
    return None if waits or after is None else after._replace(window=_booked(state, step, spend_nano))


def _booked(state: State, step: int, spend_nano: int) -> Window:
    window = state.guard.window
    return window._replace(spends=(*window.spends, (step, spend_nano)))


def _trusting(policy: Policy, state: State, step: int, at: Place, spend_nano: int) -> Guard | None:
    """Book every spend, refuse none."""
    assert at == (False, 0)
    assert step > state.clock.last_step
    return Guard(policy.epsilon_nano, 0, spend_nano, _booked(state, step, spend_nano))


def _charges_of_releases(policy: Policy, state: State, step: int, at: Place, spend_nano: int) -> Guard | None:
    """Count e1 only for published steps, not for nullified or approximated ones."""
    level = window_of(policy)
    assert at == (False, 0)
    published = sum(first > step - level.steps for first, _ in state.guard.window.spends) + 1
    charges = published * level.charge_nano
    return _guarded(policy, state, step, spend_nano, window=state.guard.window, charges=charges)


def _charges_so_far(policy: Policy, state: State, step: int, at: Place, spend_nano: int) -> Guard | None:
    """Count e1 for decided steps, but reserve nothing for future steps."""
    level = window_of(policy)
    assert at == (False, 0)
    decided = step - (state.clock.first_step if state.clock.first_step >= 0 else step) + 1
    charges = min(decided, level.steps) * level.charge_nano
    return _guarded(policy, state, step, spend_nano, window=state.guard.window, charges=charges)


def _shorter(policy: Policy, state: State, step: int, at: Place, spend_nano: int) -> Guard | None:
    """Look back one step less."""
    level = window_of(policy)
    assert at == (False, 0)
    nearer = state.guard.window._replace(
        spends=tuple(spend for spend in state.guard.window.spends if spend[0] > step - 2)
    )
    return _guarded(policy, state, step, spend_nano, window=nearer, charges=level.steps * level.charge_nano)


def _forgets_the_first(window: Window) -> Window:
    return window._replace(spends=window.spends[1:])


def _keeps_the_last(window: Window) -> Window:
    return window._replace(spends=window.spends[-1:])


PRIVATE = (version(1, PRIVATE_BD, 8, window=2),)
NAIVE_GUARDS = {
    "no guard": (Rules(proposals=_any, spend=_trusting), GUARDED[0]),
    "the ring forgets its first spend": (Rules(proposals=_any, kept=_forgets_the_first), GUARDED[0]),
    "the ring keeps the last spend alone": (Rules(proposals=_any, kept=_keeps_the_last), GUARDED[0]),
    "a window that is too short": (Rules(proposals=_any, spend=_shorter), GUARDED[0]),
    "charges of published steps alone": (Rules(proposals=_any, spend=_charges_of_releases), PRIVATE),
    "charges held for no step to come": (Rules(proposals=_any, spend=_charges_so_far), PRIVATE),
}


@pytest.mark.parametrize(("rules", "versions"), NAIVE_GUARDS.values(), ids=NAIVE_GUARDS)
def test_a_naive_guard_is_caught(rules: Rules, versions: Sequence[Policy]) -> None:
    """Omitting or weakening any line of the guard breaks a window within five steps."""
    assert Search(rules, versions, 5).run(until_broken=True).violations > 0


def _opens_a_step_earlier(policy: Policy, window: Window) -> Window:
    return window._replace(opens_ms=window.opens_ms - policy.step_ms)


def _opens_at_once(policy: Policy, window: Window) -> Window:
    assert policy.version > 1
    return window._replace(opens_ms=0)


def _knows_its_own_windows_alone(policy: Policy, window: Window) -> Window:
    return window._replace(opens_ms=window._replace(reach_ms=0).opened(policy.windows, policy.step_ms).opens_ms)


def _knows_earlier_windows_alone(policy: Policy, window: Window) -> Window:
    assert policy.version > 1
    return window._replace(opens_ms=window.reach_ms)


def _waits_from_the_start(policy: Policy, window: Window) -> Window:
    """Count the steps of the wait from the start of the old step, as if all steps had the same length."""
    level = window_of(policy)
    start_ms = window.spent_end_ms - 3
    return window._replace(opens_ms=start_ms + level.steps * policy.step_ms if window.spent_end_ms else 0)


def _forgets_at_another_level(policy: Policy, window: Window) -> Window:
    return window if isinstance(policy.protection, WindowLevel) else Window()


NAIVE_WAITS = {
    "no wait": (_opens_at_once, "same windows"),
    "no wait after charges": (_opens_at_once, "charges"),
    "no wait after another level": (_opens_at_once, "from another level"),
    "a step less": (_opens_a_step_earlier, "same windows"),
    "for its own windows alone": (_knows_its_own_windows_alone, "a narrower window"),
    "for earlier windows alone": (_knows_earlier_windows_alone, "a wider window"),
    "counted in steps": (_waits_from_the_start, "from another level with longer steps"),
    "forgotten at another level": (_forgets_at_another_level, "another level between"),
    "no wait where windows are steps": (_opens_at_once, "a step after windows"),
    "no wait after landmarks with windows": (_opens_at_once, "landmarks with windows"),
    "for its own windows alone, steps": (_knows_its_own_windows_alone, "longer steps after windows"),
    "forgotten by a third version": (_knows_its_own_windows_alone, "another w-event version between"),
}


@pytest.mark.parametrize(("begun", "chain"), NAIVE_WAITS.values(), ids=NAIVE_WAITS)
def test_a_naive_wait_is_caught(begun: object, chain: str) -> None:
    """A version that does not wait for all windows around earlier spends breaks one of them."""
    rules = Rules(begun=begun)  # type: ignore[arg-type]
    assert Search(rules, CHAINS[chain], 8).run(until_broken=True).violations > 0
