"""Views after `recover`: in real workers, killed and without disk or changelog, and on a cluster in memory."""

import re
import shutil
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest

from stream_app.localbroker.broker import LocalBroker
from tests import units
from tests.cluster.site import NAMES, Site
from tests.deciding.views import logs
from tests.kafka.installation import HOUR_MS, START_MS, Installation
from tests.kafka.replayed import assert_topics_hold_what_replay_computes
from tests.kafka.wards import send_and_await

MINUTE_MS = 60_000
NUMBER: dict[str, Any] = {"kind": "number", "lower": 0, "upper": 10, "resolution": 0.001}
SHARE: dict[str, Any] = {"statistic": "share", "from": 3, "to": 5}
BASE: dict[str, Any] = {
    "series": "p-*/sugar",
    "epsilon": 0.5,
    "protection": {"level": "landmark", "step": 30 * MINUTE_MS, "spare": 2},
    "scheme": {"name": "uniform"},
    "value": NUMBER,
}
VIEWS = tuple(
    {
        "series": "p-*/sugar",
        "view": name,
        "epsilon": epsilon,
        "protection": {"level": "landmark", "unit": 30 * MINUTE_MS, "spare": 2, **protection},
        "scheme": {"name": "uniform"},
        "value": NUMBER | value,
    }
    for name, epsilon, protection, value in (
        ("hours-6", 1.0, {"step": 6 * HOUR_MS, "open_steps": 1}, {"statistic": "mean"}),
        (
            "day",
            0.5,
            {"step": 24 * HOUR_MS, "open_steps": 2, "within": "max"},
            {"statistic": "share", "from": 3, "to": 5},
        ),
        ("day-profile", 0.5, {"step": 24 * HOUR_MS, "open_steps": 1}, {"statistic": "mean", "by": "hour"}),
        ("too-dear", 2.0, {"step": 24 * HOUR_MS, "open_steps": 1}, {"statistic": "sum"}),
    )
)


class People:
    """People whose readings come every few minutes, late, doubled and out of order."""

    def __init__(self, count: int) -> None:
        """Make them."""
        self._draw = np.random.default_rng(5)
        self.names = [f"p-{nth}/sugar" for nth in range(count)]
        self.minute = 0

    def hours(self, count: int) -> Iterator[dict[str, Any]]:
        """Yield the readings of this many hours, with landmarks and watermarks between them."""
        for _ in range(count * 6):
            self.minute += 10
            for name in self.names:
                behind = int(self._draw.choice([0, 0, 0, 0, 1, 7, 400]))
                at = START_MS + max(0, self.minute - behind) * MINUTE_MS
                yield {"series": name, "timestamp": at, "value": 3.25 if self._draw.random() < 0.97 else "none"}
            if self._draw.random() < 0.1:
                name = self.names[int(self._draw.integers(len(self.names)))]
                at = START_MS + (self.minute + int(self._draw.integers(-300, 300))) * MINUTE_MS
                yield {"type": "landmarks", "series": name, "add": [[max(0, at), at + HOUR_MS]]}
            if self._draw.random() < 0.05:
                name = self.names[int(self._draw.integers(len(self.names)))]
                yield {"type": "watermark", "series": name, "timestamp": START_MS + self.minute * MINUTE_MS}


@pytest.fixture
def installation(broker: LocalBroker, tmp_path: Path, request: pytest.FixtureRequest) -> Installation:
    """An installation named after the test, whose cap has no room for the last view."""
    name = re.sub("[^a-z]+", "-", request.node.name.removeprefix("test_").lower()).strip("-")
    more = {"batch_records": 40, "member_separator": "/", "member_epsilon": 3.0}
    return Installation(broker, tmp_path, name, more=more, others=(BASE, *VIEWS))


def test_views_outlive_their_workers_and_their_rows(installation: Installation) -> None:
    """The bytes are those of replay, and the view refused by its cap is rejected once, whatever was lost."""
    people = People(6)
    with installation.worker() as worker:
        send_and_await(installation, worker, people.hours(9))
        worker.process.kill()
    shutil.rmtree(installation.settings().data_folder)
    with installation.worker() as worker:
        send_and_await(installation, worker, people.hours(30))
        assert worker.stop() == 0
    installation.delete(installation.names.changelog)
    assert installation.command("recover") == 0
    with installation.worker() as worker:
        send_and_await(installation, worker, people.hours(30))
        assert worker.stop() == 0
    assert_topics_hold_what_replay_computes(installation)
    released = Counter(orjson.loads(one.value)["series"] for one in installation.read(installation.names.releases))
    assert all(released[f"{name}/{view}"] for name in people.names for view in ("hours-6", "day", "day-profile"))
    rejects = [orjson.loads(one.value) for one in installation.read(installation.names.rejects)]
    capped = Counter(one["series"] for one in rejects if one["reason"] == "member-cap")
    assert capped == {f"{name}/too-dear": 1 for name in people.names}


async def test_a_record_sent_to_a_view_is_no_refusal_of_the_view(site: Site) -> None:
    """The record is rejected, since views accept no records; the cap's refusal of the view is still reported once."""
    site.policy, *views = logs.base(), *logs.VIEWS
    site.views, tight = tuple(views), replace(logs.LIMITS, member_nano=2 * 10**14)
    await site.goes_on("a", [units.landmarks(40, series=logs.BASE), units.reading(1, 1.0, logs.DAY)], limits=tight)
    for name in "bc":
        site.cluster.remake(NAMES.changelog)
        await site.recover(limits=tight)
        await site.goes_on(name, [units.reading(2, 1.0, logs.BASE)], limits=tight)
    rejects = [orjson.loads(one.value) for one in site.committed(NAMES.rejects)]
    assert Counter((one["series"], one["reason"]) for one in rejects) == {
        (logs.DAY, "malformed"): 1,
        (logs.BASE, "duplicate"): 1,
        (logs.DAY, "member-cap"): 1,
        (logs.WEEK, "member-cap"): 1,
    }
