"""How well draws fit a distribution: chi-square over cells with enough expected draws."""

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from typing import TypeVar

from scipy.stats import chi2_contingency, chisquare

Cell = TypeVar("Cell", bound=Hashable)
FEWEST = 20
"""The minimum number of draws expected in a cell; rarer values share one cell."""
SURE = 1e-6
"""Draws are keyed, so a test's outcome never changes; no honest sampler falls below it in a million keys."""


def fit(draws: Iterable[Cell], chances: Mapping[Cell, float]) -> float:
    """Return the p-value of draws under exact chances; values not named in them share the rest."""
    counts = Counter(draws)
    total = counts.total()
    often = [cell for cell, chance in chances.items() if chance * total >= FEWEST]
    observed = [counts[cell] for cell in often]
    expected = [chances[cell] * total for cell in often]
    rest = total - sum(expected)
    if rest >= FEWEST:
        observed.append(total - sum(observed))
        expected.append(rest)
    scaled = [part * sum(observed) / sum(expected) for part in expected]
    return float(chisquare(observed, scaled).pvalue)


def agree(one: Iterable[Cell], other: Iterable[Cell]) -> float:
    """Return the p-value for two samples having the same distribution."""
    first, second = Counter(one), Counter(other)
    often = [cell for cell in first | second if first[cell] + second[cell] >= 2 * FEWEST]
    table = [[counts[cell] for cell in often] for counts in (first, second)]
    for counts, row in zip((first, second), table, strict=True):
        row.append(counts.total() - sum(row) + 1)
    return float(chi2_contingency(table).pvalue)
