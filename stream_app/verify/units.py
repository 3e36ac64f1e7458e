"""Pairs of histories under a policy whose steps contain many units, each of which is protected.

The histories differ in one unit, in as many consecutive units as are protected together (also across a step boundary),
or in landmark units. The content of landmark units does not affect any release. If only landmark units differ, the
histories must therefore be indistinguishable, and the pair's declared loss is 0.
"""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final, NamedTuple

from stream_app.privacy.kinds import ByBins, Share, UnitMean, UnitStatistic, UnitSum
from stream_app.privacy.landmarks import NO_LANDMARKS, LandmarkSet
from stream_app.privacy.policy import Policy
from stream_app.privacy.protection import LandmarkLevel
from stream_app.privacy.units.readings import EMPTY, OpenUnit
from stream_app.privacy.units.steps import tallied
from stream_app.privacy.units.units import Units
from stream_app.privacy.values import RawCells
from stream_app.verify import neighbours
from stream_app.verify.steps import FIRST, MANY, last_landmarks

MOST_DIFFERING: Final = 32
"""Limit on the number of units that differ, because each run processes all their readings.

Across a step boundary, these are the middle units of a longer window.
"""
OTHERS: Final = 2
"""Units per step that are equal in both histories; a mean over only one unit hides faults in its number of units."""
MOST_LATE: Final = 8
"""Limit on the number of units registered as landmarks at once."""


class UnitCourse(NamedTuple):
    """The steps with readings, the units in which two neighbours differ, and the units that become landmarks."""

    name: str
    declared_nano: int
    steps: tuple[int, ...]
    differing: tuple[int, ...]
    registered: tuple[int, ...] = ()
    """The units that become landmarks, all in one step."""
    late: bool = False
    """Whether the units are registered after their step closed rather than before."""

    def landmarks(self, policy: Policy) -> LandmarkSet:
        """Return the landmarks that are known when the steps of the registered units close."""
        added = () if self.late else self.registered
        return policy.landmarks.union(LandmarkSet.of((unit, unit + 1) for unit in added))


def unit_pairs(policy: Policy) -> tuple[neighbours.Pair, ...]:
    """Return the pairs of a policy with units; the policy is in effect, with drawn dummies."""
    kind = policy.kind
    assert isinstance(kind, UnitStatistic), "the policy's steps have units"
    courses, ends = list(unit_courses(policy)), _ends(kind)
    found = [_pair(policy, course, ends) for course in courses]
    others = list(neighbours.invalid(kind.item))
    close = neighbours.one_cell_apart(kind.item) if isinstance(kind, UnitSum | UnitMean | ByBins) else None
    for name, other in [*([] if close is None else [("one cell apart", close)]), *others]:
        found.append(_pair(policy, courses[0]._replace(name=name), other, controlled=False))
    return tuple(found)


def unit_courses(policy: Policy) -> Iterator[UnitCourse]:
    """Yield the ways in which neighbours may differ.

    All steps except those of the landmarks come after the policy's landmarks.
    """
    units, epsilon_nano = _units(policy), policy.epsilon_nano
    per_step, window = units.per_step, units.window
    marked = tuple(unit for unit in last_landmarks(policy.landmarks) if unit >= 0)  # no reading is before the offset
    own = tuple(sorted({unit // per_step for unit in marked}))
    first = own[-1] + 1 if own else FIRST
    reach = -(-(min(window, MOST_DIFFERING) // 2) // per_step)  # steps before a border that a window across it meets

    def declared(differing: Sequence[int]) -> int:
        # Any w consecutive units lose epsilon at most, and fewer units lose their share of it.
        return min(epsilon_nano, -(-epsilon_nano * len(differing) // window))

    def course(name: str, differing: tuple[int, ...], *equal: int) -> UnitCourse:
        steps = {unit // per_step for unit in differing} | set(equal)
        return UnitCourse(name, declared(differing), tuple(sorted(steps)), differing)

    row = "one unit" if window == 1 else "units in a row"
    one, within = (first * per_step + per_step // 2,), tuple(_within(units, first))
    yield course("one unit", one)
    if window > 1:
        yield course("units in a row, across a step boundary", tuple(_across(units, first + reach)))
    many = range(first, first + MANY)
    yield course(f"{row} after many steps", tuple(_across(units, many.stop + reach)), *many)
    if marked:
        yield UnitCourse("landmark units", 0, own, marked)
        beside = course(f"landmark units and {row}", within, *own)
        yield beside._replace(differing=(*marked, *within))
    if isinstance(policy.protection, LandmarkLevel) and not policy.fixed:
        yield UnitCourse("a unit registered before its step ends", 0, (first,), one, one)
        late = tuple(range(first * per_step, first * per_step + min(per_step, MOST_LATE, max(1, policy.spare))))
        both = (*late, *_within(units, first + 1))
        yield UnitCourse("units registered late", epsilon_nano, (first, first + 1), both, late, late=True)


def _within(units: Units, step: int) -> range:
    """Return consecutive units that begin with a step's first unit and stay in that step."""
    start = step * units.per_step
    return range(start, start + min(units.window, units.per_step, MOST_DIFFERING))


def _across(units: Units, border: int) -> range:
    """Return consecutive units, half of them before the start of a step; a single unit is the step's first."""
    length = min(units.window, MOST_DIFFERING)
    start = border * units.per_step - length // 2
    return range(start, start + length)


def _ends(kind: UnitStatistic) -> neighbours.Extremes:
    """Return two values of a unit that change the statistic as much as any two values can."""
    if not isinstance(kind, Share):
        return neighbours.extremes(kind.item)
    axis = kind.item.axis
    outside = axis.low if axis.low < kind.start else axis.high
    return neighbours.extremes_of(kind.item, axis.double(outside), axis.double(max(kind.start, axis.low)))


def _pair(policy: Policy, course: UnitCourse, ends: neighbours.Extremes, *, controlled: bool = True) -> neighbours.Pair:
    one, other = (tuple(_happening(policy, course, ends, side)) for side in (0, 1))
    cells = _both(policy, course, ends, course.landmarks(policy))
    bare = _both(policy, course, ends, NO_LANDMARKS)
    differing = {nth for near, far in bare for nth in range(len(near)) if near[nth] != far[nth]}
    # For units that are left out, the cells they would have given show where to look for them.
    outputs = (
        neighbours.Output(f"release {nth}", both) for nth, both in enumerate(cells if course.declared_nano else bare, 1)
    )
    controlled = controlled and course.declared_nano > 0
    watched = tuple(sorted(differing)) or (0,)
    return neighbours.Pair(course.name, course.declared_nano, (one, other), tuple(outputs), watched, controlled)


def _happening(
    policy: Policy, course: UnitCourse, ends: neighbours.Extremes, side: int
) -> Iterator[neighbours.HistoryRecord]:
    """Yield the records of one history, in order; each step has a release if a unit counts."""
    units, grid = _units(policy), policy.grid
    add = [grid.start_of(unit) for unit in course.registered]
    registration = [neighbours.record_of({"type": "landmarks", "add": add}, needed=True)] if add else []
    for step in course.steps:
        own = registration if add and course.registered[0] // units.per_step == step else []
        for unit, held in _held(policy, course, ends, step, side).items():
            for nth in range(held.readings):
                value = ends.of(_which(course, unit, side))[0]
                yield neighbours.record_of({"timestamp": grid.start_of(unit) + nth, "value": value})
        yield from () if course.late else own
        yield neighbours.record_of({"type": "watermark", "timestamp": policy.start_of(step + 1)}, releases=1)
        yield from own if course.late else ()


def _both(
    policy: Policy, course: UnitCourse, ends: neighbours.Extremes, landmarks: LandmarkSet
) -> list[tuple[RawCells, RawCells]]:
    """Return the cells of each step in both histories."""
    kind, units = policy.kind, _units(policy)
    assert isinstance(kind, UnitStatistic), "the policy's steps have units"

    def cells(step: int, side: int) -> RawCells:
        held = _held(policy, course, ends, step, side)
        found = tallied(policy, landmarks, step, [held.get(unit, EMPTY) for unit in units.of_step(step)])
        return RawCells((0,) * kind.width) if found is None else found

    return [(cells(step, 0), cells(step, 1)) for step in course.steps]


def _held(policy: Policy, course: UnitCourse, ends: neighbours.Extremes, step: int, side: int) -> dict[int, OpenUnit]:
    """Return the units of a step that have a reading in one history, in order, each with its content."""
    units = _units(policy)
    own = units.of_step(step)
    differing = [unit for unit in course.differing if unit in own]
    free = (unit for unit in own if unit not in course.differing and unit not in policy.landmarks)
    held: dict[int, OpenUnit] = {}
    for unit in sorted([*differing, *islice(free, OTHERS)]):
        once, twice = _readings(units, ends.of(_which(course, unit, side))[1])
        held[unit] = twice if unit == course.differing[0] and _is_read_twice(policy, ends) else once
    return held


def _is_read_twice(policy: Policy, ends: neighbours.Extremes) -> bool:
    """Return whether, for both values, two readings 1 ms apart give the same cell as a single reading."""
    units, kind = _units(policy), policy.kind
    assert isinstance(kind, UnitStatistic), "the policy's steps have units"
    return units.unit_ms > 1 and all(
        once.cell(units, kind) == twice.cell(units, kind)
        for once, twice in (_readings(units, one) for one in ends.cells)
    )


def _readings(units: Units, cells: RawCells) -> tuple[OpenUnit, OpenUnit]:
    """Return a unit after one reading, and after a second reading of the same value."""
    once = EMPTY.joined(units, 0, cells[0])
    return once, once.joined(units, 1, cells[0])


def _which(course: UnitCourse, unit: int, side: int) -> int:
    """Return which of two values (0 or 1) a unit has in a history; 0 if the histories do not differ there."""
    return side if unit in course.differing else 0


def _units(policy: Policy) -> Units:
    assert policy.units is not None, "the policy's steps have units"
    return policy.units
