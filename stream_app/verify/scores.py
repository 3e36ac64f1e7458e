"""Scores of a run: how strongly it supports one history against the other.

One score follows the mechanisms. It measures how much closer the measurements are to the first history's cells than to
the second's, multiplied by the epsilon spent on them. Another score is learnt from a histogram of each column. The
other scores are single columns, which might expose a raw value. `event` finds which score is most telling. Ideas:
StatDP (Ding et al., CCS 2018) looks for events; DP-Sniper (Bichsel et al., S&P 2021) learns scores, whose thresholds
are the most telling events (Neyman and Pearson).
"""

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from stream_app.privacy.kinds import Kind
from stream_app.privacy.values import NANO
from stream_app.verify.neighbours import Output, Pair
from stream_app.verify.trial import DECISIONS, HEAD, MISSING, Seen, cell_columns, head_columns, reference

Score = NDArray[np.float64]
ABSENT = 2.0**62
"""Replaces a missing distance: larger than all real ones."""
BINS = 32
UNSEEN = 0.5
"""Added to the count of each bin, so that no bin is impossible."""


def bin_ratios(first: Score, second: Score) -> Callable[[Score], Score]:
    """Learn from runs of both histories how much likelier (as a log) a column's bins are under the first history."""
    quantiles = np.quantile(np.concatenate((first, second)), np.linspace(0, 1, BINS + 1), method="lower")
    edges = np.unique(quantiles)
    bins = len(edges) + 1
    counts = [np.bincount(np.searchsorted(edges, side, side="right"), minlength=bins) for side in (first, second)]
    shares = [(count + UNSEEN) / (count.sum() + UNSEEN * bins) for count in counts]
    ratios: Score = np.log(shares[0] / shares[1])
    return lambda column: ratios[np.searchsorted(edges, column, side="right")]


def pattern_ratios(first: Seen, second: Seen) -> Callable[[Seen], Score]:
    """Learn how much likelier a run's pattern of decisions and spends is under the first history (0 if unseen)."""
    counts: dict[tuple[int, ...], list[float]] = {}
    for nth, side in enumerate((first, second)):
        patterns, found = np.unique(side, axis=0, return_counts=True)
        for pattern, count in zip(patterns.tolist(), found.tolist(), strict=True):
            counts.setdefault(tuple(pattern), [UNSEEN, UNSEEN])[nth] += count / len(side) * len(first)
    known = {pattern: float(np.log(one / other)) for pattern, (one, other) in counts.items()}

    def ratios(columns: Seen) -> Score:
        patterns, which = np.unique(columns, axis=0, return_inverse=True)
        found: Score = np.array([known.get(tuple(pattern), 0.0) for pattern in patterns.tolist()])
        return found[which.reshape(-1)]

    return ratios


class Scores:
    """All scores of a pair's runs, learnt from some of these runs."""

    def __init__(self, pair: Pair, kind: Kind, first: Seen, second: Seen) -> None:
        """Learn from runs of both histories; ``kind`` defines the distance between cells."""
        self._pair, self._kind = pair, kind
        self._heads = head_columns(pair)
        self._rates = [cell_columns(pair, place)[0].start - 1 for place in range(len(pair.outputs))]
        self._patterns = pattern_ratios(first[:, self._heads], second[:, self._heads])
        columns = zip(self._columns(first), self._columns(second), strict=True)
        self._histograms = [bin_ratios(one, other) for (_, one), (_, other) in columns]
        self._tossed = any((side[:, self._rates] < NANO).any() for side in (first, second))

    def of(self, seen: Seen) -> Iterator[tuple[str, Score]]:
        """Yield each score of some runs, with the name of what it examines."""
        patterns = self._patterns(seen[:, self._heads])
        yield "the decisions", patterns
        nearer = [weight * contrast for weight, contrast in self._contrasts(seen)]
        yield "all measurements, weighted by the epsilon spent on them", patterns + np.sum(nearer, axis=0)
        columns = list(self._columns(seen))
        learnt = [histogram(column) for histogram, (_, column) in zip(self._histograms, columns, strict=True)]
        yield "all observations, scored as learned", patterns + np.sum(learnt, axis=0)
        yield from columns
        yield from self._distances(seen)
        for place, output in enumerate(self._pair.outputs):
            for watched in range(*cell_columns(self._pair, place)[0].indices(seen.shape[1])):
                cell = seen[:, watched]
                yield f"the last bit of a measurement of {output.name}", np.where(cell == MISSING, -1.0, cell & 1)

    def _columns(self, seen: Seen) -> Iterator[tuple[str, Score]]:
        """Yield each column by itself."""
        pair = self._pair
        for place, output in enumerate(pair.outputs):
            measured, published = cell_columns(pair, place)
            approximated = seen[:, measured.start - HEAD] == DECISIONS["approximated"]
            for nth, watched in enumerate(pair.watched):
                cell = f", cell {watched}" if len(pair.watched) > 1 else ""
                value = seen[:, published.start + nth]
                yield f"the measurement of {output.name}{cell}", seen[:, measured.start + nth].astype(np.float64)
                # Separate, because an approximated step may reveal its own value, which is hidden among measured ones.
                for name, shown in (("value", ~approximated), ("approximated value", approximated)):
                    yield f"the {name} of {output.name}{cell}", np.where(shown, value, MISSING).astype(np.float64)
        for (_, contrast), output in zip(self._contrasts(seen), pair.outputs, strict=True):
            yield f"how much closer {output.name} is to the first history", contrast

    def _contrasts(self, seen: Seen) -> Iterator[tuple[Score, Score]]:
        """Yield each output's spend, and how much nearer the output is to the first history's cells.

        The distance is the one with which the kind's noise decreases, in units of the distance between the histories.
        """
        for place, output in enumerate(self._pair.outputs):
            columns, _ = cell_columns(self._pair, place)
            missing = (seen[:, columns] == MISSING).any(axis=1)
            one, other, apart = self._both(seen, place, output)
            spend = seen[:, columns.start - HEAD + 1].astype(np.float64) / NANO
            yield spend, np.where(missing | (apart == 0), 0.0, (other - one) / (apart or 1.0))

    def _both(self, seen: Seen, place: int, output: Output) -> tuple[Score, Score, float]:
        """Return the measurements' distances from each history's cells, and the distance between those cells."""
        columns, _ = cell_columns(self._pair, place)
        cells = seen[:, columns].astype(np.float64)
        one, other = (reference(output, self._pair, side) for side in (0, 1))
        if output.after is not None:
            # Both contain the noise of the counters, so what came after the look is their difference.
            looked, _ = cell_columns(self._pair, output.after)
            cells = cells - seen[:, looked]
            before = self._pair.outputs[output.after]
            one, other = (side - reference(before, self._pair, nth) for nth, side in enumerate((one, other)))
        distances = self._kind.distances
        return distances(cells - one), distances(cells - other), float(distances((one - other)[np.newaxis, :])[0])

    def _distances(self, seen: Seen) -> Iterator[tuple[str, Score]]:
        """Yield the size of the noise, assuming either history: the largest size, and each size after a coin toss.

        Noise that ends too early, or that has a gap because it shares bits with the coin, excludes some of these sizes.
        """
        largest = [np.zeros(len(seen)), np.zeros(len(seen))]
        for place, output in enumerate(self._pair.outputs):
            columns, _ = cell_columns(self._pair, place)
            *noises, apart = self._both(seen, place, output)
            if not apart:
                continue
            missing = (seen[:, columns] == MISSING).any(axis=1)
            spend, tossed = seen[:, columns.start - HEAD + 1] / NANO, seen[:, columns.start - 1] < NANO
            for side, noise in enumerate(noises):
                scaled = spend * noise / apart
                largest[side] = np.maximum(largest[side], np.where(missing, 0.0, scaled))
                if self._tossed:
                    score = np.where(missing | ~tossed, ABSENT, scaled)
                    yield f"the noise of {output.name} after a coin toss, assuming history {side + 1}", score
        for side, score in enumerate(largest):
            yield f"the largest noise, assuming history {side + 1}", score
