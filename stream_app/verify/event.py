"""The most telling event: found in half of the runs, and counted in the other, independent half.

The first half is split again: one part is used to learn scores, and the other to choose among their thresholds. This is
because a score looks better than it really is when judged by the runs from which it was learnt.
"""

from math import exp, lgamma, log, log1p
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_app.privacy.kinds import Kind
from stream_app.verify.neighbours import Pair
from stream_app.verify.scores import Score, Scores
from stream_app.verify.trial import Seen

HALVINGS = 60
"""How often the interval that contains the bound is halved; what remains is below the rounding of doubles."""
NEGLIGIBLE = 1e-18
"""A share of a tail; if a term is below it, the remaining terms, which fall at least as fast, change no double."""


def at_least(successes: int, runs: int, doubt: float) -> float:
    """Return a lower bound on a probability.

    If the probability were smaller, this many successes would be less likely than ``doubt``. Source: Clopper and
    Pearson, Biometrika 1934; computed in doubles.
    """
    if not successes:
        return 0.0
    low, high = 0.0, successes / runs
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if _tail(successes, runs, middle) < doubt else (low, middle)
    return low


def at_most(successes: int, runs: int, doubt: float) -> float:
    """Return an upper bound on a probability.

    If the probability were larger, this few successes would be less likely than ``doubt``.
    """
    return 1.0 - at_least(runs - successes, runs, doubt)


def _tail(successes: int, runs: int, chance: float) -> float:
    """Return the probability of ``successes`` or more.

    ``chance`` is at most the share of successes in the runs, so that the terms decrease.
    """
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


THRESHOLDS = 128
"""Thresholds of a score at which an event may begin or end."""
CARE = 4.0
"""Margin of a chosen event, in standard errors, because rare events look telling by chance."""
LEAST_RUNS = 8
"""The minimum number of runs of a history, for learning and for counting."""


class TellingEvent(NamedTuple):
    """The runs whose score is on one side of a threshold, or equal to it."""

    score: int
    name: str
    way: str  # ">=", "<=" or "=="
    threshold: float
    swapped: bool  # likelier under the second history

    def __str__(self) -> str:
        """Return the event, and under which history it is likelier."""
        return (
            f"{self.name} {self.way} {self.threshold:.6g}, more likely under the "
            f"{'second' if self.swapped else 'first'}"
        )

    def holds(self, score: Score) -> NDArray[np.bool_]:
        """Return whether the event happened, for each run."""
        found: NDArray[np.bool_] = _WAYS[self.way](score, self.threshold)
        return found


_WAYS = {">=": np.greater_equal, "<=": np.less_equal, "==": np.equal}


class EventCount(NamedTuple):
    """How often an event happened; the counts of the history that makes it more likely come first."""

    event: TellingEvent
    hits: int
    runs: int
    other_hits: int
    other_runs: int

    def loss(self, doubt: float) -> float:
        """Return the least loss that the event shows at confidence ``1 - doubt``, or 0 if it shows no loss."""
        least = at_least(self.hits, self.runs, doubt / 2)
        most = at_most(self.other_hits, self.other_runs, doubt / 2)
        return max(0.0, log(least / most)) if least else 0.0


def counted(pair: Pair, kind: Kind, first: Seen, second: Seen) -> EventCount | None:
    """Return the counts of a pair's most telling event; None if there are too few runs."""
    if min(len(first), len(second)) < 4 * LEAST_RUNS:
        return None
    thirds = [np.split(side, (len(side) // 4, len(side) // 2)) for side in (first, second)]
    (learning, choosing, testing), (other_learning, other_choosing, other_testing) = thirds
    scores = Scores(pair, kind, learning, other_learning)
    event = _chosen(list(scores.of(choosing)), list(scores.of(other_choosing)))
    tested = [list(scores.of(side))[event.score][1] for side in (testing, other_testing)]
    hits = [int(event.holds(score).sum()) for score in tested]
    order = (1, 0) if event.swapped else (0, 1)
    (hit, runs), (other_hit, other_runs) = ((hits[nth], len(tested[nth])) for nth in order)
    return EventCount(event, hit, runs, other_hit, other_runs)


def _chosen(first: list[tuple[str, Score]], second: list[tuple[str, Score]]) -> TellingEvent:
    best: tuple[float, TellingEvent] | None = None
    for nth, ((name, one), (_, other)) in enumerate(zip(first, second, strict=True)):
        thresholds = _thresholds(np.concatenate((one, other)))
        counts = [_counts(np.sort(side), thresholds) for side in (one, other)]
        for way in _WAYS:
            for swapped in (False, True):
                likely, unlikely = (counts[1], counts[0]) if swapped else (counts[0], counts[1])
                runs = (len(other), len(one)) if swapped else (len(one), len(other))
                worth = np.log(_wilson(likely[way], runs[0], -CARE)) - np.log(_wilson(unlikely[way], runs[1], CARE))
                place = int(np.argmax(worth))
                if best is None or worth[place] > best[0]:
                    best = float(worth[place]), TellingEvent(nth, name, way, float(thresholds[place]), swapped)
    assert best is not None, "there are scores"
    return best[1]


def least_excluded(runs: int, declared: float, doubt: float) -> float | None:
    """Return the smallest probability at which an outcome that the other history excludes is found.

    The result is None if such an outcome is never found. The outcome has to be chosen among all others, none of which
    reveals more than ``declared``, and then pass when counted. At this probability the chance of finding it is about
    one half. At larger probabilities the chance is larger.
    """
    choosing, testing = runs // 2 - runs // 4, runs - runs // 2
    if runs < 4 * LEAST_RUNS:
        return None
    no_more = _wilson(np.zeros(1), choosing, CARE)[0], at_most(0, testing, doubt / 2)
    low, high = 0, testing
    while low < high:
        hits = (low + high) // 2
        share = hits / testing
        chosen = _wilson(np.array([share * choosing]), choosing, -CARE)[0] / no_more[0]
        if log(chosen) > declared and at_least(hits, testing, doubt / 2) > exp(declared) * no_more[1]:
            high = hits
        else:
            low = hits + 1
    return None if low >= testing else low / testing


def _thresholds(pooled: Score) -> Score:
    values, counts = np.unique(pooled, return_counts=True)
    if len(values) <= THRESHOLDS:
        return values
    spread = np.quantile(pooled, np.linspace(0.001, 0.999, THRESHOLDS), method="lower")
    frequent = values[np.argsort(counts)[-LEAST_RUNS:]]
    return np.unique(np.concatenate((spread, frequent)))


def _counts(ordered: Score, thresholds: Score) -> dict[str, NDArray[np.int64]]:
    below, upto = (np.searchsorted(ordered, thresholds, side=side) for side in ("left", "right"))
    return {">=": len(ordered) - below, "<=": upto, "==": upto - below}


def _wilson(hits: NDArray[np.int64] | Score, runs: int, errors: float) -> Score:
    """Return a quickly computed bound on a probability, at ``errors`` standard errors (Wilson, JASA 1927)."""
    square = errors * errors
    root = np.sqrt(hits * (1 - hits / runs) + square / 4)
    found: Score = (hits + square / 2 + errors * root) / (runs + square)
    return np.maximum(found, 1e-300)
