"""Pairs of histories under a policy whose steps take several readings or contributions.

The histories differ in the values read and in whether there are any readings, or in one contributor's items and in the
times at which somebody looked at the counters.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from math import ceil, log
from operator import add
from typing import Any, Final, Literal, NamedTuple, assert_never

from stream_app.privacy import kinds
from stream_app.privacy.collected.collect import Collect
from stream_app.privacy.collected.within import Within
from stream_app.privacy.policy import Policy
from stream_app.privacy.values import NANO, Raw, RawCells
from stream_app.verify import neighbours
from stream_app.verify.steps import PairSteps, pair_steps
from stream_app.verify.units import unit_pairs

MEMBER = "a"
OTHERS = "b"
LARGEST_CROWD: Final = 64
"""Limit on the number of other contributors to a step, because every run processes each of their items."""
NOTHING: Final = -1
"""Replaces the item index of a contributor who sends nothing."""

Moment = Literal["before", "after"]


def pairs_of(policy: Policy) -> tuple[neighbours.Pair, ...]:
    """Return the pairs on which a policy's noise is verified, however a step's value is formed."""
    if policy.collect is not None:
        return tuple(_collected(policy, policy.collect))
    if policy.units is not None:
        return unit_pairs(policy)
    return neighbours.pairs(policy) if policy.within is None else tuple(_pairs(policy, policy.within))


def _near(policy: Policy) -> list[PairSteps]:
    """Return the courses in which few enough steps close."""
    return [
        course for course in pair_steps(policy) if course.steps[-1].at - course.steps[0].at < neighbours.MOST_CLOSED
    ]


def _pairs(policy: Policy, within: Within) -> Iterator[neighbours.Pair]:
    found, near = neighbours.extremes(policy.kind), _near(policy) if within.gapless else list(pair_steps(policy))
    for course in near:
        yield _pair(policy, within, course, found)
    close = neighbours.one_cell_apart(policy.kind)
    if close is not None and near:
        yield replace(_pair(policy, within, near[0]._replace(name="one cell apart"), close), controlled=False)
    if isinstance(within.absent, tuple) and near:
        # The end that differs from the value for no reading.
        other, cells = found.of(0 if found.cells[1] == within.absent else 1)
        named = near[0]._replace(name=f"{near[0].name}, with or without a reading")
        yield _pair(policy, within, named, neighbours.Extremes(None, other, (within.absent, cells)))


def _pair(policy: Policy, within: Within, course: PairSteps, ends: neighbours.Extremes) -> neighbours.Pair:
    steps = {step.at: step for step in course.steps}
    first, last = course.steps[0].at, course.steps[-1].at

    def happening(side: int) -> Iterator[neighbours.HistoryRecord | neighbours.Output]:
        if within.gapless:
            yield _watermark(policy, first, releases=0)
        for nth, index in enumerate(range(first, last + 1) if within.gapless else sorted(steps), 1):
            step = steps.get(index)
            # Gaps have the same value in both histories.
            value, cells = ends.of(0 if step is None else neighbours.which(step, side))
            if step is not None:
                yield from neighbours.registered(policy, step)
                yield from _readings(policy, within, index, value)
            yield _watermark(policy, index + 1, releases=1)
            yield neighbours.Output(f"release {nth}", (cells,))

    return neighbours.paired(course.name, policy.epsilon_nano, happening, ends.watched)


def _readings(policy: Policy, within: Within, index: int, value: Any) -> Iterator[neighbours.HistoryRecord]:
    """Yield the readings of a step; yield nothing if ``value`` is None.

    In a step longer than 1 ms, two readings together give the value.
    """
    start_ms = index * policy.step_ms
    if value is not None and policy.step_ms > 1:
        yield neighbours.record_of({"timestamp": start_ms + 1, "value": value})
        yield neighbours.record_of({"timestamp": start_ms, "value": 0 if within.aggregate == "sum" else value})
    elif value is not None:
        yield neighbours.record_of({"timestamp": start_ms, "value": value})


def _watermark(policy: Policy, index: int, releases: int, *, seeded: bool = False) -> neighbours.HistoryRecord:
    return neighbours.record_of(
        {"type": "watermark", "timestamp": index * policy.step_ms}, releases=releases, seeded=seeded
    )


class _Items(NamedTuple):
    """What the contributor sends in each history (None: nothing), and what ``others`` send."""

    near: Any
    far: Any
    other: Any
    watched: tuple[int, ...]
    others: int = 1


def _collected(policy: Policy, collect: Collect) -> Iterator[neighbours.Pair]:
    near = _near(policy)
    for course in near:
        for items in _items(policy, course):
            yield _collected_pair(policy, collect, course, items, None)
    if near and collect.intrusion_nano is not None:
        for items in _items(policy, near[0]):
            yield _collected_pair(policy, collect, near[0], items, "before")
            yield _collected_pair(policy, collect, near[0], items, "after")


def _items(policy: Policy, course: PairSteps) -> Iterator[_Items]:
    """Yield items as far apart as neighbours may be; numbers are outside the range, to test the clamping."""
    kind = policy.kind
    assert isinstance(kind, kinds.Collected), "this kind cannot be collected"
    match kind:
        case kinds.Counts(keys=keys):
            if policy.collect is None or not policy.collect.replace:
                yield _Items(None, keys[0], keys[0], (0,))
            elif len(keys) > 1:  # with one key all items are the same
                yield _Items(keys[0], keys[1], keys[0], (0, 1))
        case kinds.Choice(items=items):
            near = items[0] if kind.replace else None
            # An item that becomes less rare is most revealing if another is far ahead of all; the control, with twice
            # the budget, must still draw it often enough.
            rate = policy.epsilon_nano / NANO / course.differing / (2 if kind.replace else 1)
            crowd = min(LARGEST_CROWD, ceil(log(len(items)) / (2 * rate)))
            yield _Items(near, items[1], items[0], (0,), crowd)
            yield _Items(near, items[1], items[0], (0,), 0)
        case kinds.Sum() | kinds.Mean():
            low, high = kind.item.beyond
            if kind.replace:
                yield _Items(low, high, kind.item.lower, (0,))
            else:
                axis = kind.item.axis
                yield _Items(None, high if abs(axis.high) >= abs(axis.low) else low, kind.item.lower, (0,))
        case kinds.HiddenMean():
            yield _Items(None, kind.item.beyond[1], kind.item.lower, (0, 1))
        case _:
            assert_never(kind)


def _collected_pair(
    policy: Policy, collect: Collect, course: PairSteps, items: _Items, sent: Moment | None
) -> neighbours.Pair:
    """Return a pair that differs in one contributor's items.

    The first item that differs is ``sent`` before or after a look, if there is one.
    """
    exposed = None if sent is None else min(step.at for step in course.steps if step.differs)
    declared_nano = policy.epsilon_nano
    if collect.intrusion_nano is not None and sent is not None:
        # One item reveals at most the larger of the two; several reveal epsilon and the intrusion of the exposed ones.
        one_alone = course.differing == 1
        declared_nano = (max if one_alone else add)(declared_nano, collect.intrusion_nano)
    name = course.name if sent is None else f"{course.name}, the first item sent {sent} a look"
    name += "" if items.others else ", with no other contributors"
    happening = partial(_happening, policy, collect, course, items, exposed, sent)
    return neighbours.paired(name, declared_nano, happening, items.watched)


def _happening(
    policy: Policy,
    collect: Collect,
    course: PairSteps,
    items: _Items,
    exposed: int | None,
    sent: Moment | None,
    side: int,
) -> Iterator[neighbours.HistoryRecord | neighbours.Output]:
    """Yield the records of one history and what is seen of them, in order."""
    steps = {step.at: step for step in course.steps}
    first, last = course.steps[0].at, course.steps[-1].at
    yield _watermark(policy, first, releases=0, seeded=True)
    for place, index in enumerate(range(first, last + 1)):
        counters, own = [0] * collect.gathers.counters, None
        step = steps.get(index)
        contributions: list[tuple[str, Any]] = []
        if step is not None:
            own = (items.near, items.far)[neighbours.which(step, side)]
            contributions = [(f"{OTHERS}{nth}", items.other) for nth in range(items.others)]
            contributions += [] if own is None else [(MEMBER, own)]
        if index == exposed and sent == "after":
            yield from _look(collect, counters)
        for member, value in contributions:
            yield neighbours.record_of(
                {"type": "contribution", "timestamp": index * policy.step_ms, "member": member, "value": value}
            )
            added = collect.gathers.added(Raw(value))
            assert added is not None, "an item of the kind"
            counters[added[0]] += added[1]
        if index == exposed and sent == "before":
            yield from _look(collect, counters)
        yield _watermark(policy, index + 1, releases=1, seeded=True)
        cells = collect.gathers.closed(counters, len(contributions))
        if isinstance(policy.kind, kinds.Choice):
            cells = policy.kind.quantise(Raw(own)) or RawCells((NOTHING,))  # the release is an index as well
        yield neighbours.Output(f"release {place + 1}", (cells,), after=place if index == exposed else None)


def _look(collect: Collect, counters: list[int]) -> Iterator[neighbours.HistoryRecord | neighbours.Output]:
    yield neighbours.record_of({"type": "intrusion"}, seeded=True)._replace(looked=True)
    yield neighbours.Output("the look", (RawCells(tuple(counters)),), collect.intrusion_nano)
