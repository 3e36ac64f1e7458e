"""What a record came to: its series' new row, and what is written of it, sealed into the series' chain."""

from typing import Final, Literal, final

from stream_app.deciding.context import Context
from stream_app.deciding.members import Joined
from stream_app.deciding.rows import SeriesRow
from stream_app.formats import encoding
from stream_app.formats.encoding import Sealed
from stream_app.privacy.fold import Moved, Stepped
from stream_app.privacy.place import charge_nano
from stream_app.privacy.published import ControlEntry, Decision, DummiesEntry
from stream_app.privacy.reason import Reason
from stream_app.privacy.state import NEVER

Renewal = Literal["begun", "refused"]
"""What came of a bound that was due: the next version began with the step, or the budget did not allow it."""


@final
class Decided:
    """A record that changed its series: the row after it, its ledger entries in order, its release if it has one.

    The release's step is that of the last entry, and its timestamp too; ``decision`` is None where there is none.
    ``spent_nano`` is what was measured, in nano-epsilon: a release's spend, what its private dissimilarity cost, the
    draw of dummies. A landmark that is registered late measures nothing: its step has spent already. ``renewal`` is
    None where no bound was due. ``joined`` is what becomes of the series' member where the record brought a first
    policy; its entry comes first.
    """

    __slots__ = ("decision", "entries", "joined", "release", "renewal", "row", "spent_nano")

    def __init__(
        self,
        row: SeriesRow,
        entries: tuple[Sealed, ...],
        release: bytes | None,
        decision: Decision | None,
        spent_nano: int,
        renewal: Renewal | None = None,
        joined: Joined | None = None,
    ) -> None:
        self.row: Final = row
        self.entries: Final = entries
        self.release: Final = release
        self.decision: Final = decision
        self.spent_nano: Final = spent_nano
        self.renewal: Final = renewal
        self.joined: Final = joined

    def with_member(self, joined: Joined | None) -> "Decided":
        """Return the outcome of an adoption with what becomes of the member."""
        return Decided(self.row, self.entries, self.release, self.decision, self.spent_nano, self.renewal, joined)


@final
class Rejected:
    """A record that changed nothing: why, and the key and bytes of the reject, which has the record's timestamp."""

    __slots__ = ("key", "reason", "value")

    def __init__(self, reason: Reason, key: bytes | None, value: bytes) -> None:
        self.reason: Final = reason
        self.key: Final = key
        self.value: Final = value


@final
class Counted:
    """A contribution that was taken up: it changed memory alone, no row, and there is nothing to tell."""

    __slots__ = ()


@final
class Advanced:
    """A watermark that moved its series on: the row after it, and the steps that it closed, in order.

    ``adopted`` is the adoption of a default policy that begins to rule with it; it comes before the steps, each of
    which has a release and one entry.
    """

    __slots__ = ("adopted", "row", "steps")

    def __init__(self, row: SeriesRow, adopted: Decided | None, steps: tuple[Decided, ...]) -> None:
        self.row: Final = row
        self.adopted: Final = adopted
        self.steps: Final = steps


Outcome = Decided | Rejected | Counted | Advanced | Joined
"""Everything that a record may come to."""


def seal(
    context: Context,
    row: SeriesRow,
    earlier: Decided | None,
    moved: Stepped | Moved[ControlEntry],
    appended_ms: int,
    renewal: Renewal | None = None,
) -> Decided:
    """Return the outcome of a record: what the fold says of it, sealed into the chain of ``row``, the row before it.

    ``earlier`` is the outcome that led to ``row`` where the same record brought that one too: its entries come first.
    ``appended_ms`` is when the broker appended the record, which entries without a step have as their timestamp.
    """
    series, policy, keys, state, sequence = row.series, row.policy, context.keys, moved.state, row.sequence + 1
    decided_ms = state.clock.decided_ms
    # Without event time the epoch is that of the last decided step.
    epoch = keys.epoch_of(decided_ms) if decided_ms != NEVER else 0
    release: bytes | None = None
    decision: Decision | None = None
    spent_nano = 0
    default, loss, opened = row.default, row.backward_loss, row.open_steps
    if isinstance(moved, Stepped):
        decision, spend_nano = moved.decision, moved.spend_nano
        output, link = encoding.written_one(
            series, row.key, policy, moved, sequence, epoch, keys.fingerprint, row.previous
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
            default = ""  # a landmark registered under a default policy makes the policy the series' own
        if state.closed:
            opened = None  # what is still open when a series ends is never released
    sealed = Sealed(sequence, appended_ms, value, link)
    after = SeriesRow(series, row.key, sequence, link, policy, default, state, loss, opened)
    if earlier is None:
        return Decided(after, (sealed,), release, decision, spent_nano, renewal)
    entries, spent_nano = (*earlier.entries, sealed), earlier.spent_nano + spent_nano
    return Decided(after, entries, release, decision, spent_nano, renewal, earlier.joined)
