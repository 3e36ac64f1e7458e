"""The layout of a series' stored row: its fields by name, in the order in which they stand in its bytes.

A row is written, read and evicted by these names, and columns take it in and give it back by them.
"""

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any, Final, NamedTuple

from stream_app.formats import wire


class StoredRow(NamedTuple):
    """A stored row; a row has the fields with a default as far as its series needs them."""

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
    late: Sequence[int] | None = None  # m with the step and the spend of the last regular publication
    claim_nano: int | None = None
    whole: bool = False  # of the window
    open_units: Sequence[Any] | None = None
    view: bool = False  # whether the series is a view
    views: Sequence[Any] | None = None  # names of those that the series has, and of those that were refused


PLAIN: Final = len(StoredRow._fields) - len(StoredRow._field_defaults)
"""How many fields a row has where nothing differs from its default."""
_ENDS: Final = tuple(
    (end := StoredRow._fields.index(name) + 1, tuple(StoredRow._field_defaults.values())[end - PLAIN :])
    for name in ("closed", "backward_loss", "open_steps", "spends", "late", "claim_nano", "whole", "open_units")
)
"""Behind one of these fields a row ends, or behind its last one: the first behind which all is as by default."""


def written(row: StoredRow) -> tuple[Any, ...]:
    """Return the fields of a row that are stored."""
    for end, defaults in _ENDS:
        if row[end:] == defaults:
            return row[:end]
    return row[:]


def read(stored: bytes) -> StoredRow:
    """Return the row that stored bytes are, those of earlier versions too."""
    fields: Any = wire.load(stored)
    return StoredRow(*fields)


def picked(*names: str) -> Callable[[Sequence[Any]], Any]:
    """Return what gives the fields of these names of a plain row as it is read: a tuple, of one name its field."""
    return itemgetter(*map(StoredRow._fields.index, names))
