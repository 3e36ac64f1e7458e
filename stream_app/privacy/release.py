"""What is published for a step: the closed union of releases."""

from typing import Final, Literal, final

from stream_app.privacy.raw import ReleasedCells

Decision = Literal["perturbed", "approximated", "withheld"]


@final
class Perturbed:
    """A fresh measurement, paid for; ``estimate`` is what to use."""

    __slots__ = ("estimate", "measurement", "spend_nano", "timestamp_ms")

    def __init__(self, timestamp_ms: int, estimate: ReleasedCells, measurement: ReleasedCells, spend_nano: int) -> None:
        """Hold what is published for the step that starts at ``timestamp_ms``."""
        self.timestamp_ms: Final = timestamp_ms
        self.estimate: Final = estimate
        self.measurement: Final = measurement
        self.spend_nano: Final = spend_nano


@final
class Approximated:
    """The estimate of the earlier release at ``source_ms`` again, free."""

    __slots__ = ("estimate", "source_ms", "timestamp_ms")

    def __init__(self, timestamp_ms: int, estimate: ReleasedCells, source_ms: int) -> None:
        """Hold what is published for the step that starts at ``timestamp_ms``."""
        self.timestamp_ms: Final = timestamp_ms
        self.estimate: Final = estimate
        self.source_ms: Final = source_ms


@final
class Withheld:
    """Nothing to repeat, nothing to spend."""

    __slots__ = ("timestamp_ms",)

    def __init__(self, timestamp_ms: int) -> None:
        """Hold the start of the step."""
        self.timestamp_ms: Final = timestamp_ms


Release = Perturbed | Approximated | Withheld
