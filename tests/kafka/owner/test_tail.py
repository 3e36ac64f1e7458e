"""Which ledger entries bind, and what a worker that decides their input again must reproduce."""

from collections.abc import Sequence

import pytest

from stream_app.formats import wire
from stream_app.formats.encoding import SealedEntry
from stream_app.kafka.evidence.outputs import CommittedOutputs, Outputs
from stream_app.kafka.evidence.row import PARTITION_KEY
from stream_app.kafka.owner.tail import Tail
from stream_app.kafka.stops import PartitionStoppedError
from tests.cluster.brokers import MemoryBrokers
from tests.cluster.log import Draft
from tests.cluster.site import NAMES, Site, until
from tests.run import default, observation

KEY = b"home-1"


def entry(sequence: int, link: str = "aa") -> Draft:
    """Return an entry of a series; its input offset is ten times its sequence number."""
    value = {"entry": "release", "series": "home-1", "sequence": sequence, "previous": "", "hash": link}
    return Draft(KEY, wire.dump(value), 0, [("input", b"%d" % (10 * sequence))])


async def tail_of(site: Site, entries: Sequence[Draft], known: int = 0) -> Tail:
    """Return the tail of a ledger with these aborted entries, if the state has ``known`` entries of the series."""
    await site.write({NAMES.ledger: entries}, end="abort")
    tail = Tail(0, ())
    async with MemoryBrokers(site.cluster, "reads", "life", NAMES).reader("read_uncommitted") as reader:
        await tail.read(reader, NAMES.ledger, 0, lambda _: known)
    return tail


@pytest.mark.parametrize("known", range(5))
async def test_each_entry_beyond_the_state_binds(site: Site, known: int) -> None:
    """Entries that the state holds no longer bind."""
    tail = await tail_of(site, [entry(sequence) for sequence in (1, 2, 3)], known)
    assert len(tail) == max(0, 3 - known)
    assert tail.binds(0) == (known < 3)
    for sequence in range(known + 1, 4):
        with pytest.raises(PartitionStoppedError, match="tail-differs"):
            tail.settle(KEY, (SealedEntry(sequence, 0, b"", "bb"),))
    tail.settle(KEY, tuple(SealedEntry(sequence, 0, b"", "bb") for sequence in range(1, known + 1)))


async def test_two_entries_of_one_place_stop_the_partition(site: Site) -> None:
    """Nobody can reproduce both; the same entry twice, as left by two dead owners, binds like one."""
    assert len(await tail_of(site, [entry(1), entry(1)])) == 1
    with pytest.raises(PartitionStoppedError, match="tail-differs"):
        await tail_of(site, [entry(1), entry(1, "bb")])


async def test_an_entry_must_be_recomputed_from_its_own_input(site: Site) -> None:
    """Once all of that input is decided the entry is overdue; recomputed in time it no longer binds."""
    tail = await tail_of(site, [entry(1), entry(2)])
    tail.overdue(10)
    with pytest.raises(PartitionStoppedError, match="tail-differs"):
        tail.overdue(11)
    tail.settle(KEY, (SealedEntry(1, 0, b"", "aa"),))
    tail.overdue(20)
    assert tail.binds(1_000)
    with pytest.raises(PartitionStoppedError, match="tail-differs"):
        tail.overdue(21)
    tail.settle(KEY, (SealedEntry(2, 0, b"", "aa"),))
    tail.overdue(21)
    assert not tail.binds(0)


def test_a_committed_output_must_be_recomputed_from_its_own_input() -> None:
    """Once all of that input is decided the output is overdue."""
    nothing = CommittedOutputs(0, "ledger-short", 0, 0, {})
    tail = Tail(0, (), Outputs(nothing, nothing, CommittedOutputs(0, "rejects-short", 4, 0, {3: [""]}), 4))
    tail.overdue(3)
    with pytest.raises(PartitionStoppedError, match="tail-differs"):
        tail.overdue(4)


@pytest.mark.parametrize("end", ["commit", "abort"])
async def test_an_entry_whose_input_is_rejected_now_stops_the_partition(site: Site, end: str) -> None:
    """A new configuration no longer accepts what was accepted; the next owner writes nothing."""
    await site.goes_on("a", [observation("home-1", 1, 1.0)])
    entries = [one for one in site.committed(NAMES.ledger) if one.key]
    if end == "abort":
        for topic in (NAMES.ledger, NAMES.releases):
            site.cluster.log(topic, 0).lose_within(0, 1 << 30)
        await site.write({NAMES.ledger: entries}, end="abort")
    first = next(one.offset for one in site.committed(NAMES.changelog) if one.key == PARTITION_KEY)
    site.cluster.log(NAMES.changelog, 0).lose_tail(first + 2)
    before = site.outputs()
    site.policy = default("garden-*")
    partitions, feed = await site.started("b")
    await feed.seek(0, 0)
    await until(lambda: site.decided() == site.sent or bool(partitions.stopped))
    assert partitions.stopped == {0: "tail-differs"}
    assert site.outputs() == before
    await partitions.close()
