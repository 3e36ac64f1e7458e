"""The outcome of a record: its series' new row, and the entries sealed into the series' chain."""

from dataclasses import dataclass
from typing import Literal, NamedTuple

from stream_app.deciding.context import Context
from stream_app.deciding.members import MemberChange
from stream_app.deciding.rows import SeriesRow
from stream_app.formats import encoding
from stream_app.formats.encoding import SealedEntry
from stream_app.formats.records import InputRecord
from stream_app.privacy.fold import StateChange, StepResult
from stream_app.privacy.place import charge_nano
from stream_app.privacy.published import ControlEntry, Decision, DummiesEntry
from stream_app.privacy.reason import Reason
from stream_app.privacy.state import NEVER
from stream_app.privacy.values import frozen

Renewal = Literal["begun", "refused"]
"""The outcome of a due renewal: the next version began with the step, or the budget did not allow it."""


@frozen
class ProcessedRecord:
    """A record that changed its series: the new row, its ledger entries in order, and a release, if any.

    The release has the step and timestamp of the last entry; ``decision`` is None without a release. ``spent_nano`` is
    the nano-epsilon spent on measurements: the release, its private dissimilarity, and the draw of dummies. A landmark
    registered late adds nothing, because its step has already spent budget. ``renewal`` is None if no renewal was due.
    ``joined`` is the person's new state if the record began a first policy; the person's entry comes first.
    """

    row: SeriesRow
    entries: tuple[SealedEntry, ...]
    release: bytes | None
    decision: Decision | None
    spent_nano: int
    renewal: Renewal | None = None
    joined: MemberChange | None = None


class RejectedRecord(NamedTuple):
    """A record that changed nothing, with the reason and with the key and bytes of the output.

    The output has the record's timestamp.
    """

    reason: Reason
    key: bytes | None
    value: bytes


@dataclass(frozen=True, slots=True)
class CountedContribution:
    """A contribution that was counted: it changed only memory, not a row, and produces no output."""


class WatermarkAdvance(NamedTuple):
    """A watermark that advanced its series, with the row after the watermark and the steps it closed, in order.

    ``adopted`` is the adoption of a default policy that begins with the watermark. This adoption comes before the
    steps, each of which has a release and one entry.
    """

    row: SeriesRow
    adopted: ProcessedRecord | None
    steps: tuple[ProcessedRecord, ...]


Single = ProcessedRecord | RejectedRecord | CountedContribution | WatermarkAdvance
"""The possible outcomes of a record for one series."""


class SeriesAndViews(NamedTuple):
    """A record processed for a series and its views, with the outcome for each, in that order.

    ``passed`` counts the views that were refused earlier and are refused again; no output shows them.
    """

    parts: tuple[Single, ...]
    passed: int = 0


Outcome = Single | MemberChange | SeriesAndViews
"""All possible outcomes of a record."""


def rejected(
    series: str | None, timestamp_ms: int | None, reason: Reason, record: InputRecord, member: str | None = None
) -> RejectedRecord:
    """Return the output for a rejected record; its key is ``series``, or ``member`` if no series is known."""
    value = encoding.encode_reject(series, timestamp_ms, reason, record.topic, record.partition, record.offset)
    key = series or member
    return RejectedRecord(reason, key.encode() if key else None, value)


def seal(
    context: Context,
    row: SeriesRow,
    earlier: ProcessedRecord | None,
    moved: StepResult | StateChange[ControlEntry],
    appended_ms: int,
    renewal: Renewal | None = None,
) -> ProcessedRecord:
    """Return the outcome of a record: the result of the fold, sealed into the chain of ``row``.

    ``row`` is the row before the record. If the record also caused an earlier outcome, which led to ``row``,
    ``earlier`` is that outcome, and its entries come first. ``appended_ms`` is the time at which the broker appended
    the record. Entries without a step use that time as their timestamp.
    """
    series, policy, keys, state, sequence = row.series, row.policy, context.keys, moved.state, row.sequence + 1
    decided_ms = state.clock.decided_ms
    # Without event time, use the epoch of the last processed step.
    epoch = keys.epoch_of(decided_ms) if decided_ms != NEVER else 0
    release: bytes | None = None
    decision: Decision | None = None
    spent_nano = 0
    default, loss, opened, units = row.default, row.backward_loss, row.open_steps, row.open_units
    if isinstance(moved, StepResult):
        decision, spend_nano = moved.decision, moved.spend_nano
        output, link = encoding.written_one(
            series, row.key, policy, moved, decision, sequence, epoch, keys.fingerprint, row.previous
        )
        _, appended_ms, value, release = output
        spent_nano = spend_nano if policy.windows is None else spend_nano + charge_nano(policy, row.state, decided_ms)
        loss = None if policy.correlation is None else context.backward_loss(row, decided_ms, spend_nano)
    else:
        text = encoding.control_entry(series, sequence, moved.entry)
        value, link = encoding.sealed(text, keys.fingerprint, epoch, row.previous)
        if isinstance(moved.entry, DummiesEntry):
            spent_nano = moved.entry.charged_nano
        if state.promise.landmarks is not policy.landmarks:
            default = ""  # after a landmark is registered, a default policy becomes the series' own
        if state.closed:
            opened = units = None  # steps still open when a series ends are never released
    sealed = SealedEntry(sequence, appended_ms, value, link)
    after = SeriesRow(series, row.key, sequence, link, policy, default, state, loss, opened, units, row.view, row.views)
    if earlier is None:
        return ProcessedRecord(after, (sealed,), release, decision, spent_nano, renewal)
    entries, spent_nano = (*earlier.entries, sealed), earlier.spent_nano + spent_nano
    return ProcessedRecord(after, entries, release, decision, spent_nano, renewal, earlier.joined)
