"""Pairs of histories that are neighbours under a policy, as records of the events topic."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from stream_app.formats import wire
from stream_app.privacy import kinds
from stream_app.privacy.policy import Policy
from stream_app.privacy.values import Raw, RawCells, ReleasedCells
from stream_app.verify.steps import PairSteps, Step, pair_steps

SERIES = "verified"
SEED = b"0" * 64
"""A placeholder, which each run replaces with a fresh seed."""
MOST_CLOSED = 16
"""The most steps of collected data in a history; every step closes, even without items."""


class Extremes(NamedTuple):
    """Two raw values as they appear in events, and the cells to which they correspond."""

    near: Any
    far: Any
    cells: tuple[RawCells, RawCells]

    def of(self, place: int) -> tuple[Any, RawCells]:
        """Return the first value (0) or the second (1) with its cells."""
        return (self.near, self.far)[place], self.cells[place]

    @property
    def watched(self) -> tuple[int, ...]:
        """Return the cells in which the values differ, or all cells if none do; noise elsewhere reveals nothing."""
        near, far = self.cells
        differing = tuple(nth for nth, (one, other) in enumerate(zip(near, far, strict=True)) if one != other)
        return differing or tuple(range(len(near)))


def extremes(kind: kinds.Kind) -> Extremes:
    """Return two values that neighbours may have, as far apart as the guarantee covers.

    If a number's sensitivity is its whole range, the two values are outside the range, to test that they are clamped.
    Vectors differ in all parts.
    """
    return extremes_of(kind, *kind.item.extremes)


def extremes_of(kind: kinds.Kind, near: Any, far: Any) -> Extremes:
    """Return two values of the kind with their cells."""
    cells = kind.quantise(Raw(near)), kind.quantise(Raw(far))
    assert cells[0] is not None, "a value of the kind"
    assert cells[1] is not None, "a value of the kind"
    return Extremes(near, far, (cells[0], cells[1]))


def one_cell_apart(kind: kinds.Kind) -> Extremes | None:
    """Return two values with adjacent cells in each part; None if there are no two, or only the `extremes`."""
    values = kind.item.adjacent
    found = None if values is None else extremes_of(kind, *values)
    return None if found is None or found.cells == extremes(kind).cells else found


def invalid(kind: kinds.Kind) -> Iterator[tuple[str, Extremes]]:
    """Yield an invalid value, which will be substituted, paired first with another value, then with the substitute."""
    substitute = kind.quantise(Raw(None))
    if substitute is None:
        return
    ends = extremes(kind)
    other, cells = (ends.near, ends.cells[0]) if ends.cells[1] == substitute else (ends.far, ends.cells[1])
    yield "an invalid value or another value", Extremes(None, other, (substitute, cells))
    same = kind.publish(ReleasedCells(tuple(substitute)))
    yield "an invalid value or its substitute", Extremes(None, same, (substitute, substitute))


class HistoryRecord(NamedTuple):
    """A record of a history, and what an observer may see when it is processed."""

    value: bytes
    releases: int = 0
    seeded: bool = False
    needed: bool = False  # if it were rejected, the histories would not be neighbours
    looked: bool = False  # somebody looks at the counters before the decision


class Output(NamedTuple):
    """What an observer sees at one place, in one or both histories of a pair: a release, or the counters in memory."""

    name: str
    cells: tuple[RawCells, ...]
    """The raw values at that place; for a pair, the values of both histories."""
    look_nano: int | None = None
    """The rate of the noise on the counters; None for a release, which states its own rate."""
    after: int | None = None
    """The index of the look at the counters that this output releases; None if there was no look."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two neighbours with the same number of outputs; the ``watched`` cells of each output are examined."""

    name: str
    declared_nano: int
    """The most that anybody may learn about which of the two histories happened."""
    histories: tuple[tuple[HistoryRecord, ...], tuple[HistoryRecord, ...]]
    outputs: tuple[Output, ...]
    watched: tuple[int, ...]
    controlled: bool = True
    """Whether a control runs on the pair: twice the budget shows nothing if the values are closer together."""


def pairs(policy: Policy) -> tuple[Pair, ...]:
    """Return the pairs of a policy with one reading per step; the policy is in effect, with drawn dummies."""
    courses = tuple(pair_steps(policy))
    found = [_plain(policy, course, extremes(policy.kind)) for course in courses]
    close = one_cell_apart(policy.kind)
    more = ([] if close is None else [("one cell apart", close)]) + list(invalid(policy.kind))
    for name, ends in more:
        found.append(replace(_plain(policy, courses[0]._replace(name=name), ends), controlled=False))
    return tuple(found)


def _plain(policy: Policy, course: PairSteps, ends: Extremes) -> Pair:
    def happening(side: int) -> Iterator[HistoryRecord | Output]:
        for nth, step in enumerate(course.steps, 1):
            yield from registered(policy, step)
            value, cells = ends.of(which(step, side))
            yield record_of({"timestamp": step.at * policy.step_ms, "value": value}, releases=1)
            yield Output(f"release {nth}", (cells,))

    return paired(course.name, policy.epsilon_nano, happening, ends.watched)


def paired(
    name: str,
    declared_nano: int,
    happening: Callable[[int], Iterable[HistoryRecord | Output]],
    watched: tuple[int, ...],
) -> Pair:
    """Return a pair; ``happening`` yields, in order, what is sent and seen in the given history (0 or 1)."""
    sides = [list(happening(side)) for side in (0, 1)]
    one, other = (tuple(found for found in side if isinstance(found, HistoryRecord)) for side in sides)
    shown = [[found for found in side if isinstance(found, Output)] for side in sides]
    outputs = (here._replace(cells=here.cells + there.cells) for here, there in zip(*shown, strict=True))
    return Pair(name, declared_nano, (one, other), tuple(outputs), watched)


def registered(policy: Policy, step: Step) -> Iterator[HistoryRecord]:
    """Yield the registration of a landmark before a step, if there is one."""
    if step.registers is not None:
        yield record_of({"type": "landmarks", "add": [step.registers * policy.step_ms]}, needed=True)


def which(step: Step, side: int) -> int:
    """Return which of two values (0 or 1) a history has at a step; 0 if the histories do not differ there."""
    return side ^ step.turned if step.differs else 0


def record_of(
    members: Mapping[str, Any], releases: int = 0, *, seeded: bool = False, needed: bool = False
) -> HistoryRecord:
    """Return a record of a history as it is sent."""
    record = {"series": SERIES, **members}
    if seeded:
        record["seed"] = SEED.decode()
    return HistoryRecord(wire.dump(record), releases, seeded, needed)
