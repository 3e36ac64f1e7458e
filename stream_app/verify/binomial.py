"""Bounds of a probability by how often something happened (Clopper and Pearson, Biometrika 1934), in doubles."""

from math import exp, lgamma, log, log1p

HALVINGS = 60
"""Of the interval that holds the bound: what is left of it is below the rounding of doubles."""
NEGLIGIBLE = 1e-18
"""Share of a tail at which its further terms, which fall by the same factor or faster, change no double."""


def at_least(successes: int, runs: int, doubt: float) -> float:
    """Return the lower bound: were the probability below it, so many successes had less than ``doubt`` chance."""
    if not successes:
        return 0.0
    low, high = 0.0, successes / runs
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if _tail(successes, runs, middle) < doubt else (low, middle)
    return low


def at_most(successes: int, runs: int, doubt: float) -> float:
    """Return the upper bound: were the probability above it, so few successes had less than ``doubt`` chance."""
    return 1.0 - at_least(runs - successes, runs, doubt)


def _tail(successes: int, runs: int, chance: float) -> float:
    """Return the probability of so many successes or more; ``chance`` is at most their share, so that terms fall."""
    if chance <= 0.0:
        return 0.0
    if chance >= 1.0:
        return 1.0
    term = exp(
        lgamma(runs + 1)
        - lgamma(successes + 1)
        - lgamma(runs - successes + 1)
        + successes * log(chance)
        + (runs - successes) * log1p(-chance)
    )
    total, odds = term, chance / (1.0 - chance)
    for count in range(successes, runs):
        term *= (runs - count) / (count + 1) * odds
        total += term
        if term < NEGLIGIBLE * total:
            break
    return total
