"""Adds readings to the units of open steps, and closes these steps; a value changes only a sealed row."""

from stream_app.deciding.rows import SeriesRow
from stream_app.deciding.units.blocks import Blocks
from stream_app.deciding.units.opened import BLOCK_UNITS, OpenStep, OpenUnits, reached, watermarked
from stream_app.formats.records import Observation, Watermark
from stream_app.privacy.noise.key import KeyRing
from stream_app.privacy.policy import Policy
from stream_app.privacy.reason import Rejection
from stream_app.privacy.units.readings import EMPTY, OpenUnit
from stream_app.privacy.units.steps import tallied
from stream_app.privacy.units.units import Units
from stream_app.privacy.values import RawCells


def recalled(
    keys: KeyRing, row: SeriesRow, blocks: Blocks, found: Observation | Watermark, offset: int
) -> OpenUnits | None:
    """Process a record again and return the open steps after it, or None if the record was refused.

    ``row`` is rebuilt from the ledger and releases, which contain the decisions on all reprocessed records.
    """
    after = opened(keys, row, blocks, found, offset)
    if isinstance(after, Rejection):
        return None
    if row.open_units is not None:
        blocks.drop(row.key, row.policy, row.open_units.before(after.first))
    return after


def opened(
    keys: KeyRing, row: SeriesRow, blocks: Blocks, found: Observation | Watermark, offset: int
) -> OpenUnits | Rejection:
    """Return the open steps after a reading (stored in its unit) or a watermark, or why the record is refused.

    Raises:
        LostUnitsError: if the row has an open step whose sealed rows are not in the table.
    """
    if isinstance(found, Watermark):
        return watermarked(row.policy, row.state, row.open_units, found.timestamp_ms)
    policy, units = row.policy, _units(row.policy)
    index = policy.index_of(found.timestamp_ms)
    after = reached(policy, row.state, row.open_units, index)
    if isinstance(after, Rejection):
        return after
    start_ms = policy.start_of(index)
    epoch = keys.epoch_of(start_ms)
    step = after.step(index) or OpenStep(index, policy.version, keys.fingerprint)
    if _is_sealed_for_good(keys, step, epoch):
        return Rejection("key-erased")
    nth, at_ms = divmod(found.timestamp_ms - start_ms, units.unit_ms)
    number, slot = divmod(nth, BLOCK_UNITS)
    known = step.has(number)
    block = (blocks.find if known else blocks.fresh)(row.key, policy, step, number, epoch)
    # PRIVACY: a reading that is not later than the latest one of its unit is refused before its value is examined.
    unit = block.unit(slot)
    reason = unit.untimely(at_ms)
    if reason is not None:
        return Rejection(reason)
    # PRIVACY: this branch shows whether the value was valid and nothing else about it; `invalid` with a substitute
    # closes it.
    cells = policy.kind.quantise(found.value)
    if cells is None:
        return Rejection("invalid-value")
    if index < after.first:
        return after  # discarded, like the step's earlier readings
    block.put(slot, unit.joined(units, at_ms, cells[0]), offset)
    blocks.change(block)
    return after if known else after.put(step.with_block(number))


def _units(policy: Policy) -> Units:
    assert policy.units is not None, "the policy's steps have units"
    return policy.units


def _is_sealed_for_good(keys: KeyRing, step: OpenStep, epoch: int) -> bool:
    """Return whether a step's rows can no longer be opened because their key was erased or replaced."""
    return bool(keys.erased(epoch)) or step.key != keys.fingerprint


def closed(keys: KeyRing, row: SeriesRow, blocks: Blocks, before: OpenUnits, index: int) -> RawCells | None:
    """Return the values of a closing step and delete its rows; return None if no unit counts.

    ``before`` contains the open steps before this step closes.

    Raises:
        LostUnitsError: if the step's rows are not in the table.
    """
    policy, step = row.policy, before.step(index)
    assert step is not None, "only an open step closes"
    epoch = keys.epoch_of(policy.start_of(index))
    # A step whose rows nobody can open is skipped.
    gone = _is_sealed_for_good(keys, step, epoch)
    units = None if gone else _read(row, blocks, step, epoch)
    blocks.drop(row.key, policy, (step,))
    return None if units is None else tallied(policy, row.state.promise.landmarks, index, units)


def _read(row: SeriesRow, blocks: Blocks, step: OpenStep, epoch: int) -> list[OpenUnit]:
    """Return all units of a step, in order."""
    units = [EMPTY] * _units(row.policy).per_step
    for number in step.numbers:
        block = blocks.find(row.key, row.policy, step, number, epoch)
        place = slice(number * BLOCK_UNITS, (number + 1) * BLOCK_UNITS)
        units[place] = map(block.unit, range(len(units[place])))
    return units
