"""The benchmark `collect`: speed, memory and closing time for one open step's contributions, without Kafka.

Contributions are processed in batches, and recalled, as in a worker.
"""

import gc
import os
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.result import Figure, Result, Show
from benchmarks.rig.workload import START_MS, Sizes
from stream_app.deciding.collection import Collection
from stream_app.deciding.columns.batch import BatchDecider
from stream_app.deciding.columns.counting import Counting
from stream_app.deciding.columns.sorting import FEWEST
from stream_app.deciding.context import Context, Limits
from stream_app.deciding.decider import Outlets
from stream_app.deciding.decision import decide, recall
from stream_app.deciding.outcome import ProcessedRecord, WatermarkAdvance
from stream_app.deciding.rows import SeriesRow
from stream_app.formats import wire
from stream_app.formats.records import InputRecord, Records
from stream_app.kafka.client.routing import router
from stream_app.kafka.memory.rows import MemoryRows
from stream_app.kafka.owner.cache import RowReader
from stream_app.privacy.noise.key import SECRET_BYTES, KeyRing

DEFAULT = Sizes(events=1_000_000, series=1, repeats=3, kind="counts")
"""``events`` are the contributions of a step, each from a different contributor."""
NEEDS_BROKER = False
KEYS = 1_000
EMPTY_STEPS = 100
STEP_MS = 60_000
_CHUNK = 10_000
_SERIES = "ward-3"
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


def run(_: Path, sizes: Sizes, show: Show) -> Result:
    """Measure contributions accepted and recalled per second, bytes per contribution, and time per closed cell."""
    found: dict[str, list[float]] = {name: [] for name in ("taken", "recalled", "closed_cell")}
    memory = 0.0
    for repeat in range(sizes.repeats):
        bench = _Bench()
        bench.collection, grown = bench.opened(), 0
        bench.feed(1, 0, again=False)  # late imports do not count
        for name in ("taken", "recalled"):
            gc.collect()
            before = _resident_bytes()
            seconds = 0.0
            bench.collection = bench.opened()
            for at in range(0, sizes.events, _CHUNK):
                show(f"{name} {repeat + 1}", at, sizes.events)
                seconds += bench.feed(min(_CHUNK, sizes.events - at), at, again=name == "recalled")
            grown = _resident_bytes() - before if name == "taken" else grown
            found[name].append(sizes.events / seconds)
        # Later repeats fill memory that the first one left, so theirs would look free.
        memory = memory or grown / sizes.events
        found["closed_cell"].append(bench.close() / ((1 + EMPTY_STEPS) * KEYS) * 1_000_000)
    figures = {
        "taken": Figure.of("contributions/s", found["taken"]),
        "recalled": Figure.of("contributions/s", found["recalled"]),
        "memory": Figure.of("B/contribution", [memory]),
        "closed_cell": Figure.of("us", found["closed_cell"]),
    }
    return Result("collect", sizes.document(), figures)


class _Bench:
    """A series with an open step."""

    def __init__(self) -> None:
        self._context = Context(KeyRing("0" * 16, 0, bytes(SECRET_BYTES)), (), Limits(), router(1))
        self._rows: dict[str, SeriesRow] = {}
        self._reader = RowReader(MemoryRows(), 0, 1, FEWEST)
        self._values = [f"key-{nth}" for nth in range(KEYS)]
        self.collection = Collection(bytes(SECRET_BYTES))
        policy = {
            "epsilon": 1.0,
            "protection": {"level": "event", "step": STEP_MS},
            "scheme": {"name": "uniform"},
            "value": {"kind": "counts", "keys": self._values},
            "collect": {"neighbours": "replace", "open_steps": 1, "intrusion_nano": 10**9},
        }
        self._put({"type": "policy", "series": _SERIES, "version": 1, **policy}, 0)

    def opened(self) -> Collection:
        """Return a collection with the step open and empty."""
        fresh = Collection(bytes(SECRET_BYTES))
        if self._rows[_SERIES].open_steps is None:
            self.collection = fresh
            self._put(_watermark(START_MS), 1)
        else:
            recall(self._context, self._rows.get, fresh, _record(_watermark(START_MS), 1))
        return fresh

    def feed(self, count: int, first: int, *, again: bool) -> float:
        """Accept or recall contributions; return the processor time."""
        records = Records.of(self._contributions(count, first))
        context, find, collection = self._context, self._rows.get, self.collection
        began = time.process_time()
        if again:
            parsed = wire.parsed_all(records.values)
            for at in Counting(context, find, collection).others(records.keys, parsed):
                recall(context, find, collection, records[at])
        else:
            decider = BatchDecider(context, self._reader, Outlets(_refuse, _refuse, _refuse, None), collection)
            for _ in decider.decide(records):
                pass
        return time.process_time() - began

    def close(self) -> float:
        """Close the step and some empty steps; return the processor time."""
        began = time.process_time()
        self._put(_watermark(START_MS + (1 + EMPTY_STEPS) * STEP_MS), 2)
        return time.process_time() - began

    def _contributions(self, count: int, first: int) -> Iterator[InputRecord]:
        for nth in range(first, first + count):
            value, member = self._values[nth % KEYS], f"member-{nth:012d}"
            found = {"type": "contribution", "series": _SERIES, "timestamp": START_MS, "member": member, "value": value}
            yield _record(found, 2 + nth)

    def _put(self, document: dict[str, object], offset: int) -> None:
        outcome = decide(self._context, self._rows.get, self.collection, _record(document, offset))
        if not isinstance(outcome, ProcessedRecord | WatermarkAdvance):
            raise TypeError("a record of the benchmark was rejected")
        self._rows[_SERIES] = outcome.row
        self._reader.take(self._rows)


def _refuse(*_: object) -> None:
    raise TypeError("a contribution of the benchmark was rejected")


def _watermark(timestamp_ms: int) -> dict[str, object]:
    return {"type": "watermark", "series": _SERIES, "timestamp": timestamp_ms, "seed": "5e" * SECRET_BYTES}


def _record(document: dict[str, object], offset: int) -> InputRecord:
    # A copy, because dumped bytes leave kilobytes behind in the heap, which is measured.
    return InputRecord("events", 0, offset, 0, _SERIES.encode(), bytes(bytearray(wire.dump(document))))


def _resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * _PAGE_BYTES
