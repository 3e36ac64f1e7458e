"""What is asked of a record before its series decides it: each check says what it asks of one, and of many.

Closed by default: a check that says nothing of many keeps all observations from being decided together.
"""

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import numpy as np

from stream_app.deciding.context import Context
from stream_app.deciding.members import misnamed
from stream_app.deciding.rows import SeriesRow
from stream_app.formats.records import EventRecord, InputRecord, Observation, Watermark
from stream_app.privacy.amounts import Flag, Flags, Ints
from stream_app.privacy.collected.steps import UNREAD
from stream_app.privacy.reason import Reason

_TIMED: Final = (Observation, Watermark)
"""Records that move event time on; of an open step none does, whatever the limit is by now.

A tuple, since a union would be made anew for each of them.
"""


class Many(NamedTuple):
    """Observations of series that have decided a step, with their series' keys: equally many of each."""

    series: Sequence[str]
    times_ms: Ints
    appended_ms: Ints
    """When the broker appended them."""


class Check(NamedTuple):
    """A check of a record by itself, as ``decision`` and columns ask it."""

    one: Callable[[Context, SeriesRow | None, EventRecord, InputRecord], Reason | None]
    """Returns why a record is refused."""
    many: Callable[[Context, Many], Flag] | None = None
    """Returns which observations are; None: nobody said, so none of them is decided with others."""


def refusal(context: Context, row: SeriesRow | None, found: EventRecord, record: InputRecord) -> Reason | None:
    """Return why a record is refused whatever its series says, by the first check that refuses it."""
    for check, _ in CHECKS:
        reason = check(context, row, found, record)
        if reason is not None:
            return reason
    return None


def accepted(context: Context, many: Many) -> Flags:
    """Return which observations no check refuses."""
    found = np.ones(len(many.series), np.bool_)
    for _, check in CHECKS:
        found &= check is not None and ~np.asarray(check(context, many))
    return found


def _misnamed(context: Context, _row: SeriesRow | None, found: EventRecord, _record: InputRecord) -> Reason | None:
    """Return whether the series' name has no member as it should."""
    separator = context.limits.member_separator
    return None if separator is None else misnamed(found.series, separator)


def _misnamed_many(context: Context, many: Many) -> Flag:
    separator = context.limits.member_separator
    if separator is None:
        return False
    return np.array([misnamed(series, separator) is not None for series in many.series], np.bool_)


def misplaced(context: Context, row: SeriesRow | None, found: EventRecord, record: InputRecord) -> Reason | None:
    """Return why the record may not be on this partition; a series with a row has been routed before."""
    if context.partition_of is None:
        return None
    key = context.key_of(found.series) if row is None or context.limits.member_separator is not None else row.key
    if record.key != key or (row is None and context.partition_of(key) != record.partition):
        return "misrouted"
    return None


def _seedless(context: Context, row: SeriesRow | None, found: EventRecord, _record: InputRecord) -> Reason | None:
    """Return whether a watermark lacks its seed, which collected data are drawn from."""
    if not isinstance(found, Watermark) or found.seed is not None:
        return None
    default = context.default_for(found.series) if row is None else None
    policy = row.policy if row is not None else None if default is None else default.policy
    return "malformed" if policy is None or policy.collect is not None else None


def _early(context: Context, row: SeriesRow | None, found: EventRecord, record: InputRecord) -> Reason | None:
    """Return whether the event lies too far ahead of the broker's clock."""
    if not isinstance(found, _TIMED) or not context.limits.ahead(found.timestamp_ms, record.timestamp_ms):
        return None
    opened = row.open_steps if row is not None and isinstance(found, Observation) else None
    within = (
        opened is not None and row is not None and opened.offset_of(found.timestamp_ms // row.policy.step_ms) != UNREAD
    )
    return None if within else "future"


def _asked(_context: Context, _many: Many) -> Flag:
    """Return that none is refused: it is asked of other records, or where the observations are chosen."""
    return False


CHECKS: Final = (
    Check(_misnamed, _misnamed_many),
    Check(_seedless, _asked),  # of watermarks alone
    Check(misplaced, _asked),  # `formats.columns.observations` takes those alone that have the right keys
    Check(_early, lambda context, many: context.limits.ahead(many.times_ms, many.appended_ms)),
)
"""In the order in which they are asked."""
