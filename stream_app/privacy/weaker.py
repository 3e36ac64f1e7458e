"""How a new policy version's joint protection, from its first step on, would be weaker than the current one's.

Two histories are neighbours of a version if they differ on its landmarks L and on any w of its consecutive steps, on
each of these as its kind allows. If steps contain units, "step" means unit everywhere except in d. Let s and w be the
current version's step in ms and its window (1 if it has none), s' and w' those of the new version, and d the end of the
last processed step, rounded up to a step of the new version (0 if no step was processed). The new version is *not
weaker* iff every two neighbours of the current version that differ from d on are neighbours of the new one. So

* ``landmarks``: the remaining landmarks of the current version, including late and drawn ones, are landmarks of the new
  version from d on. Otherwise the omitted landmarks, which are guaranteed to lose one epsilon in all, would spend one
  epsilon each.
* ``window``: ``w'*s' >= w*s + s' - g + (o - o') mod g`` with g = gcd(s, s') and o, o' the times from which steps are
  counted. A window of w*s ms begins anywhere that both grids allow, at worst ``s' - g + (o - o') mod g`` after the
  start of a new step; whatever lies beyond w' steps from that point would spend again.
* ``length``: the remaining steps of a current user level, ``length`` steps from its first (from d if none was
  processed), are landmarks. Otherwise all of its steps except one would spend again.
* ``neighbours``: all pairs that were neighbours still are: two values, an invalid value and its substitute, items, a
  reading and no reading. No valid value, category or key becomes an invalid one that no substitute hides. Otherwise the
  version would distinguish what was guaranteed to be indistinguishable, at any budget.

A new user level counts as landmarks from d on, for its length, with w' = 1. The total loss over versions is not checked
here, because the lifetime alone bounds it.
"""

from collections.abc import Iterable, Sequence
from math import gcd
from typing import Final, Literal

from stream_app.privacy.kinds import OfStep, of_one
from stream_app.privacy.landmarks import Grid, Interval, LandmarkSet, aligned
from stream_app.privacy.policy import Policy
from stream_app.privacy.protection import UserLevel
from stream_app.privacy.state import NEVER, State

Less = Literal["landmarks", "window", "length", "neighbours"]
SENTENCES: Final[dict[Less, str]] = {
    "landmarks": "future landmarks of the previous version are missing",
    "window": "fewer consecutive steps, or shorter ones, are protected together",
    "length": "future steps under the previous level, user, are not landmarks",
    "neighbours": "fewer values of one step are neighbours (or valid), or items are protected differently",
}
"""Explanations for people, keyed by the kind of protection that is reduced."""


def less_protected(policy: Policy, before: Policy, state: State) -> tuple[Less, ...]:
    """Return the ways, if any, in which ``policy`` is weaker than ``before``, the policy of ``state``."""
    begin_ms = _begin_ms(policy, state)
    cover = _cover(policy, before, state)
    rest = _rest_of_user_level(before, state, begin_ms)
    found: list[Less] = []
    if not _covered(_to_come(state.promise.landmarks, before.grid, begin_ms), cover):
        found.append("landmarks")
    if policy.window * policy.grid.length_ms < _needed_ms(policy.grid, before.grid, before.window):
        found.append("window")
    if not _covered(rest, cover):
        found.append("length")
    kept = (
        _keeps_values(of_one(policy.kind), of_one(before.kind))
        and _keeps_items(policy, before)
        and _keeps_absence(policy, before)
    )
    if not kept:
        found.append("neighbours")
    return tuple(found)


def carried(policy: Policy, before: Policy, state: State) -> LandmarkSet:
    """Return the remaining landmarks of the current version, in steps of ``policy``.

    A new version's drawn landmarks are united with these, because that version cannot name earlier ones: its own
    landmarks are secret, and the earlier ones are known.
    """
    return aligned(_to_come(state.promise.landmarks, before.grid, _begin_ms(policy, state)), *policy.grid)


def _begin_ms(policy: Policy, state: State) -> int:
    """Return d, the first step start at or after the last processed step's end, or 0 before any step."""
    end_ms = state.clock.decided_end_ms
    return policy.start_of(-((policy.offset_ms - end_ms) // policy.step_ms)) if end_ms else 0


def _needed_ms(grid: Grid, former: Grid, window: int) -> int:
    """Return how long a window on ``grid`` must be to contain any ``window`` intervals of ``former``."""
    common_ms = gcd(grid.length_ms, former.length_ms)
    late_ms = grid.length_ms - common_ms + (former.origin_ms - grid.origin_ms) % common_ms
    return window * former.length_ms + late_ms


def _cover(policy: Policy, before: Policy, state: State) -> Sequence[Interval]:
    """Return the spans, ascending and in ms, that the new version jointly protects in addition to a window."""
    if isinstance(policy.protection, UserLevel):
        begin_ms = _begin_ms(policy, state)
        return ((begin_ms, begin_ms + policy.protection.length * policy.step_ms),)
    # PRIVACY: landmarks that dummies should hide are ignored here, because a refusal must not reveal where they are.
    landmarks = policy.landmarks if policy.dummies is None else carried(policy, before, state)
    return list(map(policy.grid.span_of, landmarks.intervals))


def _rest_of_user_level(before: Policy, state: State, begin_ms: int) -> Iterable[Interval]:
    if not isinstance(before.protection, UserLevel):
        return
    first_ms = begin_ms if state.clock.first_step == NEVER else state.clock.first_step * before.step_ms
    end_ms = first_ms + before.protection.length * before.step_ms
    if end_ms > begin_ms:
        yield begin_ms, end_ms


def _to_come(landmarks: LandmarkSet, grid: Grid, begin_ms: int) -> Iterable[Interval]:
    """Yield the parts of the landmarks from ``begin_ms`` on, in ms and ascending."""
    for first_ms, end_ms in map(grid.span_of, landmarks.intervals):
        if end_ms > begin_ms:
            yield max(first_ms, begin_ms), end_ms


def _covered(spans: Iterable[Interval], cover: Sequence[Interval]) -> bool:
    """Return whether each span lies in an interval of ``cover``; both are ascending, and the intervals do not touch."""
    at = 0
    for start, end in spans:
        while at < len(cover) and cover[at][1] < end:
            at += 1
        if at == len(cover) or start < cover[at][0]:
            return False
    return True


def _keeps_values(kind: OfStep, former: OfStep) -> bool:
    """Return whether any two values, valid or not, that were neighbours are still neighbours."""
    if former.substitute is not None and kind.substitute is None and kind.takes_substitute:
        return False
    return kind.keeps(former)


def _keeps_items(policy: Policy, before: Policy) -> bool:
    """Return whether items stay protected, and counters stay protected from anyone who sees the memory."""
    collect, former = policy.collect, before.collect
    if collect is None or former is None:
        return collect is former
    seen, formerly_seen = collect.intrusion_nano, former.intrusion_nano
    kept = formerly_seen is None or (seen is not None and seen <= formerly_seen)
    return collect.replace == former.replace and kept


def _keeps_absence(policy: Policy, before: Policy) -> bool:
    """Return whether a step without a reading is as hidden as before."""
    hidden = before.within is not None and before.within.hides
    return not hidden or (policy.within is not None and policy.within.hides)
