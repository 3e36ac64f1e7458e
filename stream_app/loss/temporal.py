"""Backward, forward and temporal loss of every timestamp (Cao et al. 2017, equations 10 to 15).

The paper calls the loss "leakage". A timestamp whose release costs nothing (no event, approximated, withheld) has
epsilon 0 and still counts: what other releases reveal about it passes through the loss function.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

from stream_app.loss.envelope import INDEPENDENT, Envelope


class EpsilonError(ValueError):
    """An epsilon that is not a valid budget; ``index`` counts from 0."""

    def __init__(self, index: int, found: float, most: float) -> None:
        self.index = index
        self.found = found
        upper = "" if most == inf else f", at most {most:,g}"
        super().__init__(f"epsilon {index} (the first is 0): found {found}; use finite numbers of at least 0{upper}")


@dataclass(frozen=True, slots=True)
class TemporalLoss:
    """The losses of each timestamp, in time order; ``total`` is backward + forward - epsilon.

    Guarantee: ``total[t]`` bounds what all releases together reveal about the value at timestamp t to a Markov
    adversary who knows all other people's values. Each epsilon must hold for any two values, because a correlation
    passes on any change.
    """

    backward: tuple[float, ...]
    forward: tuple[float, ...]
    total: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Adversary:
    """What someone knows about the steps between timestamps, as loss functions; by default, they know nothing."""

    backward: Envelope = INDEPENDENT  # for the matrix from a timestamp to the previous one
    forward: Envelope = INDEPENDENT  # for the matrix from a timestamp to the next one

    def temporal_loss(self, epsilons: Sequence[float]) -> TemporalLoss:
        """Return the losses when timestamp t spends ``epsilons[t]``; raises `EpsilonError`."""
        checked(epsilons)
        backward = self.backward.accumulated(epsilons)
        forward = self.forward.accumulated(reversed(epsilons))[::-1]
        # Add what the next timestamp's forward loss passes on: subtracting epsilon would lose digits.
        totals = (at + self.forward.carried(after) for at, after in zip(backward, forward[1:], strict=False))
        return TemporalLoss(tuple(backward), tuple(forward), (*totals, *backward[-1:]))


def checked(epsilons: Sequence[float], most: float = inf) -> None:
    """Raise `EpsilonError` for the first epsilon that is below 0, above ``most``, or not finite."""
    for index, epsilon in enumerate(epsilons):
        if not 0 <= epsilon <= most or epsilon == inf:
            raise EpsilonError(index, epsilon, most)
