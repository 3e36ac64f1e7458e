"""The filter ``level``: a running level of each series, estimated from its noisy values alone.

This is free post-processing (Dwork and Roth 2014, proposition 2.1): the filter reads releases, never raw values.
Several models run side by side and differ in how fast the level may move (``q``); the model with the smallest running
cost is published. Bounded numbers use scalar Kalman updates with a heavy-tailed gain; categories use a Bayesian belief.
The code uses only + - * / and sqrt in a fixed order, so that all machines agree: do not reorder or factor.

The state is one flat tuple of doubles, empty before the first noisy value; a comment above each function gives its
layout.
"""

from collections.abc import Sequence
from fractions import Fraction

from stream_app.privacy.amounts import Real, cheapest, least, most, root
from stream_app.privacy.kinds import Category, Counts, Kind, Location, Number, Unfiltered, UnitMean, Vector
from stream_app.privacy.kinds.axis import Axis
from stream_app.privacy.kinds.sums import nearest
from stream_app.privacy.noise.mechanisms import truth_probability
from stream_app.privacy.values import ReleasedCells

LevelState = tuple[float, ...]
MOST_STEPS = 64
"""The number of steps without a noisy value after which the level's uncertainty stops growing."""
NUMBER_POWERS = (3, 2, 1, 0)
LOCATION_POWERS = (3, 2, 1, 0)
COUNTS_POWERS = (4, 3, 2, 1, 0)
SMALLEST_BELIEF = 0.001
INTEGERS = Axis(Fraction(1), 0, 0)


def measured(
    kind: Kind, state: LevelState, cells: ReleasedCells, spend_nano: int, elapsed: int
) -> tuple[LevelState, ReleasedCells]:
    """Return the state after a noisy value, and the estimate in cells, not clamped.

    ``elapsed`` is the number of steps since the last processed step of the period (0 for its first step).
    """
    k = least(elapsed, MOST_STEPS) * 1.0
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
        case UnitMean():
            return _mean_measured(kind, state, cells, spend_nano, k)
        case _:
            raise _unfiltered(kind)


def drifted(kind: Kind, state: LevelState, elapsed: int) -> LevelState:
    """Return the state after a step without a noisy value, in which the level may have moved."""
    if not state:
        return state
    k = least(elapsed, MOST_STEPS) * 1.0
    match kind:
        case Number():
            return tuple(number_drifted(kind, state, k))
        case UnitMean():
            return tuple(number_drifted(kind.item, state, k))
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
        case _:
            raise _unfiltered(kind)


def _unfiltered(_: Unfiltered) -> AssertionError:
    return AssertionError("a policy of this kind has no filter")


# Number: m, p, c for each model.
NUMBER_WIDTH = 3 * len(NUMBER_POWERS)


def _number_measured(
    kind: Number, state: LevelState, cells: ReleasedCells, spend_nano: int, k: float
) -> tuple[LevelState, ReleasedCells]:
    before = state or number_begun(kind)
    new, chosen = number_measured(kind, before, kind.axis.double(cells[0]), kind.scale(spend_nano), k)
    cell = kind.axis.within(chosen) if kind.clamped else kind.axis.nearest(chosen)
    return tuple(new), ReleasedCells((cell,))


def _mean_measured(
    kind: UnitMean, state: LevelState, cells: ReleasedCells, spend_nano: int, k: float
) -> tuple[LevelState, ReleasedCells]:
    before, number = state or number_begun(kind.item), cells[1]
    new, chosen = number_measured(kind.item, before, kind.publish(cells), kind.scale(spend_nano, number), k)
    # Expressed as a total over the same number of units, the estimate has the resolution of the noisy value.
    return tuple(new), ReleasedCells((nearest(kind.item, chosen, number), number))


def number_begun(kind: Number) -> LevelState:
    """Return the state of a number before its first noisy value."""
    w = kind.upper - kind.lower
    return ((kind.lower + kind.upper) / 2, w * w / 12, 0.0) * len(NUMBER_POWERS)


def number_measured(kind: Number, state: Sequence[Real], z: Real, b: Real, k: Real) -> tuple[list[Real], Real]:
    """Return the state after noisy value ``z``, and the estimate as a number.

    ``b`` is the noise scale, ``k`` the number of steps since the previous one.
    """
    w = kind.upper - kind.lower
    r = 2 * b * b
    new: list[Real] = []
    for n, j in enumerate(NUMBER_POWERS):
        m, p, c = state[3 * n : 3 * n + 3]
        p = least(p + w * w / 16 / 64**j * k, w * w / 12)
        d = z - m
        v = p + 1.25 * b * root(p)
        far = b * abs(d)
        gain = p / most(v, far)
        p = p - p * gain * (far <= v)  # an outlier, beyond v, says nothing about the level's precision
        m = m + gain * d
        h = 1 - gain
        c = c + (h * h * d * d / r + 2 * gain - 1)
        new += (m, p, c)
    return new, cheapest(new[2::3], new[::3])


def number_drifted(kind: Number, state: Sequence[Real], k: Real) -> list[Real]:
    """Return the state of a number after ``k`` steps without a noisy value."""
    w = kind.upper - kind.lower
    moved = [least(state[3 * n + 1] + w * w / 16 / 64**j * k, w * w / 12) for n, j in enumerate(NUMBER_POWERS)]
    return [moved[n // 3] if n % 3 == 1 else part for n, part in enumerate(state)]


# Location: x, y, p, c for each model, in metres on the plane.
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


# Counts: p of each model (equal for all cells), then x, c for each cell and model.
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


# Category: the belief in each category, then N of each category, then V.
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


# Vector: the state of each part, laid out as for a number.
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
    """Return the sum from left to right.

    Since Python 3.12 ``sum`` compensates for rounding, so it would give other results than 3.11.
    """
    total = 0.0
    for part in parts:
        total += part
    return total
