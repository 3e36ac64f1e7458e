"""A correlation: what is known of the step between two timestamps, backward and forward, and how strong it is."""

from dataclasses import dataclass
from math import log, log1p
from typing import NamedTuple

import numpy as np

from stream_app.loss.envelope import Envelope
from stream_app.loss.matrix import TransitionMatrix, checked_size
from stream_app.loss.temporal import Adversary


class CorrelationError(ValueError):
    """Two matrices that do not belong together, or parameters that give none."""


@dataclass(frozen=True, slots=True)
class Correlation:
    """Transition matrices of one kind of series; None is no knowledge in that direction."""

    backward: TransitionMatrix | None
    forward: TransitionMatrix | None

    def __post_init__(self) -> None:
        """Raise `CorrelationError` unless both are over the same states."""
        if self.backward is not None and self.forward is not None and self.backward.states != self.forward.states:
            found = f"backward has {self.backward.states} states, forward {self.forward.states}"
            raise CorrelationError(f"{found}; both are over the same states")

    @classmethod
    def of_strength(cls, states: int, strength: float) -> "Correlation":
        """Return the parametric family: a value stays with probability ``strength``, else it is any, all alike.

        It is Cao et al.'s Laplacian smoothing (2017, equation 25) of the strongest correlation, the identity, by
        ``s = (1 - strength) / (states strength)``: 0 is independence, 1 full knowledge. It needs no data.

        Raises:
            CorrelationError: for fewer than 2 states or a strength outside 0..1.
            MatrixError: for too many states.
        """
        if states < 2:
            raise CorrelationError(f"states: found {states}; correlation needs at least 2")
        checked_size(states)
        if not 0 <= strength <= 1:
            raise CorrelationError(f"strength: found {strength}; use 0 (independent) to 1 (known from the one before)")
        matrix = TransitionMatrix.of(strength * np.eye(states) + (1 - strength) / states)
        return cls(matrix, matrix)  # symmetric: the same in both directions

    def adversary(self) -> Adversary:
        """Return the adversary who knows this correlation."""
        return Adversary(Envelope.of(self.backward), Envelope.of(self.forward))


class Strength(NamedTuple):
    """How strong the correlation of one direction is."""

    distance: float
    """Largest total variation distance between two states' distributions: 0 independent, 1 some states never meet."""
    most_carried: float | None
    """The limit of the loss function: what one step hands on of any loss; None where there is none."""
    unbounded_from: float | None
    """The constant epsilon from which on the loss grows for ever, 0: any above it; None where it never does."""
    carried_of_one: float
    """What one step hands on of a loss of 1."""

    @classmethod
    def of(cls, envelope: Envelope) -> "Strength":
        """Return the strength of the matrix of an envelope."""
        if not envelope.vertices:
            return cls(0.0, 0.0, None, 0.0)
        base, gain = envelope.vertices[-1]
        distance, of_one = envelope.vertices[0].gain, envelope.carried(1.0)
        if base == 0:
            return cls(distance, None, max(0.0, -log(gain)), of_one)
        return cls(distance, log1p(gain / base), None, of_one)
