"""What is published for a step: the closed union of releases."""

from typing import Literal, NamedTuple

from stream_app.privacy.raw import ReleasedCells

Decision = Literal["perturbed", "approximated", "withheld"]


class Perturbed(NamedTuple):
    """A fresh measurement, paid for; ``estimate`` is what to use."""

    timestamp_ms: int
    estimate: ReleasedCells
    measurement: ReleasedCells
    spend_nano: int
    decision: Literal["perturbed"] = "perturbed"


class Approximated(NamedTuple):
    """The estimate of the earlier release at ``source_ms`` again, free."""

    timestamp_ms: int
    estimate: ReleasedCells
    source_ms: int
    decision: Literal["approximated"] = "approximated"


class Withheld(NamedTuple):
    """Nothing to repeat, nothing to spend."""

    timestamp_ms: int
    decision: Literal["withheld"] = "withheld"


Release = Perturbed | Approximated | Withheld
