"""The layout of a series' stored row: its field names, in the order of its bytes.

These names are used to write, read and evict rows, and to convert columns to and from rows.
"""

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any, Final, NamedTuple

from stream_app.formats import wire


class StoredRow(NamedTuple):
    """A stored row; a field with a default is stored only if the series needs that field or a later one."""

    sequence: int
    previous: str
    default: str
    budget_nano: int
    landmark_spent_nano: int
    regular_peak_nano: int
    spare_left: int
    prior_nano: int
    first_budget_nano: int
    period_start_ms: int
    decided_ms: int
    decided_end_ms: int
    first_step: int
    last_step: int
    rate_nano: int
    source_ms: int
    measurement: Sequence[int]
    estimate: Sequence[int]
    level: Sequence[float]
    closed: bool
    backward_loss: float | None = None
    open_steps: Sequence[Any] | None = None
    opens_ms: int = 0
    spent_end_ms: int = 0
    reach_ms: int = 0
    spends: Sequence[Sequence[int]] = ()
    late: Sequence[int] | None = None  # m, then step and cost of the last regular publication
    claim_nano: int | None = None
    whole: bool = False  # window's
    open_units: Sequence[Any] | None = None
    view: bool = False  # whether the series is a view
    views: Sequence[Any] | None = None  # names of the series' views, then of refused views


PLAIN: Final = len(StoredRow._fields) - len(StoredRow._field_defaults)
"""The number of fields in a row whose optional fields all have their defaults."""
_ENDS: Final = tuple(
    (end := StoredRow._fields.index(name) + 1, tuple(StoredRow._field_defaults.values())[end - PLAIN :])
    for name in ("closed", "backward_loss", "open_steps", "spends", "late", "claim_nano", "whole", "open_units")
)
"""The lengths that a stored row may have; a row ends where all later fields have their defaults."""


def written(row: StoredRow) -> tuple[Any, ...]:
    """Return the fields of a row that must be stored."""
    for end, defaults in _ENDS:
        if row[end:] == defaults:
            return row[:end]
    return row[:]


def read(stored: bytes) -> StoredRow:
    """Return the row from stored bytes, which an earlier version may have written."""
    fields: Any = wire.load(stored)
    return StoredRow(*fields)


def picked(*names: str) -> Callable[[Sequence[Any]], Any]:
    """Return a getter for the named fields of a plain row; it returns a tuple, or the value if there is one name."""
    return itemgetter(*map(StoredRow._fields.index, names))
