"""Pairs of histories of a policy whose steps take several readings: in their values, and in whether there are any."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

from stream_app.privacy.collected.within import Within
from stream_app.privacy.policy import Policy
from stream_app.privacy.values import RawCells
from stream_app.verify.collected import collected_pairs
from stream_app.verify.neighbours import (
    MOST_CLOSED,
    Extremes,
    Output,
    Pair,
    Sent,
    extremes,
    one_cell_apart,
    pairs,
    record_of,
    which,
)
from stream_app.verify.steps import PairSteps, Step, pair_steps


class _End(NamedTuple):
    """What a step reads in one history."""

    value: Any
    """None: there is no reading."""
    cells: RawCells


def pairs_of(policy: Policy) -> tuple[Pair, ...]:
    """Return the pairs on which a policy's noise is verified, however its steps come to a value."""
    if policy.collect is not None:
        return tuple(collected_pairs(policy, policy.collect))
    return pairs(policy) if policy.within is None else tuple(_pairs(policy, policy.within))


def _pairs(policy: Policy, within: Within) -> Iterator[Pair]:
    found = extremes(policy.kind)
    ends = _End(found.near, found.cells[0]), _End(found.far, found.cells[1])
    near = [
        course
        for course in pair_steps(policy)
        if not within.gapless or course.steps[-1].at - course.steps[0].at < MOST_CLOSED
    ]
    for course in near:
        yield _pair(policy, within, course, ends, found)
    close = one_cell_apart(policy.kind)
    if close is not None and near:
        named = near[0]._replace(name="one cell apart")
        both = _End(close.near, close.cells[0]), _End(close.far, close.cells[1])
        yield replace(_pair(policy, within, named, both, close), controlled=False)
    if isinstance(within.absent, tuple) and near:
        # The end that differs from what stands for no reading.
        other = ends[0] if ends[1].cells == within.absent else ends[1]
        absent = _End(None, within.absent)
        apart = Extremes(None, other.value, (absent.cells, other.cells))
        named = near[0]._replace(name=f"{near[0].name}, without a reading or with one")
        yield _pair(policy, within, named, (absent, other), apart)


def _pair(policy: Policy, within: Within, course: PairSteps, ends: tuple[_End, _End], found: Extremes) -> Pair:
    steps = {step.at: step for step in course.steps}
    first, last = course.steps[0].at, course.steps[-1].at
    indices = range(first, last + 1) if within.gapless else sorted(steps)
    begin = [_watermark(policy, first, releases=0)] if within.gapless else []
    sides: list[tuple[Sent, ...]] = []
    for side in (0, 1):
        records = list(begin)
        for index in indices:
            step = steps.get(index)
            if step is not None:
                records += _step(policy, within, step, ends[which(step, side)])
            records.append(_watermark(policy, index + 1, releases=1))
        sides.append(tuple(records))
    outputs = []
    for nth, index in enumerate(indices, 1):
        at = steps.get(index)
        # What a gap is decided by is equal in both histories.
        cells = [ends[0].cells if at is None else ends[which(at, side)].cells for side in (0, 1)]
        outputs.append(Output(f"release {nth}", (cells[0], cells[1])))
    return Pair(course.name, policy.epsilon_nano, (sides[0], sides[1]), tuple(outputs), found.watched)


def _step(policy: Policy, within: Within, step: Step, end: _End) -> Iterator[Sent]:
    """Yield what is sent of one step: with more than one moment in it, two readings that come to the end's value."""
    if step.registers is not None:
        yield record_of({"type": "landmarks", "add": [step.registers * policy.step_ms]}, needed=True)
    if end.value is None:
        return
    start_ms = step.at * policy.step_ms
    if policy.step_ms > 1:
        yield record_of({"timestamp": start_ms + 1, "value": end.value})
        earlier = 0 if within.aggregate == "sum" else end.value
        yield record_of({"timestamp": start_ms, "value": earlier})
    else:
        yield record_of({"timestamp": start_ms, "value": end.value})


def _watermark(policy: Policy, index: int, releases: int) -> Sent:
    return record_of({"type": "watermark", "timestamp": index * policy.step_ms}, releases=releases)
