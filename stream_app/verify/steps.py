"""The steps that have events in a history under a policy, and those at which neighbours differ."""

from collections.abc import Iterator
from typing import NamedTuple, assert_never

from stream_app.privacy.guard import WindowLevel
from stream_app.privacy.landmarks import LandmarkSet
from stream_app.privacy.policy import Policy
from stream_app.privacy.protection import EventLevel, LandmarkLevel, UserLevel

MOST_LANDMARKS = 2
"""Maximum number of landmarks with an event in a history.

These are the last landmarks, to which the landmarks without an event leave their budget.
"""
MOST_OF_A_WINDOW = 4
MANY = 7
"""The number of steps before a step that differs, in the longest histories."""
FIRST = 1
"""The first step of histories that are not positioned by a landmark."""


class Step(NamedTuple):
    """A step with an event; `at` is its index."""

    at: int
    differs: bool = True
    turned: bool = False
    """Whether the two histories swap their values here."""
    registers: int | None = None
    """The index of a step that is registered as a landmark before this step is sent."""


class PairSteps(NamedTuple):
    """The steps at which two neighbours have events, and at which they differ."""

    name: str
    steps: tuple[Step, ...]

    @property
    def differing(self) -> int:
        """Return the number of steps at which the neighbours differ."""
        return sum(step.differs for step in self.steps)


def pair_steps(policy: Policy) -> Iterator[PairSteps]:
    """Yield the ways in which neighbours under the policy's level may differ.

    Each course has few events. In a window, only the first step and the last ones have events. The landmarks are those
    that the policy applies, including drawn ones.
    """
    protection = policy.protection
    match protection:
        case LandmarkLevel(landmarks=landmarks, window=window) if window > 1:
            yield from _beside_windows(landmarks, window, fixed=protection.fixed or policy.collect is not None)
        case LandmarkLevel(landmarks=landmarks):
            yield from _landmarks(landmarks, fixed=protection.fixed or policy.collect is not None)
        case EventLevel():
            yield _course("the first step", (), (FIRST,))
            yield _course("a step after two other steps", (FIRST, FIRST + 1), (FIRST + 2,))
            yield _course("a step after many steps", _many(FIRST), (FIRST + MANY,))
        case UserLevel(length=length):
            yield _course("all steps" if length <= MOST_LANDMARKS + 1 else "first and last steps", (), _ends(length))
            if length > MOST_LANDMARKS + 1:
                yield _course("the first steps", (), tuple(range(FIRST, FIRST + min(length, MANY + 1))))
        case WindowLevel(steps=steps):
            together = _window(FIRST, steps)
            yield _course("a window", (), together)
            # Values alternate, so that a private look compares a value with one like the other history's.
            turns = [Step(at + 1, turned=bool(nth % 2)) for nth, at in enumerate(together)]
            yield PairSteps("a window after a step, alternating", (Step(FIRST, differs=False), *turns))
            yield _course("a window after many steps", _many(FIRST), _window(FIRST + MANY, steps))
        case _:
            assert_never(protection)


def _landmarks(landmarks: LandmarkSet, *, fixed: bool) -> Iterator[PairSteps]:
    if not landmarks.intervals:
        yield _course("the first step", (), (FIRST,))
        yield _course("a step after two other steps", (FIRST, FIRST + 1), (FIRST + 2,))
        yield _course("a step after many steps", _many(FIRST), (FIRST + MANY,))
        if not fixed:
            yield PairSteps("a landmark registered in advance", (Step(FIRST), Step(FIRST + 1, registers=FIRST + 1)))
        return
    last = tuple(last_landmarks(landmarks))
    before, after = _regular(landmarks, last[0], -1), _regular(landmarks, last[-1], 1)
    if before is not None:
        yield _course("landmarks and a regular step before them", (), (before, *last))
    yield _course("landmarks and a regular step after them", (), (*last, after or last[-1] + 1))
    yield _among(landmarks, last)
    earlier = None if before is None else _regular(landmarks, before, -1)
    if before is not None and earlier is not None and not fixed:
        rest = tuple(Step(index) for index in last)
        yield PairSteps("a landmark registered in advance", (Step(earlier), Step(before, registers=before), *rest))
        yield PairSteps("a landmark registered late", (Step(earlier), Step(before, registers=earlier), *rest))


def _beside_windows(landmarks: LandmarkSet, window: int, *, fixed: bool) -> Iterator[PairSteps]:
    last = tuple(last_landmarks(landmarks))
    first = last[-1] + 1 if last else FIRST
    yield _course("landmarks and a window after them" if last else "a window", (), (*last, *_window(first, window)))
    yield _course("a window after a step", (first,), (*last, *_window(first + 1, window)))
    yield _course("a window after many steps", _many(first), (*last, *_window(first + MANY, window)))
    if last and last[0] >= window:
        yield _course("landmarks and a window before them", (), (*_window(last[0] - window, window), *last))
    if not fixed:
        rest = [Step(at) for at in _window(first + 1, window)]
        late = [Step(first), rest[0]._replace(registers=first), *rest[1:]]
        yield PairSteps("a landmark registered late", (*(Step(index) for index in last), *late))


def _among(landmarks: LandmarkSet, last: tuple[int, ...]) -> PairSteps:
    """Return landmarks and a regular step that differ, with equal steps before, between and after them."""
    before = _regular(landmarks, last[0], -1)
    equal, at = [] if before is None else [before], last[-1]
    for _ in range(MANY - 1 - len(last)):
        at = _regular(landmarks, at, 1) or at + 1
        equal.append(at)
    differing = _regular(landmarks, at, 1) or at + 1
    equal.append(_regular(landmarks, differing, 1) or differing + 1)
    return _course("landmarks and a step among equal steps", tuple(equal), (*last, differing))


def _many(first: int) -> tuple[int, ...]:
    """Return the equal steps before those that differ."""
    return tuple(range(first, first + MANY))


def _course(name: str, common: tuple[int, ...], differing: tuple[int, ...]) -> PairSteps:
    both = [Step(index, differs=False) for index in common] + [Step(index) for index in differing]
    return PairSteps(name, tuple(sorted(both)))


def last_landmarks(landmarks: LandmarkSet) -> list[int]:
    """Return the last landmarks, at most `MOST_LANDMARKS`, ascending."""
    found: list[int] = []
    for first, end in reversed(landmarks.intervals):
        for index in range(end - 1, first - 1, -1):
            found.append(index)
            if len(found) == MOST_LANDMARKS:
                return sorted(found)
    return sorted(found)


def _regular(landmarks: LandmarkSet, index: int, way: int) -> int | None:
    """Return the nearest step before (-1) or after (1) ``index`` that is not a landmark; None if there is none."""
    index += way
    while index in landmarks:
        first, end = next(interval for interval in landmarks.intervals if interval[0] <= index < interval[1])
        index = first - 1 if way < 0 else end
    return index if index >= 0 else None


def _ends(length: int) -> tuple[int, ...]:
    """Return the first and the last of ``length`` steps; the last steps get what the steps in between leave."""
    last = FIRST + length - 1
    return tuple(sorted({FIRST, max(FIRST, last - 1), last}))


def _window(first: int, steps: int) -> tuple[int, ...]:
    """Return the first step and the last steps of a window; some schemes save budget for the last steps."""
    end = first + steps
    return tuple(sorted({first, *range(max(first, end - MOST_OF_A_WINDOW + 1), end)}))
