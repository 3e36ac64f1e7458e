"""What a partition's committed outputs and rows must be.

Outputs come from its input in log order through the pure decision, as in `replay`. Rows come from its changelog.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Final, NamedTuple

import orjson

from stream_app.deciding.collection import Collection
from stream_app.deciding.context import Context
from stream_app.deciding.decider import Append, Decider, Headers, Outlets
from stream_app.deciding.members import Member
from stream_app.deciding.rows import SeriesRow, load
from stream_app.formats.records import InputRecord
from stream_app.kafka.brokers import Rows
from stream_app.kafka.memory.rows import MemoryRows
from tests.cluster.log import Log
from tests.simulation.books import ViolationError
from tests.simulation.plans.units import UNIT
from tests.simulation.plans.workload import READ

_INPUT: Final = "input"


class Output(NamedTuple):
    """One output record, with the offset of the input that it answers."""

    key: bytes | None
    value: bytes
    timestamp_ms: int
    offset: int


class Expected:
    """One partition decided once, without a broker, a store or a crash."""

    def __init__(self, start: int) -> None:
        """Begin at the offset ``start``, with no series."""
        self.next_offset = start
        self._rows: dict[str, SeriesRow] = {}
        self._members: dict[str, Member] = {}
        self._collection = Collection(bytes(32))
        self._decided: list[tuple[Context, list[InputRecord]]] = []

    def decide(self, context: Context, records: list[InputRecord]) -> tuple[list[Output], list[Output], list[Output]]:
        """Return the ledger entries, releases and rejects of the next records."""
        found: tuple[list[Output], list[Output], list[Output]] = ([], [], [])
        outlets = Outlets(_into(found[0]), _into(found[1]), _into(found[2]), None)
        decider = Decider(context, self._rows.get, outlets, self._collection, self._members.get)
        decider.decide(records)
        self._rows |= decider.changed
        self._members |= decider.members
        self._decided.append((context, records))
        return found

    def recovered(self, next_offset: int, get: Callable[[bytes], bytes | None]) -> None:
        """Continue as after `recover`, which wrote rows (``get`` reads them) of all input before ``next_offset``.

        Input from there on is decided again: its watermarks reopen steps.
        """
        decided = self._decided
        again = [(context, [one for one in records if one.offset >= next_offset]) for context, records in decided]
        if any(records for _, records in again):
            self._rows, self._members, self._collection, self._decided = {}, {}, Collection(bytes(32)), []
            for context, records in decided:
                self.decide(context, [one for one in records if one.offset < next_offset])
        self._forget_watermarks(get)
        for context, records in again:
            if records:
                self.decide(context, records)

    def _forget_watermarks(self, get: Callable[[bytes], bytes | None]) -> None:
        """Accept a series without open steps as `recover` wrote it (``get`` reads its rows): see docs/operating.md.

        A watermark after which nothing was open leaves no trace except in the row that was lost.
        """
        for series, row in self._rows.items():
            if row.open_steps is not None and not row.open_steps.offsets:
                told = load(get, series, {row.default: row.policy})
                if told is not None and told.open_steps is None:
                    self._rows[series] = replace(row, open_steps=None)


def check_copy(rows: Rows, log: Log) -> None:
    """Check that a caught-up copy contains what its changelog does, whatever it contained before.

    Raises:
        ViolationError: if it contains other rows.
    """
    held = rows.offset(log.partition)
    if held is not None and held >= log.stable:
        return  # the marker of its own first transaction is on its way
    wanted: dict[bytes | None, bytes] = {}
    for record in log.visible(log.first, log.end, "read_committed"):
        wanted.pop(record.key, None)
        if record.value is not None:
            wanted[record.key] = record.value
    found = sorted(rows.scan(log.partition, b""))
    if found != sorted(wanted.values()):
        lacks, more = set(wanted.values()) - set(found), set(found) - set(wanted.values())
        raise ViolationError("a copy holds what its changelog does", f"{log.partition}: lacks {lacks}, and has {more}")


def check_sealed(log: Log) -> None:
    """Check that a changelog has the sealed rows of the steps that its series call open, and no others.

    Raises:
        ViolationError: if one is missing, or remains from a step that has ended.
    """
    held = MemoryRows()
    for record in log.visible(log.first, log.end, "read_committed"):
        held.write(log.partition, [(record.key or b"", record.value)], None)
    read, found = partial(held.read, log.partition), held.copy(log.partition).rows
    wanted: set[bytes] = set()
    for series in held.series(log.partition):
        row = load(read, series, {})
        if row is None or row.open_units is None or row.policy.units is None:
            continue
        blocks = -(-row.policy.units.per_step // 16)
        for step in row.open_units.steps:
            for nth in range(blocks):
                number = (step.index * blocks + nth).to_bytes(8, "big")
                wanted |= {b"u" + row.key + b"\0" + number} if step.blocks >> nth & 1 else set()
    sealed = {key for key in found if key[:1] == b"u"}
    if sealed != wanted:
        told = f"{log.partition}: lacks {wanted - sealed}, and has {sealed - wanted}"
        raise ViolationError("open steps have their sealed rows", told)


def observations(log: Log) -> list[int]:
    """Return the offsets of all observations, whole or not, which must each have exactly one answer.

    A reading has no answer: its step has, and so has a step of units.
    """
    found = []
    for record in log.visible(log.first, log.end, "read_committed"):
        try:
            content = orjson.loads(record.value or b"")
        except orjson.JSONDecodeError:
            content = None
        series = str(content.get("series")) if isinstance(content, dict) else ""
        if not isinstance(content, dict) or ("type" not in content and READ not in series and UNIT not in series):
            found.append(record.offset)
    return found


def _into(found: list[Output]) -> Append:
    def append(key: bytes | None, value: bytes, timestamp_ms: int, headers: Headers) -> None:
        offset = next(int(number) for name, number in headers if name == _INPUT)
        found.append(Output(key, value, timestamp_ms, offset))

    return append
