"""Assignments and their end; the brokers are never reached, so that every takeover stays in progress."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from stream_app.kafka.client.brokers import KafkaBrokers
from stream_app.kafka.client.eventstopic import EventsTopic
from stream_app.kafka.client.topics import TopicNames
from stream_app.kafka.owner.partitions import Partitions
from stream_app.kafka.parts import WorkerParts
from stream_app.monitoring.metric import Counter, Gauge, Metric
from stream_app.monitoring.metrics import TABLE, Metrics, WorkerMetric
from stream_app.monitoring.scrape import scrape_of
from stream_app.setup import keyfile
from stream_app.setup.settings import Settings
from tests.run import limited

GAUGES = [metric for metric in TABLE.values() if isinstance(metric, Gauge) and "partition" in metric.labels]
COUNTERS = [metric for metric in TABLE.values() if isinstance(metric, Counter) and "partition" in metric.labels]


class Site:
    """The partitions of a worker, with its metrics."""

    def __init__(self, folder: Path) -> None:
        """Own nothing yet."""
        keyfile.create(folder / "key")
        given: dict[str, Any] = {
            "bootstrap_servers": "127.0.0.1:9",  # nobody listens there
            "partitions": 3,
            "key_file": folder / "key",
            "data_folder": folder,
        }
        settings = Settings(**given)
        self.metrics = Metrics()
        names = TopicNames.of("a", "a")
        topic = EventsTopic(settings, names.events, "never asked for")
        nothing: Any = None
        parts = WorkerParts(
            settings=settings,
            context=limited(),
            names=names,
            brokers=KafkaBrokers(settings, names, topic),
            signing_key=None,
            metrics=self.metrics,
            rows=nothing,
            feed=nothing,
        )
        self.partitions = Partitions(parts)

    def measure(self) -> None:
        """Show something for every partition in every metric."""
        for number in ("0", "1", "2"):
            for gauge in GAUGES:
                self.metrics.set(gauge, 5, number, *["1.00"] * (len(gauge.labels) - 1))  # a class of shares
            for counter in COUNTERS:
                self.metrics.count(counter, 5, number)

    def shown(self, metric: Metric) -> set[str]:
        """Return the partitions of a metric."""
        samples = scrape_of(self.metrics.text().decode(), 0.0).samples
        return {sample.labels["partition"] for sample in samples.get(metric.sample, ())}


@pytest.fixture
def site(tmp_path: Path) -> Site:
    """Make a site."""
    return Site(tmp_path)


async def test_an_assignment_that_the_end_overtakes_begins_nothing(site: Site) -> None:
    """After a signal in a rebalance, what it closed stays closed, and what it would have begun does not begin."""
    partitions = site.partitions
    await partitions.assign([0, 1], 1)
    assert partitions.owned.keys() == {0, 1}
    await partitions.hold()
    assigning = asyncio.create_task(partitions.assign([1, 2], 2))
    await asyncio.sleep(0)
    assert not partitions.owned, "none was taken over yet, so none goes on"
    assert not assigning.done(), "it waits for what it closes"
    await partitions.close()
    await assigning
    await partitions.assign([0], 3)
    assert not partitions.owned
    assert not partitions.prepared
    left = [task.get_name() for task in asyncio.all_tasks() if task.get_name().startswith("partition ")]
    assert not left


async def test_a_partition_that_went_is_shown_no_more(site: Site) -> None:
    """Its gauges go with it, so that a sum over workers has each partition once; counters stay."""
    assert {WorkerMetric.EVENT_LAG_RECORDS, WorkerMetric.CACHED_SERIES, WorkerMetric.ALARMED_SERIES} <= set(GAUGES)
    await site.partitions.assign([0, 1, 2], 1)
    site.measure()
    await site.partitions.close()
    site.metrics.set(WorkerMetric.EVENT_LAG_RECORDS, 5, "9")
    assert {number for gauge in GAUGES for number in site.shown(gauge)} == {"9"}
    for counter in COUNTERS:
        assert site.shown(counter) == {"0", "1", "2"}
