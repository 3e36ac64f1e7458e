"""The rules by which losses compose, and where each holds; without numpy, because options name them.

The rules are computed in `composed`.
"""

from collections.abc import Mapping
from typing import Final, Literal, NamedTuple


class CompositionLaw(NamedTuple):
    """A composition rule: a "bound" holds for any two inputs that `domain` allows; an "estimate" may not hold.

    The kind defines which values at a step are neighbours: any two values in a range and any two categories, but only
    positions within the radius or numbers within the sensitivity. Everything that `domain` does not allow to change is
    the same in both inputs.
    """

    kind: Literal["bound", "estimate"]
    theorem: str
    domain: str


OVER_SERIES: Final[Mapping[str, CompositionLaw]] = {
    "sequential": CompositionLaw(
        "bound",
        "the sum over all series (McSherry 2009, theorem 3)",
        "only the landmarks and at most one other step of each series change, to neighbouring values",
    ),
    "parallel-series": CompositionLaw(
        "bound",
        "the largest series (McSherry 2009, theorem 4)",
        "only the landmarks and at most one other step of one series change, to neighbouring values",
    ),
    "parallel-members": CompositionLaw(
        "bound",
        "the largest sum over the series of one person (McSherry 2009, theorems 3 and 4)",
        "only the landmarks and at most one other step of each series of one person change, to neighbouring values",
    ),
}
"""Rules for whole series: each series counts its landmarks and its worst other step in every policy version.

A value that is constant over all steps changes at all of them. None of these rules gives a bound for such a value, but
`sequential-steps` does.
"""

OVER_STEPS: Final[Mapping[str, CompositionLaw]] = {
    "sequential-steps": CompositionLaw(
        "bound",
        "the sum over all steps of a series (McSherry 2009, theorem 3)",
        "any steps of this series change to neighbouring values, correlated in any way, and no other series changes",
    ),
    "discounted-exponential": CompositionLaw(
        "estimate",
        "the sum of exp(-rate * age) * epsilon, where age counts steps before the last step (Farokhi 2020)",
        "the past is assumed to matter less, although an adversary does not forget",
    ),
    "discounted-hyperbolic": CompositionLaw(
        "estimate",
        "the sum of epsilon / (1 + rate age), age in steps before the last (Farokhi 2020)",
        "the past is assumed to matter less, although an adversary does not forget",
    ),
    "correlated": CompositionLaw(
        "bound",
        "the worst consecutive steps together (Cao et al. 2018, theorem 4)",
        "the adversary knows only the matrices, any two values of a step are neighbours, and no other series changes",
    ),
}
"""Rules for the steps of one series, including steps without an event."""

LAWS: Final[Mapping[str, CompositionLaw]] = {**OVER_SERIES, **OVER_STEPS}
