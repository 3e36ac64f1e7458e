"""The share of the budget that a scheme proposes for one step.

E is the budget, S the spend on landmarks, M the largest spend on a regular step, and R the number of landmarks at or
after the step plus the unused spare. Uniform and Adaptive give a landmark
`a = min((E - S) // (R + 1), (E - S - M) // R)`. Balanced gives it `a = max(0, E - max(G, M) - S) // R`, with G the
regular share of E; Skip gives it nothing. A regular step gets `E - S - R*a`. BD and BA treat landmarks like Uniform. If
windows are longer than a step, M is the largest sum of regular spends in a window, and a regular step's share here is
for its whole window (window.py). At user level, R is the remaining length, and every step gets `(E - S) // R`.

A share is a function of S, M and R, in nano-epsilon, and of whether the step is a landmark; with a share of 0, nothing
is perturbed.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Final

Share = Callable[[int, int, int, bool], int]

MILLION: Final = 10**6


@lru_cache
def share_of(scheme: str, budget: int, regular_millionths: int) -> Share:
    """Return a scheme's cached share function at any level but user; raises `ValueError` for an unknown scheme."""
    match scheme:
        case "skip":
            return skip(budget)
        case "balanced":
            return balanced(budget, budget * regular_millionths // MILLION)
        case "uniform" | "adaptive" | "bd" | "ba":
            return uniform(budget)
        case _:
            raise ValueError(f"scheme {scheme!r}: the share of this scheme is not known")


def rule_of(scheme: str) -> str:
    """Return the landmark formula of `share_of`, in the symbols above, for R above 0."""
    match scheme:
        case "skip":
            return "0"
        case "balanced":
            return "max(0, E - S - max(G, M)) // R"
        case _:
            return "min((E - S) // (R + 1), (E - S - M) // R)"


def uniform(budget: int) -> Share:
    """Return the share function of Uniform and Adaptive."""

    def share(spent: int, peak: int, left: int, landmark: bool) -> int:  # noqa: FBT001 - one of four plain numbers
        free = budget - spent
        if left == 0:
            return 0 if landmark else free
        reserved, other = free // (left + 1), (free - peak) // left
        reserved = min(reserved, other)
        return reserved if landmark else free - left * reserved

    return share


def balanced(budget: int, regular: int) -> Share:
    """Return the share function of Balanced; `regular` is the part of the budget that regular steps share."""

    def share(spent: int, peak: int, left: int, landmark: bool) -> int:  # noqa: FBT001
        free = budget - spent
        if left == 0:
            return 0 if landmark else free
        reserved = max(0, free - max(regular, peak)) // left
        return reserved if landmark else free - left * reserved

    return share


def skip(budget: int) -> Share:
    """Return the share function of Skip."""

    def share(spent: int, _peak: int, _left: int, landmark: bool) -> int:  # noqa: FBT001
        return 0 if landmark else budget - spent

    return share


@lru_cache
def user(budget: int) -> Share:
    """Return the cached share function at user level, for any scheme allowed there."""

    def share(spent: int, _peak: int, left: int, _landmark: bool) -> int:  # noqa: FBT001
        return (budget - spent) // left if left > 0 else 0

    return share
