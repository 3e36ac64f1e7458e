"""Temporal loss under landmark privacy: for every timestamp t, the sum of the losses of all landmarks and of t.

Katsomallos 2022 (thesis, section 4.1): for i in L u {t}, with i- and i+ the neighbours of i in that set, the backward
loss runs over (i-, i] and the forward loss over [i, i+). It is an estimate: above the sum of all epsilons where the
releases between two landmarks count for both of them, below the true loss where the states between two changed
timestamps would have to change too. The sum over all timestamps is a bound whatever is correlated within
the series.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from math import fsum

import numpy as np

from stream_app.loss.shortened import Stretch, shortened
from stream_app.loss.temporal import Adversary, checked


class LandmarkError(ValueError):
    """A landmark that is no timestamp of the series."""

    def __init__(self, index: int, timestamps: int) -> None:
        """Keep the parts as fields."""
        self.index = index
        self.timestamps = timestamps
        super().__init__(f"landmark {index}: there are {timestamps} epsilons; use indices 0 to {timestamps - 1}")


def landmark_losses(adversary: Adversary, epsilons: Sequence[float], landmarks: Iterable[int]) -> tuple[float, ...]:
    """Return the estimate for every timestamp; without landmarks it is the temporal loss.

    ``landmarks`` are indices into ``epsilons``, in any order, repeated or not.

    Raises:
        EpsilonError: for an epsilon that is below 0 or not finite.
        LandmarkError: for an index that is no timestamp.
    """
    checked(epsilons)
    places = sorted(set(landmarks))
    for place in places:
        if not 0 <= place < len(epsilons):
            raise LandmarkError(place, len(epsilons))
    if not places:
        return adversary.temporal_loss(epsilons).total
    losses = -np.array(epsilons, dtype=np.float64)
    together = -fsum(epsilons[place] for place in places)  # the landmarks' losses without any other timestamp
    after: list[tuple[int, Stretch]] = []  # from each landmark on, up to the next
    before: list[tuple[int, Stretch]] = []  # from each landmark back, down to the one before
    for left, right in pairwise((-1, *places, len(epsilons))):
        between = slice(left + 1, right)
        towards = epsilons[left + 1 : right + 1]
        backward = adversary.backward.accumulated(towards)
        losses[between] += backward[: right - left - 1]
        if right < len(epsilons):
            together += backward[-1]
            before.append((right, Stretch(towards[::-1], backward[::-1])))
        onwards = epsilons[max(left, 0) : right]
        forward = adversary.forward.accumulated(onwards[::-1])[::-1]
        losses[between] += forward[left >= 0 :]
        if left >= 0:
            together += forward[0]
            after.append((left, Stretch(onwards, forward)))
    # A timestamp that joins cuts short what its two neighbours among the landmarks lose towards it.
    for (place, stretch), short in zip(after, shortened(adversary.forward, [one for _, one in after]), strict=True):
        losses[place + 1 : place + 1 + len(short)] += short - stretch.whole[0]
    for (place, stretch), short in zip(before, shortened(adversary.backward, [one for _, one in before]), strict=True):
        losses[place - len(short) : place] += short[::-1] - stretch.whole[0]
    losses += together
    losses[places] = together
    return tuple(losses.tolist())
