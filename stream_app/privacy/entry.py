"""Ledger entries: movements of budget as data; wire adds series, sequence, key and hashes.

The figures of an entry are those after it. The meaning of an entry never changes: an old ledger must audit for ever.
"""

from collections.abc import Mapping
from typing import NamedTuple

from stream_app.privacy.landmarks import Interval
from stream_app.privacy.release import Decision


class Figures(NamedTuple):
    """The budget of the period after an entry, in nano-epsilon, and the landmarks left, unused spare included."""

    budget_nano: int
    landmark_spent_nano: int
    landmarks_left: int
    regular_peak_nano: int


class PolicyEntry(NamedTuple):
    """A policy version begins to rule."""

    version: int
    budget_nano: int
    charged_nano: int
    parameters: Mapping[str, object]


class LandmarksEntry(NamedTuple):
    """Landmarks were registered; ``charged_nano`` is what decided ones among them cost."""

    version: int
    add_ms: tuple[Interval, ...]  # [start, end) in milliseconds
    charged_nano: int
    figures: Figures


class ReleaseEntry(NamedTuple):
    """A step was decided; ``spend_nano`` is 0 unless it was perturbed. Flat: one is made for every event."""

    version: int
    timestamp_ms: int  # start of the step
    decision: Decision
    landmark: bool
    spend_nano: int
    budget_nano: int
    landmark_spent_nano: int
    landmarks_left: int
    regular_peak_nano: int


class CloseEntry(NamedTuple):
    """The series is closed for ever."""

    version: int
