"""The loss function L of a transition matrix, as the convex envelope of its row pairs.

Each step takes one bisection. Applying L repeatedly gives what remains of a loss after timestamps that spend nothing.
One step along a vertex (D, S) is ``w -> (w + D) / S`` with ``w = 1 / expm1(alpha)``, so n steps are
``w S^-n + D (S^-n - 1) / (1 - S)``. The loss passes the vertices one after the other, so the cost grows with the number
of vertices passed, not with the number of steps.
"""

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from math import exp, expm1, floor, log, log1p

from stream_app.loss.hull import Vertex, crossing, hull_of
from stream_app.loss.matrix import TransitionMatrix

LARGE = 700.0  # above it ``expm1`` is near the largest double


@dataclass(frozen=True, slots=True)
class Envelope:
    """``L(alpha) = max log((Q x + 1) / (D x + 1))``, over all ordered row pairs and column sets.

    ``x`` is ``expm1(alpha)``. L says how much of a loss alpha at one timestamp remains at the next (Cao et al. 2017,
    equations 13 and 15). L never decreases, and 0 <= L(alpha) <= alpha. Without vertices, L is 0: timestamps are
    independent, or the adversary knows no correlation.
    """

    vertices: tuple[Vertex, ...] = ()  # from largest gain to smallest base: each applies from its break on
    breaks: tuple[float, ...] = ()  # ascending alphas from which on the next vertex applies; one fewer than vertices

    @classmethod
    def of(cls, matrix: TransitionMatrix | None) -> "Envelope":
        """Return the envelope of a matrix; None means no knowledge of correlation."""
        vertices = () if matrix is None else hull_of(matrix.rows)
        crossings = (crossing(first, second) for first, second in pairwise(vertices))
        return cls(vertices, tuple(log1p(1 / w) for w in crossings))

    def place(self, alpha: float) -> int:
        """Return the index of the vertex that gives L(alpha)."""
        return bisect_right(self.breaks, alpha)

    def carried(self, alpha: float) -> float:
        """Return L(alpha) for a finite alpha of at least 0, to a few units in the last place."""
        if not self.vertices:
            return 0.0
        base, gain = self.vertices[self.place(alpha)]
        if alpha <= LARGE:
            x = expm1(alpha)
            return min(alpha, log1p(gain * x / (base * x + 1)))
        if base == 0:
            return min(alpha, alpha + log(gain + (1 - gain) * exp(-alpha)))
        return log1p(gain / (base + exp(-alpha)))

    def accumulated(self, epsilons: Iterable[float]) -> list[float]:
        """Return each ``alpha = L(alpha) + epsilon`` in turn, from alpha = 0; `carried` is unrolled for speed."""
        found: list[float] = []
        add, breaks, carried = found.append, self.breaks, self.carried
        bases, gains = [vertex.base for vertex in self.vertices], [vertex.gain for vertex in self.vertices]
        if not gains:
            return [0.0 + epsilon for epsilon in epsilons]
        alpha = 0.0
        for epsilon in epsilons:
            if alpha <= LARGE:
                place, x = bisect_right(breaks, alpha), expm1(alpha)
                kept = log1p(gains[place] * x / (bases[place] * x + 1))
                alpha = (kept if kept < alpha else alpha) + epsilon  # noqa: FURB136 - `min` takes as long as the rest
            else:
                alpha = carried(alpha) + epsilon
            add(alpha)
        return found


INDEPENDENT = Envelope()  # of independent timestamps, and of an adversary who knows no correlation

_MOST = 1e300  # replaces an infinite number of steps, which has no floor; no series has more


def faded(envelope: Envelope, alpha: float, steps: int) -> float:
    """Return L applied ``steps`` >= 0 times to a finite alpha >= 0, at about the same cost for any number of steps."""
    if steps == 0 or alpha == 0:
        return alpha
    if steps == 1 or not envelope.vertices:
        return envelope.carried(alpha)
    place, left = envelope.place(alpha), steps
    logarithm = start = _logarithm(alpha)
    while left and place >= 0:
        vertex = envelope.vertices[place]
        along = left if place == 0 else min(left, _until(vertex, logarithm, _logarithm(envelope.breaks[place - 1])))
        logarithm = _moved(vertex, logarithm, along)
        left -= along
        place = min(envelope.place(_loss(logarithm)), place - 1)
    return alpha if logarithm == start else min(alpha, _loss(logarithm))


def _logarithm(alpha: float) -> float:
    return -log(expm1(alpha)) if alpha <= LARGE else -alpha


def _loss(logarithm: float) -> float:
    return log1p(exp(-logarithm)) if logarithm > 0 else log1p(exp(logarithm)) - logarithm


def _moved(vertex: Vertex, logarithm: float, steps: int) -> float:
    """Return ``log w`` after ``steps`` along a vertex, without overflow or cancellation."""
    base, gain = vertex.base, min(vertex.gain, 1.0)
    grown = -log(gain) * steps
    if base == 0:
        return logarithm + grown
    w = exp(min(logarithm, LARGE))
    if gain == 1:
        return log(w + steps * base)
    return grown + log(w - base * expm1(-grown) / (1 - gain))


def _until(vertex: Vertex, logarithm: float, end: float) -> int:
    """Return the number of steps along a vertex, at least one, after which ``log w`` is beyond ``end``."""
    base, gain = vertex.base, min(vertex.gain, 1.0)
    if base == 0:
        steps = (end - logarithm) / -log(gain) if gain < 1 else float("inf")
    else:
        w = exp(min(logarithm, LARGE))
        apart = exp(min(end, LARGE)) - w
        steps = (
            apart / base if gain == 1 else log1p(max(0.0, apart) * (1 - gain) / (w * (1 - gain) + base)) / -log(gain)
        )
    return 1 + floor(max(0.0, min(steps, _MOST)))
