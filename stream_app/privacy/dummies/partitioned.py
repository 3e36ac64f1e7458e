"""Options of Partitioned: landmark histograms filled level by level, and steps drawn from one of them.

The bins cover the whole range. Their width is that of Freedman and Diaconis (On the histogram as a density estimator,
1981), ``2 IQR / |L|^(1/3)``, rounded down to whole steps. Greedy filling adds a step to the bin that keeps the
histogram closest to that of the landmarks in Euclidean distance. Adding a step to a bin with excess x increases the
squared distance by 2x + 1, so the least filled bin comes next. Source: Katsomallos 2022.
"""

from collections.abc import Sequence
from typing import NamedTuple

from stream_app.privacy.noise.randomness import BitStream

MOST_BINS = 256
"""The maximum number of bins; bins are widened to respect it, because every draw looks at all bins."""


class Histogram(NamedTuple):
    """The landmarks of a range in bins of ``width`` steps; the last bin may be shorter."""

    steps: int
    width: int
    counts: tuple[int, ...]

    @property
    def widths(self) -> list[int]:
        """Return the number of steps in each bin."""
        return [min(self.width, self.steps - start) for start in range(0, self.steps, self.width)]

    def order(self) -> list[int]:
        """Return the bins in the order in which they gain a step, until all are full; earlier bins win ties."""
        room = [width - count for width, count in zip(self.widths, self.counts, strict=True)]
        return [nth for level in range(max(room)) for nth, places in enumerate(room) if level < places]

    def grown(self, additions: Sequence[int]) -> "Histogram":
        """Return the histogram with one step added for each bin in ``additions``."""
        counts = list(self.counts)
        for nth in additions:
            counts[nth] += 1
        return self._replace(counts=tuple(counts))


def histogram_of(steps: int, landmarks: Sequence[int]) -> Histogram:
    """Return the histogram of ``landmarks``, which are ascending, over a range of ``steps``."""
    width = bin_width(steps, landmarks)
    counts = [0] * -(-steps // width)
    for step in landmarks:
        counts[step // width] += 1
    return Histogram(steps, width, tuple(counts))


def bin_width(steps: int, landmarks: Sequence[int]) -> int:
    """Return the Freedman-Diaconis bin width in whole steps, from 1 to ``steps``, by integer arithmetic.

    A width of 0, as with fewer than two landmarks, gives a single bin. A bin is at least a 256th of the range.
    """
    number = len(landmarks)
    if number < 2:
        return steps
    quarters = _quartile(landmarks, 3) - _quartile(landmarks, 1)
    if quarters == 0:
        return steps
    # Four times the IQR: width^3 * 8 * |L| <= quarters^3.
    return min(steps, max(1, -(-steps // MOST_BINS), _cube_root(quarters**3 // (8 * number))))


def _quartile(landmarks: Sequence[int], which: int) -> int:
    """Return four times a quartile, interpolated linearly (Hyndman and Fan 1996, type 7)."""
    below, rest = divmod((len(landmarks) - 1) * which, 4)
    above = landmarks[min(below + 1, len(landmarks) - 1)]
    return 4 * landmarks[below] + rest * (above - landmarks[below])


def _cube_root(number: int) -> int:
    """Return the largest integer whose cube is at most ``number``."""
    low, high = 0, 1 << -(-number.bit_length() // 3)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if middle**3 <= number else (low, middle - 1)
    return low


def sampled(stream: BitStream, histogram: Histogram, landmarks: Sequence[int], number: int) -> list[int]:
    """Return ``number`` steps that are not landmarks, drawn one by one with the histogram's exact density.

    Each step's probability is proportional to its bin's count over its bin's width, among the steps not drawn yet.
    """
    widths = histogram.widths
    known = set(landmarks)
    free = [
        [step for step in range(nth * histogram.width, nth * histogram.width + width) if step not in known]
        for nth, width in enumerate(widths)
    ]
    # count / width over a common denominator: all bins except the last are equally wide.
    weights = [
        count * (widths[-1] if width == histogram.width else histogram.width)
        for count, width in zip(histogram.counts, widths, strict=True)
    ]
    drawn = []
    for _ in range(number):
        shares = [weight * len(steps) for weight, steps in zip(weights, free, strict=True)]
        point = stream.below(sum(shares))
        nth = 0
        while point >= shares[nth]:
            point -= shares[nth]
            nth += 1
        steps = free[nth]
        place = point // weights[nth]
        drawn.append(steps[place])
        steps[place] = steps[-1]
        steps.pop()
    return drawn
