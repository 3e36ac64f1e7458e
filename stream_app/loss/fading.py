"""The loss function applied many times over: what is left of a loss after timestamps that spend nothing.

With ``w = 1 / expm1(alpha)`` one step along a vertex (D, S) is ``w -> (w + D) / S``, so n of them are
``w S^-n + D (S^-n - 1) / (1 - S)``, and the loss falls through the vertices one after the other: the cost grows with
those that it passes, not with the timestamps.
"""

from math import exp, expm1, floor, log, log1p

from stream_app.loss.envelope import LARGE, Envelope
from stream_app.loss.hull import Vertex

_MOST = 1e300  # stands for an infinite number of steps, which has no floor: more than any series has


def faded(envelope: Envelope, alpha: float, steps: int) -> float:
    """Return L applied ``steps`` >= 0 times to a finite alpha >= 0, for any number of steps at about the same cost."""
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
    """Return ``log w``."""
    return -log(expm1(alpha)) if alpha <= LARGE else -alpha


def _loss(logarithm: float) -> float:
    """Return the alpha of ``log w``."""
    return log1p(exp(-logarithm)) if logarithm > 0 else log1p(exp(logarithm)) - logarithm


def _moved(vertex: Vertex, logarithm: float, steps: int) -> float:
    """Return ``log w`` after steps along a vertex; nothing of it overflows or cancels."""
    base, gain = vertex.base, min(vertex.gain, 1.0)
    grown = -log(gain) * steps
    if base == 0:
        return logarithm + grown
    w = exp(min(logarithm, LARGE))
    if gain == 1:
        return log(w + steps * base)
    return grown + log(w - base * expm1(-grown) / (1 - gain))


def _until(vertex: Vertex, logarithm: float, end: float) -> int:
    """Return after how many steps along a vertex, at least one, ``log w`` is beyond an end."""
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
