"""Processes a record for one series, regardless of the other series that it concerns."""

from typing import assert_never

from stream_app.deciding.adopting import adopt_default, adopt_own, renewed
from stream_app.deciding.collection import Collection
from stream_app.deciding.context import Context
from stream_app.deciding.filling import fill
from stream_app.deciding.members import FindMember
from stream_app.deciding.outcome import CountedContribution, ProcessedRecord, WatermarkAdvance, seal
from stream_app.deciding.rows import SeriesRow
from stream_app.formats.records import (
    CloseRecord,
    Contribution,
    EventRecord,
    InputRecord,
    Intrusion,
    LandmarksRecord,
    Observation,
    PolicyRecord,
    Watermark,
)
from stream_app.privacy import fold
from stream_app.privacy.policy import Policy
from stream_app.privacy.published import CloseEntry, LandmarksEntry
from stream_app.privacy.reason import Rejection


def applied(
    context: Context,
    row: SeriesRow | None,
    find_member: FindMember,
    collection: Collection,
    found: EventRecord,
    record: InputRecord,
    adopted: ProcessedRecord | None = None,
) -> ProcessedRecord | CountedContribution | WatermarkAdvance | Rejection:
    """Process a record for the series it names; ``adopted`` is the adoption that created ``row``.

    Raises:
        LostCountersError: if the row has an open step whose counters are not in the collection.
        LostUnitsError: if the row has an open step whose sealed rows are not in the table.
    """
    if isinstance(found, PolicyRecord):
        return adopt_own(context, row, find_member, collection, found, record)
    if row is None:
        first = adopt_default(context, find_member, found.series, record)
        if isinstance(first, Rejection):
            return first
        row, adopted = first.row, first
    if untaken(row.policy, found):
        return Rejection("wrong-type")
    if isinstance(found, Observation) and not row.policy.takes_several:
        return _observed(context, row, adopted, found, record)
    if isinstance(found, Observation | Contribution | Watermark | Intrusion):
        return fill(context, row, adopted, collection, found, record)
    outcome = control(row, found)
    if isinstance(outcome, Rejection):
        return outcome
    if outcome.state.closed:
        collection.drop(row.series)
        collection.units.drop_all(row.key, row.policy, row.open_units)
    return seal(context, row, adopted, outcome, record.timestamp_ms)


def untaken(policy: Policy, found: EventRecord) -> bool:
    """Return whether a series under this policy refuses records of this type."""
    match found:
        case Observation():
            return policy.collect is not None
        case Watermark():
            return not policy.takes_several
        case Contribution() | Intrusion():
            return policy.collect is None
        case _:
            return False


def _observed(
    context: Context, row: SeriesRow, adopted: ProcessedRecord | None, found: Observation, record: InputRecord
) -> ProcessedRecord | Rejection:
    stepped = fold.step(context.keys, row.policy, row.state, found.series, found.timestamp_ms, found.value)
    if isinstance(stepped, Rejection):
        return stepped  # without a renewal
    begun = renewed(context, row, stepped.state.clock.decided_ms, record) if row.policy.renew else None
    if not isinstance(begun, ProcessedRecord):
        return seal(context, row, adopted, stepped, record.timestamp_ms, None if begun is None else "refused")
    # PRIVACY: the draw under the previous version is dropped unread and appears nowhere.
    stepped = fold.step(context.keys, begun.row.policy, begun.row.state, found.series, found.timestamp_ms, found.value)
    assert not isinstance(stepped, Rejection), "a version is renewed for an event that was accepted under it"
    return seal(context, begun.row, begun, stepped, record.timestamp_ms, "begun")


def control(
    row: SeriesRow, found: LandmarksRecord | CloseRecord
) -> fold.StateChange[LandmarksEntry] | fold.StateChange[CloseEntry] | Rejection:
    """Return a series' result for a record that belongs to no step."""
    match found:
        case LandmarksRecord():
            return fold.register(row.policy, row.state, found.add)
        case CloseRecord():
            return fold.close(row.policy, row.state)
        case _:
            assert_never(found)
