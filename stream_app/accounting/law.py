"""Composition theorems by the name that `audit --compose` has for them, with their domains."""

from collections.abc import Mapping
from typing import Final, Literal, NamedTuple


class Law(NamedTuple):
    """A way to compose: a "bound" lets no adversary learn more, an "estimate" may."""

    kind: Literal["bound", "estimate"]
    theorem: str
    domain: str


OVER_SERIES: Final[Mapping[str, Law]] = {
    "sequential": Law(
        "bound",
        "the sum over all series (McSherry 2009, theorem 3)",
        "all series may be about one person, correlated in any way",
    ),
    "parallel-series": Law(
        "bound",
        "the largest series (McSherry 2009, theorem 4)",
        "nobody is in two series, and different people's series are independent",
    ),
    "parallel-members": Law(
        "bound",
        "the largest sum of one member's series (McSherry 2009, theorems 3 and 4)",
        "each series is about the member that --members names, and different members' series are independent",
    ),
}
"""Of whole series: each counts what its landmarks and its worst other step spent, over all policy versions."""

OVER_STEPS: Final[Mapping[str, Law]] = {
    "sequential-steps": Law(
        "bound",
        "the sum over all steps of a series (McSherry 2009, theorem 3)",
        "all of the series may change at once, correlated in any way",
    ),
    "discounted-exponential": Law(
        "estimate",
        "the sum of exp(-rate age) epsilon, age in steps before the last (Farokhi 2020)",
        "the past is held to matter less; an adversary does not forget",
    ),
    "discounted-hyperbolic": Law(
        "estimate",
        "the sum of epsilon / (1 + rate age), age in steps before the last (Farokhi 2020)",
        "the past is held to matter less; an adversary does not forget",
    ),
    "correlated": Law(
        "bound",
        "the worst steps in a row together (Cao et al. 2018, theorem 4)",
        "the adversary is a Markov one, who knows no more than the correlation",
    ),
}
"""Of the steps of one series, those without event too."""

LAWS: Final[Mapping[str, Law]] = {**OVER_SERIES, **OVER_STEPS}
