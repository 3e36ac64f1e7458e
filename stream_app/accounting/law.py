"""Composition theorems by the name that `audit --compose` has for them, with their domains."""

from collections.abc import Mapping
from typing import Final, Literal, NamedTuple


class Law(NamedTuple):
    """A way to compose: a "bound" holds for every two inputs that `domain` lets differ, an "estimate" may not.

    Which values at a step are neighbours, their kind says: any two of a range or of categories, but only
    positions within the radius, or numbers within the sensitivity. What `domain` does not let change is the same in
    both inputs.
    """

    kind: Literal["bound", "estimate"]
    theorem: str
    domain: str


OVER_SERIES: Final[Mapping[str, Law]] = {
    "sequential": Law(
        "bound",
        "the sum over all series (McSherry 2009, theorem 3)",
        "in each series landmarks and at most one other step change to neighbouring values, and nothing else with them",
    ),
    "parallel-series": Law(
        "bound",
        "the largest series (McSherry 2009, theorem 4)",
        "in one series landmarks and at most one other step change to neighbouring values, and nothing else with them",
    ),
    "parallel-members": Law(
        "bound",
        "the largest sum of one member's series (McSherry 2009, theorems 3 and 4)",
        "in each series of one member landmarks and at most one other step change to neighbouring values, "
        "and nothing else with them",
    ),
}
"""Of whole series: each counts what its landmarks and its worst other step spent, over all policy versions.

A value that is the same at all steps changes at all of them: none of these is a bound for it, `sequential-steps` is.
"""

OVER_STEPS: Final[Mapping[str, Law]] = {
    "sequential-steps": Law(
        "bound",
        "the sum over all steps of a series (McSherry 2009, theorem 3)",
        "any steps of this series change to neighbouring values, correlated in any way, and no other series with them",
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
        "the adversary knows no more than the matrices, any two values of a step are neighbours, "
        "and no other series changes with this one",
    ),
}
"""Of the steps of one series, those without event too."""

LAWS: Final[Mapping[str, Law]] = {**OVER_SERIES, **OVER_STEPS}
