"""The life of a partition on an in-memory cluster: each state, and what leads from one to another."""

import asyncio
import json

import pytest

from stream_app.deciding.columns.batch import SLICE
from stream_app.kafka.owner import batch
from tests.cluster.site import NAMES, Site, until
from tests.run import observation


async def test_a_fresh_partition_works_and_ends_well(site: Site) -> None:
    """Its row comes before the first entry; its decisions are committed once, and acknowledged."""
    partitions, feed = await site.working("a")
    assert site.decided() == 0
    await site.send(feed)
    await until(lambda: site.decided() == 3)
    await partitions.close()
    assert [json.loads(one.value)["timestamp"] for one in site.committed(NAMES.releases)] == [1, 2, 3]
    assert feed.acked >= 1
    assert partitions.owned == {}


async def test_what_was_lost_on_its_way_is_fetched_again(site: Site) -> None:
    """Later input may never come to show the hole; nothing is fetched for a partition of another owner."""
    partitions, feed = site.worker("a")
    partitions.miss(0)
    await partitions.assign([0], 1)
    await until(lambda: partitions.working == [0])
    feed.owner = None
    await site.send(feed)
    feed.owner = partitions
    partitions.miss(0)
    await until(lambda: site.decided() == 3)
    assert len(site.committed(NAMES.releases)) == 3
    await partitions.close()


@pytest.mark.parametrize("generation", [2, 3])
async def test_held_it_decides_nothing_and_goes_on(site: Site, generation: int) -> None:
    """A rebalance that leaves it in place opens no other producer, unless another may have owned it meanwhile."""
    partitions, feed = await site.working("a")
    await partitions.hold()
    await site.send(feed)
    await asyncio.sleep(0.1)
    assert (site.decided(), partitions.working, partitions.prepared) == (0, [0], False)
    await partitions.assign([0], generation)
    await until(lambda: partitions.working == [0])
    await feed.seek(0, 0)
    await until(lambda: site.decided() == 3)
    epochs = {batch.epoch for batch in site.cluster.log(NAMES.changelog, 0).batches}
    assert len(epochs) == generation - 1
    await partitions.close()


async def test_fenced_it_waits_until_it_is_the_owner(site: Site) -> None:
    """Once another owner fences it, it commits nothing more; it returns only when the group names it as owner."""
    partitions, feed = await site.working("a")
    other, _ = await site.working("b")
    feed.ours = False
    await site.send(feed)
    await until(lambda: partitions.working == [])
    assert (site.decided(), partitions.stopped) == (0, {})
    await other.close()
    feed.ours = True
    await until(lambda: site.decided() == 3)
    assert len(site.committed(NAMES.releases)) == 3
    await partitions.close()


async def test_a_remade_topic_stops_it(site: Site) -> None:
    """It says so, and nobody decides what waits; closing it is still possible."""
    partitions, feed = await site.working("a")
    site.cluster.remake(NAMES.events)
    await site.send(feed)
    await until(lambda: partitions.stopped == {0: "topic-replaced"})
    assert (partitions.running, site.committed(NAMES.ledger)[1:], site.committed(NAMES.releases)) == ([], [], [])
    for topic in (NAMES.releases, NAMES.rejects):
        assert site.cluster.log(topic, 0).visible(0, 1 << 30, "read_uncommitted") == []
    await partitions.close()


async def test_a_batch_that_takes_long_is_cut(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rest is the next batch, and nothing is decided twice or omitted."""
    monkeypatch.setattr(batch, "MOST_SECONDS", 0.0)
    partitions, feed = await site.working("a")
    count = 2 * SLICE + 5
    site.append(*(observation(f"nobody-{number}", 1, 1.0) for number in range(count)))
    await feed.seek(0, 0)
    await until(lambda: site.decided() == count)
    assert [row["next_offset"] for row in site.rows()] == [0, SLICE, 2 * SLICE, count]
    assert [json.loads(one.value)["offset"] for one in site.committed(NAMES.rejects)] == list(range(count))
    await partitions.close()
