"""Pairs of histories of a policy that collects: in one contributor's items, and in when somebody looked at counters."""

from collections.abc import Iterator
from math import ceil, log
from operator import add
from typing import Any, Final, Literal, NamedTuple, assert_never

from stream_app.privacy.collected.collect import Collect
from stream_app.privacy.kinds import Category, Choice, Counts, HiddenMean, Location, Mean, Number, Sum, Vector
from stream_app.privacy.policy import Policy
from stream_app.privacy.values import NANO, Raw, RawCells
from stream_app.verify.neighbours import MOST_CLOSED, Output, Pair, Sent, beyond, record_of, which
from stream_app.verify.steps import PairSteps, pair_steps

MEMBER = "a"
OTHERS = "b"
LARGEST_CROWD: Final = 64
"""Others who contribute to a step: each of their items is decided in each run."""
NOTHING: Final = -1
"""Stands for the index of a contributor's item who sends none."""

Moment = Literal["before", "after"]


class _Items(NamedTuple):
    """What the contributor sends in the one history and in the other (None: nothing), and what ``others`` send."""

    near: Any
    far: Any
    other: Any
    watched: tuple[int, ...]
    others: int = 1


def collected_pairs(policy: Policy, collect: Collect) -> Iterator[Pair]:
    """Yield the pairs on which the noise of collected data is verified."""
    near = [course for course in pair_steps(policy) if course.steps[-1].at - course.steps[0].at < MOST_CLOSED]
    for course in near:
        for items in _items(policy, course):
            yield _pair(policy, collect, course, items, None)
    if near and collect.intrusion_nano is not None:
        for items in _items(policy, near[0]):
            yield _pair(policy, collect, near[0], items, "before")
            yield _pair(policy, collect, near[0], items, "after")


def _items(policy: Policy, course: PairSteps) -> Iterator[_Items]:
    """Yield items as far apart as neighbours may be; numbers lie outside of the range, to test that each is clamped."""
    kind = policy.kind
    match kind:
        case Counts(keys=keys):
            if policy.collect is None or not policy.collect.replace:
                yield _Items(None, keys[0], keys[0], (0,))
            elif len(keys) > 1:  # with one key every item is the same
                yield _Items(keys[0], keys[1], keys[0], (0, 1))
        case Choice(items=items):
            near = items[0] if kind.replace else None
            # Most is told by an item that becomes less rare, where another one is far ahead of all; the control, of
            # twice the budget, must still draw it often enough.
            rate = policy.epsilon_nano / NANO / course.differing / (2 if kind.replace else 1)
            crowd = min(LARGEST_CROWD, ceil(log(len(items)) / (2 * rate)))
            yield _Items(near, items[1], items[0], (0,), crowd)
            yield _Items(near, items[1], items[0], (0,), 0)
        case Sum() | Mean():
            low, high = beyond(kind.item)
            if kind.replace:
                yield _Items(low, high, kind.item.lower, (0,))
            else:
                axis = kind.item.axis
                yield _Items(None, high if abs(axis.high) >= abs(axis.low) else low, kind.item.lower, (0,))
        case HiddenMean():
            yield _Items(None, beyond(kind.item)[1], kind.item.lower, (0, 1))
        case Number() | Location() | Category() | Vector():
            raise AssertionError("this kind is not collected")
        case _:
            assert_never(kind)


def _pair(policy: Policy, collect: Collect, course: PairSteps, items: _Items, sent: Moment | None) -> Pair:
    """Return a pair in one contributor's items; the first that differs was ``sent`` before or after somebody looked."""
    exposed = None if sent is None else min(step.at for step in course.steps if step.differs)
    sides = [list(_happening(policy, collect, course, items, exposed, sent, side)) for side in (0, 1)]
    records = [tuple(found for found in side if isinstance(found, Sent)) for side in sides]
    seen = [[found for found in side if isinstance(found, _Seen)] for side in sides]
    outputs = tuple(
        Output(one.name, (one.cells, other.cells), collect.intrusion_nano if one.look else None, one.after)
        for one, other in zip(*seen, strict=True)
    )
    declared_nano = policy.epsilon_nano
    if collect.intrusion_nano is not None and sent is not None:
        # One item is told at most the larger of the two, several ones epsilon and the intrusion of those exposed.
        one_alone = course.differing == 1
        declared_nano = (max if one_alone else add)(declared_nano, collect.intrusion_nano)
    name = course.name if sent is None else f"{course.name}, the first item {sent} a look"
    name += "" if items.others else ", nobody else there"
    return Pair(name, declared_nano, (records[0], records[1]), outputs, items.watched)


class _Seen(NamedTuple):
    """What is seen at one place of one history."""

    name: str
    cells: RawCells
    look: bool = False
    after: int | None = None


def _happening(
    policy: Policy,
    collect: Collect,
    course: PairSteps,
    items: _Items,
    exposed: int | None,
    sent: Moment | None,
    side: int,
) -> Iterator[Sent | _Seen]:
    """Yield the records of one history, and what is seen of them, in order."""
    steps = {step.at: step for step in course.steps}
    first, last, look = course.steps[0].at, course.steps[-1].at, None
    yield record_of({"type": "watermark", "timestamp": first * policy.step_ms}, seeded=True)
    for place, index in enumerate(range(first, last + 1)):
        counters, number, own = [0] * collect.gathers.counters, 0, None
        step = steps.get(index)
        contributions: list[tuple[str, Any]] = []
        if step is not None:
            own = (items.near, items.far)[which(step, side)]
            contributions = [(f"{OTHERS}{nth}", items.other) for nth in range(items.others)]
            contributions += [] if own is None else [(MEMBER, own)]
        if index == exposed and sent == "after":
            look = place
            yield from (_look(), _Seen("the look", RawCells(tuple(counters)), look=True))
        for member, value in contributions:
            yield record_of(
                {"type": "contribution", "timestamp": index * policy.step_ms, "member": member, "value": value}
            )
            added = collect.gathers.added(Raw(value))
            assert added is not None, "an item of the kind"
            counters[added[0]] += added[1]
            number += 1
        if index == exposed and sent == "before":
            look = place
            yield from (_look(), _Seen("the look", RawCells(tuple(counters)), look=True))
        end = {"type": "watermark", "timestamp": (index + 1) * policy.step_ms}
        yield record_of(end, releases=1, seeded=True)
        cells = collect.gathers.closed(counters, number)
        if isinstance(policy.kind, Choice):
            cells = policy.kind.quantise(Raw(own)) or RawCells((NOTHING,))  # what is released is an index as well
        yield _Seen(f"release {place + 1}", cells, after=look if index == exposed else None)


def _look() -> Sent:
    return record_of({"type": "intrusion"}, seeded=True)._replace(looked=True)
