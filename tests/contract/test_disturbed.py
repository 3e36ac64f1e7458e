"""Further abilities of the cluster in memory: it loses requests and answers, delays markers, and compacts.

A client retries as aiokafka does, and a broker accepts no batch twice: a lost answer is a delay without a trace. Only
the end of a transaction is never retried.
"""

import asyncio
from contextlib import nullcontext

import pytest
from aiokafka.errors import DuplicateSequenceNumber, KafkaConnectionError, KafkaError, ProducerFenced

from stream_app.kafka.brokers import Extent
from stream_app.kafka.client.topics import TopicNames
from tests.cluster.brokers import MemoryBrokers
from tests.cluster.cluster import MemoryCluster
from tests.cluster.group import Place
from tests.cluster.log import Draft
from tests.contract.acts import commit, ends, records, seen, send

TOPIC = "t"


class Disturbed:
    """A cluster with a settable clock, whose requests fail once each at the named points."""

    def __init__(self, lag_ms: int = 0) -> None:
        """Begin with one topic; markers are written ``lag_ms`` late."""
        self.now_ms = 0
        self.troubles: dict[str, Exception] = {}
        self.stops: dict[str, asyncio.Event] = {}
        self.reached: list[str] = []
        self.cluster = MemoryCluster(lambda: self.now_ms, self._at, lambda: lag_ms)
        self.cluster.make(TOPIC, 1)

    async def _at(self, point: str, client: str) -> None:
        self.reached.append(f"{client}: {point}")
        if (gate := self.stops.get(f"{client}: {point}")) is not None:
            await gate.wait()
        if (trouble := self.troubles.pop(point, None)) is not None:
            raise trouble

    def brokers(self, client: str = "worker", timeout_ms: int = 60_000) -> MemoryBrokers:
        """Return the cluster as a worker sees it."""
        names = TopicNames.of("p", "a")
        return MemoryBrokers(self.cluster, client, "a", names, transaction_timeout_ms=timeout_ms)


@pytest.mark.parametrize("point", [point + end for point in ("fence", "add", "send") for end in ("", " answered")])
async def test_a_lost_request_or_answer_is_asked_for_again(point: str) -> None:
    """The log is the same as without errors: nothing is written twice, and the answers are right."""
    disturbed = Disturbed()
    brokers = disturbed.brokers()
    disturbed.troubles[point] = KafkaConnectionError()
    writer = await brokers.fence(0)
    assert await commit(writer, TOPIC, b"0", b"1") == Extent(0, 2)
    assert await commit(writer, TOPIC, b"3") == Extent(3, 4)
    assert not disturbed.troubles
    assert await ends(brokers, TOPIC) == (5, 5)
    assert await seen(brokers, TOPIC, "read_committed") == [(0, b"0"), (1, b"1"), (3, b"3")]


@pytest.mark.parametrize("kind", ["commit", "abort"])
@pytest.mark.parametrize("end", ["", " answered"])
async def test_an_unanswered_end_is_never_asked_for_again(kind: str, end: str) -> None:
    """A late copy would end another transaction; the writer becomes unusable."""
    disturbed = Disturbed()
    writer = await disturbed.brokers().fence(0)
    await writer.begin()
    await send(writer, TOPIC, b"0")
    disturbed.troubles[kind + end] = KafkaConnectionError()
    with pytest.raises(KafkaError) if kind == "commit" else nullcontext():
        await (writer.commit() if kind == "commit" else writer.abort())
    assert not disturbed.troubles
    await writer.abort()
    assert disturbed.reached.count(f"worker: {kind}") == 1
    with pytest.raises(AssertionError):
        await writer.begin()


@pytest.mark.parametrize("point", ["bounds", "fetch", "last"])
async def test_a_lost_question_of_a_reader_is_asked_again(point: str) -> None:
    """A reader's question is asked again, whether it is lost before or after its (empty) effect."""
    disturbed = Disturbed()
    brokers = disturbed.brokers()
    await commit(await brokers.fence(0), TOPIC, b"0")
    for end in ("", " answered"):
        disturbed.troubles[point + end] = KafkaConnectionError()
        async with brokers.reader("read_committed") as reader:
            last = await reader.last(TOPIC, 0)
        assert last is not None
        assert last.value == b"0"
        assert await seen(brokers, TOPIC, "read_committed") == [(0, b"0")]
        assert not disturbed.troubles


async def test_who_cannot_connect_learns_of_it() -> None:
    """The error is the one from aiokafka, which gives up if no broker exists at the start."""
    disturbed = Disturbed()
    disturbed.troubles["connect"] = KafkaConnectionError()
    with pytest.raises(KafkaConnectionError):
        await disturbed.brokers().fence(0)


async def test_an_answer_can_tell_no_offset() -> None:
    """A broker that has written more since knows that it has the batch, and not where."""
    disturbed = Disturbed()
    writer = await disturbed.brokers().fence(0)
    await writer.begin()
    disturbed.troubles["send answered"] = DuplicateSequenceNumber()
    assert await send(writer, TOPIC, b"0", b"1") == Extent(None, None)
    assert await send(writer, TOPIC, b"2") == Extent(2, 3)
    await writer.commit()
    assert await ends(disturbed.brokers(), TOPIC) == (4, 4)


@pytest.mark.parametrize(("point", "written"), [("commit", []), ("commit answered", [(0, b"0")])])
async def test_after_an_error_of_a_commit_only_the_log_knows(point: str, written: list[tuple[int, bytes]]) -> None:
    """This holds for an error before and after the effect; whoever fences ends what is open."""
    disturbed = Disturbed()
    writer = await disturbed.brokers().fence(0)
    await writer.begin()
    await send(writer, TOPIC, b"0")
    disturbed.troubles[point] = KafkaError()
    with pytest.raises(KafkaError):
        await writer.commit()
    await disturbed.brokers().fence(0)
    assert await ends(disturbed.brokers(), TOPIC) == (2, 2)
    assert await seen(disturbed.brokers(), TOPIC, "read_committed") == written


async def test_a_request_that_is_on_its_way_for_long_comes_too_late() -> None:
    """A frozen worker's request to send reaches the broker after the fence."""
    disturbed = Disturbed()
    zombie = await disturbed.brokers("zombie").fence(0)
    await zombie.begin()
    await send(zombie, TOPIC, b"0")
    gate = disturbed.stops["zombie: send"] = asyncio.Event()
    sending = asyncio.create_task(send(zombie, TOPIC, b"1"))
    owner = await disturbed.brokers("owner").fence(0)
    assert await commit(owner, TOPIC, b"2") == Extent(2, 3)
    gate.set()
    with pytest.raises(ProducerFenced):
        await sending
    assert await seen(disturbed.brokers(), TOPIC, "read_committed") == [(2, b"2")]


async def test_markers_can_be_late() -> None:
    """Committed records appear once markers are written; the id's next transaction or fence waits for them."""
    disturbed = Disturbed(lag_ms=100)
    brokers = disturbed.brokers()
    writer = await brokers.fence(0)
    await commit(writer, TOPIC, b"0")
    assert await ends(brokers, TOPIC) == (0, 1)
    assert await seen(brokers, TOPIC, "read_committed") == []
    disturbed.now_ms += 100
    assert await ends(brokers, TOPIC) == (2, 2)
    await commit(writer, TOPIC, b"2")
    assert await commit(writer, TOPIC, b"4") == Extent(4, 5)
    assert await ends(brokers, TOPIC) == (4, 5)
    await disturbed.brokers().fence(0)
    assert await ends(brokers, TOPIC) == (6, 6)
    assert len(await seen(brokers, TOPIC, "read_committed")) == 3


async def test_time_is_that_of_the_clock() -> None:
    """A transaction is late by the clock, and records get the clock's time if their topic requires it."""
    disturbed = Disturbed()
    brokers = disturbed.brokers(timeout_ms=1000)
    disturbed.cluster.make("stamped", 1, append_time=True)
    disturbed.now_ms = 5
    disturbed.cluster.append(Place("stamped", 0), [Draft(None, b"0", 77)])
    writer = await brokers.fence(0)
    await writer.begin()
    await send(writer, TOPIC, b"0")
    await send(writer, "stamped", b"1")
    disturbed.now_ms = 1005
    assert await ends(brokers, TOPIC) == (0, 1)
    disturbed.now_ms = 1006
    assert await ends(brokers, TOPIC) == (2, 2)
    assert [one.timestamp for one in await records(brokers, "stamped", "read_uncommitted")] == [5, 5]


async def test_compaction_keeps_the_last_of_each_key() -> None:
    """It covers committed records below the last stable offset; offsets and markers do not change."""
    disturbed = Disturbed()
    brokers = disturbed.brokers()
    writer = await brokers.fence(0)
    for first, keys, fate in ((0, "ab", "commit"), (3, "ba", "commit"), (6, "aa", "abort"), (9, "bc", "commit")):
        await writer.begin()
        pages = writer.pages()
        for offset, key in enumerate(keys, first):
            pages.append(key.encode(), b"%d" % offset, 0, [])
        await writer.send(TOPIC, pages)
        await (writer.commit() if fate == "commit" else writer.abort())
    await writer.begin()
    await send(writer, TOPIC, b"open")
    before = await ends(brokers, TOPIC)
    disturbed.cluster.log(TOPIC, 0).compact()
    assert await ends(brokers, TOPIC) == before == (12, 13)
    found = await records(brokers, TOPIC, "read_uncommitted")
    assert [(one.offset, one.key, one.value) for one in found] == [
        (4, b"a", b"4"),
        (9, b"b", b"9"),
        (10, b"c", b"10"),
        (12, b"key", b"open"),
    ]
    assert await seen(brokers, TOPIC, "read_committed", 5) == [(9, b"9"), (10, b"10")]
    await writer.commit()
    assert (await commit(writer, TOPIC, b"14")).first == 14
