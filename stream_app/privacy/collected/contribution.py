"""The records of collected data: what a member contributes, what closes and opens steps, and an announced intrusion."""

from typing import Final, final

from stream_app.privacy.raw import Raw


@final
class Contribution:
    """One item of one member at one step; its repr hides member and value."""

    __slots__ = ("member", "series", "timestamp_ms", "value")

    def __init__(self, series: str, timestamp_ms: int, member: str, value: Raw) -> None:
        """Hold a raw item; ``value`` should be one of the policy's keys and may be anything that JSON holds."""
        self.series: Final = series
        self.timestamp_ms: Final = timestamp_ms
        self.member: Final = member
        self.value: Final = value

    def __repr__(self) -> str:
        """Return series and timestamp alone."""
        # PRIVACY: whatever prints a contribution, a traceback too, shows neither who nor what.
        return f"Contribution({self.series!r}, {self.timestamp_ms})"


@final
class Watermark:
    """Closes every step that ends at or before it and opens the next ones; its repr hides the seed."""

    __slots__ = ("seed", "series", "timestamp_ms")

    def __init__(self, series: str, timestamp_ms: int, seed: bytes) -> None:
        """Hold a watermark; ``seed`` is fresh and kept by nobody, and pan-private noise is expanded from it."""
        self.series: Final = series
        self.timestamp_ms: Final = timestamp_ms
        self.seed: Final = seed

    def __repr__(self) -> str:
        """Return series and timestamp alone."""
        return f"Watermark({self.series!r}, {self.timestamp_ms})"


@final
class Intrusion:
    """Tells that somebody saw the worker's memory up to here; its repr hides the seed."""

    __slots__ = ("seed", "series")

    def __init__(self, series: str, seed: bytes) -> None:
        """Hold an announcement; fresh noise for what is still open is expanded from ``seed``."""
        self.series: Final = series
        self.seed: Final = seed

    def __repr__(self) -> str:
        """Return the series alone."""
        return f"Intrusion({self.series!r})"


Collected = Contribution | Watermark | Intrusion
"""The records that only series with a `collect` policy take."""
