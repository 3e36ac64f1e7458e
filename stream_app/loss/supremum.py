"""The least upper bound of a loss that gains the same epsilon at every timestamp, for ever.

It is the fixed point of ``alpha = L(alpha) + epsilon``. A vertex (D, S) alone has one, a root of
``D x^2 + (1 - S - (S + D) m) x - m = 0`` with ``x = expm1(alpha)`` and ``m = expm1(epsilon)``; L is the largest of all
vertices, so its fixed point is the largest of theirs (Cao et al. 2017, theorem 5).
"""

from math import exp, expm1, hypot, log, log1p, sqrt

from stream_app.loss.envelope import LARGE, Envelope
from stream_app.loss.hull import Vertex


def supremum(envelope: Envelope, epsilon: float) -> float | None:
    """Return the supremum of the loss at a constant ``epsilon`` >= 0, or None when the loss grows without bound."""
    if epsilon == 0:
        return 0.0
    found = epsilon
    for vertex in envelope.vertices:
        own = _fixed_point(vertex, epsilon)
        if own is None:
            return None
        found = max(found, own)
    return found


def _fixed_point(vertex: Vertex, epsilon: float) -> float | None:
    base, gain = vertex
    if epsilon > LARGE:
        # The loss is so large that only its limit log((S + D) / D) is handed on.
        return None if base == 0 else epsilon + log1p(gain / (base + exp(-epsilon)))
    grown = expm1(epsilon)
    linear = (1 - gain) - (gain + base) * grown
    if base == 0:
        return log1p(grown / linear) if linear > 0 else None
    # Both forms of the root, so that nothing cancels.
    reach = hypot(linear, 2 * sqrt(base) * sqrt(grown))
    if linear >= 0:
        return log1p(2 * grown / (linear + reach))
    root = (reach - linear) / (2 * base)
    return log1p(root) if root < float("inf") else log(reach - linear) - log(2 * base)
