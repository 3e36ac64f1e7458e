"""Steps of several readings decided: readings into memory, and what a reading or a watermark closes into releases.

Order of checks, as everywhere: time, then state, the value last. A reading's value moves memory alone; what it closes,
and when, follows from its time.
"""

from collections.abc import Container, Iterable
from dataclasses import replace

from stream_app.deciding.adopting import renewed
from stream_app.deciding.context import Context
from stream_app.deciding.counters import Collection
from stream_app.deciding.outcome import Advanced, Counted, Decided, Renewal, seal
from stream_app.deciding.readings import Gathered, Readings
from stream_app.deciding.rows import SeriesRow
from stream_app.formats.records import InputRecord, Observation, Watermark
from stream_app.privacy.collected.plain import decide_step, reached, watermarked
from stream_app.privacy.collected.within import APPROXIMATED, Within
from stream_app.privacy.policy import Policy
from stream_app.privacy.reason import Refused

COUNTED = Counted()


def gather(
    context: Context,
    row: SeriesRow,
    adopted: Decided | None,
    collection: Collection,
    found: Observation | Watermark,
    record: InputRecord,
) -> Advanced | Counted | Refused:
    """Decide a reading or a watermark; ``adopted`` is the adoption of a default policy that ``row`` comes from.

    Raises:
        LostCountersError: if the row has an open step whose readings are not in memory.
    """
    if isinstance(found, Watermark):
        return _advance(context, row, adopted, collection.readings, found, record)
    return _read(context, row, adopted, collection.readings, found, record)


def recalled(row: SeriesRow, collection: Collection, found: Observation | Watermark, offset: int) -> None:
    """Take a record again that was decided before ``row`` was stored, so that what is still open is read again.

    What comes before the record that opened a step finds nothing of it here: so every step reads what it read the first
    time, in the same order.
    """
    opened, readings, policy = row.open_steps, collection.readings, row.policy
    if policy.within is None or opened is None:
        return
    if isinstance(found, Watermark):
        for index in opened.opened_at(offset) if policy.within.gapless else ():
            readings.open(row.series, index, offset)
        return
    index = found.timestamp_ms // policy.step_ms
    gathered = readings.opened(row.series).get(index)
    if gathered is None and not policy.within.gapless and opened.offset_of(index) == offset:
        gathered = readings.open(row.series, index, offset)
    if gathered is None or gathered.refuses(found.timestamp_ms) is not None:
        return
    part = policy.within.read(policy.kind, found.value)
    if part is not None:
        gathered.take(policy.within, found.timestamp_ms, part)


def _read(
    context: Context,
    row: SeriesRow,
    adopted: Decided | None,
    readings: Readings,
    found: Observation,
    record: InputRecord,
) -> Advanced | Counted | Refused:
    policy, within = row.policy, _within(row.policy)
    index = found.timestamp_ms // policy.step_ms
    reach = reached(policy, row.state, row.open_steps, index, record.offset)
    if isinstance(reach, Refused):
        return reach
    opens, after = reach
    if context.keys.secret_of(context.keys.epoch_of(index * policy.step_ms)) is None:
        return Refused("key-erased")
    gathered = None if opens else readings.find(row.series, index)
    reason = None if gathered is None else gathered.refuses(found.timestamp_ms)
    if reason is not None:
        return Refused(reason)
    # PRIVACY: this branch shows whether the value was valid, nothing else of it; `invalid` with a substitute closes it.
    part = within.read(policy.kind, found.value)
    if part is None:
        return Refused("invalid-value")
    if gathered is not None:
        gathered.take(within, found.timestamp_ms, part)
        return COUNTED
    begun = () if row.open_steps is None else row.open_steps.begun
    ready = replace(row, open_steps=after)
    closing = [step for step in begun if step < after.first]
    steps = _closed(context, ready, readings, closing, begun, record)
    readings.open(row.series, index, record.offset).take(within, found.timestamp_ms, part)
    return Advanced(steps[-1].row if steps else ready, adopted, steps)


def _within(policy: Policy) -> Within:
    assert policy.within is not None, "the policy's steps take readings"
    return policy.within


def _advance(
    context: Context, row: SeriesRow, adopted: Decided | None, readings: Readings, found: Watermark, record: InputRecord
) -> Advanced | Refused:
    policy, before = row.policy, row.open_steps
    move = watermarked(policy, row.state, before, found.timestamp_ms, record.offset)
    if isinstance(move, Refused):
        return move
    begun = frozenset(() if before is None else before.begun)
    closing = move.closing if _within(policy).gapless else sorted(step for step in begun if step in move.closing)
    ready = replace(row, open_steps=move.after)
    steps = _closed(context, ready, readings, closing, begun, record)
    for index in move.opening:
        readings.open(row.series, index, record.offset)
    return Advanced(steps[-1].row if steps else ready, adopted, steps)


def _closed(
    context: Context,
    row: SeriesRow,
    readings: Readings,
    closing: Iterable[int],
    begun: Container[int],
    record: InputRecord,
) -> tuple[Decided, ...]:
    """Return the steps that close, decided in order; those ``begun`` are in memory, no reading came for the others."""
    steps: list[Decided] = []
    for index in closing:
        gathered = readings.close(row.series, index) if index in begun else None
        step = _decided(context, row, index, gathered, record)
        if step is not None:
            steps.append(step)
            row = step.row
    return tuple(steps)


def _decided(
    context: Context, row: SeriesRow, index: int, gathered: Gathered | None, record: InputRecord
) -> Decided | None:
    """Return the decision of a step that closes, under the version that a renewal begins with it where one is due."""
    within, keys = _within(row.policy), context.keys
    if keys.secret_of(keys.epoch_of(index * row.policy.step_ms)) is None:
        return None  # passed over, and renews nothing
    # PRIVACY: without `absent` which steps have readings is public; with a value as `absent` a step without one goes on
    # as one with that value, so that from here on nothing tells them apart.
    cells = None
    if gathered is not None and gathered.kept is not None:
        cells = within.aggregated(row.policy.kind, gathered.kept, len(gathered.times))
    elif within.absent != APPROXIMATED:
        cells = within.absent
    begun = renewed(context, row, index * row.policy.step_ms, record) if row.policy.renew else None
    earlier = begun if isinstance(begun, Decided) else None
    ready = row if earlier is None else earlier.row
    stepped = decide_step(keys, ready.policy, ready.state, row.series, index, cells)
    assert stepped is not None, "the key of its epoch was found"
    renewal: Renewal | None = None if begun is None else "refused" if earlier is None else "begun"
    return seal(context, ready, earlier, stepped, record.timestamp_ms, renewal)
