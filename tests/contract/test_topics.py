"""Topics that are created, grow, disappear, and are created again under the same name."""

import asyncio

import pytest
from aiokafka.errors import KafkaTimeoutError

from stream_app.kafka.brokers import Brokers, Extent, Writer
from stream_app.kafka.stops import PartitionStoppedError
from tests.contract.acts import bounds, commit, ends, seen, send, soon
from tests.contract.clusters import Cluster


async def test_facts_name_id_and_count_of_topics_that_exist(cluster: Cluster) -> None:
    """A missing topic is omitted; a grown topic keeps its id; a recreated one does not."""
    topic = await cluster.make("t", 2)
    brokers = cluster.brokers("a", topic)
    first = (await brokers.facts())[topic]
    assert first.partitions == 2
    await cluster.grow(topic, 3)
    assert (await brokers.facts())[topic] == (first.id, 3)
    assert await bounds(brokers, topic, "read_committed", 2) == (0, 0)
    await cluster.delete(topic)
    assert topic not in await brokers.facts()
    await cluster.make(topic, 2)
    again = (await brokers.facts())[topic]
    assert again.partitions == 2
    assert again.id != first.id


async def test_a_remade_topic_is_empty_and_begins_at_zero(
    cluster: Cluster, topic: str, brokers: Brokers, writer: Writer
) -> None:
    """This also holds for an owner that continues: only the offsets show it."""
    assert await commit(writer, topic, b"1") == Extent(0, 1)
    assert await commit(writer, topic, b"2") == Extent(2, 3)
    await soon(lambda: ends(brokers, topic), (4, 4))
    await cluster.delete(topic)
    await cluster.make(topic)
    assert await ends(brokers, topic) == (0, 0)
    assert await commit(await brokers.fence(0), topic, b"3") == Extent(0, 1)
    await soon(lambda: ends(brokers, topic), (2, 2))
    assert await seen(brokers, topic, "read_committed") == [(0, b"3")]


async def test_confirm_returns_while_the_topic_is_the_same(cluster: Cluster, topic: str, brokers: Brokers) -> None:
    """A topic that grew is."""
    known = (await brokers.facts())[topic].id
    await brokers.confirm(0, known)
    await cluster.grow(topic, 2)
    await brokers.confirm(0, known)
    await brokers.confirm(1, known)


async def test_confirm_stops_at_a_remade_topic(cluster: Cluster, topic: str, brokers: Brokers) -> None:
    """The error names the wanted id and the id that was found."""
    known = (await brokers.facts())[topic].id
    await cluster.delete(topic)
    await cluster.make(topic)
    again = (await brokers.facts())[topic].id
    with pytest.raises(PartitionStoppedError) as stop:
        await brokers.confirm(0, known)
    assert stop.value.reason == "topic-replaced"
    assert stop.value.asked == f"topic {topic} with id {known}"
    assert stop.value.found == f"id {again}: it was deleted and created again"
    await brokers.confirm(0, again)


async def test_confirm_waits_while_the_topic_is_missing(cluster: Cluster, topic: str, brokers: Brokers) -> None:
    """Until there is one again."""
    known = (await brokers.facts())[topic].id
    await cluster.delete(topic)
    asking = asyncio.create_task(brokers.confirm(0, known))
    done, _ = await asyncio.wait({asking}, timeout=1.5)
    assert not done
    await cluster.make(topic)
    with pytest.raises(PartitionStoppedError):
        await asking


async def test_a_topic_remade_within_a_transaction(
    cluster: Cluster, topic: str, brokers: Brokers, writer: Writer
) -> None:
    """Earlier records are gone, and the marker is only in the new topic."""
    other = await cluster.make("u")
    await writer.begin()
    await send(writer, other, b"0")
    await send(writer, topic, b"1")
    await cluster.delete(topic)
    await cluster.make(topic)
    await writer.commit()
    await soon(lambda: ends(brokers, other), (2, 2))
    await soon(lambda: ends(brokers, topic), (1, 1))
    assert await seen(brokers, topic, "read_uncommitted") == []


async def test_a_send_waits_for_a_missing_topic(cluster: Cluster, topic: str, writer: Writer) -> None:
    """The send continues once the topic exists."""
    await commit(writer, topic, b"0")
    name = f"{topic}-nowhere"
    await writer.begin()
    sending = asyncio.create_task(send(writer, name, b"1"))
    done, _ = await asyncio.wait({sending}, timeout=0.5)
    assert not done
    await cluster.make(name)
    assert await sending == Extent(0, 1)
    await writer.commit()


async def test_a_transaction_begins_once_its_topics_are_there(
    cluster: Cluster, topic: str, brokers: Brokers, writer: Writer
) -> None:
    """The writer waits for a missing topic, and begins nothing meanwhile."""
    name = f"{topic}-nowhere"
    beginning = asyncio.create_task(writer.begin(topic, name))
    done, _ = await asyncio.wait({beginning}, timeout=0.5)
    assert not done
    await cluster.make(name)
    await beginning
    assert await send(writer, name, b"1") == Extent(0, 1)
    await writer.commit()
    await soon(lambda: ends(brokers, topic), (1, 1))


@pytest.mark.parametrize("partition", [0, 7])
async def test_bounds_of_nothing_are_never_answered(topic: str, brokers: Brokers, partition: int) -> None:
    """A reader keeps asking for a missing topic or partition until its patience ends."""
    asked = topic if partition else f"{topic}-nowhere"
    asking = asyncio.create_task(bounds(brokers, asked, "read_committed", partition))
    done, _ = await asyncio.wait({asking}, timeout=1.0)
    assert not done
    asking.cancel()
    with pytest.raises((asyncio.CancelledError, KafkaTimeoutError)):
        await asking
