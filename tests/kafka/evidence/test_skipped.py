"""Input that the group's offset skips, found in the log of a cluster in memory."""

import pytest

from stream_app.kafka.evidence.skipped import Skipped, skipped
from tests.cluster.brokers import MemoryBrokers
from tests.cluster.group import Place
from tests.cluster.log import Draft
from tests.kafka.owner.test_partition import NAMES, Site

COUNT = 5
EVENT = Draft(None, b'{"series":"home-1","timestamp":1,"value":1.0}', 0)


@pytest.mark.parametrize("at_once", [True, False])
async def test_each_record_up_to_the_offset_is_skipped_and_none_beyond(site: Site, *, at_once: bool) -> None:
    """Whether it came alone or in a batch with records that are not decided yet."""
    for drafts in [[EVENT] * COUNT] if at_once else [[EVENT]] * COUNT:
        site.cluster.append(Place(NAMES.events, 0), drafts)
    async with MemoryBrokers(site.cluster, "reads", "life", NAMES).reader("read_committed") as reader:
        for told in range(COUNT + 1):
            for committed in range(COUNT + 1):
                wanted = Skipped(told, committed - 1, committed - told, 0) if told < committed else None
                assert await skipped(reader, NAMES.events, 0, told, committed) == wanted
