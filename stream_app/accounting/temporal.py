"""Consecutive steps of one series, including those without an event, and their loss under correlation."""

from collections.abc import Sequence
from math import fsum
from typing import Final, NamedTuple

from stream_app.audit.report.curve import Curve
from stream_app.loss.landmark import landmark_losses
from stream_app.loss.temporal import Adversary, TemporalLoss
from stream_app.words.amount import NANO

MOST_STEPS: Final = 200_000
"""Maximum number of steps from the first release to the last; longer series are omitted, with a reason given."""


class SpentSteps(NamedTuple):
    """The epsilon of each step from the first processed one to the last, with 0 for steps without a noised release."""

    series: str
    times_ms: range  # starts of the steps
    epsilons: Sequence[float]
    is_landmark: Sequence[bool]
    correlation: str | None  # from its latest policy that names one

    @property
    def sum(self) -> float:
        """The sum of all epsilons: a bound for any correlation within the series."""
        return fsum(self.epsilons)

    @property
    def landmarks(self) -> list[int]:
        """The positions of the landmarks, counted from 0."""
        return [place for place, landmark in enumerate(self.is_landmark) if landmark]


class LeftOut(NamedTuple):
    """A series whose steps are not evaluated, and the reason."""

    series: str
    reason: str


def steps_of(curve: Curve) -> SpentSteps | LeftOut:
    """Return the steps of a series; a step processed under two policy versions counts the epsilon of both."""
    if not curve.times_ms:
        return LeftOut(curve.series, "nothing was decided")
    if curve.omitted:
        return LeftOut(curve.series, f"{curve.omitted} of its releases are not kept")
    if len(curve.steps_ms) != 1 or min(curve.steps_ms) < 1:
        return LeftOut(
            curve.series,
            "its policy versions have different steps, or the step of a version is unknown; all steps "
            "must have the same length",
        )
    if curve.has_units:
        return LeftOut(
            curve.series, "its policy protects units; the epsilon of a step does not bound the loss of a step"
        )
    (step_ms,) = curve.steps_ms
    first = min(curve.times_ms) // step_ms * step_ms
    count = (max(curve.times_ms) - first) // step_ms + 1
    if count > MOST_STEPS:
        return LeftOut(curve.series, f"it spans {count} steps of {step_ms} ms; at most {MOST_STEPS} steps are examined")
    epsilons = [0.0] * count
    marked = [False] * count
    for at_ms, spend_nano, landmark in zip(curve.times_ms, curve.spends_nano, curve.landmarks, strict=True):
        place = (at_ms - first) // step_ms
        epsilons[place] += max(0, spend_nano) / NANO
        marked[place] |= bool(landmark)
    for start_ms, end_ms in curve.spans_ms:  # even those without an event
        begin, end = max(0, (start_ms - first) // step_ms), min(count, -((first - end_ms) // step_ms))
        if begin < end:  # otherwise it lies before the first step or after the last
            marked[begin:end] = [True] * (end - begin)
    times_ms = range(first, first + count * step_ms, step_ms)
    return SpentSteps(curve.series, times_ms, epsilons, marked, curve.correlation)


class CorrelatedLoss(NamedTuple):
    """The losses of one series against one adversary who knows a correlation, with one value per step."""

    steps: SpentSteps
    source: str  # the file of the correlation
    loss: TemporalLoss
    landmark: Sequence[float]  # landmarks with each step: an estimate, not a bound

    @classmethod
    def of(cls, steps: SpentSteps, adversary: Adversary, source: str) -> "CorrelatedLoss":
        """Return the losses of the steps against `adversary`."""
        landmark = landmark_losses(adversary, steps.epsilons, steps.landmarks)
        return cls(steps, source, adversary.temporal_loss(steps.epsilons), landmark)

    @property
    def worst(self) -> int:
        """The position of the largest total loss."""
        return max(range(len(self.loss.total)), key=self.loss.total.__getitem__)

    def document(self) -> dict[str, object]:
        """Return the losses and epsilons of all steps in the form used by the `--json` report."""
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
