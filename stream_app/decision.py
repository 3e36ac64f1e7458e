"""One record in, its decision out: the pure path that the worker and ``replay`` share."""

from collections.abc import Callable
from typing import NamedTuple


class InputRecord(NamedTuple):
    """A record of the events topic."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int  # the broker's append time
    key: bytes | None
    value: bytes | None


class Message(NamedTuple):
    """A record to write to the releases or the rejects topic."""

    key: bytes | None
    value: bytes
    timestamp_ms: int


class LedgerMessage(NamedTuple):
    """A record to write to the ledger topic; ``sequence`` and ``hash`` (hex) serve the tail rule."""

    key: bytes
    value: bytes
    timestamp_ms: int
    sequence: int
    hash: str


# SeriesRow (series: str, sequence: int, previous: str, policy: Policy, state: State, ...) comes from stream_app.rows


class Decided(NamedTuple):
    """A record that changed its series: the new row, ledger entries in order, and its release if it has one."""

    row: "SeriesRow"
    entries: tuple[LedgerMessage, ...]
    release: Message | None
    decision: str | None  # perturbed | approximated | withheld; None for policy, landmarks, close
    spent_nano: int


class Rejected(NamedTuple):
    """A record that changed nothing, and the reject that says why."""

    reason: str
    message: Message


# class Context: keys: KeyRing; defaults; limits (lifetime, max epsilon, accept_policies, max_future_ms);
#                partition_of: Callable[[bytes], int] | None   (None: no routing check, as in replay)


def decide(context: "Context", lookup: Callable[[str], "SeriesRow | None"], record: InputRecord) -> Decided | Rejected:
    """Decide one record; never raises for anything the record holds."""
    raise NotImplementedError
