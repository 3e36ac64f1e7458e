"""Copies of requests that arrive late: a client without an answer asked again and continued."""

import pytest
from aiokafka.errors import InvalidProducerEpoch, InvalidTxnState, ProducerFenced

from stream_app.kafka.brokers import Brokers, Writer
from tests.contract.acts import Request, commit, ends, seen, send, soon
from tests.contract.clusters import Cluster


async def _committed(brokers: Brokers, topic: str) -> list[bytes | None]:
    return [value for _, value in await seen(brokers, topic, "read_committed")]


@pytest.mark.parametrize(("request_", "kept"), [("commit", [b"0", b"1"]), ("abort", [b"0"])])
async def test_a_late_end_ends_the_transaction_that_is_open_then(
    cluster: Cluster, topic: str, brokers: Brokers, writer: Writer, request_: Request, kept: list[bytes]
) -> None:
    """What was sent before is committed, or not; the rest is refused, and the writer cannot find out why."""
    await commit(writer, topic, b"0")
    await writer.begin()
    await send(writer, topic, b"1")
    assert await cluster.late(writer, request_, topic) is None
    await soon(lambda: ends(brokers, topic), (4, 4))
    assert await _committed(brokers, topic) == kept
    with pytest.raises(InvalidTxnState):
        await send(writer, topic, b"2")
    await writer.abort()
    assert await _committed(brokers, topic) == kept


async def test_a_late_end_with_nothing_open_changes_nothing(
    cluster: Cluster, topic: str, brokers: Brokers, writer: Writer
) -> None:
    """A commit after a commit counts as the same one; an abort is refused."""
    await commit(writer, topic, b"0")
    assert await cluster.late(writer, "commit", topic) is None
    assert await cluster.late(writer, "abort", topic) is InvalidTxnState
    await commit(writer, topic, b"1")
    await soon(lambda: ends(brokers, topic), (4, 4))
    assert await _committed(brokers, topic) == [b"0", b"1"]


@pytest.mark.parametrize("request_", ["commit", "abort", "add", "send"])
async def test_a_late_copy_of_an_earlier_owner_changes_nothing(
    cluster: Cluster, topic: str, brokers: Brokers, request_: Request
) -> None:
    """Any such request is refused, because its epoch is older than the owner's."""
    earlier = await brokers.fence(0)
    await commit(earlier, topic, b"0")
    owner = await brokers.fence(0)
    await owner.begin()
    await send(owner, topic, b"1")
    assert await cluster.late(earlier, request_, topic) in {InvalidProducerEpoch, ProducerFenced}
    assert await ends(brokers, topic) == (2, 3)
    await owner.commit()
    await soon(lambda: ends(brokers, topic), (4, 4))
    assert await _committed(brokers, topic) == [b"0", b"1"]


async def test_a_late_copy_of_a_record_is_written_but_once(
    cluster: Cluster, topic: str, brokers: Brokers, writer: Writer
) -> None:
    """Within its transaction, brokers recognise it; later they accept nothing outside a transaction."""
    await writer.begin()
    await send(writer, topic, b"0")
    await send(writer, topic, b"late")
    assert await cluster.late(writer, "send", topic) is None
    assert await ends(brokers, topic) == (0, 2)
    await writer.commit()
    await soon(lambda: ends(brokers, topic), (3, 3))
    assert await cluster.late(writer, "send", topic) is InvalidTxnState
    assert await ends(brokers, topic) == (3, 3)


async def test_a_record_that_arrives_after_its_transaction_has_ended_is_refused(
    cluster: Cluster, topic: str, brokers: Brokers, writer: Writer
) -> None:
    """If it were written, nobody would end its transaction; readers of committed records would wait forever."""
    await commit(writer, topic, b"0")
    await soon(lambda: ends(brokers, topic), (2, 2))
    assert await cluster.late(writer, "send", topic) is InvalidTxnState
    assert await ends(brokers, topic) == (2, 2)


async def test_a_late_topic_begins_a_transaction_that_the_next_one_joins(
    cluster: Cluster, topic: str, brokers: Brokers, writer: Writer
) -> None:
    """The topic gets a marker with it, although none of its records were written there."""
    other = await cluster.make("u")
    await commit(writer, topic, b"0")
    assert await cluster.late(writer, "add", other) is None
    await commit(writer, topic, b"1")
    await soon(lambda: ends(brokers, topic), (4, 4))
    await soon(lambda: ends(brokers, other), (1, 1))
    assert await _committed(brokers, topic) == [b"0", b"1"]
