"""The pure path from one record to its decision, shared by the worker and ``replay``.

Checks run in this order: envelope and routing, time, state, value. A rejected record changes nothing.
"""

from typing import Final

from stream_app.deciding.checks import refusal, was_refused
from stream_app.deciding.collection import Collection
from stream_app.deciding.context import Context
from stream_app.deciding.filling import recalled
from stream_app.deciding.members import FindMember, MemberChange, capped, no_member
from stream_app.deciding.outcome import Outcome, RejectedRecord, rejected
from stream_app.deciding.rows import Lookup
from stream_app.deciding.views.handing import Handing
from stream_app.deciding.views.single import applied
from stream_app.formats import wire
from stream_app.formats.records import (
    Contribution,
    InputRecord,
    Intrusion,
    MalformedRecord,
    MemberRecord,
    Observation,
    Watermark,
    of_series,
)
from stream_app.privacy.reason import Reason, Rejection

_DATED: Final = (Observation, Contribution, Watermark)
"""Record types that carry event time; a tuple is used because a union would be recreated for each record."""


def decide(
    context: Context,
    lookup: Lookup,
    collection: Collection,
    record: InputRecord,
    find_member: FindMember = no_member,
) -> Outcome:
    """Process one record and return its outcome.

    ``lookup`` finds a series' row, and ``collection`` contains the partition's open counters. ``find_member`` is called
    only if series belong to persons.

    Never raises because of a record's content.

    Raises:
        LostCountersError: if a row has an open step whose counters are not in the collection.
        LostUnitsError: if a row has an open step whose sealed rows are not in the table.
    """
    found = wire.decoded(record)
    if isinstance(found, MalformedRecord):
        return rejected(found.series, found.timestamp_ms, found.reason, record, found.member)
    if isinstance(found, MemberRecord):
        return _cap(context, find_member, found, record)
    row = lookup(found.series)
    refused = refusal(context, lookup, row, found, record)
    outcome: Outcome | Rejection
    if refused:
        outcome = Rejection(refused)
    elif context.of_views(row, found.series):
        outcome = Handing(context, lookup, find_member, collection, record).handed(row, found)
    else:
        outcome = applied(context, row, find_member, collection, found, record)
    if isinstance(outcome, Rejection):
        timestamp_ms = found.timestamp_ms if isinstance(found, _DATED) else None
        return rejected(found.series, timestamp_ms, outcome.reason, record)
    return outcome


def recall(context: Context, lookup: Lookup, collection: Collection, record: InputRecord) -> None:
    """Process a record again to restore what is still open, without writing anything.

    ``lookup`` finds rows as they are stored now, which is their state after all recalled records. Start with an empty
    ``collection`` and pass every record in order, from the previous worker's `Collection.floor` to the first
    unprocessed one. The collection then equals that of a worker that never lost its memory.
    """
    found = wire.decoded(record)
    if not isinstance(found, Observation | Contribution | Watermark | Intrusion):
        return
    base = lookup(found.series)
    if base is None or was_refused(context, base, found, record):
        return
    # The record was also processed for the views of its series.
    views = (lookup(base.id_of(name, context.limits.member_separator)) for name in base.views.begun)
    for row in (base, *views):
        if row is not None and row.open_steps is not None:
            recalled(row, collection, of_series(found, row.series), record.offset)


def _cap(
    context: Context, find_member: FindMember, found: MemberRecord, record: InputRecord
) -> MemberChange | RejectedRecord:
    """Process a person's limit."""
    limits, key = context.limits, found.member.encode()
    separator = limits.member_separator
    outcome: MemberChange | Reason
    if separator is None or separator in found.member:
        outcome = "malformed"
    elif len(key) >= wire.LARGEST_SERIES_BYTES:
        outcome = "too-large"
    elif context.partition_of is not None and (record.key, record.partition) != (key, context.partition_of(key)):
        outcome = "misrouted"
    elif not limits.accept_policies:
        outcome = "invalid-policy"
    else:
        chain = found.member + separator
        outcome = capped(find_member(chain), chain, found, limits.member_nano, context.keys, record.timestamp_ms)
    return outcome if isinstance(outcome, MemberChange) else rejected(None, None, outcome, record, found.member)
