"""One edit away from a loss, on the in-memory cluster: rules that a start or commit could omit unnoticed."""

import asyncio
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka.errors import KafkaError, RecordTooLargeError
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from faust.types import TP

from stream_app.formats.records import InputRecord, Records
from stream_app.heads.signing import SigningKey
from stream_app.kafka.client.brokers import KafkaPages, PartitionProducer
from stream_app.kafka.evidence.row import PARTITION_KEY
from stream_app.kafka.faust.consumer import Consumer
from stream_app.kafka.memory.rows import MemoryRows
from stream_app.kafka.owner.changelogcopy import ChangelogCopy
from stream_app.kafka.owner.inbox import Delivery
from stream_app.kafka.parts import ReadBack
from stream_app.kafka.stops import StopReason
from tests.cluster.brokers import MemoryBrokers
from tests.cluster.group import Place
from tests.cluster.log import Draft
from tests.cluster.site import EVENTS, NAMES, Site, until
from tests.kafka.evidence.test_row import ROW
from tests.kafka.owner.test_torn import LEDGER, SERIES, finished, owned, send, torn, torn_site
from tests.run import default, observation


async def left_aborted(tmp_path: Path) -> Site:
    """Return a site whose only batch was aborted after its ledger entries."""
    site = torn_site(tmp_path)
    partitions, feed = await owned(site, "a")
    send(site)
    torn(site).late = False
    torn(site).takes = {NAMES.releases: 0}
    await feed.seek(0, 0)
    await until(lambda: bool(partitions.stopped))
    await partitions.close()
    torn(site).takes = {}
    return site


async def test_entries_that_bind_are_not_passed_over_by_a_batch_before_them(tmp_path: Path) -> None:
    """The row goes no further in the ledger than the first aborted entry of undecided input."""
    site = await left_aborted(tmp_path)
    left = site.cluster.records(NAMES.ledger, 0, "read_uncommitted")[1:]
    assert len(left) == LEDGER
    partitions, feed = site.worker("b")
    feed.owner = None
    await partitions.assign([0], 1)
    await until(lambda: partitions.working == [0])
    events = site.committed(NAMES.events)[:2]
    records = [InputRecord(NAMES.events, 0, one.offset, one.timestamp, one.key, one.value) for one in events]
    partitions.put(0, Delivery(Records.of(records), 0, 2), feed)
    await until(lambda: site.decided() == 2)
    assert site.rows()[-1]["ledger_offset"] <= next(one.offset for one in left if int(one.headers[0][1]) >= 2)
    feed.owner = partitions
    await feed.seek(0, 2)
    await until(lambda: site.decided() == len(SERIES))
    assert site.rows()[-1]["ledger_offset"] > left[-1].offset
    await partitions.close()


async def test_a_copy_of_another_life_is_discarded(site: Site) -> None:
    """Its last record is compacted away: only the life in the partition rows says that its rows count no more."""
    log, held = site.cluster.log(NAMES.changelog, 0), MemoryRows()
    lives = [
        Draft(PARTITION_KEY, ROW.encode().replace(b'"life":"l"', b'"life":"%s"' % life), 0) for life in (b"a", b"b")
    ]
    assert lives[0] != lives[1]
    brokers = MemoryBrokers(site.cluster, "a", "life", NAMES)

    async def caught_up() -> None:
        """Read the changelog."""
        copy = ChangelogCopy(held, NAMES.changelog, ROW.changelog, 0, ReadBack(), 1)
        async with brokers.reader("read_committed") as reader:
            await copy.catch_up(reader)

    place = Place(NAMES.changelog, 0)
    site.cluster.append(place, [Draft(b"s1", b"kept", 0)])
    end = log.end
    site.cluster.append(place, [Draft(b"s2", b"lost", 0), lives[0]])
    await caught_up()
    assert held.read(0, b"s2") == b"lost"
    log.lose_tail(end)
    site.cluster.append(place, [Draft(b"s1", b"kept", 0), lives[1]])
    site.cluster.append(place, [lives[1]])
    log.compact()
    await caught_up()
    assert (held.read(0, b"s1"), held.read(0, b"s2")) == (b"kept", None)


async def test_heads_go_on_from_the_last_that_was_committed(site: Site) -> None:
    """An aborted record of the topic is no head, whatever its content."""
    key = SigningKey(Ed25519PrivateKey.from_private_bytes(bytes(32)))
    for name in ("a", "b"):
        await site.goes_on(name, [observation("home-1", site.sent + nth, 1.0) for nth in (1, 2, 3)], signing_key=key)
        await site.write({NAMES.heads: [Draft(None, b"{}", 0)]}, end="abort")
    found = [json.loads(one.value) for one in site.committed(NAMES.heads)]
    numbers = [one["number"] for one in found if one["type"] == "head"]
    assert numbers == list(range(1, len(numbers) + 1))
    assert len(numbers) >= 2


async def test_the_group_goes_no_further_than_what_open_steps_need(site: Site) -> None:
    """Each commit says from where input must be reread, before anything is acknowledged."""
    protection = {"level": "event", "step": 10, "within": "sum", "open_steps": 1}
    site.policy = default("home-*", protection=protection)
    partitions, feed = await site.working("a")
    said: list[tuple[str, int]] = []
    feed.keep = lambda _, offset: said.append(("keep", offset))  # type: ignore[method-assign, assignment]
    feed.ack = lambda: said.append(("ack", 0))  # type: ignore[method-assign]
    await site.send(feed)
    await until(lambda: site.decided() == 3 and ("ack", 0) in said)
    await partitions.close()
    assert (site.rows()[-1]["recall_offset"], site.rows()[-1]["next_offset"]) == (0, 3), "its step is open"
    assert said[0] == ("keep", 0)


def test_what_is_acknowledged_does_not_pass_what_open_steps_need() -> None:
    """The offset sent to the group is the smaller one, because input below it may be deleted."""
    place = TP(NAMES.events, 0)
    app = SimpleNamespace(events_topic=NAMES.events)
    for kept, sent in ((3, 3), (9, 8)):
        state = SimpleNamespace(app=app, _acked={place: [5, 7]}, _acked_index={place: {5, 7}}, _kept={place: kept})
        assert Consumer._new_offset(state, place) == sent  # type: ignore[arg-type]  # noqa: SLF001


@pytest.mark.parametrize("topic", [NAMES.ledger, NAMES.releases])
async def test_records_of_another_producer_stop_a_start(site: Site, topic: str) -> None:
    """With the same key and header another application writes the same bytes: only the producer id differs."""
    await site.goes_on("a", EVENTS)
    await site.write({topic: site.committed(topic)[-1:]}, application="another")
    await site.stops("b", "foreign-writer")


async def test_own_records_under_an_expired_id_are_own(tmp_path: Path) -> None:
    """The row names the id that wrote what comes after it; the next owner has another one by then."""
    site = await left_aborted(tmp_path)
    assert site.cluster.transactions.expire("life-0")
    await finished(site, "b")
    assert len({one.producer for one in site.cluster.records(NAMES.ledger, 0, "read_uncommitted")}) == 2


@pytest.mark.parametrize(
    ("topic", "reason"),
    [(NAMES.ledger, "ledger-short"), (NAMES.releases, "releases-short"), (NAMES.changelog, "changelog-short")],
)
async def test_a_log_that_loses_its_end_under_a_worker_stops_it(site: Site, topic: str, reason: StopReason) -> None:
    """Its next batch would take the place of lost records, and nothing would show later that they are gone."""
    partitions, feed = await site.working("a")
    await site.send(feed)
    await until(lambda: site.decided() == 3)
    site.lose_last(topic)
    before = site.outputs()
    await site.send(feed)
    await until(lambda: bool(partitions.stopped))
    assert (partitions.stopped, site.outputs()) == ({0: reason}, before)
    await partitions.close()


async def test_a_changelog_cut_within_a_transaction_under_a_worker_loses_nothing(tmp_path: Path) -> None:
    """The broker then knows only the producer's previous batch, so the worker starts over and decides the same."""
    whole, cut = torn_site(tmp_path / "whole"), torn_site(tmp_path / "cut")
    for site in (whole, cut):
        partitions, feed = await owned(site, "a")
        send(site)
        await feed.seek(0, 0)
        await site.all_decided()
        if site is cut:
            site.lose_last(NAMES.changelog)
            assert site.decided() == 0
        send(site)
        await feed.seek(0, len(SERIES))
        await site.all_decided()
        assert partitions.stopped == {}
        await partitions.close()
    assert cut.outputs() == whole.outputs()


async def test_a_changelog_cut_within_a_transaction_stops_a_start(site: Site) -> None:
    """The next commit would commit that half as well."""
    await site.goes_on("a", EVENTS)
    log = site.cluster.log(NAMES.changelog, 0)
    log.lose_tail(log.end - 1)  # the marker
    await site.stops("b", "changelog-short")


class _Refusing:
    """A stand-in for aiokafka's producer that refuses the first of two pages and acknowledges the second."""

    def __init__(self) -> None:
        """Answer nothing yet."""
        self.answers = 0

    async def send_batch(self, page: Any, topic: str, partition: int) -> asyncio.Future[Any]:  # noqa: ARG002
        """Return the answer to a page."""
        answer = asyncio.get_running_loop().create_future()
        self.answers += 1
        if self.answers == 1:
            answer.set_exception(RecordTooLargeError())
        else:
            answer.set_result(type("Written", (), {"offset": 7}))
        return answer

    @property
    def _txn_manager(self) -> Any:
        ended = asyncio.get_running_loop().create_future()
        return type("Manager", (), {"wait_for_transaction_end": staticmethod(lambda: ended)})


class _Page:
    """A page of one record."""

    def close(self) -> None:
        """Take nothing more."""

    def record_count(self) -> int:
        """Return the number of records that it holds."""
        return 1


async def test_each_page_must_be_acknowledged() -> None:
    """The client commits acknowledged pages: a refused page would be missing from a committed batch."""
    pages = KafkaPages(_Page)
    pages.pages += [_Page(), _Page()]
    with pytest.raises(KafkaError):
        await PartitionProducer(_Refusing(), 0, 5).send("t", pages)
