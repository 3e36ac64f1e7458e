"""What a start refuses, and what a stop forgets, on the cluster in memory."""

import asyncio
import gc
import json
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from stream_app.deciding.collection import Collection
from stream_app.kafka.evidence.ends import input_lost
from tests.cluster.brokers import MemoryBrokers, MemoryReader
from tests.cluster.group import Place
from tests.cluster.log import Draft, Isolation
from tests.cluster.site import EVENTS, NAMES, Site, until
from tests.readings import reading, watermark, within


@pytest.fixture
def quiet() -> Any:
    """Disable logging: pytest keeps logged records, with the errors and their frames."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(before)


@pytest.mark.parametrize("expired", [3, 2])
async def test_a_group_that_has_decided_is_never_begun_anew(site: Site, expired: int) -> None:
    """Input expired up to the group's offset, rows and ledger are gone: spends are unknown, so it must stop."""
    await site.goes_on("a", EVENTS)
    assert len(site.committed(NAMES.releases)) == 3
    site.cluster.group("life").offsets[Place(NAMES.events, 0)] = expired
    site.cluster.log(NAMES.events, 0).delete_before(3)
    for lost in (NAMES.changelog, NAMES.ledger):
        site.cluster.remake(lost)
    await site.stops("b", "row-missing")


async def test_a_new_partition_of_grown_topics_begins_nothing(site: Site) -> None:
    """Series that the new count assigns to it have spent elsewhere: they would have their whole budget again."""
    await site.goes_on("a", EVENTS)
    site.grow(2)
    partitions, _ = site.worker("b", settings={"partitions": 2})
    await partitions.assign([0, 1], 1)
    await until(lambda: len(partitions.stopped) == 2)
    assert partitions.stopped == {0: "partition-count", 1: "partition-count"}
    await partitions.close()


@pytest.mark.parametrize(("cluster", "configured"), [(2, 1), (1, 2), (2, 2)])
async def test_another_number_of_partitions_goes_on_with_nothing(site: Site, cluster: int, configured: int) -> None:
    """Series would be assigned to other partitions, where they would have their whole budget again."""
    await site.goes_on("a", EVENTS)
    if cluster > 1:
        site.grow(cluster)
    await site.stops("b", "partition-count", settings={"partitions": configured})


async def test_another_separator_begins_nothing_once_budget_was_spent(site: Site) -> None:
    """It assigns series to other partitions, even to one that never worked, where they would spend again."""
    site.grow(2)
    first, second = (dict[str, Any](settings={"partitions": 2, "member_separator": one}) for one in "/:")
    await site.goes_on("a", **second)
    await site.goes_on("a", EVENTS, **first)  # nothing was spent under the other one
    partitions, _ = site.worker("b", **second)
    await partitions.assign([0, 1], 1)
    await until(lambda: len(partitions.stopped) + len(partitions.working) == 2)
    assert partitions.stopped == {0: "separator-changed", 1: "separator-changed"}
    await partitions.close()
    await site.goes_on("a", EVENTS, **first)


@pytest.mark.parametrize("beyond", [0, 1])
async def test_input_of_open_steps_may_expire_up_to_where_they_are_counted_from(site: Site, beyond: int) -> None:
    """One record more means one reading less in the step's release, so the partition stops."""
    await site.goes_on("a", [within(series="read-1"), watermark(10, "read-1"), reading(15, 2.0, "read-1")])
    counted = site.rows()[-1]["recall_offset"]
    assert 0 < counted < site.sent
    site.cluster.log(NAMES.events, 0).delete_before(counted + beyond)
    if beyond:
        await site.stops("b", "input-lost")
        return
    await site.goes_on("b", [watermark(20, "read-1")])
    assert [json.loads(one.value)["timestamp"] for one in site.committed(NAMES.releases)] == [10]


class _Shared(MemoryBrokers):
    """Brokers to which another application also writes, just before the tail is read."""

    def __init__(self, site: Site, name: str, write: Callable[[], None]) -> None:
        """See the site's cluster as a worker of that name."""
        super().__init__(site.cluster, name, "life", NAMES)
        self._write, self._looks = write, 0

    @asynccontextmanager
    async def reader(self, isolation: Isolation) -> AsyncIterator[MemoryReader]:
        """Open a reader; the first uncommitted one checks who owns the logs, the second reads the tail."""
        self._looks += isolation == "read_uncommitted"
        if isolation == "read_uncommitted" and self._looks == 2:
            self._write()
        async with super().reader(isolation) as reader:
            yield reader


async def test_who_writes_while_the_tail_is_read_stops_the_start(site: Site) -> None:
    """The owner of the logs is checked before the tail is read, and again after the last read."""
    await site.goes_on("a", EVENTS)
    last = [one for one in site.committed(NAMES.ledger) if one.key == b"home-1"][-1]
    entry = json.loads(last.value) | {"sequence": 99, "hash": "f" * 64}

    def write() -> None:
        """Append an entry as another application would, without a transaction."""
        draft = Draft(b"home-1", json.dumps(entry).encode(), 0, [("input", b"99")])
        site.cluster.append(Place(NAMES.ledger, 0), [draft])

    await site.stops("b", "foreign-writer", brokers=_Shared(site, "b", write))


@pytest.mark.usefixtures("quiet")
@pytest.mark.parametrize("reason", ["input-lost", "topic-replaced"])
async def test_a_stopped_partition_holds_no_raw_counters(site: Site, reason: str) -> None:
    """PRIVACY: the raw counts of open steps are forgotten at the stop; the error that ended the input is kept."""
    partitions, feed = await site.working("a")
    if reason == "input-lost":
        partitions.fail(0, input_lost(3, 5).stopped(0))
    else:
        site.cluster.remake(NAMES.events)
        await site.send(feed)
    await until(lambda: partitions.stopped == {0: reason})
    await asyncio.sleep(0.05)
    gc.collect()
    held = [one for one in gc.get_objects() if isinstance(one, Collection)]
    assert not held
    await partitions.close()
