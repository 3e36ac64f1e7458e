"""The benchmark `units`: readings into units of open days, relative to plain observations of the same log.

One policy releases the mean of a day, with a unit of 5 minutes. The other one releases each reading. Both logs begin
with half a day: a reading in every sixteenth unit of each series, so that all its sealed rows exist. Then ``events``
more readings cycle through the series; rates and bytes are measured for these.
"""

import gc
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from benchmarks.measures.recovery import start
from benchmarks.measures.sizing import Found, on_disk
from benchmarks.result import Figure, Result, Show, Target
from benchmarks.rig import health
from benchmarks.rig.process import Client, usage_of
from benchmarks.rig.progress import Progress
from benchmarks.rig.site import Ground, Site
from benchmarks.rig.watch import Rate
from benchmarks.rig.workers import worker
from benchmarks.rig.workload import HOUR_MS, START_MS, Sizes, value
from stream_app.deciding.collection import Collection
from stream_app.deciding.columns.batch import BatchDecider
from stream_app.deciding.columns.sorting import FEWEST
from stream_app.deciding.context import Context, Limits
from stream_app.deciding.decider import Outlets
from stream_app.deciding.units.blocks import Blocks, Table
from stream_app.deciding.units.opened import BLOCK_UNITS
from stream_app.formats import wire
from stream_app.formats.records import InputRecord, Records
from stream_app.kafka.client.sending import Event
from stream_app.kafka.memory.rows import MemoryRows
from stream_app.kafka.owner.cache import RowReader
from stream_app.privacy.noise.key import SECRET_BYTES, KeyRing
from stream_app.setup.configuration import WrittenPolicy, policies_from

DEFAULT = Sizes(events=400_000, series=100_000, repeats=1, scheme="balanced")
TARGETS = (
    Target("units_over_plain", "at least", 0.5),
    Target("changelog_reading", "at most", 600),
    Target("memory_above_idle", "at most", 100),
)
BROKER = {"log.cleaner.enable": "false"}
"""The changelog keeps outdated rows, so that its bytes can be counted."""
UNIT_MS = 300_000
UNITS = 288
"""Units per day."""
DAY_MS = UNITS * UNIT_MS
OPEN_UNITS = UNITS // 2
FIRST_READINGS = OPEN_UNITS // BLOCK_UNITS
"""Readings of each series before all others: one in each of its sealed rows."""
_FIRST_DAY = -(-START_MS // DAY_MS)
_MEGA = 1_000_000
_SERIES_ALONE, _BATCH_ALONE = 4_000, 1_000
_FIRST_ALONE, _ROUNDS_ALONE = 2, 34
"""Readings per series: first those that begin its day, then two sealed rows."""


@dataclass(frozen=True, slots=True)
class Days(Sizes):
    """Sizes of a run whose series release the mean of a day, or every reading if the step is one unit."""

    step_ms: int = DAY_MS

    def policy(self) -> dict[str, Any]:
        """Return the default policy of every series."""
        policy = Sizes.policy(self)
        first = _FIRST_DAY * DAY_MS
        protection = {"level": "landmark", "landmarks": [[first + HOUR_MS, first + 2 * HOUR_MS]], "step": self.step_ms}
        if self.step_ms > UNIT_MS:
            protection |= {"unit": UNIT_MS, "open_steps": 1}
            policy["value"] = policy["value"] | {"statistic": "mean"}
        return policy | {"protection": protection}


@dataclass(frozen=True, slots=True)
class Run:
    """What a worker needed for the readings of one policy."""

    rate: Rate
    changelog_bytes: float
    idle_bytes: int
    open_bytes: int
    """Resident memory after half a day."""


def run(ground: Ground, sizes: Sizes, show: Show) -> Result:
    """Measure both policies in turn, then the recovery of the one with units."""
    units: list[Run] = []
    plain: list[Run] = []
    recovered: list[Found] = []
    for number in range(sizes.repeats):
        with _made(ground, f"bench-plain-{number}", sizes, UNIT_MS) as site:
            plain.append(_read(site, "plain", show))
        with _made(ground, f"bench-units-{number}", sizes, DAY_MS) as site:
            units.append(_read(site, "units", show))
            recovered.append(_recovered(site))
    pairs = list(zip(units, plain, strict=True))
    gc.collect()
    gc.disable()  # a worker's collector rarely runs; the rates include its cost
    try:
        alone = [(_deciding(_days(sizes, DAY_MS)), _deciding(_days(sizes, UNIT_MS))) for _ in range(sizes.repeats)]
    finally:
        gc.enable()
    figures = {
        "deciding_units": Figure.of("us/reading", (one for one, _ in alone)),
        "deciding_plain": Figure.of("us/reading", (other for _, other in alone)),
        "deciding_plain_over_units": Figure.of("ratio", (other / one for one, other in alone)),
        "units": Figure.of("readings/s", (one.rate.per_second for one in units)),
        "plain": Figure.of("readings/s", (one.rate.per_second for one in plain)),
        "units_over_plain": Figure.of("ratio", (one.rate.per_second / other.rate.per_second for one, other in pairs)),
        "units_cpu": Figure.of("us/reading", (one.rate.cpu_microseconds for one in units)),
        "plain_cpu": Figure.of("us/reading", (one.rate.cpu_microseconds for one in plain)),
        "plain_cpu_over_units_cpu": Figure.of(
            "ratio", (other.rate.cpu_microseconds / one.rate.cpu_microseconds for one, other in pairs)
        ),
        "changelog_reading": Figure.of("B", (one.changelog_bytes / sizes.events for one in units)),
        "memory_idle": Figure.of("MB", (one.idle_bytes / _MEGA for one in units)),
        "memory_above_idle": Figure.of("MB", ((one.open_bytes - one.idle_bytes) / _MEGA for one in units)),
        "memory_above_idle_plain": Figure.of("MB", ((one.open_bytes - one.idle_bytes) / _MEGA for one in plain)),
    }
    for name, (unit, _) in recovered[0].items():
        figures[name] = Figure.of(unit, (found[name][1] for found in recovered))
    return Result("units", sizes.document(), figures, TARGETS)


def _made(ground: Ground, name: str, sizes: Sizes, step_ms: int) -> AbstractContextManager[Site]:
    return Site.made(ground, name, _days(sizes, step_ms))


def _days(sizes: Sizes, step_ms: int) -> Days:
    own: dict[str, Any] = {field: getattr(sizes, field) for field in Sizes.__slots__}
    return Days(**own, step_ms=step_ms)


def _deciding(sizes: Days) -> float:
    """Return the microseconds of processor time per reading, without Kafka and with series in memory."""
    limits, series = Limits(), min(sizes.series, _SERIES_ALONE)
    policies = policies_from([WrittenPolicy("bench", sizes.policy())], limits)
    context = Context(KeyRing("0" * 16, 0, bytes(SECRET_BYTES)), policies, limits)
    table, outlets = MemoryRows(), Outlets(_drop, _drop, _drop, None, (_drop, _drop))
    rows = RowReader(table, 0, 20 * series, FEWEST)
    blocks = Blocks(Table(context.keys, "bench", rows.sealed))
    seconds = 0.0
    for unit in range(_ROUNDS_ALONE):
        for first in range(0, series, _BATCH_ALONE):
            readings = [_reading(sizes, at, unit) for at in range(first, min(first + _BATCH_ALONE, series))]
            start = unit * series + first
            records = [InputRecord("bench", 0, start + nth, 0, one.key, one.value) for nth, one in enumerate(readings)]
            decider = BatchDecider(context, rows, outlets, Collection(bytes(SECRET_BYTES), blocks))
            batch, began = Records.of(records), time.process_time()
            for _ in decider.decide(batch):
                pass
            table.write(0, [*decider.stored(), *blocks.written().items()], None)
            rows.take(decider.alone.changed)
            seconds += time.process_time() - began if unit >= _FIRST_ALONE else 0
    return seconds / (series * (_ROUNDS_ALONE - _FIRST_ALONE)) * _MEGA


def _drop(*_: object) -> None:
    """Write nothing."""


def _read(site: Site, what: str, show: Show) -> Run:
    """Let one worker read half a day, and another one the measured readings."""
    sizes = site.sizes
    with worker(site) as client:
        _ready(site, client)
        idle = client.resident_bytes()
        progress = Progress(site.http_port, client)
        progress.until(site.send(_first_half(sizes)), f"{what}: half a day", show)
        half = client.resident_bytes()
    before = on_disk(site)["changelog"]
    site.send(_readings(sizes))
    with worker(site) as client:
        _ready(site, client)
        rate = Progress(site.http_port, client).until(sizes.events, what, show)
    return Run(rate, on_disk(site)["changelog"] - before, idle, half)


def _ready(site: Site, client: Client) -> None:
    every = list(range(site.sizes.partitions))
    health.until(lambda: health.served(site.http_port) == every, "ready", client)


def _first_half(sizes: Sizes) -> Iterator[Event]:
    for nth in range(FIRST_READINGS):
        for at in range(sizes.series):
            yield _reading(sizes, at, nth * BLOCK_UNITS)


def _readings(sizes: Sizes) -> Iterator[Event]:
    for number in range(sizes.events):
        yield _reading(sizes, number % sizes.series, OPEN_UNITS + number // sizes.series)


def _reading(sizes: Sizes, at: int, unit: int) -> Event:
    series = f"series-{at:07d}"
    document = {
        "type": "observation",
        "series": series,
        "timestamp": _FIRST_DAY * DAY_MS + unit * UNIT_MS,
        "value": value(sizes.kind, at + unit),
    }
    return Event(series.encode(), wire.dump(document))


def _recovered(site: Site) -> Found:
    """Return the cost of reading the state back from the changelog and that of rebuilding it from the logs."""
    kept = start(site)
    shutil.rmtree(site.settings.data_folder)
    lost = start(site)
    began = time.perf_counter()
    usage = usage_of((sys.executable, "-m", "stream_app", "recover", "--config", str(site.config)))
    seconds, readings = time.perf_counter() - began, site.sizes.events + FIRST_READINGS * site.sizes.series
    return {
        "recovered_rows": ("rows", lost.rows),
        "recovery": ("s", lost.seconds - kept.seconds),
        "recovery_row_cpu": ("us", (lost.cpu_seconds - kept.cpu_seconds) / lost.rows * _MEGA),
        "recover": ("s", seconds),
        "recover_reading_cpu": ("us", usage.seconds / readings * _MEGA),
        "recover_memory": ("MB", usage.peak_bytes / _MEGA),
    }
