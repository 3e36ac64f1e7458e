"""Statistics of units: grids of steps and units, the spend allowed for a step, the cost of late units, and bins.

Let any w consecutive units be protected together, and let E be the budget, S the spend on landmarks and R the remaining
spare. A step may spend `E - S` if R is 0, else `w * ((E - S) // (w + R))`. A neighbour that differs in `a` units of the
step loses at most `a/w` of the spend. So if M is the largest spend of a step, n units that become landmarks late cost
`ceil(n * M / w)`.
"""

from collections import Counter
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final, NamedTuple

from stream_app.audit.books.landmarks import LandmarkSet
from stream_app.audit.books.share import Share

_HOUR_MS: Final = 3_600_000
_DAY_MS: Final = 24 * _HOUR_MS
_FIRST_WEEKDAY: Final = 3  # 1970-01-01 was a Thursday, the fourth day of its week


class Grid(NamedTuple):
    """Spans of equal length; the first one begins at `origin_ms`."""

    origin_ms: int
    length_ms: int

    def number(self, at_ms: int) -> int:
        """Return the number of the span that contains a moment; it is negative before the origin."""
        return (at_ms - self.origin_ms) // self.length_ms

    def start(self, index: int) -> int:
        """Return the start of a span as records state it: 1970 if the span begins earlier."""
        return max(0, self.origin_ms + index * self.length_ms)

    def covering(self, start_ms: int, end_ms: int) -> tuple[int, int]:
        """Return the spans [first, end) that touch [start_ms, end_ms)."""
        return self.number(start_ms), -((self.origin_ms - end_ms) // self.length_ms)

    def aligned(self, at_ms: int) -> bool:
        """Return whether a span begins at this moment, according to `start`."""
        return not (at_ms - self.origin_ms) % self.length_ms or not at_ms


class Units(NamedTuple):
    """The units of a policy: each step has `per_step`, and any `window` consecutive units are protected together."""

    grid: Grid
    per_step: int
    window: int
    by: str  # "" if a step has one statistic
    transitions: tuple[tuple[int, int], ...]  # (moment, ms ahead of UTC in local time from then on)

    def late(self, passed: int, peak_nano: int) -> int:
        """Return the cost of processed units that become landmarks late."""
        return -(-passed * peak_nano // self.window)

    def counted(self, start_ms: int, landmarks: LandmarkSet) -> int:
        """Return how many units of a step are not landmarks."""
        first = self.grid.number(start_ms)
        return self.per_step - landmarks.count_before(first + self.per_step) + landmarks.count_before(first)

    def bins(self, start_ms: int, landmarks: LandmarkSet) -> Mapping[str, int]:
        """Return how many units of a step, excluding landmarks, are in each bin of local time."""
        first = self.grid.number(start_ms)
        if landmarks.count_before(first + self.per_step) == landmarks.count_before(first):
            return _bins(self, start_ms)
        units = (first + nth for nth in range(self.per_step))
        return Counter(self.bin(self.grid.start(unit)) for unit in units if not landmarks.at(unit)[0])

    def bin(self, start_ms: int) -> str:
        """Return the bin of a unit, by the local time of its start."""
        shift_ms = self.transitions[0][1] if self.transitions else 0
        for at_ms, then_ms in self.transitions:
            if at_ms <= start_ms:
                shift_ms = then_ms
        day, rest_ms = divmod(start_ms + shift_ms, _DAY_MS)
        weekday, hour = (day + _FIRST_WEEKDAY) % 7, rest_ms // _HOUR_MS
        return str({"hour": hour, "weekday": weekday + 1}.get(self.by, 24 * weekday + hour))


@lru_cache(maxsize=4096)  # series of one policy have the same steps
def _bins(units: Units, start_ms: int) -> Mapping[str, int]:
    return Counter(units.bin(start_ms + nth * units.grid.length_ms) for nth in range(units.per_step))


def units_of(protection: Mapping[str, Any], value: Mapping[str, Any]) -> Units | None:
    """Return the units of a well-formed policy, or None if its steps are protected as a whole."""
    unit = protection.get("unit")
    if unit is None:
        return None
    shifts = value.get("transitions") or ()
    return Units(
        Grid(protection.get("offset") or 0, unit),
        protection.get("step", 1) // unit,
        protection.get("window") or 1,
        value.get("by") or "",
        tuple((at_ms, shift_ms) for at_ms, shift_ms in shifts),
    )


@lru_cache
def unit_share(budget: int, window: int) -> Share:
    """Return the share of steps with units, under any scheme that allows them.

    Landmarks do not get their own releases. The result is cached by budget and window.
    """

    def share(spent: int, _peak: int, left: int, landmark: bool) -> int:  # noqa: FBT001 - one of four plain numbers
        free = budget - spent
        if landmark:
            return 0
        return window * (free // (window + left)) if left else free

    return share
