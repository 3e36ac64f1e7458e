"""What announced intrusions may have revealed about one series, in addition to what its releases reveal.

Intrusions reveal at most ``max(intrusion, epsilon)`` about an item at an exposed step, where epsilon is the spend of
the step's release. So the loss over L and t grows by at most ``j * intrusion``, where j counts the exposed steps among
L and t (docs/guarantee.md). Anyone who did not see the memory learns nothing more, so this is neither part of the
theorem nor a finding.
"""

from dataclasses import dataclass, field
from typing import NamedTuple, assert_never

from stream_app.audit.books.landmarks import Interval, LandmarkSet
from stream_app.audit.books.period import Books
from stream_app.audit.form.entry import MAX_TIMESTAMP, IntrusionEntry


class IntrusionCounts(NamedTuple):
    """The announced intrusions of all series, and the largest loss they may have caused to one series."""

    announced: int
    series: int
    largest_nano: int  # loss of a series to anyone with its exposed counters and releases
    largest_series: str
    steps: int  # exposed steps counted in it


@dataclass(slots=True)
class ExposedSteps:
    """The exposed steps of one series by period, updated in place."""

    announced: int = 0
    closed_nano: int = 0  # of earlier periods
    closed_steps: int = 0
    intrusion_nano: int = 0  # of the current period
    seen: LandmarkSet = field(default_factory=LandmarkSet)  # exposed steps of the current period

    def see(self, intrusion_nano: int, intervals: list[Interval]) -> None:
        """Add an intrusion; a step counts as exposed once, however often it is seen."""
        self.announced += 1
        self.intrusion_nano = intrusion_nano
        self.seen = self.seen.joined(intervals)

    def end(self, books: Books) -> None:
        """End the current period."""
        steps = exposed_steps(books, self.seen)
        self.closed_nano, self.closed_steps = self.closed_nano + steps * self.intrusion_nano, self.closed_steps + steps
        self.intrusion_nano, self.seen = 0, LandmarkSet()

    def cost(self, books: Books | None) -> tuple[int, int]:
        """Return the cost in nano-epsilon and the number of all counted exposed steps."""
        steps = 0 if books is None else exposed_steps(books, self.seen)
        return self.closed_nano + steps * self.intrusion_nano, self.closed_steps + steps


def exposed_steps(books: Books, seen: LandmarkSet) -> int:
    """Return j, the largest number of exposed steps that count together under the books' level."""
    level = books.terms.level
    match level:
        case "landmark":
            return seen.count_common(books.landmarks) + _most_in_a_window(books, seen)
        case "event":
            return min(1, seen.total)
        case "user":
            return seen.total
        case "w-event":
            return _most_in_a_window(books, seen)
        case _:
            assert_never(level)


def _most_in_a_window(books: Books, seen: LandmarkSet) -> int:
    """Return the largest number of exposed steps in one window, excluding landmarks."""
    steps = 1 if books.terms.frame is None else books.terms.frame.steps
    other = seen.without(books.landmarks)
    # A window with the most such steps can be moved so that it begins at the start of an interval.
    windows = ((start, start + steps) for start in other.starts)
    return max((other.count_before(end) - other.count_before(start) for start, end in windows), default=0)


def intrusion_faults(books: Books, entry: IntrusionEntry) -> list[str]:
    """Return the reasons why no worker can have written this intrusion under the current policy."""
    terms = books.terms
    if not terms.intrusion_nano:
        return ["the policy has no noise in its counters, so an intrusion cannot be announced"]
    faults = []
    if entry.intrusion_nano != terms.intrusion_nano:
        faults.append(f"`intrusion_nano` is {entry.intrusion_nano}, but the policy says {terms.intrusion_nano}")
    start, end = entry.exposed[0][0], entry.exposed[-1][1]
    if len(entry.exposed) > 1 or start % terms.step_ms or end % terms.step_ms:
        faults.append(f"open steps are consecutive, and each begins at a multiple of {terms.step_ms} ms")
    elif (end - start) // terms.step_ms > terms.open_steps:
        faults.append(
            f"{(end - start) // terms.step_ms} steps are exposed, but at most {terms.open_steps} steps are open"
        )
    if start < books.end_ms:
        faults.append(
            f"steps from {start} on are exposed, but everything before {books.end_ms} has already been processed"
        )
    if end - terms.step_ms > MAX_TIMESTAMP:
        faults.append(f"no step begins after {MAX_TIMESTAMP}")
    return faults
