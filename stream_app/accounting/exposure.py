"""What correlation in time adds to one series' loss: backward, forward and total loss of each step."""

from collections.abc import Sequence
from typing import NamedTuple

from stream_app.accounting.steps import Steps
from stream_app.loss.landmark import landmark_losses
from stream_app.loss.temporal import Adversary, TemporalLoss


class Exposure(NamedTuple):
    """The losses of one series under one adversary, a step an item."""

    steps: Steps
    source: str  # the file of the correlation
    loss: TemporalLoss
    landmark: Sequence[float]  # of the landmarks and each step together: an estimate, no bound

    @classmethod
    def of(cls, steps: Steps, adversary: Adversary, source: str) -> "Exposure":
        """Return the losses against who knows a correlation."""
        landmark = landmark_losses(adversary, steps.epsilons, steps.landmarks)
        return cls(steps, source, adversary.temporal_loss(steps.epsilons), landmark)

    @property
    def worst(self) -> int:
        """The place of the largest total loss."""
        return max(range(len(self.loss.total)), key=self.loss.total.__getitem__)

    def document(self) -> dict[str, object]:
        """Return it as the `--json` report has it: the losses in full, and what they stand beside."""
        times_ms = self.steps.times_ms
        return {
            "series": self.steps.series,
            "correlation": self.source,
            "start": times_ms.start,
            "step": times_ms.step,
            "sum": self.steps.sum,
            "epsilons": self.steps.epsilons,
            "landmarks": self.steps.landmarks,
            "backward": self.loss.backward,
            "forward": self.loss.forward,
            "total": self.loss.total,
            "landmark": self.landmark,
        }
