"""Steps of several readings in real workers: readings survive restarts although they are never written."""

import shutil
from collections.abc import Iterator
from typing import Any

import numpy as np

from tests.kafka.acts import places_of
from tests.kafka.installation import HOUR_MS, START_MS, Installation
from tests.kafka.replayed import assert_topics_hold_what_replay_computes
from tests.kafka.wards import send_and_await

FORMS: tuple[dict[str, Any], ...] = (
    {"within": "sum", "open_steps": 2},
    {"within": "last", "open_steps": 1},
    {"within": "mean", "open_steps": 3, "absent": 0.25},
    {"within": "max", "open_steps": 2, "absent": "approximated"},
)
CANARY = 3.1415926
"""Rounding leaves a different number in its place."""


class Meters:
    """Meters that send several readings per hour, late, doubled and out of order."""

    def __init__(self, count: int) -> None:
        """Create the meters, two of each form."""
        self._draw = np.random.default_rng(7)
        self.names = [f"meter-{nth}" for nth in range(count)]
        self.hour = 1

    def policies(self, version: int, shift: int = 0, **members: Any) -> list[dict[str, Any]]:
        """Return a version for each meter; with a ``shift``, of a different form than before."""
        return [
            {
                "type": "policy",
                "series": name,
                "version": version,
                "epsilon": 3.0 if version == 1 else 0.3,
                "protection": {
                    "level": "landmark",
                    "landmarks": [[START_MS + 500 * HOUR_MS, START_MS + 509 * HOUR_MS]],
                    "step": HOUR_MS,
                    **FORMS[(nth + shift) % len(FORMS)],
                },
                "scheme": {"name": "uniform"},
                "value": {"kind": "number", "lower": 0, "upper": 10, "resolution": 0.001},
                **members,
            }
            for nth, name in enumerate(self.names)
        ]

    def hours(self, count: int, last: bool = True) -> Iterator[dict[str, Any]]:  # noqa: FBT001, FBT002 (how it ends)
        """Yield the records of this many hours; without ``last`` the steps of the last hour stay open."""
        for nth in range(count):
            self.hour += 1
            for name in self.names * 9:
                hour = self.hour + int(self._draw.choice([-4, -1, 0, 1], p=[0.05, 0.2, 0.65, 0.1]))
                at = START_MS + max(0, hour) * HOUR_MS + int(self._draw.integers(12)) * 300_000
                yield {"series": name, "timestamp": at, "value": CANARY if self._draw.random() < 0.9 else "none"}
            if last or nth < count - 1:
                yield from self.watermarks()

    def watermarks(self) -> Iterator[dict[str, Any]]:
        """Yield what ends the hour for the meters that need it."""
        for nth, name in enumerate(self.names):
            if "absent" in FORMS[nth % len(FORMS)] or self.hour % 3 == 0:
                yield {"type": "watermark", "series": name, "timestamp": START_MS + self.hour * HOUR_MS}


INSTALLED: dict[str, Any] = {"more": {"batch_records": 40}}


def test_readings_outlive_their_workers_and_their_rows(installation: Installation) -> None:
    """They survive a kill, lost local state, and recovery without changelog, each in the middle of open steps.

    Versions that keep open steps, renewals among them, occur on the way. The readings are in the input alone.
    """
    meters = Meters(8)
    with installation.worker(log_level="debug") as worker:
        send_and_await(installation, worker, [*meters.policies(1), *meters.watermarks(), *meters.hours(3, last=False)])
        worker.process.kill()
    shutil.rmtree(installation.settings().data_folder)
    renew = [START_MS + hour * HOUR_MS for hour in (7, 9)]
    with installation.worker(log_level="debug") as worker:
        send_and_await(installation, worker, [*meters.policies(2, renew=renew), *meters.hours(4, last=False)])
        assert worker.stop() == 0
        logged = worker.log.read_bytes()
    assert b"of open steps again" in logged
    installation.delete(installation.names.changelog)
    assert installation.command("recover") == 0
    with installation.worker(log_level="debug") as worker:
        send_and_await(installation, worker, [*meters.hours(5, last=False), *meters.policies(9, 1), *meters.hours(2)])
        assert worker.stop() == 0
        logged += worker.log.read_bytes()
    assert_topics_hold_what_replay_computes(installation)
    assert installation.command("audit") == 0
    names = installation.names
    places = places_of(installation, logged)
    assert [name for name, content in places.items() if b"%.7f" % CANARY in content] == [names.events]
    assert places[names.ledger].count(b'"entry":"policy"') > 4 * len(meters.names), "policies were renewed"
