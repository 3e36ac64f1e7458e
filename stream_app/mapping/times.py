"""The times of a file's rows: how far apart they are, their order, and what is missing."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise


@dataclass(frozen=True, slots=True)
class Times:
    """The times of a file's rows, in ms."""

    rows: int
    first_ms: int
    last_ms: int
    interval_ms: int
    """The most frequent time between two rows, or 0 if there is only one row."""
    regular: int
    """How many of the times between two rows equal ``interval_ms``."""
    gaps: int
    """The number of times between two rows that exceed one and a half intervals."""
    repeated: int
    backwards: int
    """The number of rows that have an earlier time than the row above them."""

    @classmethod
    def of(cls, moments_ms: Iterable[int]) -> "Times | None":
        """Return the times of some rows, or None if there are no rows."""
        found = list(moments_ms)
        if not found:
            return None
        apart = Counter(after - before for before, after in pairwise(found))
        forward = {length: count for length, count in apart.items() if length > 0}
        interval = max(forward, key=lambda length: (forward[length], -length), default=0)
        return cls(
            len(found),
            min(found),
            max(found),
            interval,
            forward.get(interval, 0),
            sum(count for length, count in forward.items() if 2 * length > 3 * interval),
            apart[0],
            sum(count for length, count in apart.items() if length < 0),
        )
