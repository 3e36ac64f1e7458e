"""Collected data decided: contributions into memory, watermarks into releases, intrusions into the ledger.

A record of these kinds changes a series' row and the partition's `Collection` together; `recalled` brings the memory
back from records that were decided before, and then it is the one that a worker without a crash would have.
"""

from dataclasses import replace
from typing import assert_never

from stream_app.deciding.context import Context
from stream_app.deciding.counters import Collection
from stream_app.deciding.outcome import Advanced, Counted, Decided, seal
from stream_app.deciding.readings import LostCountersError
from stream_app.deciding.rows import SeriesRow
from stream_app.formats.records import Collected, Contribution, EventRecord, InputRecord, Intrusion, Watermark
from stream_app.privacy.collected.plain import decide_step
from stream_app.privacy.collected.steps import moved, start_noise
from stream_app.privacy.fold import Moved
from stream_app.privacy.published import IntrusionEntry
from stream_app.privacy.reason import Refused
from stream_app.privacy.values import RawCells

COUNTED = Counted()


def collect(
    context: Context,
    row: SeriesRow,
    adopted: Decided | None,
    collection: Collection,
    found: Collected,
    record: InputRecord,
) -> Advanced | Counted | Decided | Refused:
    """Decide a record of collected data; ``adopted`` is the adoption of a default policy that ``row`` comes from.

    Raises:
        LostCountersError: if the row has an open step whose counters are not in memory.
    """
    match found:
        case Contribution():
            return _contribute(row, collection, found)
        case Watermark():
            return _advance(context, row, adopted, collection, found, record)
        case Intrusion():
            return _intrude(context, row, collection, found, record)
        case _:
            assert_never(found)


def recalled(row: SeriesRow, collection: Collection, found: Collected, offset: int) -> None:
    """Take a record again that was decided before ``row`` was stored, so that what is still open is counted again.

    Contributions and intrusions before the watermark that opened a step find nothing of it here, and steps that are
    closed by now are never opened: so every counter gets what it got the first time, in the same order.
    """
    if row.policy.collect is None or row.open_steps is None:
        return
    match found:
        case Contribution():
            index = found.timestamp_ms // row.policy.step_ms
            if index in collection.opened(row.series):
                collection.count(row.series, index, found.member, found.value)
        case Watermark():
            assert found.seed is not None, "asked for before"
            _open(row, collection, row.open_steps.opened_at(offset), offset, found.seed)
        case Intrusion():
            if row.policy.collect.intrusion_nano is not None:
                _see(row, collection, found.seed)
        case _:
            assert_never(found)


def is_recalled(row: SeriesRow, found: EventRecord) -> bool:
    """Return whether `recalled` takes a record again: a contribution to an open step, an intrusion while one is."""
    match found:
        case Contribution():
            steps = row.open_steps
            return steps is not None and steps.untimely(row.policy.index_of(found.timestamp_ms)) is None
        case Intrusion():
            return row.open_steps is not None
        case _:
            return False


def _contribute(row: SeriesRow, collection: Collection, found: Contribution) -> Counted | Refused:
    if row.state.closed:
        return Refused("closed")
    if row.open_steps is None:
        return Refused("early")
    index = found.timestamp_ms // row.policy.step_ms
    reason = row.open_steps.untimely(index) or collection.count(row.series, index, found.member, found.value)
    return COUNTED if reason is None else Refused(reason)


def _advance(
    context: Context,
    row: SeriesRow,
    adopted: Decided | None,
    collection: Collection,
    found: Watermark,
    record: InputRecord,
) -> Advanced | Refused:
    policy, series, offset = row.policy, row.series, record.offset
    assert policy.collect is not None, "only collected data have watermarks"
    assert found.seed is not None, "asked for before"
    pan_private = policy.collect.intrusion_nano is not None
    move = moved(policy, row.state, row.open_steps, found.timestamp_ms, offset)
    if isinstance(move, Refused):
        return move
    ready = replace(row, open_steps=move.after)
    steps: list[Decided] = []
    for index in move.closing:
        cells = _cells(row, collection, index)
        seed = found.seed if pan_private else None
        stepped = decide_step(context.keys, policy, ready.state, series, index, cells, seed)
        if stepped is not None:
            step = seal(context, ready, None, stepped, record.timestamp_ms)
            steps.append(step)
            ready = step.row
    _open(ready, collection, move.opening, offset, found.seed)
    return Advanced(ready, adopted, tuple(steps))


def _cells(row: SeriesRow, collection: Collection, index: int) -> RawCells:
    """Return what a closing step holds; nobody could contribute to one that was never open."""
    if row.open_steps is not None and row.open_steps.untimely(index) is None:
        return collection.close(row.series, index)
    assert row.policy.collect is not None, "only collected data have watermarks"
    gathers = row.policy.collect.gathers
    return gathers.closed((0,) * gathers.counters, 0)


def _open(row: SeriesRow, collection: Collection, opening: range, offset: int, seed: bytes) -> None:
    policy, series = row.policy, row.series
    assert policy.collect is not None, "only collected data have watermarks"
    for index in opening:
        noise = start_noise(seed, policy, series, index, 0)
        collection.open(series, policy.collect.gathers, index, offset, noise)


def _intrude(
    context: Context, row: SeriesRow, collection: Collection, found: Intrusion, record: InputRecord
) -> Decided | Refused:
    policy, series, opened = row.policy, row.series, row.open_steps
    if row.state.closed:
        return Refused("closed")
    if policy.collect is None or policy.collect.intrusion_nano is None:
        return Refused("invalid-policy")  # bare counters were seen: no noise mends that now
    counted = range(0) if opened is None else opened.counted
    if not counted:
        return Refused("early")
    if list(collection.opened(series)) != list(counted):
        raise LostCountersError(series, counted.start)
    _see(row, collection, found.seed)
    exposed = ((counted.start * policy.step_ms, counted.stop * policy.step_ms),)
    entry = IntrusionEntry(policy.version, policy.collect.intrusion_nano, exposed)
    return seal(context, row, None, Moved(row.state, entry), record.timestamp_ms)


def _see(row: SeriesRow, collection: Collection, seed: bytes) -> None:
    for index, counters in collection.opened(row.series).items():
        counters.see(start_noise(seed, row.policy, row.series, index, counters.looks + 1))
