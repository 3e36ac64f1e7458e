"""Fills steps from many records: items enter open steps, and items or watermarks close steps.

An item is a contributor's contribution or a reading at one point in time. It is stored in the open step that contains
its time, by contributor, timestamp or unit. Checks run in the usual order: time, state, value. An item's content
changes only its open step. Only the item's time determines which steps it closes, and when.

These records change a series' row and the partition's `Collection` together. `recalled` restores the collection from
records processed earlier; the result is the same as in a worker that did not crash.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Final, NamedTuple

from stream_app.deciding.adopting import renewed
from stream_app.deciding.collection import Collection, Counters, LostCountersError, Open, Readings
from stream_app.deciding.context import Context
from stream_app.deciding.outcome import CountedContribution, ProcessedRecord, Renewal, WatermarkAdvance, seal
from stream_app.deciding.rows import SeriesRow
from stream_app.deciding.units import taking
from stream_app.formats.records import (
    Collected,
    Contribution,
    EventRecord,
    InputRecord,
    Intrusion,
    Observation,
    Watermark,
)
from stream_app.privacy.collected.plain import decide_step, reached, read_open, watermarked
from stream_app.privacy.collected.steps import start_noise
from stream_app.privacy.collected.within import APPROXIMATED
from stream_app.privacy.fold import StateChange
from stream_app.privacy.noise.key import KeyRing
from stream_app.privacy.policy import Policy
from stream_app.privacy.published import IntrusionEntry
from stream_app.privacy.reason import Reason, Rejection
from stream_app.privacy.values import RawCells

COUNTED: Final = CountedContribution()


class _Moves(NamedTuple):
    """A record's effect on a series' steps: the steps it closes and opens, and the row before the steps close."""

    row: SeriesRow
    closing: Iterable[int]
    opening: range = range(0)


def fill(
    context: Context,
    row: SeriesRow,
    adopted: ProcessedRecord | None,
    collection: Collection,
    found: Observation | Collected,
    record: InputRecord,
) -> WatermarkAdvance | CountedContribution | ProcessedRecord | Rejection:
    """Process an item, a watermark or an intrusion.

    ``adopted`` is the adoption of the default policy if ``row`` comes from such an adoption.

    Raises:
        LostCountersError: if the row has an open step that is not in memory.
        LostUnitsError: if the row has an open step whose sealed rows are not in the table.
    """
    if isinstance(found, Intrusion):
        return _intrude(context, row, collection, found, record)
    moves = _moves(context.keys, row, collection, found, record.offset)
    if moves is None:
        return COUNTED
    if isinstance(moves, Rejection):
        return moves
    seed, policy, ready = found.seed if isinstance(found, Watermark) else None, row.policy, moves.row
    closing_seed = seed if policy.collect is not None and policy.collect.intrusion_nano is not None else None
    steps: list[ProcessedRecord] = []
    for index in moves.closing:
        step = _decided(context, row, ready, collection, index, closing_seed, record)
        if step is not None:
            steps.append(step)
            ready = step.row
    for index in moves.opening:
        collection.put(row.series, index, _empty(collection, policy, row.series, index, record.offset, seed))
    return WatermarkAdvance(ready, adopted, tuple(steps))


def recalled(row: SeriesRow, collection: Collection, found: Observation | Collected, offset: int) -> None:
    """Reprocess a record from before ``row`` was stored, to refill the steps that are still open.

    An item or intrusion that precedes the record that opened a step does not find the step, and steps that have closed
    since are never opened. Every step therefore accepts the same items as the first time, in the same order.
    """
    policy, opened, series = row.policy, row.open_steps, row.series
    if opened is None:
        return
    match found:
        case Watermark(seed=seed):
            for index in () if read_open(policy) else opened.opened_at(offset):
                collection.put(series, index, _empty(collection, policy, series, index, offset, seed))
        case Intrusion(seed=seed):
            if policy.collect is not None and policy.collect.intrusion_nano is not None:
                _see(row, collection, seed)
        case Observation() | Contribution():
            index = policy.index_of(found.timestamp_ms)
            step = collection.opened(series).get(index)
            if step is None and read_open(policy) and opened.offset_of(index) == offset:
                step = _empty(collection, policy, series, index, offset, None)
                collection.put(series, index, step)
            if step is not None:
                _count(step, found)


def is_recalled(row: SeriesRow, found: EventRecord) -> bool:
    """Return whether a record is a contribution to an open step or an intrusion during one; `recalled` uses both."""
    match found:
        case Contribution():
            steps = row.open_steps
            return steps is not None and steps.untimely(row.policy.index_of(found.timestamp_ms)) is None
        case Intrusion():
            return row.open_steps is not None
        case _:
            return False


def _moves(
    keys: KeyRing, row: SeriesRow, collection: Collection, found: Observation | Contribution | Watermark, offset: int
) -> _Moves | Rejection | None:
    """Return the effect of an item or a watermark on steps, or None if it was counted and has no effect."""
    policy = row.policy
    if policy.units is not None and not isinstance(found, Contribution):
        units = taking.opened(keys, row, collection.units, found, offset)
        if isinstance(units, Rejection) or units is row.open_units:
            return units if isinstance(units, Rejection) else None
        before = () if row.open_units is None else row.open_units.before(units.first)
        return _Moves(replace(row, open_units=units), [step.index for step in before])
    if not isinstance(found, Watermark):
        return _taken(keys, row, collection, found, offset)
    move = watermarked(policy, row.state, row.open_steps, found.timestamp_ms, offset)
    if isinstance(move, Rejection):
        return move
    # PRIVACY: if readings open steps, it is public which steps have readings; otherwise every step closes, whatever it
    # contains.
    begun = row.open_steps.begun if row.open_steps is not None else ()
    closing = [step for step in begun if step in move.closing] if read_open(policy) else move.closing
    return _Moves(replace(row, open_steps=move.after), closing, move.opening)


def _taken(
    keys: KeyRing, row: SeriesRow, collection: Collection, found: Observation | Contribution, offset: int
) -> _Moves | Rejection | None:
    """Count an item in its open step; a reading may open that step."""
    policy, series = row.policy, row.series
    index = policy.index_of(found.timestamp_ms)
    reach = reached(policy, row.state, row.open_steps, index, offset)
    if isinstance(reach, Rejection):
        return reach
    opens, after = reach
    if policy.within is not None and keys.secret_of(keys.epoch_of(policy.start_of(index))) is None:
        return Rejection("key-erased")
    step = _empty(collection, policy, series, index, offset, None) if opens else collection.find(series, index)
    reason = _count(step, found)
    if reason is not None:
        return Rejection(reason)
    if not opens:
        return None
    collection.put(series, index, step)
    begun = () if row.open_steps is None else row.open_steps.begun
    return _Moves(replace(row, open_steps=after), [step for step in begun if step < after.first])


def _count(step: Open, found: Observation | Contribution) -> Reason | None:
    """Count an item, or return why it is refused."""
    match step, found:
        case Counters(), Contribution(member=member, value=value):
            return step.count(member.encode(), value)
        case Readings(), Observation(timestamp_ms=timestamp_ms, value=value):
            return step.count(timestamp_ms, value)
        case _:
            return "wrong-type"


def _empty(collection: Collection, policy: Policy, series: str, index: int, offset: int, seed: bytes | None) -> Open:
    """Return a newly opened step; ``seed`` is from the watermark that opens a step of collected data."""
    if policy.within is not None:
        return Readings(policy.within, policy.kind, offset)
    assert policy.collect is not None, "the policy's steps take several records"
    assert seed is not None, "asked for before"
    noise = start_noise(seed, policy, series, index, 0)
    return collection.counters(series, policy.collect.gathers, index, offset, noise)


def _decided(
    context: Context,
    before: SeriesRow,
    row: SeriesRow,
    collection: Collection,
    index: int,
    seed: bytes | None,
    record: InputRecord,
) -> ProcessedRecord | None:
    """Return the decision of a closing step, under a renewed version if a renewal is due.

    ``before`` is the row while the steps were open, and ``row`` is the row after the steps closed so far. The result is
    None if the step is skipped and does not cause a renewal.
    """
    keys, start_ms = context.keys, row.policy.start_of(index)
    cells = _cells(keys, before, row, collection, index)
    uncounted = cells is None and row.policy.units is not None
    if uncounted or keys.secret_of(keys.epoch_of(start_ms)) is None:
        return None
    begun = renewed(context, row, start_ms, record) if row.policy.renew else None
    earlier = begun if isinstance(begun, ProcessedRecord) else None
    ready = row if earlier is None else earlier.row
    stepped = decide_step(keys, ready.policy, ready.state, row.series, index, cells, seed)
    assert stepped is not None, "the key of its epoch was found"
    renewal: Renewal | None = None if begun is None else "refused" if earlier is None else "begun"
    return seal(context, ready, earlier, stepped, record.timestamp_ms, renewal)


def _cells(keys: KeyRing, before: SeriesRow, row: SeriesRow, collection: Collection, index: int) -> RawCells | None:
    """Return the values of a closing step.

    The result is None if none of the step's units counts, or if the step is empty and the estimate is repeated.
    """
    policy, opened = row.policy, before.open_steps
    if before.open_units is not None:
        return taking.closed(keys, row, collection.units, before.open_units, index)
    found = collection.close(row.series, index) if opened is not None and opened.offset_of(index) >= 0 else None
    if found is not None:
        return found
    if policy.collect is not None:  # nobody could contribute to a step that never opened
        gathers = policy.collect.gathers
        return gathers.closed((0,) * gathers.counters, 0)
    # PRIVACY: with a value as `absent`, a step without a reading continues as a step with that value, so nothing
    # distinguishes the two from here on.
    absent = None if policy.within is None else policy.within.absent
    return None if absent == APPROXIMATED else absent


def _intrude(
    context: Context, row: SeriesRow, collection: Collection, found: Intrusion, record: InputRecord
) -> ProcessedRecord | Rejection:
    policy, series, opened = row.policy, row.series, row.open_steps
    if row.state.closed:
        return Rejection("closed")
    if policy.collect is None or policy.collect.intrusion_nano is None:
        return Rejection("invalid-policy")  # bare counters were seen; too late for noise
    counted = range(0) if opened is None else opened.counted
    if not counted:
        return Rejection("early")
    if list(collection.opened(series)) != list(counted):
        raise LostCountersError(series, counted.start)
    _see(row, collection, found.seed)
    exposed = ((counted.start * policy.step_ms, counted.stop * policy.step_ms),)
    entry = IntrusionEntry(policy.version, policy.collect.intrusion_nano, exposed)
    return seal(context, row, None, StateChange(row.state, entry), record.timestamp_ms)


def _see(row: SeriesRow, collection: Collection, seed: bytes) -> None:
    for index, counters in collection.counted(row.series).items():
        counters.see(start_noise(seed, row.policy, row.series, index, counters.looks + 1))
