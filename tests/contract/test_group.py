"""Consumer groups: who has which partition, and whose offsets are accepted."""

import asyncio
import itertools

from tests.contract.acts import soon
from tests.contract.clusters import Cluster, Member

PARTITIONS = 5
POLL_MS = 2_000


async def test_members_share_all_partitions(cluster: Cluster) -> None:
    """Ranges differ by at most one; each rebalance is a generation, and a leaving member gives up immediately."""
    topic = await cluster.make("t", PARTITIONS)
    members: list[Member] = []
    generation = 0
    for count in (1, 2, 3):
        members.append(cluster.member("a", topic))
        await members[-1].start()
        await soon(lambda: _shares(members), _even(count))
        assert len({member.generation for member in members}) == 1
        assert members[0].generation > generation
        generation = members[0].generation
        assert await cluster.members("a") == count
    await members.pop(0).leave()
    await soon(lambda: _shares(members), _even(2))
    assert members[0].generation == generation + 1
    for member in members:
        await member.leave()
    await soon(lambda: cluster.members("a"), 0)


async def test_a_frozen_member_is_put_out_and_its_offsets_are_refused(cluster: Cluster) -> None:
    """Until then the group accepts them: while it waits for that member, nobody else has its partitions."""
    topic = await cluster.make("t", PARTITIONS)
    brokers = cluster.brokers("a", topic)
    frozen, other = cluster.member("a", topic), cluster.member("a", topic)
    await frozen.start()
    await soon(lambda: _shares([frozen]), _even(1))
    assert await brokers.committed(0) is None
    assert await frozen.commit(0, 3)
    assert await brokers.committed(0) == 3
    await frozen.freeze()
    await other.start()
    assert await frozen.commit(0, 5)
    assert await brokers.committed(0) == 5
    await soon(lambda: _shares([other]), _even(1))
    assert await cluster.members("a") == 1
    assert not await frozen.commit(0, 7)
    assert await brokers.committed(0) == 5
    assert await other.commit(0, 4)
    assert await brokers.committed(0) == 4
    assert await brokers.committed(1) is None
    await other.leave()
    assert await brokers.committed(0) == 4
    await frozen.leave()


async def test_a_member_that_is_not_polled_leaves_its_group(cluster: Cluster) -> None:
    """Its user hangs. The member joins again when it is polled, whether or not there are records."""
    topic = await cluster.make("t", PARTITIONS)
    member = cluster.member("a", topic, POLL_MS)
    await member.start()
    await soon(lambda: cluster.members("a"), 1)
    for _ in range(8):
        await asyncio.sleep(POLL_MS / 4_000)
        await member.poll()
    assert await cluster.members("a") == 1
    await soon(lambda: cluster.members("a"), 0)
    await asyncio.sleep(1.0)
    assert await cluster.members("a") == 0, "it does not join by itself"
    await member.poll()
    await soon(lambda: cluster.members("a"), 1)
    await member.leave()


async def test_offsets_of_an_old_generation_are_refused(cluster: Cluster) -> None:
    """This also applies to a member that is in the group."""
    topic = await cluster.make("t", PARTITIONS)
    first, second = cluster.member("a", topic), cluster.member("a", topic)
    await first.start()
    await soon(lambda: _shares([first]), _even(1))
    await second.start()
    await soon(lambda: _shares([first, second]), _even(2))
    number = first.places[0]
    assert await first.commit(number, 3)
    assert not await first.commit_late(number, 5)
    assert await cluster.brokers("a", topic).committed(number) == 3
    for member in (first, second):
        await member.leave()


async def test_offsets_are_those_of_a_group(cluster: Cluster) -> None:
    """Another application has its own offsets, and so does a topic that was created again."""
    topic = await cluster.make("t", 2)
    member = cluster.member("a", topic)
    await member.start()
    await soon(lambda: _shares([member]), [2])
    assert await member.commit(1, 9)
    assert [await cluster.brokers("a", topic).committed(number) for number in (0, 1)] == [None, 9]
    assert await cluster.brokers("b", topic).committed(1) is None
    await member.leave()
    await cluster.delete(topic)
    await cluster.make(topic, 2)
    await soon(lambda: cluster.brokers("a", topic).committed(1), None)


async def test_a_topic_that_grows_is_shared_anew(cluster: Cluster) -> None:
    """Members are assigned the new partitions too."""
    topic = await cluster.make("t", 1)
    member = cluster.member("a", topic)
    await member.start()
    await soon(lambda: _shares([member]), [1])
    generation = member.generation
    await cluster.grow(topic, 3)
    await soon(lambda: _shares([member]), [3])
    assert member.generation > generation
    await member.leave()


def _even(members: int) -> list[int]:
    share, more = divmod(PARTITIONS, members)
    return [share] * (members - more) + [share + 1] * more


async def _shares(members: list[Member]) -> list[int]:
    """Return each member's number of partitions in ascending order, or nothing until all are assigned once."""
    places = sorted(itertools.chain.from_iterable(member.places for member in members))
    return sorted(len(member.places) for member in members) if places == list(range(len(places))) else []
