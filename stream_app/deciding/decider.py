"""Processes records one by one and in order, without side effects; each sees the rows that earlier records changed."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Final, assert_never, final

from stream_app.deciding import rows
from stream_app.deciding.collection import Collection
from stream_app.deciding.context import Context
from stream_app.deciding.decision import decide
from stream_app.deciding.members import Claims, FindMember, Member, MemberChange, no_member
from stream_app.deciding.outcome import (
    CountedContribution,
    ProcessedRecord,
    RejectedRecord,
    Renewal,
    SeriesAndViews,
    Single,
    WatermarkAdvance,
)
from stream_app.deciding.rows import Lookup, SeriesRow
from stream_app.formats.encoding import SealedEntry
from stream_app.formats.records import InputRecord
from stream_app.privacy.reason import Reason

INPUT_HEADER = "input"
"""The header with the offset of the input record that caused an output record; it is not part of any hash."""

MOST_BULK_BYTES = 16 * 1024 * 1024
"""The number of output bytes from watermarks and renewals after which a batch accepts no more records.

The outputs of a single record are never split.
"""

Headers = list[tuple[str, bytes]]
Append = Callable[[bytes | None, bytes, int, Headers], None]
"""Writes an output record, given its key, value, timestamp in milliseconds, and headers."""
Extend = Callable[[Sequence[bytes | None], Sequence[bytes], Sequence[int], Sequence[Headers]], None]
"""Writes many output records, given as columns of equal length."""
Settle = Callable[[bytes, tuple[SealedEntry, ...]], None]
"""Compares a record's entries, given its key, with the binding entries; raises if any of them differs."""


def input_of(headers: Headers) -> int:
    """Return the offset of the record that caused an output.

    Another application's headers raise `StopIteration`, `TypeError` or `ValueError`.
    """
    return next(int(value) for name, value in headers if name == INPUT_HEADER)


@final
class Outlets:
    """The destinations of a batch's output records, one topic each.

    ``settle`` receives ledger entries before they are written; it is None if no entry binds. ``many`` accepts ledger
    entries and releases as columns; by default they go to the same outlets as single records.
    """

    def __init__(
        self,
        ledger: Append,
        release: Append,
        reject: Append,
        settle: Settle | None,
        many: tuple[Extend, Extend] | None = None,
    ) -> None:
        self.ledger: Final = ledger
        self.release: Final = release
        self.reject: Final = reject
        self.settle: Final = settle
        self.many: Final = (partial(_extend, ledger), partial(_extend, release)) if many is None else many


def _extend(
    append: Append,
    keys: Sequence[bytes | None],
    values: Sequence[bytes],
    timestamps_ms: Sequence[int],
    headers: Sequence[Headers],
) -> None:
    for record in zip(keys, values, timestamps_ms, headers, strict=True):
        append(*record)


@final
class Decider:
    """The results of a batch's records so far: rows changed, decisions counted, budget spent.

    ``find`` returns a series' row from before the batch, and ``find_member`` returns a person's row. ``collection``
    contains the partition's open counters.
    """

    def __init__(
        self,
        context: Context,
        find: Lookup,
        outlets: Outlets,
        collection: Collection,
        find_member: FindMember = no_member,
    ) -> None:
        self.changed: dict[str, SeriesRow] = {}
        self.members: dict[str, Member] = {}
        """People whose rows changed, by the names of their chains."""
        self.decisions: dict[tuple[str, str, str], int] = {}  # by decision, scheme and digest of the default policy
        self.rejected: dict[Reason, int] = {}  # by reason
        self.spent: dict[tuple[str, str], int] = {}  # nano-epsilon by scheme and digest of the default policy
        self.renewals: dict[Renewal, int] = {}  # due renewal bounds, by outcome
        self.passed = 0
        """The number of refused views that had already been refused, counted again for each record."""
        self._context: Final = context
        self._find: Final = find
        self._find_member: Final = find_member
        self._outlets: Final = outlets
        self._collection: Final = collection
        self._bulk_bytes = 0
        self._before: dict[str, SeriesRow | None] = {}
        self._members_before: dict[str, Member | None] = {}
        self._succeeded: list[SeriesRow] = []  # last rows of versions replaced within this batch

    def decide(self, records: Iterable[InputRecord]) -> bool:
        """Process ``records`` in order and write their outputs; raise what ``settle`` raises.

        Return whether the batch accepts more records. A watermark can close thousands of steps, and a renewed version
        can name just as many landmarks, so a few such records fill a batch.
        """
        context, lookup, collection, find_member = self._context, self.lookup, self._collection, self._member
        for record in records:
            outcome = decide(context, lookup, collection, record, find_member)
            headers = [(INPUT_HEADER, b"%d" % record.offset)]
            if isinstance(outcome, SeriesAndViews):
                self.passed += outcome.passed
                for part in outcome.parts:
                    self._take(part, record, headers)
            else:
                self._take(outcome, record, headers)
            if self._bulk_bytes >= MOST_BULK_BYTES:
                return False
        return True

    def _take(self, outcome: Single | MemberChange, record: InputRecord, headers: Headers) -> None:
        """Write the outputs of a record for one series."""
        if not isinstance(outcome, ProcessedRecord):
            self._undecided(outcome, record, headers)
            return
        outlets, row, entries = self._outlets, outcome.row, outcome.entries
        sort = (outcome.decision or self._control(row), row.policy.scheme.name, row.default)
        if outcome.renewal is not None:
            self._renew(outcome, outcome.renewal)
        self.changed[row.series] = row
        if outcome.joined is not None:
            self._join(outcome.joined, headers)
        if outlets.settle is not None:
            outlets.settle(row.key, entries)
        for entry in entries:
            outlets.ledger(row.key, entry.value, entry.timestamp_ms, headers)
        if outcome.release is not None:
            outlets.release(row.key, outcome.release, entries[-1].timestamp_ms, headers)
        self.decisions[sort] = self.decisions.get(sort, 0) + 1
        self._spend(sort[1], sort[2], outcome.spent_nano)

    def _undecided(
        self,
        outcome: RejectedRecord | CountedContribution | WatermarkAdvance | MemberChange,
        record: InputRecord,
        headers: Headers,
    ) -> None:
        """Write the outputs of an outcome that is not a decision."""
        match outcome:
            case RejectedRecord(reason=reason):
                self._outlets.reject(outcome.key, outcome.value, record.timestamp_ms, headers)
                self.rejected[reason] = self.rejected.get(reason, 0) + 1
            case CountedContribution():
                # PRIVACY: the number of counted items is recorded nowhere, because it is the sum of raw counters.
                pass
            case MemberChange():
                self._join(outcome, headers)
            case WatermarkAdvance():
                self._advance(outcome, headers)
            case _:
                assert_never(outcome)

    def _join(self, joined: MemberChange, headers: Headers) -> None:
        member, entry = joined
        self.members[member.chain] = member  # `decide` looked it up, so its value before the batch is kept
        if entry is None:
            return
        if self._outlets.settle is not None:
            self._outlets.settle(member.key, (entry,))
        self._outlets.ledger(member.key, entry.value, entry.timestamp_ms, headers)

    def _control(self, row: SeriesRow) -> str:
        """Keep the last row of an ended version, and return "control", which counts a record between steps."""
        self._succeed(row)
        return "control"

    def _renew(self, outcome: ProcessedRecord, renewal: Renewal) -> None:
        self.renewals[renewal] = self.renewals.get(renewal, 0) + 1
        self._bulk_bytes += len(outcome.entries[0].value)
        self._succeed(outcome.row)

    def _succeed(self, row: SeriesRow) -> None:
        last = self.changed.get(row.series)
        if last is not None and last.policy.version != row.policy.version:
            self._succeeded.append(last)

    def _spend(self, scheme: str, default: str, nano: int) -> None:
        payer = (scheme, default)
        self.spent[payer] = self.spent.get(payer, 0) + nano

    def _advance(self, outcome: WatermarkAdvance, headers: Headers) -> None:
        outlets, key = self._outlets, outcome.row.key
        parts = outcome.steps if outcome.adopted is None else (outcome.adopted, *outcome.steps)
        entries = tuple(entry for part in parts for entry in part.entries)
        if outcome.adopted is not None and outcome.adopted.joined is not None:
            self._join(outcome.adopted.joined, headers)
        if outlets.settle is not None:
            outlets.settle(key, entries)
        for entry in entries:
            outlets.ledger(key, entry.value, entry.timestamp_ms, headers)
            self._bulk_bytes += len(entry.value)
        for part in parts:
            scheme, default = part.row.policy.scheme.name, part.row.default
            if part.renewal is not None:
                self._renew(part, part.renewal)
            self.changed[part.row.series] = part.row
            self._spend(scheme, default, part.spent_nano)
            if part.release is not None and part.decision is not None:
                outlets.release(key, part.release, part.entries[-1].timestamp_ms, headers)
                self._bulk_bytes += len(part.release)
                sort: tuple[str, str, str] = (part.decision, scheme, default)
                self.decisions[sort] = self.decisions.get(sort, 0) + 1
        self.changed[outcome.row.series] = outcome.row

    def stored(self) -> list[tuple[bytes, bytes]]:
        """Return the table rows to write for all changes."""
        shared: set[str] = set()
        pairs: list[tuple[bytes, bytes]] = []
        for series, row in self.changed.items():
            pairs += rows.dump(row, self._before[series], shared)
        return pairs + [member.dump() for member in self.members.values()]

    def claims(self) -> list[Claims]:
        """Return each changed person's state before and after the batch; the state before is None if unknown."""
        return [(self._members_before[chain], member) for chain, member in self.members.items()]

    def losses(self) -> list[tuple[float | None, float | None]]:
        """Return the backward losses before and after the batch, for each changed series that had or has a loss."""
        found: list[tuple[float | None, float | None]] = []
        for series, row in self.changed.items():
            before = self._before[series]
            loss = None if before is None else before.backward_loss
            if loss is not None or row.backward_loss is not None:
                found.append((loss, row.backward_loss))
        return found

    def used(self) -> dict[tuple[str, str], int]:
        """Return the increase in used budget, ``S + M`` over all changed series, in nano-epsilon.

        The amounts are grouped by scheme and digest of the default policy. Only policies whose budget can be exhausted
        (`protection.exhaustible`) count.
        """
        found: dict[tuple[str, str], int] = {}
        for row in (*self._succeeded, *self.changed.values()):
            policy, guard = row.policy, row.state.guard
            if not policy.protection.exhaustible:
                continue
            grown = guard.used_nano
            before = self._before[row.series]
            if before is not None and before.policy.version == policy.version:
                grown -= before.state.guard.used_nano
            if grown:
                payer = (policy.scheme.name, row.default)
                found[payer] = found.get(payer, 0) + grown
        return found

    def _member(self, chain: str) -> Member | None:
        member = self.members.get(chain)
        if member is not None:
            return member
        if chain not in self._members_before:
            self._members_before[chain] = self._find_member(chain)
        return self._members_before[chain]

    def lookup(self, series: str) -> SeriesRow | None:
        """Return a series' row after the records processed so far, or None if the series has no row yet."""
        row = self.changed.get(series)
        if row is not None:
            return row
        if series in self._before:
            return self._before[series]
        row = self._before[series] = self._find(series)
        return row
