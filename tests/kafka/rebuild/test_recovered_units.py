"""Unit statistics in real workers: sealed rows survive kills, lost disks and changelogs, and leak nothing."""

import shutil
from collections.abc import Iterator
from typing import Any

import numpy as np

from stream_app.deciding.units.sealed import PREFIX, SEALED_BYTES
from tests.kafka.acts import places_of
from tests.kafka.installation import HOUR_MS, START_MS, Installation
from tests.kafka.replayed import assert_topics_hold_what_replay_computes
from tests.kafka.wards import send_and_await

MINUTE_MS = 60_000
FORMS: tuple[dict[str, Any], ...] = (
    {"unit": 5 * MINUTE_MS, "open_steps": 2},
    {"unit": HOUR_MS, "open_steps": 1, "within": "mean", "window": 3, "offset": 2 * HOUR_MS, "spare": 2},
    {"unit": MINUTE_MS, "open_steps": 3, "within": "max"},
)
STATISTICS: tuple[dict[str, Any], ...] = (
    {"statistic": "mean"},
    {"statistic": "share", "from": 3, "to": 5},
    {"statistic": "mean", "by": "hour"},
    {"statistic": "histogram", "edges": [2, 4, 6]},
)
CANARY = 3.1415926
"""Rounding leaves a different number in its place."""


class Sensors:
    """Sensors read every few minutes, late, doubled and out of order; a step lasts six hours."""

    def __init__(self, count: int) -> None:
        """Make them."""
        self._draw = np.random.default_rng(11)
        self.names = [f"sensor-{nth}" for nth in range(count)]
        self.minute = 0

    def policies(self, version: int, **members: Any) -> list[dict[str, Any]]:
        """Return a version of each."""
        return [
            {
                "type": "policy",
                "series": name,
                "version": version,
                "epsilon": 1.0,
                "protection": {"level": "landmark", "step": 6 * HOUR_MS, **FORMS[nth % len(FORMS)]},
                "scheme": {"name": "uniform"},
                "value": {"kind": "number", "lower": 0, "upper": 10, "resolution": 0.001}
                | STATISTICS[nth % len(STATISTICS)],
                **members,
            }
            for nth, name in enumerate(self.names)
        ]

    def hours(self, count: int) -> Iterator[dict[str, Any]]:
        """Yield the readings of this many hours, and the other records in between."""
        for _ in range(count * 12):
            self.minute += 5
            for name in self.names:
                behind = int(self._draw.choice([0, 0, 0, 0, 1, 7, 400]))
                at = START_MS + max(0, self.minute - behind) * MINUTE_MS + int(self._draw.integers(3)) * 20_000
                yield {"series": name, "timestamp": at, "value": CANARY if self._draw.random() < 0.97 else "none"}
            if self._draw.random() < 0.05:
                name = self.names[int(self._draw.integers(len(self.names)))]
                at = START_MS + (self.minute + int(self._draw.integers(-300, 300))) * MINUTE_MS
                yield {"type": "landmarks", "series": name, "add": [[max(0, at), at + HOUR_MS]]}


INSTALLED: dict[str, Any] = {"more": {"batch_records": 40}}


def test_units_outlive_their_workers_and_their_rows(installation: Installation) -> None:
    """They survive a kill, lost local state, and recovery without changelog, each in the middle of open steps.

    Versions that take open steps over, and one that drops them, occur on the way. What was read is nowhere but in the
    input.
    """
    sensors = Sensors(8)
    with installation.worker(log_level="debug") as worker:
        send_and_await(installation, worker, [*sensors.policies(1), *sensors.hours(8)])
        worker.process.kill()
    with installation.worker(log_level="debug") as worker:
        send_and_await(installation, worker, list(sensors.hours(3)))
        worker.process.kill()
    shutil.rmtree(installation.settings().data_folder)
    with installation.worker(log_level="debug") as worker:
        send_and_await(installation, worker, [*sensors.policies(2, epsilon=0.5), *sensors.hours(10)])
        assert worker.stop() == 0
        logged = worker.log.read_bytes()
    rows = [one for one in installation.read(installation.names.changelog) if one.key and one.key[:1] == PREFIX]
    assert {len(one.value) for one in rows if one.value is not None} == {SEALED_BYTES}
    assert any(one.value is None for one in rows), "rows of steps that are over are deleted"
    installation.delete(installation.names.changelog)
    assert installation.command("recover") == 0
    with installation.worker(log_level="debug") as worker:
        send_and_await(installation, worker, list(sensors.hours(9)))
        assert worker.stop() == 0
        logged += worker.log.read_bytes()
    assert_topics_hold_what_replay_computes(installation)
    names = installation.names
    places = places_of(installation, logged)
    cell = (3142).to_bytes(8, "big")
    assert [name for name, content in places.items() if b"%.7f" % CANARY in content] == [names.events]
    assert not [name for name, content in places.items() if cell in content], "no unit lies in the clear"
    assert places[names.ledger].count(b'"entry":"release"') > 2 * len(sensors.names)
