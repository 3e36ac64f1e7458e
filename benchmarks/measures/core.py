"""The benchmark `core`: microseconds per decision and for each part of it, by scheme and kind.

It runs without Kafka.
"""

import gc
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.result import Figure, Result, Show
from benchmarks.rig.workload import SCHEMES, VALUES, Sizes, events
from stream_app.deciding import rows
from stream_app.deciding.collection import Collection
from stream_app.deciding.context import Context, Limits
from stream_app.deciding.decision import decide
from stream_app.deciding.outcome import ProcessedRecord, seal
from stream_app.deciding.rows import SeriesRow
from stream_app.formats import wire
from stream_app.formats.records import InputRecord
from stream_app.kafka.client.routing import router
from stream_app.privacy import fold
from stream_app.privacy.noise.key import SECRET_BYTES, KeyRing
from stream_app.setup.configuration import WrittenPolicy, policies_from

ALL = "all"
DEFAULT = Sizes(events=4_000, series=400, repeats=5, scheme=ALL, kind=ALL)
NEEDS_BROKER = False


@dataclass(frozen=True, slots=True)
class Case:
    """One event of a known series, as the input of each part of its decision."""

    record: InputRecord
    row: SeriesRow
    observation: Any
    stepped: Any
    release: bytes
    decided: ProcessedRecord


def run(_: Path, sizes: Sizes, show: Show) -> Result:
    """Measure every scheme with every kind, or only the requested ones."""
    schemes = SCHEMES if sizes.scheme == ALL else (sizes.scheme,)
    kinds = tuple(VALUES) if sizes.kind == ALL else (sizes.kind,)
    figures: dict[str, Figure] = {}
    pairs = [(scheme, kind) for scheme in schemes for kind in kinds]
    for number, (scheme, kind) in enumerate(pairs):
        show("core", number, len(pairs))
        for part, microseconds in _parts(replace(sizes, scheme=scheme, kind=kind)).items():
            figures[f"{scheme}_{kind}_{part}"] = Figure.of("us", microseconds)
    return Result("core", sizes.document(), figures)


def _parts(sizes: Sizes) -> dict[str, list[float]]:
    """Return the processor time per event of each part, one value per repeat; the parts take turns."""
    context = _context(sizes)
    cases = _cases(context, sizes)
    lookups = [_finding(case.row) for case in cases]
    collection = Collection(bytes(SECRET_BYTES))
    runs: dict[str, Callable[[], object]] = {
        "decide": lambda: _each(
            decide(context, found, collection, case.record) for found, case in zip(lookups, cases, strict=True)
        ),
        "decode": lambda: _each(wire.decode(case.record.value) for case in cases),
        "step": lambda: _each(_step(context, case.row, case.observation) for case in cases),
        "encode": lambda: _each(seal(context, case.row, None, case.stepped, 0, None) for case in cases),
        "dump_row": lambda: _each(rows.dump(case.decided.row, case.row, set()) for case in cases),
    }
    found: dict[str, list[float]] = {part: [] for part in runs}
    gc.collect()
    gc.disable()  # as `timeit` does; `worker` shows the collector's cost in the worker
    try:
        for _ in range(sizes.repeats):
            for part, work in runs.items():
                began = time.process_time()
                work()
                found[part].append((time.process_time() - began) / len(cases) * 1_000_000)
    finally:
        gc.enable()
    return found


def _each(results: Iterable[object]) -> None:
    for _ in results:
        pass


def _context(sizes: Sizes) -> Context:
    limits = Limits()
    policies = policies_from([WrittenPolicy("bench", sizes.policy())], limits)
    return Context(KeyRing("0" * 16, 0, bytes(SECRET_BYTES)), policies, limits, router(1))


def _cases(context: Context, sizes: Sizes) -> list[Case]:
    """Process all events once; return those whose series had a row, with the input and output of each part."""
    known: dict[str, SeriesRow] = {}
    collection = Collection(bytes(SECRET_BYTES))
    cases: list[Case] = []
    for offset, event in enumerate(events(sizes)):
        record = InputRecord("events", 0, offset, 0, event.key, event.value)
        outcome = decide(context, known.get, collection, record)
        if not isinstance(outcome, ProcessedRecord) or outcome.release is None:
            raise TypeError("an event of the benchmark was rejected")
        row = known.get(outcome.row.series)
        if row is not None:
            observation = wire.decode(event.value)
            stepped = _step(context, row, observation)
            cases.append(Case(record, row, observation, stepped, outcome.release, outcome))
        known[outcome.row.series] = outcome.row
    return cases


def _step(context: Context, row: SeriesRow, found: Any) -> Any:
    return fold.step(context.keys, row.policy, row.state, found.series, found.timestamp_ms, found.value)


def _finding(row: SeriesRow) -> Callable[[str], SeriesRow]:
    return lambda _: row
