"""The benchmark `sizing`: disk, memory and processor time per series, event and ledger entry.

docs/sizing.md multiplies these figures. The bytes of a topic are the bytes of the broker's log files, including framing
and headers, with one replica and without compression.
"""

import gc
import shutil
import sys
import tracemalloc
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from benchmarks.measures.recovery import start
from benchmarks.result import Figure, Result, Show
from benchmarks.rig.process import cpu_seconds, usage_of
from benchmarks.rig.site import Ground, Site
from benchmarks.rig.workers import work
from benchmarks.rig.workload import Sizes, events
from stream_app.deciding.collection import Collection
from stream_app.deciding.columns.batch import BatchDecider
from stream_app.deciding.columns.sorting import FEWEST
from stream_app.deciding.context import Context, Limits
from stream_app.deciding.decider import Outlets
from stream_app.formats.records import InputRecord, Records
from stream_app.heads.signing import SigningKey
from stream_app.kafka.memory.rows import MemoryRows
from stream_app.kafka.owner.cache import RowReader
from stream_app.privacy.noise.key import SECRET_BYTES, KeyRing
from stream_app.setup.configuration import WrittenPolicy, policies_from

DEFAULT = Sizes(events=400_000, series=1_000_000, repeats=1)
"""Every series has one event before the ``events``, which cycle through all series."""
CACHED_SERIES = 20_000
"""Number of series whose memory is measured."""
_FEW_SERIES = 100
TOPICS = ("events", "releases", "ledger", "changelog")
_MICRO = 1_000_000

Found = dict[str, tuple[str, float]]
"""Figures by name, each with its unit."""


def run(ground: Ground, sizes: Sizes, show: Show) -> Result:
    """Measure all figures ``repeats`` times, each time on new topics."""
    runs = [_once(ground, f"bench-sizing-{number}", sizes, show) for number in range(sizes.repeats)]
    figures = {name: Figure.of(unit, (found[name][1] for found in runs)) for name, (unit, _) in runs[0].items()}
    return Result("sizing", sizes.document(), figures)


def _once(ground: Ground, name: str, sizes: Sizes, show: Show) -> Found:
    with Site.made(ground, name, sizes) as site:
        SigningKey.create(site.folder / "signing.key")
        with site.config.open("a") as config:
            config.write(f'signing_key_file = "{site.folder / "signing.key"}"\n')
        site.send(events(replace(sizes, events=sizes.series)))
        fresh = work(site, sizes.series, show)
        before = on_disk(site)
        site.send(events(sizes, start=sizes.series))
        broker = cpu_seconds(ground.broker.pid)
        known = work(site, sizes.events, show)
        broker = cpu_seconds(ground.broker.pid) - broker
        after = on_disk(site)
        grown = {topic: (after[topic] - before[topic]) / sizes.events for topic in TOPICS}
        return {
            **{f"{topic}_event": ("B", grown[topic]) for topic in TOPICS[:-1]},
            # A series' first event also writes its policy.
            "ledger_series": ("B", before["ledger"] / sizes.series - grown["ledger"]),
            "changelog_row": ("B", before["changelog"] / sizes.series),
            "changelog_event": ("B", grown["changelog"]),
            "state_series": ("B", _bytes(site.settings.data_folder.rglob("*")) / sizes.series),
            "cached_series": ("B", _cached_bytes(sizes)),
            "worker_memory": ("MB", max(fresh.peak_bytes, known.peak_bytes) / _MICRO),
            "worker_cpu_event": ("us", known.rate.cpu_microseconds),
            "broker_cpu_event": ("us", broker / sizes.events * _MICRO),
            **_recovered(site),
            **_audited(site, sizes.series * 2 + sizes.events),
        }


def on_disk(site: Site) -> dict[str, int]:
    """Return the bytes of each topic's records on the broker's disk."""
    data = site.ground.broker.folder / "data"
    return {topic: _bytes(data.glob(f"{getattr(site.names, topic)}-*/*.log")) for topic in TOPICS}


def _bytes(files: Iterable[Path]) -> int:
    return sum(file.stat().st_size for file in files if file.is_file())


def _cached_bytes(sizes: Sizes) -> float:
    """Return the memory per series kept by a worker, in columns or decoded, as Python's allocator counts it."""
    _in_memory(sizes, _FEW_SERIES)  # late imports do not count
    tracemalloc.start()
    try:
        rows = _in_memory(sizes, min(sizes.series, CACHED_SERIES))
        gc.collect()
        return tracemalloc.get_traced_memory()[0] / len(rows)
    finally:
        tracemalloc.stop()


def _in_memory(sizes: Sizes, number: int) -> RowReader:
    """Return the rows of ``number`` series, each after its first event."""
    limits = Limits()
    policies = policies_from([WrittenPolicy("bench", sizes.policy())], limits)
    context = Context(KeyRing("0" * 16, 0, bytes(SECRET_BYTES)), policies, limits)
    outlets = Outlets(_drop, _drop, _drop, None)
    sent = enumerate(events(replace(sizes, events=number, series=number)))
    records = Records.of(InputRecord("events", 0, nth, 0, event.key, event.value) for nth, event in sent)
    rows = RowReader(MemoryRows(), 0, number, FEWEST)
    decider = BatchDecider(context, rows, outlets, Collection(bytes(SECRET_BYTES)))
    for _ in decider.decide(records):
        pass
    rows.take(decider.alone.changed)
    return rows


def _drop(*_: object) -> None:
    """Write nothing."""


def _recovered(site: Site) -> Found:
    """Return the cost per row read back by a worker without its local copy, excluding the start itself."""
    kept = start(site)
    shutil.rmtree(site.settings.data_folder)
    lost = start(site)
    return {
        "recovered_rows": ("rows", lost.rows),
        "recovery_row": ("us", (lost.seconds - kept.seconds) / lost.rows * _MICRO),
        "recovery_cpu_row": ("us", (lost.cpu_seconds - kept.cpu_seconds) / lost.rows * _MICRO),
    }


def _audited(site: Site, entries: int) -> Found:
    """Return the cost of an audit of the topics, which reads every entry."""
    usage = usage_of((sys.executable, "-m", "stream_app", "audit", "--config", str(site.config)))
    return {
        "audit_cpu_entry": ("us", usage.seconds / entries * _MICRO),
        "audit_memory": ("MB", usage.peak_bytes / _MICRO),
    }
