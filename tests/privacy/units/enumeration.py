"""Every small history of two steps of units, through the real fold, and neighbours' largest loss.

A course is public: which units have a reading, which are landmarks from the start, and which are registered after the
first step and after the second. The search drives the fold through it and keeps what each step spent. Then it takes
every two histories of that course that differ in landmarks and in any w consecutive units. The loss of a step that
spends e and whose cells are a apart is e*a/s, the exact exponent of the largest likelihood ratio under discrete Laplace
noise of rate e/s. Here a comes from the real tally, and s is the statistic's sensitivity. Steps do not depend on each
other, so the largest sum of both is the sum of the largest of each.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import product
from typing import NamedTuple

from stream_app.privacy import fold
from stream_app.privacy.guard import Guard
from stream_app.privacy.kinds import UnitStatistic
from stream_app.privacy.landmarks import LandmarkSet
from stream_app.privacy.policy import Policy
from stream_app.privacy.state import State
from stream_app.privacy.units.steps import decide_units, tallied
from tests.privacy.moved import begun
from tests.privacy.units.made import policy, units
from tests.run import KEYS

CELLS = (0, 1, 2)
STEPS = 2
Bits = int
"""Units as the bits of a number, with the first unit lowest."""


class Rules(NamedTuple):
    """The rules shown to be needed; the defaults are the program's."""

    noise: Callable[[UnitStatistic, int], Fraction] = lambda kind, _number: Fraction(kind.sensitivity)
    """The sensitivity that a step's noise assumes for that many units."""
    omits: bool = True
    """Whether landmarks are left out of what a step counts."""
    guard: type[Guard] = Guard
    """What registrations meet."""


class Walked(NamedTuple):
    """The public results of a course; units are bits, those of the first step lowest."""

    present: Bits
    left_out: tuple[Bits, ...]  # landmarks of each step as it was decided, its first unit lowest
    landmarks: Bits  # at the end
    spends_nano: tuple[int, ...]


def ones(bits: Bits) -> list[int]:
    """Return the positions of a number's one bits."""
    return [place for place in range(bits.bit_length()) if bits >> place & 1]


def set_of(bits: Bits) -> LandmarkSet:
    """Return units as a set."""
    return LandmarkSet.of((place, place + 1) for place in ones(bits))


def subsets(bits: Bits) -> Iterator[Bits]:
    """Yield every selection of units from the given ones."""
    chosen = bits
    while chosen:
        yield chosen
        chosen = chosen - 1 & bits
    yield 0


def walks(ruling: Policy, guard: type[Guard], state: State, found: Walked, added: Bits = 0) -> Iterator[Walked]:
    """Drive the fold on from units that become landmarks: every course with this start, and its results.

    A registration is checked by ``guard``; a refused one changes nothing.
    """
    assert ruling.units is not None
    step, per_step = len(found.spends_nano), ruling.units.per_step
    if added:
        state = replace(state, guard=guard(*state.guard))
        moved = fold.register(ruling, state, [ruling.grid.start_of(unit) for unit in ones(added)])
        if isinstance(moved, fold.StateChange):
            state, found = moved.state, found._replace(landmarks=found.landmarks | added)
    if step == STEPS:
        yield found
        return
    left_out = found.landmarks >> step * per_step & (1 << per_step) - 1
    read = [0 if found.present >> step * per_step + place & 1 else None for place in range(per_step)]
    stepped = decide_units(KEYS, ruling, state, "a", step, units(read))
    spend_nano = 0 if stepped is None else stepped.spend_nano
    state = state if stepped is None else stepped.state
    decided = found._replace(left_out=(*found.left_out, left_out), spends_nano=(*found.spends_nano, spend_nano))
    for later in subsets(~found.landmarks & (1 << STEPS * per_step) - 1):
        yield from walks(ruling, guard, state, decided, later)


@cache
def farthest(statistic: str, per_step: int, step: int, present: Bits, left_out: Bits) -> dict[Bits, tuple[int, int]]:
    """Return by differing units (bits) the largest L1 distance of a step's histories and how many units count.

    The figure for a set of units holds for all histories that differ within it.
    """
    ruling = policy(statistic, per_step=per_step)
    landmarks = LandmarkSet.of((place + step * per_step, place + step * per_step + 1) for place in ones(left_out))
    read = [CELLS if present >> place & 1 else (None,) for place in range(per_step)]
    histories: dict[tuple[int | None, ...], Sequence[int]] = {}
    for cells in product(*read):
        found = tallied(ruling, landmarks, step, units(cells))
        histories[cells] = () if found is None else found
    number = (present & ~left_out).bit_count()
    apart: dict[Bits, int] = dict.fromkeys(range(1 << per_step), 0)
    for one, mine in histories.items():
        for other, theirs in histories.items():
            differs = sum((a != b) << place for place, (a, b) in enumerate(zip(one, other, strict=True)))
            change = sum(abs(a - b) for a, b in zip(mine, theirs, strict=True))
            apart[differs] = max(apart[differs], change)
    for place in range(per_step):  # histories that may differ in more units may differ in fewer
        for bits, change in tuple(apart.items()):
            if bits >> place & 1:
                apart[bits] = max(change, apart[bits & ~(1 << place)])
    return {bits: (change, number) for bits, change in apart.items()}


def loss(statistic: str, ruling: Policy, found: Walked, rules: Rules) -> Fraction:
    """Return the largest loss between two neighbouring histories of a course, in nano-epsilon."""
    kind = ruling.kind
    assert isinstance(kind, UnitStatistic)
    assert ruling.units is not None
    per_step, window = ruling.units.per_step, ruling.units.window
    whole = (1 << per_step) - 1
    tables = []
    for step, spend in enumerate(found.spends_nano):
        left_out = found.left_out[step] if rules.omits else 0
        present = found.present >> step * per_step & whole
        tables.append((spend, farthest(statistic, per_step, step, present, left_out)))
    largest = Fraction(0)
    for first in range(STEPS * per_step):
        differ = found.landmarks | ((1 << window) - 1) << first
        lost = Fraction(0)
        for step, (spend, apart) in enumerate(tables):
            change, number = apart[differ >> step * per_step & whole]
            lost += spend * change / rules.noise(kind, number) if spend * change else 0
        largest = max(largest, lost)
    return largest


def largest_loss(
    statistic: str, per_step: int, window: int, spare: int, presences: Iterable[Bits], rules: Rules | None = None
) -> Fraction:
    """Return the largest loss over all courses, in shares of the budget.

    Each unit is a landmark from the start, registered after either step, or never.
    """
    rules = rules or Rules()
    ruling = policy(statistic, per_step=per_step, window=window, spare=spare)
    begin = begun(ruling)
    met: set[Walked] = set()
    for present, landmarks in product(presences, range(1 << STEPS * per_step)):
        state = replace(begin, promise=replace(begin.promise, landmarks=set_of(landmarks)))
        met.update(walks(ruling, rules.guard, state, Walked(present, (), landmarks, ())))
    return max(loss(statistic, ruling, found, rules) for found in met) / ruling.epsilon_nano


def every_presence(per_step: int) -> range:
    """Return every selection of units that have a reading."""
    return range(1 << STEPS * per_step)


def whole_presence(per_step: int) -> tuple[Bits, ...]:
    """Return the choices in which each step has readings in all of its units or in none: no others lose more."""
    whole = (1 << per_step) - 1
    return (0, whole, whole << per_step, whole | whole << per_step)
