"""Estimates of the true values from noisy releases, with standard errors. Needs only Python 3.11.

All functions use `measurement`, never `value`. Estimates are kept in their range and smoothed, so they are biased and
depend on each other. Approximated releases repeat an earlier estimate. They are not measurements, so they are omitted.
"""

import math
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from release import Perturbed, Release, Vector

Category = str | bool


class Figure(NamedTuple):
    """An estimate and the standard deviation of its noise."""

    estimate: float
    standard_error: float


def mean(releases: Iterable[Release]) -> Figure:
    """Return the mean of the true numbers at the steps that were perturbed. Raises ValueError if none were."""
    noisy = [(found.measurement, found.scale) for found in releases if isinstance(found, Perturbed)]
    return _mean([(number, scale) for number, scale in noisy if isinstance(number, float) and isinstance(scale, float)])


def mean_of_part(releases: Iterable[Release], part: str) -> Figure:
    """Return the mean of one part of the true vectors at the steps that were perturbed, like `mean`."""
    return _mean(
        [
            (found.measurement.parts[part], found.scale.parts[part])
            for found in releases
            if isinstance(found, Perturbed)
            and isinstance(found.measurement, Vector)
            and isinstance(found.scale, Vector)
        ]
    )


def _mean(numbers: list[tuple[float, float]]) -> Figure:
    if not numbers:
        raise ValueError("no perturbed release of a number")
    variance = sum(2 * scale**2 for _, scale in numbers)  # of Laplace noise: 2 scale^2 each, drawn independently
    return Figure(sum(number for number, _ in numbers) / len(numbers), math.sqrt(variance) / len(numbers))


def total(releases: Iterable[Release], key: str) -> Figure:
    """Return the sum of the true counts under a key at the steps that were perturbed."""
    noisy = [(found.measurement, found.scale) for found in releases if isinstance(found, Perturbed)]
    counts = [(items[key], scale) for items, scale in noisy if isinstance(items, Mapping) and isinstance(scale, float)]
    return Figure(sum(items for items, _ in counts), math.sqrt(sum(2 * scale**2 for _, scale in counts)))


def share(releases: Iterable[Release], category: Category, categories: int) -> Figure:
    """Return the share of a category among the true ones; ``categories`` is the policy's number of categories.

    Randomised response keeps the truth with t = e^epsilon / (e^epsilon + categories - 1), and answers each other
    category with f = (1 - t) / (categories - 1): an answer's expectation is f + (t - f) [truth]. The error given is an
    upper bound. Raises ValueError if there is no perturbed release of a category.
    """
    answers = [
        (found.measurement == category, 1 / found.scale)
        for found in releases
        if isinstance(found, Perturbed)
        and isinstance(found.measurement, (str, bool))
        and isinstance(found.scale, float)
    ]
    if not answers:
        raise ValueError("no perturbed release of a category")
    unbiased, variance = 0.0, 0.0
    for answered, epsilon in answers:
        t = 1 / (1 + (categories - 1) * math.exp(-epsilon))
        f = (1 - t) / (categories - 1)
        unbiased += (answered - f) / (t - f)
        variance += max(t * (1 - t), f * (1 - f)) / (t - f) ** 2
    return Figure(unbiased / len(answers), math.sqrt(variance) / len(answers))
