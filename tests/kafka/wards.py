"""Wards with contributors: a workload of collected data, and what must be reread after a crash, by hand."""

import json
import time
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from stream_app.kafka.client.routing import router
from stream_app.kafka.evidence.row import PARTITION_KEY, PartitionRow
from tests.kafka.installation import HOUR_MS, START_MS, Installation, input_of
from tests.kafka.workerprocess import WorkerProcess
from tests.patience import PATIENCE_SECONDS

KEYS = ("walk", "ride")
OPEN_STEPS = 2
COLLECTS: tuple[dict[str, Any], ...] = (
    {"neighbours": "replace", "open_steps": OPEN_STEPS},
    {"neighbours": "add-remove", "open_steps": OPEN_STEPS},
    {"neighbours": "replace", "open_steps": OPEN_STEPS, "intrusion_nano": 500_000_000},
)


def ward_policy(series: str, version: int = 1, **more: Any) -> dict[str, Any]:
    """Return the policy record of a ward; its sixth hour is a landmark."""
    return {
        "type": "policy",
        "series": series,
        "version": version,
        "epsilon": 1.0,
        "protection": {"level": "landmark", "landmarks": [START_MS + 5 * HOUR_MS], "step": HOUR_MS},
        "scheme": {"name": "adaptive"},
        "value": {"kind": "counts", "keys": list(KEYS)},
        "collect": COLLECTS[0],
        **more,
    }


def watermark(series: str, hour: int, seed: str) -> dict[str, Any]:
    """Return the watermark that closes all hours before ``hour``."""
    return {"type": "watermark", "series": series, "timestamp": START_MS + hour * HOUR_MS, "seed": seed}


def contribution(series: str, hour: int, member: str, value: object) -> dict[str, Any]:
    """Return a member's contribution within an hour."""
    moment = START_MS + hour * HOUR_MS + len(member) * 1000
    return {"type": "contribution", "series": series, "timestamp": moment, "member": member, "value": value}


class Wards:
    """Wards hour by hour, the same for the same seed; each begins with a watermark, and another ends each hour.

    Their policies differ in neighbours and pan-privacy.
    """

    def __init__(self, count: int, seed: int = 1) -> None:
        """Make the wards."""
        self._draw = np.random.default_rng(seed)
        self.names = [f"ward-{nth}" for nth in range(count)]
        self.hour = 0

    def begin(self) -> list[dict[str, Any]]:
        """Return the wards' policies and first watermarks."""
        policies = [ward_policy(name, collect=COLLECTS[nth % len(COLLECTS)]) for nth, name in enumerate(self.names)]
        return [*policies, *(watermark(name, 0, self._seed()) for name in self.names)]

    def looks(self) -> list[dict[str, Any]]:
        """Return announcements that somebody saw the memory, for counters that are never without noise."""
        return [{"type": "intrusion", "series": name, "seed": self._seed()} for name in self.names]

    def hours(self, count: int, members: int) -> Iterator[dict[str, Any]]:
        """Yield contributions and watermarks of the next hours, all wards mixed."""
        for _ in range(count):
            yield from self.half(members)
            for name in self.names:
                yield watermark(name, self.hour + 1, self._seed())
            self.hour += 1

    def half(self, members: int) -> Iterator[dict[str, Any]]:
        """Yield contributions to the currently open steps, and some that do not count."""
        draw = self._draw
        for _ in range(members * len(self.names)):
            name = self.names[int(draw.integers(len(self.names)))]
            # Late, early and valueless ones too; members are few enough to come twice.
            hour = self.hour + int(draw.choice([-1, 0, 1, 5], p=[0.02, 0.68, 0.28, 0.02]))
            value = "nowhere" if draw.random() < 0.02 else KEYS[int(draw.random() < 0.3)]
            yield contribution(name, max(0, hour), f"m-{int(draw.integers(4 * members))}", value)

    def _seed(self) -> str:
        return self._draw.bytes(32).hex()


def whole_counts(events: Iterable[dict[str, Any]]) -> dict[tuple[str, int], dict[str, int]]:
    """Return each ward's hourly counts if nothing is lost, by going through the log by hand."""
    counts: dict[tuple[str, int], dict[str, int]] = {}
    seen: set[tuple[str, int, str]] = set()
    now: dict[str, int] = {}
    for event in events:
        series, hour = event["series"], (event.get("timestamp", START_MS) - START_MS) // HOUR_MS
        if event["type"] == "watermark":
            now[series] = hour
            for step in range(hour, hour + OPEN_STEPS):
                counts.setdefault((series, step), dict.fromkeys(KEYS, 0))
        elif event["type"] == "contribution" and now[series] <= hour < now[series] + OPEN_STEPS:
            item = series, hour, event["member"]
            if event["value"] in KEYS and item not in seen:
                seen.add(item)
                counts[series, hour][event["value"]] += 1
    return counts


def fences(installation: Installation, hour: int) -> list[dict[str, Any]]:
    """Return one plain event per partition: once these are released, everything before them was decided."""
    partition_of = router(installation.partitions)
    names = {partition_of(f"home-{nth}".encode()): f"home-{nth}" for nth in range(50)}
    return [{"series": name, "timestamp": START_MS + hour * HOUR_MS, "value": 1.5} for name in names.values()]


def send_and_await(installation: Installation, worker: WorkerProcess, events: Iterable[dict[str, Any]]) -> None:
    """Send events and wait until a worker has decided all of them."""
    installation.send(events)
    ends = {record.partition: record.offset for record in installation.read(installation.names.events)}
    hour = 1 + sum(ends.values())  # grows with every call
    placed = fences(installation, hour)
    installation.send(placed)
    wanted = {(event["series"], event["timestamp"]) for event in placed}
    deadline = time.monotonic() + PATIENCE_SECONDS
    while wanted - {_place(record) for record in installation.read(installation.names.releases)}:
        assert worker.process.poll() is None, worker.said()[-3000:]
        assert time.monotonic() < deadline, worker.said()[-3000:]
        time.sleep(0.3)


def _place(record: Any) -> tuple[str, int]:
    release = json.loads(record.value)
    return release["series"], release["timestamp"]


def assert_nothing_open_is_passed(installation: Installation) -> int:
    """Check that each partition row and the group keep input from the oldest watermark with a step still open.

    Return how many rows kept more than what was undecided.
    """
    rejected = {(record.partition, input_of(record)) for record in installation.read(installation.names.rejects)}
    kept = 0
    rows: dict[int, list[PartitionRow]] = {}
    for record in installation.read(installation.names.changelog):
        if record.key == PARTITION_KEY:
            rows.setdefault(record.partition, []).append(PartitionRow.decode(record.value))
    for partition, found in rows.items():
        events = [
            (record.offset, json.loads(record.value))
            for record in installation.read(installation.names.events)
            if record.partition == partition and (partition, record.offset) not in rejected
        ]
        for row in found:
            floor = _floor(events, row.next_offset)
            assert row.recall_offset == floor, (partition, row)
            kept += floor < row.next_offset
        last = found[-1]
        assert installation.committed_of(partition) <= last.recall_offset <= last.next_offset
    return kept


def _floor(events: list[tuple[int, dict[str, Any]]], before: int) -> int:
    """Return the oldest offset that opened a still open step, by going through the log from its start."""
    opened: dict[str, dict[int, int]] = {}
    for offset, event in events:
        if offset >= before:
            break
        kind, series = event.get("type"), event["series"]
        if kind in {"policy", "close"}:
            opened[series] = {}
        elif kind == "watermark":
            now = event["timestamp"] // HOUR_MS
            left = {step: since for step, since in opened[series].items() if step >= now}
            opened[series] = {step: left.get(step, offset) for step in range(now, now + OPEN_STEPS)}
    return min((since for steps in opened.values() for since in steps.values()), default=before)
