"""Temporal loss under landmark privacy: for each timestamp t, the summed loss of all landmarks and t.

Katsomallos 2022 (thesis, section 4.1): for i in L u {t}, with i- and i+ the neighbours of i in that set, the backward
loss runs over (i-, i] and the forward loss over [i, i+). The result is an estimate. It is above the sum of all epsilons
if the releases between two landmarks count for both of them, and below the true loss if the states between two changed
timestamps would have to change too. The sum over all timestamps is a bound for any correlation within the series.

`shortened` computes the loss at the fixed end of a stretch of timestamps for all shorter lengths at once.

A longer stretch changes the innermost term of ``L(... L(L(0) + e_(n-1)) ...) + e_0``, so each length has its own
recurrence. The recurrences of all lengths of all stretches advance together, from the far end to the fixed end. From
some timestamp on, a length may use the same vertices as the whole stretch. It then takes no further steps: its result
is a function of its loss at that timestamp, and this function is computed once for the whole stretch (`shared_ways`).
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from math import exp, expm1, frexp, fsum, inf, ldexp, log1p
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_app.loss.envelope import LARGE, Envelope
from stream_app.loss.temporal import Adversary, checked

_SETTLED = 1 - 1e-14
"""Share of the whole stretch's loss at or above which a loss counts as equal to it.

Losses grow with a stretch's length, and rounding errors are of this size.
"""

_Floats = NDArray[np.float64]


class Stretch(NamedTuple):
    """Consecutive timestamps, starting at the fixed end."""

    epsilons: Sequence[float]
    whole: Sequence[float]  # the loss at each of them towards the fixed end if all of them exist


class Way(NamedTuple):
    """The way from a timestamp's loss to the loss at the fixed end, along the vertices of the whole stretch."""

    least: float  # the smallest loss there that stays on these vertices all the way
    above: tuple[float, float]
    below: tuple[float, float]
    power: int
    """``(above . (x, 1)) / (below . (x, 1)) * 2^power`` is x at the fixed end; x is ``expm1`` of the loss."""


def shortened(envelope: Envelope, stretches: Sequence[Stretch]) -> list[_Floats]:
    """Return each stretch's loss at its fixed end if only its first n timestamps exist, for 1 <= n < its length."""
    found = [np.full(len(stretch.whole) - 1, stretch.whole[0]) for stretch in stretches]
    if not envelope.vertices:
        return found
    facts = [_facts(envelope, stretch) for stretch in stretches]
    order = sorted(range(len(stretches)), key=lambda nth: -len(found[nth]))
    lengths = np.array([len(found[nth]) for nth in order])
    owner, length, loss = np.empty(0, np.intp), np.empty(0, np.intp), np.empty(0)
    for place in range(int(lengths.max(initial=0)) - 1, -1, -1):
        reaching = order[: int(np.count_nonzero(lengths > place))]
        here = np.array([facts[nth][place] for nth in reaching])
        epsilons = here[:, 0]
        owner = np.concatenate([owner, np.arange(len(reaching))])
        length = np.concatenate([length, np.full(len(reaching), place)])
        loss = np.concatenate([_carried(envelope, loss) + epsilons[owner[: len(loss)]], epsilons])
        mine = here[owner]
        shared = (loss >= mine[:, 2]) & (loss <= LARGE)
        if shared.any():
            ended = _along(loss[shared], mine[shared, 3:])
            for nth, index, value in zip(owner[shared], length[shared], ended, strict=True):
                found[order[nth]][index] = value
        open_ = ~shared & (loss < mine[:, 1])
        owner, length, loss = owner[open_], length[open_], loss[open_]
    for nth, index, value in zip(owner, length, loss, strict=True):
        found[order[nth]][index] = value
    return found


def shared_ways(envelope: Envelope, stretch: Stretch) -> list[Way]:
    """Return the way from each timestamp of a stretch except the last.

    With ``k = exp(-epsilon)`` and ``g = 1 - k``, a step is ``x -> ((S + D g) x + g) / (D k x + k)``. This step is
    linear fractional without negative coefficients, so steps compose as matrices and nothing cancels.
    """
    ways = [Way(0.0, (1.0, 0.0), (0.0, 1.0), 0)]
    for place in range(1, len(stretch.whole) - 1):
        least, above, below, power = ways[-1]
        epsilon, rests = stretch.epsilons[place - 1], envelope.place(stretch.whole[place])
        base, gain = envelope.vertices[rests]
        kept, grown = exp(-epsilon), -expm1(-epsilon)
        step = (gain + base * grown, grown, base * kept, kept)
        above, up = _product(above, step)
        below, down = _product(below, step)
        least = _before(base, gain, least - epsilon) if epsilon <= LARGE else inf  # `kept` may be 0 beyond
        if rests:
            least = max(least, envelope.breaks[rests - 1])
        ways.append(Way(least, above, below, power + up - down))
    return ways


def _before(base: float, gain: float, loss: float) -> float:
    """Return the loss that a vertex carries on as ``loss``, or infinity if no loss is large enough."""
    if loss <= 0:
        return 0.0
    x = expm1(min(loss, LARGE))
    left = gain - base * x
    return log1p(x / left) if left > 0 and loss <= LARGE else inf


def _product(row: tuple[float, float], step: tuple[float, float, float, float]) -> tuple[tuple[float, float], int]:
    """Return row times step, scaled so that the larger entry is in 0.5..1, and the power of 2 that was taken out."""
    first, second = row[0] * step[0] + row[1] * step[2], row[0] * step[1] + row[1] * step[3]
    power = frexp(max(first, second))[1]
    return (ldexp(first, -power), ldexp(second, -power)), power


def _facts(envelope: Envelope, stretch: Stretch) -> _Floats:
    """Return a row for each timestamp except the last: epsilon, the smallest loss that is settled, and the way."""
    steps = zip(stretch.epsilons, stretch.whole, shared_ways(envelope, stretch), strict=False)
    rows = [(one, whole * _SETTLED, way.least, *way.above, *way.below, way.power) for one, whole, way in steps]
    return np.array(rows)


def _along(loss: _Floats, way: _Floats) -> _Floats:
    """Return the losses at the fixed end of each way."""
    x, one = -np.expm1(-loss), np.exp(-loss)  # (x, 1) divided by exp(loss)
    with np.errstate(divide="ignore"):  # a loss of 0 has logarithm -infinity
        logarithm = np.log(way[:, 0] * x + way[:, 1] * one) - np.log(way[:, 2] * x + way[:, 3] * one)
    found: _Floats = np.logaddexp(0.0, logarithm + way[:, 4] * np.log(2.0))
    return found


def _carried(envelope: Envelope, losses: _Floats) -> _Floats:
    """Return L of each loss, like `Envelope.carried`."""
    place = np.searchsorted(envelope.breaks, losses, side="right")
    vertices = np.array(envelope.vertices)[place]
    base, gain = vertices[:, 0], vertices[:, 1]
    x = np.expm1(np.minimum(losses, LARGE))
    found: _Floats = np.minimum(losses, np.log1p(gain * x / (base * x + 1)))
    for index in np.flatnonzero(losses > LARGE):
        found[index] = envelope.carried(float(losses[index]))
    return found


class LandmarkError(ValueError):
    """A landmark that is not a timestamp of the series."""


def landmark_losses(adversary: Adversary, epsilons: Sequence[float], landmarks: Iterable[int]) -> tuple[float, ...]:
    """Return the estimate for every timestamp; without landmarks, this is the temporal loss.

    ``landmarks`` are indices into ``epsilons``, in any order, possibly repeated. Raises `EpsilonError`, and
    `LandmarkError` for an index that is not a timestamp.
    """
    checked(epsilons)
    places, last = sorted(set(landmarks)), len(epsilons) - 1
    for place in places:
        if not 0 <= place <= last:
            raise LandmarkError(f"landmark {place}: there are {last + 1} epsilons; use indices 0 to {last}")
    if not places:
        return adversary.temporal_loss(epsilons).total
    losses = -np.array(epsilons, dtype=np.float64)
    together = -fsum(epsilons[place] for place in places)  # the landmarks' losses without any other timestamp
    after: list[tuple[int, Stretch]] = []  # from each landmark to the next
    before: list[tuple[int, Stretch]] = []  # from each landmark back to the previous one
    for left, right in pairwise((-1, *places, len(epsilons))):
        between = slice(left + 1, right)
        towards = epsilons[left + 1 : right + 1]
        backward = adversary.backward.accumulated(towards)
        losses[between] += backward[: right - left - 1]
        if right < len(epsilons):
            together += backward[-1]
            before.append((right, Stretch(towards[::-1], backward[::-1])))
        onwards = epsilons[max(left, 0) : right]
        forward = adversary.forward.accumulated(onwards[::-1])[::-1]
        losses[between] += forward[left >= 0 :]
        if left >= 0:
            together += forward[0]
            after.append((left, Stretch(onwards, forward)))
    # An added timestamp shortens the stretches of its two neighbouring landmarks that run towards it.
    for (place, stretch), short in zip(after, shortened(adversary.forward, [one for _, one in after]), strict=True):
        losses[place + 1 : place + 1 + len(short)] += short - stretch.whole[0]
    for (place, stretch), short in zip(before, shortened(adversary.backward, [one for _, one in before]), strict=True):
        losses[place - len(short) : place] += short[::-1] - stretch.whole[0]
    losses += together
    losses[places] = together
    return tuple(losses.tolist())
