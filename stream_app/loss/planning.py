"""Epsilons that keep temporal loss below a bound: what a publisher can spend, computed before there is any data.

Cao et al. 2017, section V. Their two algorithms search for the same equilibrium, which the suprema give directly.

The supremum is that of a loss that gains the same epsilon at every timestamp, for ever. It is the fixed point of
``alpha = L(alpha) + epsilon``. A single vertex (D, S) has one such point, a root of ``D x^2 + (1 - S - (S + D) m) x - m
= 0`` with ``x = expm1(alpha)`` and ``m = expm1(epsilon)``. L is the largest over all vertices, so its fixed point is
the largest of their fixed points (Cao et al. 2017, theorem 5).
"""

from collections.abc import Callable
from math import exp, expm1, hypot, isfinite, log, log1p, sqrt

from stream_app.loss.envelope import LARGE, Envelope
from stream_app.loss.hull import Vertex
from stream_app.loss.temporal import Adversary


def supremum(envelope: Envelope, epsilon: float) -> float | None:
    """Return the supremum of the loss at a constant ``epsilon`` >= 0, or None if the loss is unbounded."""
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
        # The loss is so large that it passes on only its limit, log((S + D) / D).
        return None if base == 0 else epsilon + log1p(gain / (base + exp(-epsilon)))
    grown = expm1(epsilon)
    linear = (1 - gain) - (gain + base) * grown
    if base == 0:
        return log1p(grown / linear) if linear > 0 else None
    # Use the form of the root in which no digits cancel.
    reach = hypot(linear, 2 * sqrt(base) * sqrt(grown))
    if linear >= 0:
        return log1p(2 * grown / (linear + reach))
    root = (reach - linear) / (2 * base)
    return log1p(root) if root < float("inf") else log(reach - linear) - log(2 * base)


class PlanError(ValueError):
    """A bound that is not finite and above 0, or a plan without any timestamps."""


def constant_epsilon(adversary: Adversary, bound: float) -> float:
    """Return the largest epsilon that every timestamp may spend forever while the loss stays within bound.

    The result is 0 if there is no such epsilon, for example if each value is known from the previous one.

    Guarantee: supremum of backward + supremum of forward - epsilon <= bound (Cao et al. 2017, algorithm 2).
    """
    _check(bound, 1)
    return _largest(bound, lambda epsilon: _lasting(adversary, epsilon) <= bound)


def schedule(adversary: Adversary, bound: float, timestamps: int) -> tuple[float, ...]:
    """Return an epsilon for each of ``timestamps`` so that temporal loss reaches ``bound`` at all of them.

    The first and the last are larger, because nothing comes before the first or after the last; all others are
    `constant_epsilon` (Cao et al. 2017, algorithm 3). If that is 0, nothing between the first and the last is
    published; see `even_epsilon`.

    Guarantee: temporal loss <= bound at every timestamp.
    """
    _check(bound, timestamps)
    if timestamps == 1:
        return (bound,)
    between = constant_epsilon(adversary, bound)
    # The first epsilon starts the backward loss at its supremum, so it stays there; the last does so for the forward
    # loss.
    first, last = supremum(adversary.backward, between), supremum(adversary.forward, between)
    if not between or first is None or last is None:
        first = last = bound / 2  # for any matrices, the loss is at most their sum
    planned = (first, *(between,) * (timestamps - 2), last)
    rounding = 2.0**-53
    while max(adversary.temporal_loss(planned).total) > bound:
        planned = tuple(epsilon * (1 - rounding) for epsilon in planned)
        rounding *= 2
    return planned


def even_epsilon(adversary: Adversary, bound: float, timestamps: int) -> float:
    """Return the largest epsilon that each of ``timestamps`` may spend while the loss stays within ``bound``.

    The result is above 0 even if `constant_epsilon` is 0: a finite series can be published when an endless one cannot.

    Guarantee: temporal loss <= bound at every timestamp.
    """
    _check(bound, timestamps)
    return _largest(bound, lambda epsilon: max(adversary.temporal_loss([epsilon] * timestamps).total) <= bound)


def _lasting(adversary: Adversary, epsilon: float) -> float:
    backward, forward = supremum(adversary.backward, epsilon), supremum(adversary.forward, epsilon)
    return float("inf") if backward is None or forward is None else backward + forward - epsilon


def _largest(bound: float, holds: Callable[[float], bool]) -> float:
    """Return the largest double in 0..bound for which ``holds`` is true; it is true from 0 up to some point."""
    if holds(bound):
        return bound
    low, high = 0.0, bound
    while low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def _check(bound: float, timestamps: int) -> None:
    if not isfinite(bound) or bound <= 0:
        raise PlanError(f"bound: found {bound}; use a finite number above 0")
    if timestamps < 1:
        raise PlanError(f"timestamps: found {timestamps}; use at least 1")
