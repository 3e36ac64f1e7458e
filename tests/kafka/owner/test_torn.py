"""Batches committed only in part, on the in-memory cluster: the next owner publishes the rest, once."""

import json
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from aiokafka.errors import KafkaError

from stream_app.cli.operating.recover import consequences
from stream_app.heads.signing import SigningKey
from stream_app.kafka.owner.partitions import Partitions
from stream_app.kafka.stops import StopReason
from tests.cluster.brokers import MemoryBrokers
from tests.cluster.cluster import NOBODY, MemoryCluster
from tests.cluster.group import Place
from tests.cluster.log import Draft
from tests.cluster.site import NAMES, Feed, Site, until
from tests.cluster.transactions import Identity
from tests.run import observation

SERIES = ("home-1", "home-2", "nobody-1", "home-1", "home-3", "nobody-2")
LEDGER, RELEASES, REJECTS, ROWS = 7, 4, 2, 5
"""Sizes of their batch: policies and releases in the ledger; rows of 3 series, their policy, the partition."""


class Torn(MemoryCluster):
    """Takes a set number of records per topic, then commits the transaction, like a request that came late."""

    def __init__(self, now_ms: Any) -> None:
        """Take everything."""
        super().__init__(now_ms, at=self._late)
        self.takes: dict[str, int] = {}
        self._given = NOBODY
        self.broken = False
        self.late = True

    def append(self, place: Place, drafts: Sequence[Draft], given: Identity = NOBODY, sequence: int = 0) -> int:
        """Append a batch, unless its topic has taken its full number."""
        left = self.takes.get(place.topic)
        if left is not None:
            if not left:
                self.broken = True
                raise KafkaError
            self.takes[place.topic] = left - 1
        self._given = given
        return super().append(place, drafts, given, sequence)

    async def _late(self, point: str, client: str) -> None:  # noqa: ARG002 (a hook's signature)
        if point == "abort" and self.broken and self.late:
            self.takes.clear()
            self.transactions.end("life-0", self._given, "commit", self.marker_due_ms)


@pytest.fixture
def site(tmp_path: Path) -> Site:
    """Make a site."""
    return torn_site(tmp_path)


def torn_site(folder: Path) -> Site:
    """Return a site whose transactions a test can cut short."""
    folder.mkdir(exist_ok=True)
    site = Site(folder)
    whole, site.cluster = site.cluster, Torn(site.cluster.now_ms)
    assert whole is not site.cluster
    for name in NAMES:
        site.cluster.make(name, 1, append_time=name == NAMES.events)
    return site


def torn(site: Site) -> Torn:
    """Return the cluster of a site."""
    assert isinstance(site.cluster, Torn)
    return site.cluster


async def owned(site: Site, name: str) -> tuple[Partitions, Feed]:
    """Return the partitions of a worker that writes one record per batch, and owns the partition."""
    return await site.started(name, brokers=MemoryBrokers(site.cluster, name, "life", NAMES, batch_bytes=1))


def send(site: Site, series: Sequence[str] = SERIES) -> None:
    """Append an event for each series."""
    for name in series:
        site.append(observation(name, site.sent + 1, 1.0))


async def finished(site: Site, name: str) -> None:
    """Check that such a worker decides everything, and let it end."""
    partitions, _ = await owned(site, name)
    await until(lambda: site.decided() == site.sent or bool(partitions.stopped))
    assert partitions.stopped == {}
    await partitions.close()


async def stopped(site: Site, name: str, reason: StopReason) -> None:
    """Check that such a worker stops."""
    partitions, _ = await owned(site, name)
    assert partitions.stopped == {0: reason}
    await partitions.close()


async def tear(site: Site, ledger: int, releases: int = 0, rejects: int = 0, rows: int = 0) -> None:
    """Let a worker decide events, and commit only this many records of each log from their batch."""
    partitions, feed = await owned(site, "a")
    send(site)
    takes = {NAMES.ledger: ledger, NAMES.releases: releases, NAMES.rejects: rejects, NAMES.changelog: rows}
    torn(site).takes = takes
    await feed.seek(0, 0)
    await until(lambda: bool(partitions.stopped))
    assert partitions.stopped == {0: "transaction-failed"}
    await partitions.close()
    counts = [len(log) for log in site.outputs()]
    assert counts == [ledger, releases, rejects]


async def whole(folder: Path, more: Sequence[str] = ()) -> list[list[Any]]:
    """Return the outputs of the same events in whole batches."""
    site = torn_site(folder)
    for series in (SERIES, more):
        send(site, series)
    await finished(site, "a")
    found = site.outputs()
    assert [len(log) for log in found] == [LEDGER + len(more), RELEASES + len(more), REJECTS]
    return found


def parts() -> Iterator[tuple[int, int, int]]:
    """Yield the numbers of committed entries, releases and rejects: outputs follow entries."""
    yield from ((ledger, 0, 0) for ledger in range(1, LEDGER))
    yield from product((LEDGER,), range(RELEASES + 1), range(REJECTS + 1))


@pytest.mark.parametrize(("ledger", "releases", "rejects"), list(parts()))
async def test_what_lacks_is_published_by_the_next_owner(
    site: Site, tmp_path: Path, ledger: int, releases: int, rejects: int
) -> None:
    """Bytes and order are those of a whole batch, nothing is doubled, and later output follows.

    Records that are published late are signed, and signed once.
    """
    site.signing_key = SigningKey.create(tmp_path / "signing.key")
    await tear(site, ledger, releases, rejects)
    await finished(site, "b")
    entries = (json.loads(value) for _, value, _ in site.outputs()[0])
    heads = (json.loads(one.value or b"") for one in site.committed(NAMES.heads))
    leaves = [leaf for found in heads if found["type"] == "leaves" for leaf in found["leaves"]]
    assert {series: sequence for series, sequence, _ in leaves} == {one["series"]: one["sequence"] for one in entries}
    assert len(leaves) == len({tuple(leaf) for leaf in leaves})
    send(site, ("home-1",))
    await finished(site, "c")
    assert site.outputs() == await whole(tmp_path / "whole", ("home-1",))


AHEAD = [
    *((RELEASES, REJECTS, rows, "changelog-short") for rows in range(1, ROWS)),
    *((releases, REJECTS, ROWS, "releases-short") for releases in range(RELEASES)),
    *((RELEASES, rejects, ROWS, "rejects-short") for rejects in range(REJECTS)),
    *((0, 0, rows, "changelog-short") for rows in range(1, ROWS)),
    (0, 0, ROWS, "releases-short"),
]
"""Committed releases, rejects and rows in cases in which the rows have decided unpublished input."""


@pytest.mark.parametrize(("releases", "rejects", "rows", "reason"), AHEAD)
async def test_rows_that_are_ahead_of_what_is_published_are_rebuilt_by_recover(
    site: Site, tmp_path: Path, releases: int, rejects: int, rows: int, reason: StopReason
) -> None:
    """Nobody could decide that input again from them: the next owner stops. Rebuilt, it publishes the rest."""
    await tear(site, LEDGER, releases, rejects, rows)
    before = site.outputs()
    await stopped(site, "b", reason)
    assert site.outputs() == before
    await recovered_and_finished(site, tmp_path)


@pytest.mark.parametrize(("ledger", "releases", "rejects"), list(parts()))
async def test_recover_loses_nothing_of_a_part(
    site: Site, tmp_path: Path, ledger: int, releases: int, rejects: int
) -> None:
    """This holds whether or not the next owner could have continued by itself."""
    await tear(site, ledger, releases, rejects)
    await recovered_and_finished(site, tmp_path)


async def recovered_and_finished(site: Site, folder: Path) -> None:
    """Run `recover`, then a worker, and compare with whole batches."""
    told = await site.recover()
    answered = [int(headers[0][1]) for log in site.outputs() for _, _, headers in log]
    assert (told.again, told.given_up) == (max(answered) + 1 - told.next_offset, {})
    lines = "\n".join(consequences(told))
    assert (f"processes {told.again} inputs again, from {told.next_offset}," in lines) == (told.again > 0)
    send(site, ("home-1",))
    await finished(site, "c")
    assert site.outputs() == await whole(folder / "whole", ("home-1",))


async def test_rejects_that_are_lost_after_recover_are_missed(site: Site) -> None:
    """The row that `recover` writes names the last reject, as every owner's row does."""
    send(site)
    await finished(site, "a")
    assert (await site.recover()).again == 0
    site.cluster.log(NAMES.rejects, 0).lose_tail(0)
    await stopped(site, "b", "rejects-short")
