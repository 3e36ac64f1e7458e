"""One record in, its decision out: the pure path that the worker and ``replay`` share.

Order of checks: envelope and routing, time, then state, the value last; a rejected record changes nothing.
"""

from collections.abc import Callable
from typing import Final, assert_never

from stream_app.deciding.collecting import collect, recalled
from stream_app.deciding.context import Context, DefaultPolicy
from stream_app.deciding.counters import Collection
from stream_app.deciding.members import FindMember, Joined, capped, claimed, member_of, misnamed, no_member
from stream_app.deciding.outcome import Advanced, Counted, Decided, Outcome, Rejected, seal
from stream_app.deciding.renewal import bounds_to_come
from stream_app.deciding.rows import SeriesRow
from stream_app.deciding.succession import next_version, succeeding
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
from stream_app.privacy.claim import uncovered
from stream_app.privacy.dummies.draw import drawn_policy, named_by_glob, named_by_series
from stream_app.privacy.landmarks import NO_LANDMARKS
from stream_app.privacy.policy import Policy, PolicyError, policy_of
from stream_app.privacy.published import CloseEntry, LandmarksEntry
from stream_app.privacy.reason import Reason, Refused
from stream_app.privacy.weaker import carried

_DATED: Final = (Observation, Contribution, Watermark)
"""Records that carry event time; a tuple, since a union would be made anew for each of them."""
_TIMED: Final = (Observation, Watermark)
"""Those that move event time on. A contribution does not: its step is open already, whatever the limit is by now."""

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
    found = wire.decode(record.value)
    if isinstance(found, Malformed):
        return _reject(found.series, found.timestamp_ms, found.reason, record, found.member)
    if isinstance(found, MemberRecord):
        return _cap(context, find_member, found, record)
    separator = context.limits.member_separator
    refused = None if separator is None else misnamed(found.series, separator)
    row = None if refused else lookup(found.series)
    refused = refused or _misplaced(context, row, found.series, record) or _early(context, found, record)
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
    found = wire.decode(record.value)
    if not isinstance(found, Contribution | Watermark | Intrusion):
        return
    row = lookup(found.series)
    # A watermark whose offset a row holds was in time, whatever the limit is by now.
    if row is not None and not _misplaced(context, row, found.series, record):
        recalled(row, collection, found, record.offset)


def _misplaced(context: Context, row: SeriesRow | None, series: str, record: InputRecord) -> Reason | None:
    """Return why the record may not be on this partition; a series with a row has been routed before."""
    if context.partition_of is None:
        return None
    key = context.key_of(series) if row is None or context.limits.member_separator is not None else row.key
    if record.key != key or (row is None and context.partition_of(key) != record.partition):
        return "misrouted"
    return None


def _early(context: Context, found: EventRecord, record: InputRecord) -> Reason | None:
    """Return whether the event lies too far ahead of the broker's clock."""
    most = context.limits.max_future_ms
    if most is None or not isinstance(found, _TIMED) or found.timestamp_ms <= record.timestamp_ms + most:
        return None
    return "future"


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
        return _adopt_own(context, row, find_member, collection, found, record)
    adopted: Decided | None = None
    if row is None:
        first = _adopt_default(context, find_member, found.series, record)
        if isinstance(first, Refused):
            return first
        row, adopted = first.row, first
    if isinstance(found, Observation):
        if row.policy.collect is not None:
            return Refused("malformed")
        return _observe(context, row, adopted, found, record)
    if isinstance(found, Contribution | Watermark | Intrusion):
        return collect(context, row, adopted, collection, found, record)
    outcome = _control(row, found)
    if isinstance(outcome, Refused):
        return outcome
    if outcome.state.closed:
        collection.drop(row.series)
    return seal(context, row, adopted, outcome, record.timestamp_ms)


def _observe(
    context: Context, row: SeriesRow, adopted: Decided | None, found: Observation, record: InputRecord
) -> Decided | Refused:
    stepped = fold.step(context.keys, row.policy, row.state, found.series, found.timestamp_ms, found.value)
    if isinstance(stepped, Refused):
        return stepped  # and renews nothing
    bounds = bounds_to_come(row.policy, row.state, stepped.release.timestamp_ms) if row.policy.renew else None
    if bounds is None:
        return seal(context, row, adopted, stepped, record.timestamp_ms)
    # PRIVACY: what was drawn under the former version is dropped unread, and shows nowhere.
    policy, default = next_version(row, bounds)
    begun = _adopt(context, row, no_member, row.series, policy, None, record, renewed=default)
    if isinstance(begun, Refused):
        return seal(context, row, adopted, stepped, record.timestamp_ms, "refused")
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


def _adopt_own(
    context: Context,
    row: SeriesRow | None,
    find_member: FindMember,
    collection: Collection,
    found: PolicyRecord,
    record: InputRecord,
) -> Decided | Refused:
    if row is not None and row.state.closed:
        return Refused("closed")
    if not context.limits.accept_policies:
        return Refused("invalid-policy")
    try:
        policy = policy_of(found.parameters, found.version)
    except PolicyError:
        return Refused("invalid-policy")
    may_weaken = found.weaker and context.limits.accept_weaker_policies
    policy, renewed = (policy, "") if row is None else succeeding(row, policy)
    adopted = _adopt(
        context, row, find_member, found.series, policy, None, record, may_weaken=may_weaken, renewed=renewed
    )
    if not isinstance(adopted, Refused):
        collection.drop(found.series)  # unread: what is open belongs to the version before
    return adopted


def _adopt_default(context: Context, find_member: FindMember, series: str, record: InputRecord) -> Decided | Refused:
    default = context.default_for(series)
    if default is None:
        return Refused("no-policy")
    return _adopt(context, None, find_member, series, default.policy, default, record)


def _adopt(  # noqa: PLR0913 (what a version begins from)
    context: Context,
    row: SeriesRow | None,
    find_member: FindMember,
    series: str,
    policy: Policy,
    shared: DefaultPolicy | None,
    record: InputRecord,
    *,
    may_weaken: bool = False,
    renewed: str = "",
) -> Decided | Refused:
    """Begin a version; ``shared`` is the default policy that it is, ``renewed`` names the one that it renews."""
    before, state, limits = (row.policy, row.state, context.limits) if row else (None, None, context.limits)
    separator = limits.member_separator
    if separator is not None and uncovered(policy, before, many=separator in series):
        return Refused("invalid-policy")
    claims = separator is not None
    adopted = fold.adopt(policy, before, state, limits.lifetime_nano, may_weaken=may_weaken, claims=claims)
    if isinstance(adopted, Refused):
        return adopted
    if limits.max_epsilon_nano is not None and policy.epsilon_nano > limits.max_epsilon_nano:
        return Refused("budget-cap")
    joined: Joined | None = None
    claim_nano = adopted.entry.lifetime_nano  # of a first version alone
    if separator is not None and claim_nano is not None and policy.collect is None:
        chain = member_of(series, separator) + separator
        claim = claimed(find_member(chain), chain, claim_nano, limits.member_nano, context.keys, record.timestamp_ms)
        if not isinstance(claim, Joined):
            return Refused(claim)
        joined = claim
    ruling = policy
    if policy.dummies is not None:
        # Only now, since a draw may take seconds: what is refused anyway draws nothing.
        name = named_by_series(series) if shared is None else named_by_glob(shared.glob)
        kept = carried(policy, before, state) if before and state else NO_LANDMARKS
        drawn = drawn_policy(context.keys, name, policy, kept)
        if isinstance(drawn, Refused):
            return drawn
        ruling = drawn
        entry = adopted.entry._replace(parameters=ruling.parameters)
        adopted = fold.Moved(adopted.state.replaced(landmarks=ruling.landmarks), entry)
    sequence, previous = (row.sequence, row.previous) if row else (0, encoding.NO_HASH)
    loss = row.backward_loss if row else None
    # What was drawn stands in no default policy.
    default = renewed if shared is None or policy.dummies is not None else shared.digest
    base = SeriesRow(series, series.encode(), sequence, previous, ruling, default, adopted.state, loss)
    begun = seal(context, base, None, adopted, record.timestamp_ms).with_member(joined)
    if policy.dummies is None:
        return begun
    disguised = fold.disguise(ruling, adopted.state, policy.dummies.method, policy.dummies.charge_nano)
    if isinstance(disguised, Refused):
        return disguised
    return seal(context, begun.row, begun, disguised, record.timestamp_ms)
