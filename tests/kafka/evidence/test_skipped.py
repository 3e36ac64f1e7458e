"""Input that the group's offset skips, found in the log of a cluster in memory."""

import orjson
import pytest

from stream_app.kafka.evidence.row import PARTITION_KEY
from stream_app.kafka.evidence.skipped import SkippedRecords, skipped
from tests.cluster.brokers import MemoryBrokers
from tests.cluster.group import Place
from tests.cluster.log import Draft
from tests.cluster.site import NAMES, Site
from tests.run import observation

COUNT = 5
EVENT = Draft(None, b'{"series":"home-1","timestamp":1,"value":1.0}', 0)


@pytest.mark.parametrize("at_once", [True, False])
async def test_each_record_up_to_the_offset_is_skipped_and_none_beyond(site: Site, *, at_once: bool) -> None:
    """This holds if it came alone, or in a batch with records that are not decided yet."""
    for drafts in [[EVENT] * COUNT] if at_once else [[EVENT]] * COUNT:
        site.cluster.append(Place(NAMES.events, 0), drafts)
    async with MemoryBrokers(site.cluster, "reads", "life", NAMES).reader("read_committed") as reader:
        for told in range(COUNT + 1):
            for committed in range(COUNT + 1):
                wanted = SkippedRecords(told, committed - 1, committed - told, 0) if told < committed else None
                assert await skipped(reader, NAMES.events, 0, told, committed) == wanted


async def test_readings_of_units_are_read_again_and_not_skipped(site: Site) -> None:
    """Their rows hold them, and watermarks; of other skipped input, records that a step may count are reported."""
    kinds = ("observation", "home-1"), ("observation", "home-2"), ("contribution", "ward"), ("watermark", "home-1")
    for kind, series in kinds:
        written = {"type": kind, "series": series, "timestamp": 1, "seed": "0" * 64, "member": "a", "value": 1.0}
        left = {"observation": ("seed", "member"), "contribution": ("seed",), "watermark": ("seed", "member", "value")}
        record = {name: value for name, value in written.items() if name not in left[kind]}
        site.cluster.append(Place(NAMES.events, 0), [Draft(None, orjson.dumps(record), 0)])
    async with MemoryBrokers(site.cluster, "reads", "life", NAMES).reader("read_committed") as reader:
        assert await skipped(reader, NAMES.events, 0, 0, 4, {"home-1"}) == SkippedRecords(1, 2, 2, 1)
        assert await skipped(reader, NAMES.events, 0, 0, 4) == SkippedRecords(0, 3, 4, 2)
        assert await skipped(reader, NAMES.events, 0, 0, 1, {"home-1"}) is None


@pytest.mark.parametrize("lost_batches", [0, 2])
async def test_one_record_that_the_group_skips_stops_the_partition(site: Site, lost_batches: int) -> None:
    """The rows may be whole, or older than the outputs."""
    await site.goes_on("a", *([observation("home-1", nth, 1.0)] for nth in (1, 2, 3)))
    rows = [one.offset for one in site.committed(NAMES.changelog) if one.key == PARTITION_KEY]
    site.cluster.log(NAMES.changelog, 0).lose_tail(rows[-1 - lost_batches] + 2)
    site.append(observation("home-1", 4, 1.0))
    site.cluster.group("life").offsets[Place(NAMES.events, 0)] = 4
    await site.stops("b", "row-behind")


async def test_the_last_decided_record_must_lie_where_it_lay(site: Site) -> None:
    """It is gone although the log begins with its offset; a later record is in its place."""
    await site.goes_on("a", [observation("home-1", 1, 1.0)])
    site.append(observation("home-1", 2, 1.0))
    site.cluster.log(NAMES.events, 0).lose_within(0, 1)
    await site.stops("b", "input-short")
