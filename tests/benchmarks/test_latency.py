"""The latency benchmarks' sender sends every event, even those that fell due while it could not send."""

import asyncio

from benchmarks.measures.latency import Pace
from benchmarks.rig.site import Ground, Site
from benchmarks.rig.workload import Sizes, events
from stream_app.kafka.client.log import LogReader
from stream_app.kafka.client.routing import router


def test_events_that_are_due_at_once_are_all_sent(ground: Ground) -> None:
    """After a stall, more events are due than fit a batch; each is in the log once, in the order of creation."""
    sizes = Sizes(events=30_000, series=50, partitions=2)
    given = list(events(sizes))
    partition_of = router(sizes.partitions)
    with Site.made(ground, "pace", sizes) as site:
        pace = Pace(site.settings, given, per_second=1e9)
        asyncio.run(pace.send())
        for partition in range(sizes.partitions):
            due = [event.value for event in given if partition_of(event.key or b"") == partition]
            assert asyncio.run(_values(site, partition)) == due
            assert pace.appended_ms(partition, 0) <= pace.appended_ms(partition, len(due) - 1)


async def _values(site: Site, partition: int) -> list[bytes | None]:
    async with LogReader.opened(site.settings, "read_committed") as reader:
        return [record.value async for records in reader.records(site.names.events, partition, 0) for record in records]
