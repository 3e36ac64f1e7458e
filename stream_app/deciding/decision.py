"""One record in, its decision out: the pure path that the worker and ``replay`` share.

Order of checks: envelope and routing, time, then state, the value last; a rejected record changes nothing.
"""

from collections.abc import Callable
from typing import Final, assert_never

from stream_app.deciding import gathering
from stream_app.deciding.adopting import adopt_default, adopt_own, renewed
from stream_app.deciding.collecting import collect, recalled
from stream_app.deciding.context import Context
from stream_app.deciding.counters import Collection
from stream_app.deciding.members import FindMember, Joined, capped, misnamed, no_member
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
from stream_app.privacy.collected.steps import UNREAD
from stream_app.privacy.policy import Policy
from stream_app.privacy.published import CloseEntry, LandmarksEntry
from stream_app.privacy.reason import Reason, Refused

_DATED: Final = (Observation, Contribution, Watermark)
"""Records that carry event time; a tuple, since a union would be made anew for each of them."""
_TIMED: Final = (Observation, Watermark)
"""Those that move event time on. What is of an open step does not, whatever the limit is by now."""

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
    separator = context.limits.member_separator
    refused = None if separator is None else misnamed(found.series, separator)
    row = None if refused else lookup(found.series)
    refused = refused or _seedless(context, row, found)
    refused = refused or _misplaced(context, row, found.series, record) or _early(context, row, found, record)
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
    if row is None or row.open_steps is None or _misplaced(context, row, found.series, record):
        return
    if isinstance(found, Observation) or (isinstance(found, Watermark) and row.policy.within is not None):
        gathering.recalled(row, collection, found, record.offset)
    elif not isinstance(found, Watermark) or found.seed is not None:  # without one it was rejected, and opened nothing
        recalled(row, collection, found, record.offset)


def _misplaced(context: Context, row: SeriesRow | None, series: str, record: InputRecord) -> Reason | None:
    """Return why the record may not be on this partition; a series with a row has been routed before."""
    if context.partition_of is None:
        return None
    key = context.key_of(series) if row is None or context.limits.member_separator is not None else row.key
    if record.key != key or (row is None and context.partition_of(key) != record.partition):
        return "misrouted"
    return None


def _seedless(context: Context, row: SeriesRow | None, found: EventRecord) -> Reason | None:
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
