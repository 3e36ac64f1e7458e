"""What a new policy version would protect less together than the one that rules, from the step where it begins.

Neighbours of a version are two histories that differ on its landmarks L and on any w of its steps in a row, on each of
these as its kind says. Where steps hold units, units are meant wherever steps are named, but in d. With s and w the
ruling version's step in ms and window (1 where there is none), s' and w' the new one's, and d the end of the last
decided step, rounded up to a step of the new version (0 before any), it is *not weaker* iff every two neighbours of the
ruling version that differ from d on are neighbours of the new one. So

* ``landmarks``: ruling landmarks to come, late and drawn ones too, are landmarks of the new version from d on.
  Else those left out, promised one epsilon in all, would spend one each.
* ``window``: ``w'*s' >= w*s + s' - g + (o - o') mod g`` with g = gcd(s, s') and o, o' where steps are counted from. A
  window of w*s ms begins anywhere that both grids allow, at worst ``s' - g + (o - o') mod g`` after a new step does;
  what lies outside w' steps from there would spend once more.
* ``length``: what is to come of a ruling user level, ``length`` steps from its first (d before it), is landmarks.
  Else all of its steps but one would spend anew.
* ``neighbours``: no two values, nor an invalid one and its substitute, nor items, nor a reading and none, cease to be
  neighbours; nor does a valid value, a category or a key, become an invalid one that no substitute hides.
  Else the version would tell apart what was promised to be indistinguishable, at any budget.

A new user level counts as landmarks from d on, for its length, with w' = 1. How much is lost over versions is not asked
here: the lifetime alone bounds it.
"""

from collections.abc import Iterable, Sequence
from math import gcd
from typing import Final, Literal

from stream_app.privacy.kinds import Category, Choice, Counts, Location, Number, OfStep, Statistic, Vector
from stream_app.privacy.kinds.kind_form import of_one, takes_substitute
from stream_app.privacy.landmarks import Grid, Interval, LandmarkSet, aligned
from stream_app.privacy.policy import Policy
from stream_app.privacy.protection import UserLevel
from stream_app.privacy.state import NEVER, State

Less = Literal["landmarks", "window", "length", "neighbours"]
SENTENCES: Final[dict[Less, str]] = {
    "landmarks": "future landmarks of the previous version are missing",
    "window": "fewer consecutive steps, or shorter ones, are protected together",
    "length": "future steps of the previous level user are not landmarks",
    "neighbours": "fewer values of one step are neighbours (or valid), or items are protected differently",
}
"""Sentences for people, by what is protected less together."""


def less_protected(policy: Policy, before: Policy, state: State) -> tuple[Less, ...]:
    """Return in what ``policy`` would be weaker than ``before``, which rules ``state``; nothing: it is not weaker."""
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
    """Return what is to come of the ruling landmarks, in steps of ``policy``: what drawn landmarks are united with.

    A version whose landmarks are drawn could not name the ones before it: its own are a secret, and these are known.
    """
    return aligned(_to_come(state.promise.landmarks, before.grid, _begin_ms(policy, state)), *policy.grid)


def _begin_ms(policy: Policy, state: State) -> int:
    """Return d: the first start of a step that is not before the end of the last decided one; 0 before any."""
    end_ms = state.clock.decided_end_ms
    return policy.start_of(-((policy.offset_ms - end_ms) // policy.step_ms)) if end_ms else 0


def _needed_ms(grid: Grid, former: Grid, window: int) -> int:
    """Return how long a window on a grid has to be to hold each of so many on the former one."""
    common_ms = gcd(grid.length_ms, former.length_ms)
    late_ms = grid.length_ms - common_ms + (former.origin_ms - grid.origin_ms) % common_ms
    return window * former.length_ms + late_ms


def _cover(policy: Policy, before: Policy, state: State) -> Sequence[Interval]:
    """Return what the new version protects together besides a window, in ms, disjoint, ascending."""
    if isinstance(policy.protection, UserLevel):
        begin_ms = _begin_ms(policy, state)
        return ((begin_ms, begin_ms + policy.protection.length * policy.step_ms),)
    # PRIVACY: landmarks that dummies are to hide count for nothing here: a refusal must not tell where they are.
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
    """Yield what of the landmarks lies from ``begin_ms`` on, in ms, ascending."""
    for first_ms, end_ms in map(grid.span_of, landmarks.intervals):
        if end_ms > begin_ms:
            yield max(first_ms, begin_ms), end_ms


def _covered(spans: Iterable[Interval], cover: Sequence[Interval]) -> bool:
    """Return whether each span lies in one of the intervals; both ascend, and intervals do not touch."""
    at = 0
    for start, end in spans:
        while at < len(cover) and cover[at][1] < end:
            at += 1
        if at == len(cover) or start < cover[at][0]:
            return False
    return True


def _keeps_values(kind: OfStep, former: OfStep) -> bool:
    """Return whether any two values that were neighbours still are, valid or not."""
    if former.substitute is not None and kind.substitute is None and takes_substitute(kind):
        return False
    match kind, former:
        case Number(), Number():
            if kind.sensitivity >= kind.axis.high - kind.axis.low:
                return True
            same = (kind.lower, kind.upper, kind.axis) == (former.lower, former.upper, former.axis)
            return same and kind.sensitivity >= former.sensitivity
        case Counts(), Counts():
            # A key that is none any more makes its tables invalid, which is told: no counts take a substitute.
            return kind.sensitivity >= former.sensitivity and set(former.keys) <= set(kind.keys)
        case Location(), Location():
            edges = zip((kind.east, kind.north), (former.east, former.north), strict=True)
            wide = all(low <= former_low and high >= former_high for (low, high), (former_low, former_high) in edges)
            return wide and kind.radius >= former.radius
        case Category(), Category():
            return kind.substitute is not None or set(former.categories) <= set(kind.categories)
        case _ if isinstance(kind, Statistic) and isinstance(former, Statistic):
            # Any two items are neighbours whatever the range, or taking part is no more told; no statistic has others.
            return True
        case Choice(), Choice():
            # An item that is none any more is told to be invalid; under the same neighbours, which `_keeps_items` asks.
            return set(former.items) <= set(kind.items)
        case Vector(), Vector():
            # Any two valid ones are neighbours, whatever the ranges; under other names all of them become invalid.
            return True
        case _:
            return False


def _keeps_items(policy: Policy, before: Policy) -> bool:
    """Return whether what is collected is protected as before: items, and counters from who sees the memory."""
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
