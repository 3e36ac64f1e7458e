"""What a record came to: the new row of its series and the messages that tell of it, sealed into its chain."""

from typing import Final, final

from stream_app.deciding.context import Context
from stream_app.deciding.rows import SeriesRow
from stream_app.formats import encoding
from stream_app.formats.records import InputRecord
from stream_app.privacy.fold import Stepped
from stream_app.privacy.place import charge_nano
from stream_app.privacy.published import CloseEntry, Decision, DummiesEntry, IntrusionEntry, LandmarksEntry, PolicyEntry
from stream_app.privacy.reason import Reason
from stream_app.privacy.state import NEVER, State


@final
class Message:
    """A record to write to the releases or the rejects topic."""

    __slots__ = ("key", "timestamp_ms", "value")

    def __init__(self, key: bytes | None, value: bytes, timestamp_ms: int) -> None:
        """Hold a record."""
        self.key: Final = key
        self.value: Final = value
        self.timestamp_ms: Final = timestamp_ms


@final
class LedgerMessage:
    """A record to write to the ledger topic; ``sequence`` and ``hash`` (hex) serve the tail rule.

    ``spent_nano`` is what was measured with it, in nano-epsilon: a release's spend, what its private dissimilarity
    cost, the draw of dummies. A landmark that is registered late measures nothing: its step has spent already.
    """

    __slots__ = ("hash", "key", "sequence", "spent_nano", "timestamp_ms", "value")

    def __init__(
        self, key: bytes, value: bytes, timestamp_ms: int, sequence: int, sealed_hash: str, spent_nano: int
    ) -> None:
        """Hold a record, with its place in its series' chain."""
        self.key: Final = key
        self.value: Final = value
        self.timestamp_ms: Final = timestamp_ms
        self.sequence: Final = sequence
        self.hash: Final = sealed_hash
        self.spent_nano: Final = spent_nano


@final
class Decided:
    """A record that changed its series: the new row, ledger entries in order, and its release if it has one."""

    __slots__ = ("decision", "entries", "release", "row")

    def __init__(
        self,
        row: SeriesRow,
        entries: tuple[LedgerMessage, ...],
        release: Message | None,
        decision: Decision | None,
    ) -> None:
        """Hold an outcome; ``decision`` is None for policy, landmarks and close."""
        self.row: Final = row
        self.entries: Final = entries
        self.release: Final = release
        self.decision: Final = decision


@final
class Rejected:
    """A record that changed nothing, and the reject that says why."""

    __slots__ = ("message", "reason")

    def __init__(self, reason: Reason, message: Message) -> None:
        """Hold a reject."""
        self.reason: Final = reason
        self.message: Final = message


@final
class Counted:
    """A contribution that was taken up: it changed memory alone, no row, and there is nothing to tell."""

    __slots__ = ()


@final
class Advanced:
    """A watermark that moved its series on: the row after it, and the steps that it closed, in order.

    ``adopted`` holds the entry of a default policy that begins to rule with it; it comes before the steps.
    """

    __slots__ = ("adopted", "row", "steps")

    def __init__(self, row: SeriesRow, adopted: tuple[LedgerMessage, ...], steps: tuple[Decided, ...]) -> None:
        """Hold an outcome; each of ``steps`` has a release and one entry."""
        self.row: Final = row
        self.adopted: Final = adopted
        self.steps: Final = steps


Outcome = Decided | Rejected | Counted | Advanced
"""Everything that a record may come to."""


def released(context: Context, row: SeriesRow, adopted: tuple[LedgerMessage, ...], stepped: Stepped) -> Decided:
    """Return the outcome of a decided step; ``adopted`` holds the entry of a default policy before it."""
    series, key, sequence, policy, keys = row.series, row.key, row.sequence + 1, row.policy, context.keys
    entry = stepped.entry
    step_ms = entry.timestamp_ms
    value = encoding.encode_release(series, policy.kind, policy.version, stepped.release)
    link = encoding.Link(series, sequence, row.previous, keys.fingerprint, keys.epoch_of(step_ms))
    sealed, sealed_hash = encoding.encode_release_entry(link, entry, encoding.digest(value))
    spent_nano = entry.spend_nano + charge_nano(policy, row.state, step_ms)
    message = LedgerMessage(key, sealed, step_ms, sequence, sealed_hash, spent_nano)
    loss = None if policy.correlation is None else context.backward_loss(row, step_ms, entry.spend_nano)
    return Decided(
        SeriesRow(series, key, sequence, sealed_hash, policy, row.default, stepped.state, loss, row.open_steps),
        (*adopted, message) if adopted else (message,),
        Message(key, value, step_ms),
        entry.decision,
    )


def changed(
    context: Context,
    row: SeriesRow,
    earlier: tuple[LedgerMessage, ...],
    state: State,
    entry: PolicyEntry | DummiesEntry | LandmarksEntry | IntrusionEntry | CloseEntry,
    record: InputRecord,
) -> Decided:
    """Return the outcome of a record without a release: one more entry, and the state after it."""
    keys = context.keys
    # Such records carry no event time: their epoch is that of the last decided step.
    epoch = keys.epoch_of(state.decided_ms) if state.decided_ms != NEVER else 0
    link = encoding.Link(row.series, row.sequence + 1, row.previous, keys.fingerprint, epoch)
    sealed, sealed_hash = encoding.encode_entry(link, entry)
    spent_nano = entry.charged_nano if isinstance(entry, DummiesEntry) else 0
    message = LedgerMessage(row.key, sealed, record.timestamp_ms, row.sequence + 1, sealed_hash, spent_nano)
    # A landmark registered under a default policy makes the policy the series' own.
    default = row.default if state.landmarks is row.policy.landmarks else ""
    loss = row.backward_loss
    # What is still open when a series ends is never released.
    opened = None if state.closed else row.open_steps
    moved = SeriesRow(row.series, row.key, row.sequence + 1, sealed_hash, row.policy, default, state, loss, opened)
    return Decided(moved, (*earlier, message), None, None)
