"""One record in, its decision out: the pure path that the worker and ``replay`` share.

Order of checks: envelope and routing, time, then state, the value last; a rejected record changes nothing.
"""

from collections.abc import Callable
from typing import Final, assert_never

from stream_app.deciding import gathering
from stream_app.deciding.adopting import adopt_default, adopt_own, renewed
from stream_app.deciding.checks import misplaced, refusal
from stream_app.deciding.collecting import collect, recalled
from stream_app.deciding.context import Context
from stream_app.deciding.counters import Collection
from stream_app.deciding.members import FindMember, Joined, capped, no_member
from stream_app.deciding.outcome import Advanced, Counted, Decided, Outcome, Rejected, seal
from stream_app.deciding.rows import SeriesRow
from stream_app.formats import encoding, wire
from stream_app.formats.records import (
    CloseRecord,
    Contribution,
    EventRecord,
    InputRecord,
    Intrusion,
    LandmarksRecord,
    Malformed,
    MemberRecord,
    Observation,
    PolicyRecord,
    Watermark,
)
from stream_app.privacy import fold
from stream_app.privacy.policy import Policy
from stream_app.privacy.published import CloseEntry, LandmarksEntry
from stream_app.privacy.reason import Reason, Refused

_DATED: Final = (Observation, Contribution, Watermark)
"""Records that carry event time; a tuple, since a union would be made anew for each of them."""

Lookup = Callable[[str], SeriesRow | None]
"""Returns the row of a series, None if it has none yet."""


def decide(
    context: Context,
    lookup: Lookup,
    collection: Collection,
    record: InputRecord,
    find_member: FindMember = no_member,
) -> Outcome:
    """Decide one record; ``lookup`` finds a series' row, ``collection`` holds the partition's open counters.

    ``find_member`` is asked only where series have members.

    Never raises for anything the record holds.

    Raises:
        LostCountersError: if a row has an open step whose counters are not in the collection.
    """
    found = wire.decoded(record)
    if isinstance(found, Malformed):
        return _reject(found.series, found.timestamp_ms, found.reason, record, found.member)
    if isinstance(found, MemberRecord):
        return _cap(context, find_member, found, record)
    row = lookup(found.series)
    refused = refusal(context, row, found, record)
    outcome = Refused(refused) if refused else _apply(context, row, find_member, collection, found, record)
    if isinstance(outcome, Refused):
        timestamp_ms = found.timestamp_ms if isinstance(found, _DATED) else None
        return _reject(found.series, timestamp_ms, outcome.reason, record)
    return outcome


def recall(context: Context, lookup: Lookup, collection: Collection, record: InputRecord) -> None:
    """Take a record again that was decided before: nothing is put out, and ``collection`` gets what is still open.

    ``lookup`` finds rows as they are stored now, after all records that are recalled. Begin with an
    empty collection and give it every record in order, from `Collection.floor` of the worker before to the first
    undecided one: then it equals that of a worker which never lost its memory.
    """
    found = wire.decoded(record)
    if not isinstance(found, Observation | Contribution | Watermark | Intrusion):
        return
    row = lookup(found.series)
    # What a row holds the offset of was in time, whatever the limit is by now.
    if row is None or row.open_steps is None or misplaced(context, row, found, record):
        return
    if isinstance(found, Observation) or (isinstance(found, Watermark) and row.policy.within is not None):
        gathering.recalled(row, collection, found, record.offset)
    elif not isinstance(found, Watermark) or found.seed is not None:  # without one it was rejected, and opened nothing
        recalled(row, collection, found, record.offset)


def _reject(
    series: str | None, timestamp_ms: int | None, reason: Reason, record: InputRecord, member: str | None = None
) -> Rejected:
    value = encoding.encode_reject(series, timestamp_ms, reason, record.topic, record.partition, record.offset)
    key = series or member
    return Rejected(reason, key.encode() if key else None, value)


def _cap(context: Context, find_member: FindMember, found: MemberRecord, record: InputRecord) -> Joined | Rejected:
    """Decide the cap of a member."""
    limits, key = context.limits, found.member.encode()
    separator = limits.member_separator
    outcome: Joined | Reason
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
    return outcome if isinstance(outcome, Joined) else _reject(None, None, outcome, record, found.member)


def _apply(
    context: Context,
    row: SeriesRow | None,
    find_member: FindMember,
    collection: Collection,
    found: EventRecord,
    record: InputRecord,
) -> Decided | Counted | Advanced | Refused:
    if isinstance(found, PolicyRecord):
        return adopt_own(context, row, find_member, collection, found, record)
    adopted: Decided | None = None
    if row is None:
        first = adopt_default(context, find_member, found.series, record)
        if isinstance(first, Refused):
            return first
        row, adopted = first.row, first
    if _untaken(row.policy, found):
        return Refused("wrong-type")
    if row.policy.within is not None and isinstance(found, Observation | Watermark):
        return gathering.gather(context, row, adopted, collection, found, record)
    if isinstance(found, Observation):
        return _observe(context, row, adopted, found, record)
    if isinstance(found, Contribution | Watermark | Intrusion):
        return collect(context, row, adopted, collection, found, record)
    outcome = _control(row, found)
    if isinstance(outcome, Refused):
        return outcome
    if outcome.state.closed:
        collection.drop(row.series)
    return seal(context, row, adopted, outcome, record.timestamp_ms)


def _untaken(policy: Policy, found: EventRecord) -> bool:
    """Return whether a series under the policy takes no records of this type."""
    match found:
        case Observation():
            return policy.collect is not None
        case Watermark():
            return policy.collect is None and policy.within is None
        case Contribution() | Intrusion():
            return policy.collect is None
        case _:
            return False


def _observe(
    context: Context, row: SeriesRow, adopted: Decided | None, found: Observation, record: InputRecord
) -> Decided | Refused:
    stepped = fold.step(context.keys, row.policy, row.state, found.series, found.timestamp_ms, found.value)
    if isinstance(stepped, Refused):
        return stepped  # and renews nothing
    begun = renewed(context, row, stepped.release.timestamp_ms, record) if row.policy.renew else None
    if not isinstance(begun, Decided):
        return seal(context, row, adopted, stepped, record.timestamp_ms, None if begun is None else "refused")
    # PRIVACY: what was drawn under the former version is dropped unread, and shows nowhere.
    stepped = fold.step(context.keys, begun.row.policy, begun.row.state, found.series, found.timestamp_ms, found.value)
    assert not isinstance(stepped, Refused), "a version is renewed for an event that was accepted under it"
    return seal(context, begun.row, begun, stepped, record.timestamp_ms, "begun")


def _control(
    row: SeriesRow, found: LandmarksRecord | CloseRecord
) -> fold.Moved[LandmarksEntry] | fold.Moved[CloseEntry] | Refused:
    match found:
        case LandmarksRecord():
            return fold.register(row.policy, row.state, found.add)
        case CloseRecord():
            return fold.close(row.policy, row.state)
        case _:
            assert_never(found)
