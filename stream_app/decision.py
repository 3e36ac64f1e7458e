"""One record in, its decision out: the pure path that the worker and ``replay`` share.

Order of checks: envelope and routing, time, then state, the value last; a rejected record changes nothing.
"""

from collections.abc import Callable
from typing import Final, assert_never, final

from stream_app import wire
from stream_app.context import Context
from stream_app.privacy import fold
from stream_app.privacy.entry import CloseEntry, LandmarksEntry, PolicyEntry
from stream_app.privacy.policy import Policy, PolicyError, policy_of
from stream_app.privacy.reason import Reason, Refused
from stream_app.privacy.release import Decision
from stream_app.privacy.state import NEVER, State
from stream_app.rows import SeriesRow
from stream_app.wire import CloseRecord, EventRecord, LandmarksRecord, Malformed, PolicyRecord


@final
class InputRecord:
    """A record of the events topic."""

    __slots__ = ("key", "offset", "partition", "timestamp_ms", "topic", "value")

    def __init__(
        self, topic: str, partition: int, offset: int, timestamp_ms: int, key: bytes | None, value: bytes | None
    ) -> None:
        """Hold a record; ``timestamp_ms`` is the broker's append time."""
        self.topic: Final = topic
        self.partition: Final = partition
        self.offset: Final = offset
        self.timestamp_ms: Final = timestamp_ms
        self.key: Final = key
        self.value: Final = value


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
    """A record to write to the ledger topic; ``sequence`` and ``hash`` (hex) serve the tail rule."""

    __slots__ = ("hash", "key", "sequence", "timestamp_ms", "value")

    def __init__(self, key: bytes, value: bytes, timestamp_ms: int, sequence: int, sealed_hash: str) -> None:
        """Hold a record, with its place in its series' chain."""
        self.key: Final = key
        self.value: Final = value
        self.timestamp_ms: Final = timestamp_ms
        self.sequence: Final = sequence
        self.hash: Final = sealed_hash


@final
class Decided:
    """A record that changed its series: the new row, ledger entries in order, and its release if it has one."""

    __slots__ = ("decision", "entries", "release", "row", "spent_nano")

    def __init__(
        self,
        row: SeriesRow,
        entries: tuple[LedgerMessage, ...],
        release: Message | None,
        decision: Decision | None,
        spent_nano: int,
    ) -> None:
        """Hold an outcome; ``decision`` is None for policy, landmarks and close."""
        self.row: Final = row
        self.entries: Final = entries
        self.release: Final = release
        self.decision: Final = decision
        self.spent_nano: Final = spent_nano


@final
class Rejected:
    """A record that changed nothing, and the reject that says why."""

    __slots__ = ("message", "reason")

    def __init__(self, reason: Reason, message: Message) -> None:
        """Hold a reject."""
        self.reason: Final = reason
        self.message: Final = message


def decide(context: Context, lookup: Callable[[str], SeriesRow | None], record: InputRecord) -> Decided | Rejected:
    """Decide one record; ``lookup`` finds a series' row. Never raises for anything the record holds."""
    found = wire.decode(record.value)
    if isinstance(found, Malformed):
        return _reject(found.series, found.timestamp_ms, found.reason, record)
    timestamp_ms = found.timestamp_ms if isinstance(found, fold.Observation) else None
    row = lookup(found.series)
    refused = _misplaced(context, row, found.series, record) or _early(context, timestamp_ms, record)
    outcome = Refused(refused) if refused else _apply(context, row, found, record)
    if isinstance(outcome, Refused):
        return _reject(found.series, timestamp_ms, outcome.reason, record)
    return outcome


def _misplaced(context: Context, row: SeriesRow | None, series: str, record: InputRecord) -> Reason | None:
    """Return why the record may not be on this partition; a series with a row has been routed before."""
    if context.partition_of is None:
        return None
    key = row.key if row else series.encode()
    if record.key != key or (row is None and context.partition_of(key) != record.partition):
        return "misrouted"
    return None


def _early(context: Context, timestamp_ms: int | None, record: InputRecord) -> Reason | None:
    """Return whether the event lies too far ahead of the broker's clock."""
    most = context.limits.max_future_ms
    if most is None or timestamp_ms is None or timestamp_ms <= record.timestamp_ms + most:
        return None
    return "future"


def _reject(series: str | None, timestamp_ms: int | None, reason: Reason, record: InputRecord) -> Rejected:
    value = wire.encode_reject(series, timestamp_ms, reason, record.topic, record.partition, record.offset)
    return Rejected(reason, Message(series.encode() if series else None, value, record.timestamp_ms))


def _apply(context: Context, row: SeriesRow | None, found: EventRecord, record: InputRecord) -> Decided | Refused:
    if isinstance(found, PolicyRecord):
        return _adopt_own(context, row, found, record)
    adopted: tuple[LedgerMessage, ...] = ()
    if row is None:
        first = _adopt_default(context, found.series, record)
        if isinstance(first, Refused):
            return first
        row, adopted = first.row, first.entries
    if isinstance(found, fold.Observation):
        return _observe(context, row, adopted, found)
    outcome = _control(row, found)
    if isinstance(outcome, Refused):
        return outcome
    return _changed(context, row, adopted, outcome.state, outcome.entry, record)


def _control(row: SeriesRow, found: LandmarksRecord | CloseRecord) -> fold.Registered | fold.Closed | Refused:
    match found:
        case LandmarksRecord():
            return fold.register(row.policy, row.state, found.add)
        case CloseRecord():
            return fold.close(row.policy, row.state)
        case _:
            assert_never(found)


def _observe(
    context: Context, row: SeriesRow, adopted: tuple[LedgerMessage, ...], found: fold.Observation
) -> Decided | Refused:
    series, key, sequence, policy, keys = row.series, row.key, row.sequence + 1, row.policy, context.keys
    stepped = fold.step(keys, policy, row.state, found)
    if isinstance(stepped, Refused):
        return stepped
    entry = stepped.entry
    step_ms = entry.timestamp_ms
    value = wire.encode_release(series, policy.kind, policy.version, stepped.release)
    link = wire.Link(series, sequence, row.previous, keys.fingerprint, keys.epoch_of(step_ms))
    sealed, sealed_hash = wire.encode_release_entry(link, entry, wire.digest(value))
    message = LedgerMessage(key, sealed, step_ms, sequence, sealed_hash)
    loss = None if policy.correlation is None else context.backward_loss(row, step_ms, entry.spend_nano)
    return Decided(
        SeriesRow(series, key, sequence, sealed_hash, policy, row.default, stepped.state, loss),
        (*adopted, message) if adopted else (message,),
        Message(key, value, step_ms),
        entry.decision,
        entry.spend_nano,
    )


def _adopt_own(context: Context, row: SeriesRow | None, found: PolicyRecord, record: InputRecord) -> Decided | Refused:
    if row is not None and row.state.closed:
        return Refused("closed")
    if not context.limits.accept_policies:
        return Refused("invalid-policy")
    try:
        policy = policy_of(found.parameters, found.version)
    except PolicyError:
        return Refused("invalid-policy")
    return _adopt(context, row, found.series, policy, "", record)


def _adopt_default(context: Context, series: str, record: InputRecord) -> Decided | Refused:
    default = context.default_for(series)
    if default is None:
        return Refused("no-policy")
    return _adopt(context, None, series, default.policy, default.digest, record)


def _adopt(
    context: Context, row: SeriesRow | None, series: str, policy: Policy, default: str, record: InputRecord
) -> Decided | Refused:
    most = context.limits.max_epsilon_nano
    if most is not None and policy.epsilon_nano > most:
        return Refused("budget-cap")
    before, state = (row.policy, row.state) if row else (None, None)
    adopted = fold.adopt(policy, before, state, context.limits.lifetime_nano)
    if isinstance(adopted, Refused):
        return adopted
    sequence, previous = (row.sequence, row.previous) if row else (0, wire.NO_HASH)
    loss = row.backward_loss if row else None
    base = SeriesRow(series, series.encode(), sequence, previous, policy, default, adopted.state, loss)
    return _changed(context, base, (), adopted.state, adopted.entry, record)


def _changed(
    context: Context,
    row: SeriesRow,
    earlier: tuple[LedgerMessage, ...],
    state: State,
    entry: PolicyEntry | LandmarksEntry | CloseEntry,
    record: InputRecord,
) -> Decided:
    """Return the outcome of a record without a release: one more entry, and the state after it."""
    keys = context.keys
    # Such records carry no event time: their epoch is that of the last decided step.
    epoch = keys.epoch_of(state.decided_ms) if state.decided_ms != NEVER else 0
    link = wire.Link(row.series, row.sequence + 1, row.previous, keys.fingerprint, epoch)
    sealed, sealed_hash = wire.encode_entry(link, entry)
    message = LedgerMessage(row.key, sealed, record.timestamp_ms, row.sequence + 1, sealed_hash)
    # A landmark registered under a default policy makes the policy the series' own.
    default = row.default if state.landmarks is row.policy.landmarks else ""
    loss = row.backward_loss
    moved = SeriesRow(row.series, row.key, row.sequence + 1, sealed_hash, row.policy, default, state, loss)
    return Decided(moved, (*earlier, message), None, None, 0)
