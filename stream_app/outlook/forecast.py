"""The temporal loss of planned events, which may lie several steps apart."""

from collections.abc import Sequence

from stream_app.loss.envelope import Envelope
from stream_app.loss.fading import faded
from stream_app.loss.temporal import Adversary, TemporalLoss


def temporal_loss(adversary: Adversary, epsilons: Sequence[float], gap: int) -> TemporalLoss:
    """Return the losses of events ``gap`` steps apart; between them nothing is spent, and what is known fades.

    It is `Adversary.temporal_loss` with zeros between the events, at those (Cao et al. 2017, equations 10 to 15).
    """
    if gap == 1:
        return adversary.temporal_loss(epsilons)
    backward, _ = _accumulated(adversary.backward, epsilons, gap)
    forward, handed = _accumulated(adversary.forward, epsilons[::-1], gap)
    total = tuple(at + after for at, after in zip(backward, handed[::-1], strict=True))
    return TemporalLoss(tuple(backward), tuple(forward[::-1]), total)


def _accumulated(envelope: Envelope, epsilons: Sequence[float], gap: int) -> tuple[list[float], list[float]]:
    """Return the loss after each epsilon, and what was left of it before each."""
    after: list[float] = []
    before: list[float] = []
    kept = 0.0
    for epsilon in epsilons:
        before.append(kept)
        after.append(kept + epsilon)
        kept = faded(envelope, after[-1], gap)
    return after, before
