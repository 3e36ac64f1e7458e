"""Events for the filter: measurements, gaps and approximated steps, through the real fold and the literal filter."""

from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from stream_app.privacy import fold
from stream_app.privacy.policy import Policy, policy_of
from stream_app.privacy.reason import Rejection
from stream_app.privacy.state import State
from stream_app.privacy.values import ReleasedCells
from tests.privacy.literal_level import LiteralCategory, LiteralCounts, LiteralLocation, LiteralNumber

NANO = 10**9
Literal = LiteralNumber | LiteralLocation | LiteralCounts | LiteralCategory


class Subject(NamedTuple):
    """A value under the filter, and what the literal filter needs to know about it."""

    value: dict[str, object]
    literal: Literal
    unit: str  # of a cell: resolution, metres of the lattice, 1
    scale: Fraction  # of the noise at epsilon 1, in the value's unit
    reach: int  # cells that measurements wander over


def number(lower: float, upper: float, resolution: str) -> Subject:
    """Return a number under the filter."""
    value = {"kind": "number", "lower": lower, "upper": upper, "resolution": float(resolution), "clamp": False}
    unit = Fraction(resolution)
    low, high = -((-Fraction(repr(lower))) // unit), Fraction(repr(upper)) // unit
    return Subject(value, LiteralNumber(lower, upper, resolution), resolution, (high - low) * unit, int(high - low))


def location(radius: float, resolution: str) -> Subject:
    """Return a location under the filter."""
    bounds = {"south": -11.1, "west": -37.2, "north": -10.8, "east": -37.0}
    value = {"kind": "location", "radius": radius, "resolution": float(resolution), "bounds": bounds, "clamp": False}
    return Subject(value, LiteralLocation(radius, resolution), resolution, Fraction(repr(radius)), 4000)


def counts(keys: int, sensitivity: int) -> Subject:
    """Return counts under the filter."""
    names = [f"k{number}" for number in range(keys)]
    value = {"kind": "counts", "keys": names, "sensitivity": sensitivity, "clamp": False}
    return Subject(value, LiteralCounts(keys, sensitivity), "1", Fraction(sensitivity), 1000)


def category(k: int) -> Subject:
    """Return a category under the filter."""
    value: dict[str, object] = {"kind": "category", "categories": [f"c{number}" for number in range(k)]}
    return Subject(value, LiteralCategory(k), "1", Fraction(1), k)


class Event(NamedTuple):
    """One decided step of both filters."""

    estimate: list[int]  # of the program; empty when the step was approximated
    expected: list[int]
    state: list[float]
    expected_state: list[float]


def begin(subject: Subject) -> tuple[Policy, State]:
    """Return a policy with the filter on the subject and the state before its first event."""
    parameters = {
        "epsilon": 1_000_000.0,
        "protection": {"level": "event"},
        "scheme": {"name": "uniform"},
        "filter": "level",
        "value": subject.value,
    }
    policy = policy_of(parameters, 1)
    adopted = fold.adopt(policy, None, None, None)
    assert not isinstance(adopted, Rejection)
    return policy, adopted.state


def run(subject: Subject, number: int, seed: int) -> Iterator[Event]:
    """Yield that many events: levels that wander and jump, spends over nine decades, gaps up to 200 steps."""
    generator = np.random.default_rng(seed)
    policy, state = begin(subject)
    width, unit = policy.kind.width, Fraction(subject.unit)
    cells_at_one = float(subject.scale / unit) * NANO
    gaps = generator.choice([1, 1, 1, 1, 2, 3, 65, 200], number).tolist()
    spends = (10 ** generator.uniform(4, 10, number)).astype(int).tolist()
    silent = (generator.random(number) < 0.25).tolist()
    moves = generator.normal(0, subject.reach / 300, (number, width))
    moves += (generator.random((number, 1)) < 0.02) * generator.normal(0, subject.reach, (number, width))
    levels = np.cumsum(moves, axis=0).tolist()
    noises = generator.laplace(0, 1, (number, width)).tolist()
    step = 5
    for gap, spend_nano, approximated, level, noise in zip(gaps, spends, silent, levels, noises, strict=True):
        step += gap
        elapsed = step - state.clock.last_step if state.clock.last_step >= 0 else 0
        if approximated:
            state = fold.advance(policy, state, step, (False, 0), state.guard, None, 0).state
            subject.literal.approximated(elapsed)
            yield Event([], [], list(state.latest.level), subject.literal.numbers)
            continue
        cells = [int(at + part * cells_at_one / spend_nano) for at, part in zip(level, noise, strict=True)]
        if isinstance(subject.literal, LiteralCategory):
            cells = [int(level[0]) % subject.literal.k]
        stepped = fold.advance(policy, state, step, (False, 0), state.guard, ReleasedCells(tuple(cells)), spend_nano)
        state = stepped.state
        assert stepped.decision == "perturbed"
        expected = _literal(subject, unit, cells, spend_nano, elapsed)
        yield Event(list(state.latest.estimate), expected, list(state.latest.level), subject.literal.numbers)


def _literal(subject: Subject, unit: Fraction, cells: list[int], spend_nano: int, elapsed: int) -> list[int]:
    """Return the literal filter's estimate; its inputs are exact and rounded once."""
    z = [cell * unit.numerator / unit.denominator for cell in cells]
    b = subject.scale.numerator * NANO / (subject.scale.denominator * spend_nano)
    match subject.literal:
        case LiteralNumber():
            return subject.literal.measured(z[0], b, elapsed)
        case LiteralLocation():
            return subject.literal.measured(z[0], z[1], b, elapsed)
        case LiteralCounts():
            return subject.literal.measured(cells, b, elapsed)
        case LiteralCategory():
            return subject.literal.measured(cells[0], Fraction(spend_nano, NANO), elapsed)
