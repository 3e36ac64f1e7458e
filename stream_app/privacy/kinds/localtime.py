"""How a step's units are divided by local time."""

from bisect import bisect_right
from operator import itemgetter
from typing import Final, Literal, NamedTuple

By = Literal["hour", "weekday", "hour-of-week"]
HOUR_MS: Final = 3_600_000
DAY_MS: Final = 24 * HOUR_MS
_EPOCH_DAY: Final = 3
"""The number of days from a Monday to 1970-01-01, which was a Thursday."""


class LocalTime(NamedTuple):
    """How a step's units are divided: by the hour, ISO weekday or hour of the week in which they start.

    From a transition on, local time is UTC plus the transition's offset; the first offset also applies before the first
    transition. Without transitions, local time is UTC.
    """

    by: By
    transitions: tuple[tuple[int, int], ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Return the bins: hours 0 to 23, weekdays 1 (Monday) to 7, or hours 0 to 167 from Monday 00:00."""
        first, end = {"hour": (0, 24), "weekday": (1, 8), "hour-of-week": (0, 168)}[self.by]
        return tuple(map(str, range(first, end)))

    def bin_of(self, start_ms: int) -> int:
        """Return the bin index of a unit that starts at ``start_ms``."""
        at = bisect_right(self.transitions, start_ms, key=itemgetter(0))
        local_ms = start_ms + (self.transitions[max(0, at - 1)][1] if self.transitions else 0)
        weekday, hour = (local_ms // DAY_MS + _EPOCH_DAY) % 7, local_ms // HOUR_MS % 24
        match self.by:
            case "hour":
                return hour
            case "weekday":
                return weekday
            case "hour-of-week":
                return weekday * 24 + hour
