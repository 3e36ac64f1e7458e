"""The filter ``level``: a running level of each series, estimated from its measurements alone.

Free post-processing (Dwork and Roth 2014, proposition 2.1): it reads releases, never raw values. Several models run
side by side, which differ in how fast the level may move (``q``); the one with the smallest running cost is published.
Scalar Kalman updates with a heavy-tailed gain for bounded numbers; a Bayesian belief for categories. Only + - * / and
sqrt in a fixed order, so all machines agree: do not reorder or factor. Columns of many series (`.._each`) take the same
operations in the same order, element by element, and agree as well.

The state is one flat tuple of doubles, empty before the first measurement; its layout stands above each function.
"""

from fractions import Fraction
from math import sqrt
from typing import assert_never

import numpy as np
import numpy.typing as npt

from stream_app.privacy.kinds import Category, Choice, Counts, HiddenMean, Kind, Location, Mean, Number, Sum, Vector
from stream_app.privacy.kinds.axis import Axis
from stream_app.privacy.noise.mechanisms import truth_probability
from stream_app.privacy.values import ReleasedCells

LevelState = tuple[float, ...]
MOST_STEPS = 64
"""Steps without measurement after which the level grows no more uncertain."""
NUMBER_POWERS = (3, 2, 1, 0)
LOCATION_POWERS = (3, 2, 1, 0)
COUNTS_POWERS = (4, 3, 2, 1, 0)
SMALLEST_BELIEF = 0.001
UNFILTERED = "a policy of this kind has no filter"
INTEGERS = Axis(Fraction(1), 0, 0)


def measured(
    kind: Kind, state: LevelState, cells: ReleasedCells, spend_nano: int, elapsed: int
) -> tuple[LevelState, ReleasedCells]:
    """Return the state after a measurement and the estimate, in cells, not clamped.

    ``elapsed`` is the steps since the last decided step of the period (0 for its first).
    """
    k = float(min(elapsed, MOST_STEPS))
    match kind:
        case Number():
            return _number_measured(kind, state, cells, spend_nano, k)
        case Location():
            return _location_measured(kind, state, cells, spend_nano, k)
        case Counts():
            return _counts_measured(kind, state, cells, spend_nano, k)
        case Category():
            return _category_measured(kind, state, cells, spend_nano)
        case Vector():
            return _vector_measured(kind, state, cells, spend_nano, k)
        case Sum() | Mean() | HiddenMean() | Choice():
            raise AssertionError(UNFILTERED)
        case _:
            assert_never(kind)


def drifted(kind: Kind, state: LevelState, elapsed: int) -> LevelState:
    """Return the state after a step without measurement: the level may have moved."""
    if not state:
        return state
    k = float(min(elapsed, MOST_STEPS))
    match kind:
        case Number():
            w = kind.upper - kind.lower
            most = w * w / 12
            moved = [min(state[3 * n + 1] + w * w / 16 / 64**j * k, most) for n, j in enumerate(NUMBER_POWERS)]
            return tuple(moved[n // 3] if n % 3 == 1 else part for n, part in enumerate(state))
        case Location():
            radius = kind.radius.numerator / kind.radius.denominator
            wide = [state[4 * n + 2] + 256 * radius * radius / 64**j * k for n, j in enumerate(LOCATION_POWERS)]
            return tuple(wide[n // 4] if n % 4 == 2 else part for n, part in enumerate(state))
        case Counts():
            s = kind.sensitivity
            spread = tuple(state[n] + 2**22 * s**2 / 64**j * k for n, j in enumerate(COUNTS_POWERS))
            return spread + state[len(COUNTS_POWERS) :]
        case Category():
            return state
        case Vector():
            places = zip(kind.parts, range(0, len(state), NUMBER_WIDTH), strict=True)
            return tuple(m for part, at in places for m in drifted(part, state[at : at + NUMBER_WIDTH], elapsed))
        case Sum() | Mean() | HiddenMean() | Choice():
            raise AssertionError(UNFILTERED)
        case _:
            assert_never(kind)


# Number: m, p, c for each model.
def _number_measured(
    kind: Number, state: LevelState, cells: ReleasedCells, spend_nano: int, k: float
) -> tuple[LevelState, ReleasedCells]:
    w = kind.upper - kind.lower
    most = w * w / 12
    if not state:
        state = ((kind.lower + kind.upper) / 2, most, 0.0) * len(NUMBER_POWERS)
    z = kind.axis.double(cells[0])
    b = kind.scale(spend_nano)
    r = 2 * b * b
    new: list[float] = []
    best = chosen = 0.0
    for n, j in enumerate(NUMBER_POWERS):
        m, p, c = state[3 * n : 3 * n + 3]
        p = p + w * w / 16 / 64**j * k
        p = min(p, most)
        d = z - m
        v = p + 1.25 * b * sqrt(p)
        if b * abs(d) > v:
            gain = p / (b * abs(d))  # an outlier, which tells nothing of how well the level is known: p stays
        else:
            gain = p / v
            p = p - p * gain
        m = m + gain * d
        h = 1 - gain
        c = c + (h * h * d * d / r + 2 * gain - 1)
        if n == 0 or c < best:
            best, chosen = c, m
        new += (m, p, c)
    return tuple(new), ReleasedCells((kind.axis.nearest(chosen),))


Levels = npt.NDArray[np.float64]
"""The states of many series, a row each, or figures of them."""
Steps = npt.NDArray[np.int64]
NUMBER_WIDTH = 3 * len(NUMBER_POWERS)


def number_measured_each(
    kind: Number, levels: Levels, began: npt.NDArray[np.bool_], numbers: Levels, scales: Levels, elapsed: Steps
) -> tuple[Levels, Levels]:
    """Return `measured` of many numbers: the states after it, and the estimates as numbers, not yet of cells.

    ``began`` says which series have a state, ``elapsed`` is as for `measured`. The same operations in the same order,
    so the same doubles.
    """
    w = kind.upper - kind.lower
    most = w * w / 12
    k, b = np.minimum(elapsed, MOST_STEPS).astype(np.float64), scales
    fresh = np.array(((kind.lower + kind.upper) / 2, most, 0.0) * len(NUMBER_POWERS))
    new = np.where(began[:, None], levels, fresh)
    r = 2 * b * b
    best = chosen = np.zeros(len(numbers))
    for n, j in enumerate(NUMBER_POWERS):
        m, p, c = new[:, 3 * n], new[:, 3 * n + 1], new[:, 3 * n + 2]
        p = np.minimum(p + w * w / 16 / 64**j * k, most)
        d = numbers - m
        v = p + 1.25 * b * np.sqrt(p)
        far = b * np.abs(d)
        outlier = far > v
        gain = p / np.where(outlier, far, v)
        p = np.where(outlier, p, p - p * gain)
        m = m + gain * d
        h = 1 - gain
        c = c + (h * h * d * d / r + 2 * gain - 1)
        better = c < best if n else np.ones(len(c), np.bool_)
        best, chosen = np.where(better, c, best), np.where(better, m, chosen)
        new[:, 3 * n], new[:, 3 * n + 1], new[:, 3 * n + 2] = m, p, c
    return new, chosen


def number_drifted_each(kind: Number, levels: Levels, elapsed: Steps) -> Levels:
    """Return `drifted` of many numbers, whose series have a state."""
    w = kind.upper - kind.lower
    k, new = np.minimum(elapsed, MOST_STEPS).astype(np.float64), levels.copy()
    for n, j in enumerate(NUMBER_POWERS):
        new[:, 3 * n + 1] = np.minimum(new[:, 3 * n + 1] + w * w / 16 / 64**j * k, w * w / 12)
    return new


# Location: x, y, p, c for each model, metres on the plane.
def _location_measured(
    kind: Location, state: LevelState, cells: ReleasedCells, spend_nano: int, k: float
) -> tuple[LevelState, ReleasedCells]:
    zx, zy = kind.plane.double(cells[0]), kind.plane.double(cells[1])
    b = kind.scale(spend_nano)
    r = 3 * b * b
    if not state:
        return (zx, zy, r, 0.0) * len(LOCATION_POWERS), cells
    radius = kind.radius.numerator / kind.radius.denominator
    new: list[float] = []
    best = chosen_x = chosen_y = 0.0
    for n, j in enumerate(LOCATION_POWERS):
        x, y, p, c = state[4 * n : 4 * n + 4]
        p = p + 256 * radius * radius / 64**j * k
        gain = p / (p + r)
        h = 1 - gain
        dx, dy = zx - x, zy - y
        x = x + gain * dx
        y = y + gain * dy
        p = p * h
        c = c + (h * h * (dx * dx + dy * dy) / (2 * r) + 2 * gain - 1)
        if n == 0 or c < best:
            best, chosen_x, chosen_y = c, x, y
        new += (x, y, p, c)
    return tuple(new), ReleasedCells((kind.plane.nearest(chosen_x), kind.plane.nearest(chosen_y)))


# Counts: p of every model (equal for all cells), then x, c for each cell and model.
def _counts_measured(
    kind: Counts, state: LevelState, cells: ReleasedCells, spend_nano: int, k: float
) -> tuple[LevelState, ReleasedCells]:
    models = len(COUNTS_POWERS)
    b = kind.scale(spend_nano)
    r = 2 * b * b
    if not state:
        levels = (part for z in list(cells) for part in (float(z), 0.0) * models)
        return (r,) * models + tuple(levels), cells
    s = kind.sensitivity
    gains: list[float] = []
    new: list[float] = []
    for n, j in enumerate(COUNTS_POWERS):
        p = state[n] + 2**22 * s**2 / 64**j * k
        gain = p / (p + r)
        gains.append(gain)
        new.append(p * (1 - gain))
    estimates: list[int] = []
    for cell, z in enumerate(list(cells)):
        best = chosen = 0.0
        for n, gain in enumerate(gains):
            at = models + 2 * (cell * models + n)
            x, c = state[at : at + 2]
            h = 1 - gain
            d = z - x
            x = x + gain * d
            c = c + (h * h * d * d / r + 2 * gain - 1)
            if n == 0 or c < best:
                best, chosen = c, x
            new += (x, c)
        estimates.append(INTEGERS.nearest(chosen))
    return tuple(new), ReleasedCells(tuple(estimates))


# Category: belief of each category, then N of each, then V.
def _category_measured(
    kind: Category, state: LevelState, cells: ReleasedCells, spend_nano: int
) -> tuple[LevelState, ReleasedCells]:
    k = len(kind.categories)
    if not state:
        state = (1 / k,) * k + (0.0,) * (k + 1)
    belief, seen, v = state[:k], state[k : 2 * k], state[2 * k]
    t = truth_probability(spend_nano, k)
    f = (1 - t) / (k - 1)
    prior = [max(SMALLEST_BELIEF, (n + 2 / k) / (v + 2)) for n in seen]
    total = _total(prior)
    posterior = [
        (0.5 * old + 0.5 * (share / total)) * (t if j == cells[0] else f)
        for j, (old, share) in enumerate(zip(belief, prior, strict=True))
    ]
    total = _total(posterior)
    posterior = [part / total for part in posterior]
    chosen = posterior.index(max(posterior))
    seen = tuple(n + (t - f) * ((1.0 if j == cells[0] else 0.0) - f) for j, n in enumerate(seen))
    return (*posterior, *seen, v + (t - f) * (t - f)), ReleasedCells((chosen,))


# Vector: the state of each part, as of a number.
def _vector_measured(
    kind: Vector, state: LevelState, cells: ReleasedCells, spend_nano: int, k: float
) -> tuple[LevelState, ReleasedCells]:
    states: list[float] = []
    estimates: list[int] = []
    for nth, (part, cell) in enumerate(zip(kind.parts, list(cells), strict=True)):
        of = state[nth * NUMBER_WIDTH : (nth + 1) * NUMBER_WIDTH]
        new, (estimate,) = _number_measured(part, of, ReleasedCells((cell,)), spend_nano, k)
        states += new
        estimates.append(estimate)
    return tuple(states), ReleasedCells(tuple(estimates))


def _total(parts: list[float]) -> float:
    """Return the sum from left to right: since Python 3.12 ``sum`` compensates, and would not agree with 3.11."""
    total = 0.0
    for part in parts:
        total += part
    return total
