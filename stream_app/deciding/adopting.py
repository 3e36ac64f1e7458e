"""Starts policy versions: from a record, from the default of a new series, or as a renewal."""

from dataclasses import replace

from stream_app.deciding.collection import Collection
from stream_app.deciding.context import Context, DefaultPolicy
from stream_app.deciding.members import FindMember, MemberChange, claimed, member_of, no_member
from stream_app.deciding.outcome import ProcessedRecord, seal
from stream_app.deciding.renewal import bounds_to_come
from stream_app.deciding.rows import NO_VIEWS, SeriesRow
from stream_app.deciding.succession import next_version, succeeding
from stream_app.formats import encoding
from stream_app.formats.records import InputRecord, PolicyRecord
from stream_app.privacy import fold
from stream_app.privacy.collected.plain import stays_open
from stream_app.privacy.dummies.draw import drawn_policy, named_by_glob, named_by_series
from stream_app.privacy.landmarks import NO_LANDMARKS, LandmarkSet
from stream_app.privacy.policy import Policy, PolicyError, policy_of
from stream_app.privacy.reason import Rejection
from stream_app.privacy.state import uncovered
from stream_app.privacy.units.steps import takes_over
from stream_app.privacy.weaker import carried


def adopt_own(
    context: Context,
    row: SeriesRow | None,
    find_member: FindMember,
    collection: Collection,
    found: PolicyRecord,
    record: InputRecord,
) -> ProcessedRecord | Rejection:
    """Start the version that a policy record contains."""
    policy = policy_from(context, row, found)
    if isinstance(policy, Rejection):
        return policy
    adopted = adopt_version(context, row, find_member, policy, found, record)
    if not isinstance(adopted, Rejection):
        drop_unread(collection, row, adopted)
    return adopted


def policy_from(context: Context, row: SeriesRow | None, found: PolicyRecord) -> Policy | Rejection:
    """Return the policy that a record contains; ``row`` is the row of the record's series."""
    if row is not None and row.state.closed:
        return Rejection("closed")
    if not context.limits.accept_policies:
        return Rejection("invalid-policy")
    try:
        return policy_of(found.parameters, found.version)
    except PolicyError:
        return Rejection("invalid-policy")


def adopt_version(
    context: Context,
    row: SeriesRow | None,
    find_member: FindMember,
    policy: Policy,
    found: PolicyRecord,
    record: InputRecord,
) -> ProcessedRecord | Rejection:
    """Start the version that a record contains; open steps stay in memory whether or not they continue."""
    may_weaken = found.weaker and context.limits.accept_weaker_policies
    policy, renewed = (policy, "") if row is None else succeeding(row, policy)
    return _adopt(context, row, find_member, found.series, policy, None, record, may_weaken=may_weaken, renewed=renewed)


def drop_unread(collection: Collection, row: SeriesRow | None, adopted: ProcessedRecord) -> None:
    """Drop the open steps that the new version does not take over from the previous version, whose row is ``row``."""
    if adopted.row.open_steps is None:
        collection.drop(adopted.row.series)
    if row is not None and adopted.row.open_units is None:
        collection.units.drop_all(row.key, row.policy, row.open_units)


def adopt_default(
    context: Context, find_member: FindMember, series: str, record: InputRecord
) -> ProcessedRecord | Rejection:
    """Start the default policy of a new series."""
    default = context.default_for(series)
    if default is None:
        return Rejection("no-policy")
    return _adopt(context, None, find_member, series, default.policy, default, record)


def adopt_view(
    context: Context,
    find_member: FindMember,
    series: str,
    default: DefaultPolicy,
    landmarks: LandmarkSet,
    record: InputRecord,
) -> ProcessedRecord | Rejection:
    """Start a view from the default policy that defines it, with the landmarks of its base."""
    policy = default.policy.ruling(landmarks) if landmarks else default.policy
    shared = None if landmarks else default
    return _adopt(context, None, find_member, series, policy, shared, record, view=True)


def renewed(context: Context, row: SeriesRow, start_ms: int, record: InputRecord) -> ProcessedRecord | Rejection | None:
    """Start the next version if a bound is due at the step that begins at ``start_ms``; otherwise return None."""
    bounds = bounds_to_come(row.policy, row.state, start_ms)
    if bounds is None:
        return None
    policy, default = next_version(row, bounds)
    return _adopt(context, row, no_member, row.series, policy, None, record, renewed=default)


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
    view: bool = False,
) -> ProcessedRecord | Rejection:
    """Start a version.

    ``shared`` is the default policy that the version uses, ``renewed`` names the default policy that it renews, and
    ``view`` marks the first version of a view.
    """
    before, state, limits = (row.policy, row.state, context.limits) if row else (None, None, context.limits)
    separator = limits.member_separator
    if separator is not None and uncovered(policy, before, many=separator in series):
        return Rejection("invalid-policy")
    claims = separator is not None
    adopted = fold.adopt(policy, before, state, limits.lifetime_nano, may_weaken=may_weaken, claims=claims)
    if isinstance(adopted, Rejection):
        return adopted
    if limits.max_epsilon_nano is not None and policy.epsilon_nano > limits.max_epsilon_nano:
        return Rejection("budget-cap")
    adopted = adopted._replace(entry=adopted.entry._replace(view=view))
    joined: MemberChange | None = None
    claim_nano = adopted.entry.lifetime_nano  # of a first version only
    if separator is not None and claim_nano is not None and policy.collect is None:
        chain = member_of(series, separator) + separator
        claim = claimed(find_member(chain), chain, claim_nano, limits.member_nano, context.keys, record.timestamp_ms)
        if not isinstance(claim, MemberChange):
            return Rejection(claim)
        joined = claim
    ruling = policy
    if policy.dummies is not None:
        # Draw only now: a draw may take seconds, and a version that is refused anyway needs none.
        name = named_by_series(series) if shared is None else named_by_glob(shared.glob)
        kept = carried(policy, before, state) if before and state else NO_LANDMARKS
        drawn = drawn_policy(context.keys, name, policy, kept)
        if isinstance(drawn, Rejection):
            return drawn
        ruling = drawn
        entry = adopted.entry._replace(parameters=ruling.parameters)
        promise = replace(adopted.state.promise, landmarks=ruling.landmarks)
        adopted = fold.StateChange(replace(adopted.state, promise=promise), entry)
    sequence, previous = (row.sequence, row.previous) if row else (0, encoding.NO_HASH)
    loss = row.backward_loss if row else None
    # No default policy contains drawn landmarks.
    default = renewed if shared is None or policy.dummies is not None else shared.digest
    opened = row.open_steps if row and before and stays_open(ruling, before) else None
    goes_on = before is not None and takes_over(ruling, before) and not adopted.entry.weaker
    units = row.open_units if row and goes_on else None
    views = row.views if row else NO_VIEWS
    is_view = row.view if row else view
    ready = SeriesRow(
        series, series.encode(), sequence, previous, ruling, default, adopted.state, loss, opened, units, is_view, views
    )
    begun = replace(seal(context, ready, None, adopted, record.timestamp_ms), joined=joined)
    if policy.dummies is None:
        return begun
    disguised = fold.disguise(ruling, adopted.state, policy.dummies.method, policy.dummies.charge_nano)
    if isinstance(disguised, Rejection):
        return disguised
    return seal(context, begun.row, begun, disguised, record.timestamp_ms)
