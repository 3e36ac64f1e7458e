"""Checks of a record before its series processes it, each with a form for one record and a form for many.

If a check has no form for many records, or if a limit that `LIMITS` does not name is set, no records are processed or
counted together.
"""

from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Final, NamedTuple

import numpy as np

from stream_app.deciding.context import Context, Limits
from stream_app.deciding.filling import is_recalled
from stream_app.deciding.members import is_too_long, lacks_part
from stream_app.deciding.rows import Lookup, SeriesRow
from stream_app.formats.records import EventRecord, InputRecord, Observation, PolicyRecord, Watermark
from stream_app.privacy.amounts import Flag, Flags, Ints
from stream_app.privacy.collected.steps import UNREAD
from stream_app.privacy.reason import Reason

LIMITS: Final = frozenset({
    "lifetime_nano", "max_epsilon_nano", "accept_policies", "accept_weaker_policies", "max_future_ms",
    "member_separator", "member_nano",
})  # fmt: skip
"""Limits that do not affect observations or contributions, or that some check covers in bulk.

If any other limit is set, each record is processed by itself.
"""
_TIMED: Final = (Observation, Watermark)
"""Record types that can advance event time; a record of an open step never does, even if the limit changed.

This is a tuple because a union would be created again for each record.
"""


class Many(NamedTuple):
    """Observations with the right keys, from series that have processed a step; all fields have equal length."""

    series: Sequence[str]
    times_ms: Ints
    appended_ms: Ints
    """The time at which the broker appended each observation, in ms."""


class Check(NamedTuple):
    """A check of a record, with the forms that are used by ``decision``, columns, counting and recalls.

    A form that is not defined is None.
    """

    reason: Reason
    """Why a record is refused, by its series and by all views of it."""
    one: Callable[[Context, SeriesRow | None, EventRecord, InputRecord], bool]
    """Returns whether a record is refused."""
    many: Callable[[Context, Many], Flag] | None = None
    """Returns which observations are refused; if None, no observations are processed together."""
    counted: Callable[[Context, SeriesRow], bool] | None = None
    """Returns whether a contribution to an open step may be refused; if None, each one is processed by itself."""
    recalled: bool | None = None
    """Whether a recall repeats the check: False if the check's answer may change; None means yes.

    If it is False, `refusal` accepts records of open steps, because a recall would accept a record that was refused
    earlier.
    """


def refusal(
    context: Context, lookup: Lookup, row: SeriesRow | None, found: EventRecord, record: InputRecord
) -> Reason | None:
    """Return why a record is refused: the reason of the first check that refuses it, or None if none does.

    ``row`` is its series' row, and ``lookup`` finds those of the series' views. A check whose ``recalled`` is False
    does not refuse records of open steps.
    """
    for check in CHECKS:
        if check.one(context, row, found, record) and (
            check.recalled is not False or row is None or not _belongs(context, lookup, row, found)
        ):
            return check.reason
    return None


def _belongs(context: Context, lookup: Lookup, row: SeriesRow, found: EventRecord) -> bool:
    """Return whether a record belongs to an open step of its series or, if it is a reading, of one of its views.

    A restart accepts every record of such a step (`recall`), even if the configuration has changed. A view's steps in
    memory are as long as those of its base, so the base could also have reached the step.
    """
    if not isinstance(found, Observation):
        return is_recalled(row, found)
    views = (lookup(row.id_of(name, context.limits.member_separator)) for name in row.views.begun)
    return _is_open(row, found.timestamp_ms) or any(
        view is not None and is_read(view, found.timestamp_ms) for view in views
    )


def accepted(context: Context, many: Many) -> Flags:
    """Return which observations no check refuses."""
    found = np.full(len(many.series), _known(context.limits))
    for check in CHECKS:
        found &= check.many is not None and ~np.asarray(check.many(context, many))
    return found


def countable(context: Context, row: SeriesRow) -> bool:
    """Return whether every check accepts contributions to open steps of a series."""
    allowed = all(check.counted is not None and not check.counted(context, row) for check in CHECKS)
    return allowed and _known(context.limits)


def _known(limits: Limits) -> bool:
    """Return whether `LIMITS` names every limit that is set."""
    others = (one for one in fields(limits) if one.name not in LIMITS)
    return all(getattr(limits, one.name) == one.default for one in others)


def was_refused(context: Context, row: SeriesRow, found: EventRecord, record: InputRecord) -> bool:
    """Return whether a recalled record was refused, according to the checks that a recall repeats."""
    return any(check.recalled is not False and check.one(context, row, found, record) for check in CHECKS)


def _of_name(reason: Reason, is_wrong: Callable[[str, str], bool]) -> Check:
    """Return the check that a series' name, given a separator, names a person as required."""

    def applies(context: Context, series: str) -> bool:
        separator = context.limits.member_separator
        return separator is not None and is_wrong(series, separator)

    return Check(
        reason,
        lambda context, _row, found, _record: applies(context, found.series),
        lambda context, several: (
            context.limits.member_separator is not None
            and np.array([applies(context, series) for series in several.series], np.bool_)
        ),
        counted=lambda context, row: applies(context, row.series),
        recalled=False,
    )


def _for_base(context: Context, row: SeriesRow | None, found: EventRecord, _record: InputRecord) -> bool:
    """Refuse any record sent to a view except a policy; only the view's base accepts the others."""
    return not isinstance(found, PolicyRecord) and context.is_view(row, found.series)


def _in_views_many(context: Context, many: Many) -> Flag:
    """Return which series are views or have views; these are not processed together with others."""
    if not context.views:
        return False
    known = {name: bool(context.views_of(name)) or context.base_of(name) is not None for name in set(many.series)}
    return np.array([known[name] for name in many.series], np.bool_)


def _misplaced(context: Context, row: SeriesRow | None, found: EventRecord, record: InputRecord) -> bool:
    """Refuse a record on a wrong partition; a series with a row has already been routed."""
    if context.partition_of is None:
        return False
    key = due_key(context, row, found.series)
    return record.key != key or (row is None and context.partition_of(key) != record.partition)


def due_key(context: Context, row: SeriesRow | None, series: str) -> bytes:
    """Return the key that the records of a series must have."""
    return context.key_of(series) if row is None or context.limits.member_separator is not None else row.key


def _seedless(context: Context, row: SeriesRow | None, found: EventRecord, _record: InputRecord) -> bool:
    """Refuse a watermark without a seed if its series collects data or no policy applies."""
    if not isinstance(found, Watermark) or found.seed is not None:
        return False
    default = context.default_for(found.series) if row is None else None
    policy = row.policy if row is not None else None if default is None else default.policy
    return policy is None or policy.collect is not None


def _early(context: Context, _row: SeriesRow | None, found: EventRecord, record: InputRecord) -> bool:
    """Refuse an event that lies too far ahead of the broker's clock."""
    return isinstance(found, _TIMED) and bool(context.limits.ahead(found.timestamp_ms, record.timestamp_ms))


def _is_open(row: SeriesRow, timestamp_ms: int) -> bool:
    """Return whether a reading at ``timestamp_ms`` belongs to an open step."""
    units = row.open_units
    return is_read(row, timestamp_ms) or (
        units is not None and units.step(row.policy.index_of(timestamp_ms)) is not None
    )


def is_read(row: SeriesRow, timestamp_ms: int) -> bool:
    """Return whether a reading at this time belongs to a step that is open in memory and that a recall rereads."""
    steps = row.open_steps
    return steps is not None and steps.offset_of(row.policy.index_of(timestamp_ms)) != UNREAD


def _asked(_context: Context, _many: Many | SeriesRow) -> bool:
    """Return False: the check is for other records, or was already made when these records were selected."""
    return False


CHECKS: Final = (
    _of_name("malformed", lacks_part),
    _of_name("too-large", is_too_long),
    # Series whose rows mention views are never in columns.
    Check("malformed", _for_base, _in_views_many, lambda context, row: context.is_view(row, row.series), recalled=True),
    Check("malformed", _seedless, _asked, _asked, recalled=True),  # only for watermarks
    # `formats.columns.observations` and `columns.counting` only accept records that have the right keys.
    Check("misrouted", _misplaced, _asked, _asked, recalled=True),
    # Never refuses a contribution.
    Check(
        "future",
        _early,
        lambda context, many: context.limits.ahead(many.times_ms, many.appended_ms),
        _asked,
        recalled=False,
    ),
)
"""All checks, in order."""
