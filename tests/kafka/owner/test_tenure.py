"""The commit under way."""

import asyncio

import pytest

from stream_app.kafka.owner.tenure import PendingCommit
from tests.cluster.site import Site, until


async def _commit(gone: asyncio.Event) -> None:
    await gone.wait()


async def _fail() -> None:
    raise ConnectionError


async def test_a_commit_is_over_before_its_end_is_known() -> None:
    """Its end is signalled immediately; its outcome is known on request."""
    told = asyncio.Event()
    pending, gone = PendingCommit(told.set), asyncio.Event()
    pending.begin(_commit(gone))
    assert (pending.over, pending.empty) == (False, False)
    gone.set()
    await told.wait()
    assert (pending.over, pending.empty) == (True, False)
    await pending.finished()
    assert (pending.over, pending.empty) == (False, True)


async def test_its_end_raises_what_went_wrong() -> None:
    """Once, and it is gone."""
    pending = PendingCommit(lambda: None)
    pending.begin(_fail())
    with pytest.raises(ConnectionError):
        await pending.finished()
    assert pending.empty
    await pending.finished()


async def test_dropping_waits_and_forgives() -> None:
    """A commit that fails meanwhile no longer matters."""
    pending = PendingCommit(lambda: None)
    pending.begin(_fail())
    await pending.drop()
    assert pending.empty


async def test_cancelling_cuts_short() -> None:
    """Cancelling does not wait for a commit that never ends."""
    pending = PendingCommit(lambda: None)
    pending.begin(_commit(asyncio.Event()))
    await asyncio.sleep(0)
    await pending.cancel()
    assert pending.empty


async def test_what_comes_while_a_batch_commits_is_one_batch(site: Site) -> None:
    """A few waiting records are decided with later ones: taken at once, the rest would wait for two commits."""
    partitions, feed = await site.working("a")
    committing, ended = site.holds_commits()
    await site.send(feed, 1)
    await committing.wait()
    for _ in range(3):
        await site.send(feed, 1)
        await asyncio.sleep(0.05)  # long enough for a batch to be taken
    ended.set()
    await until(lambda: site.decided() == 4)
    assert [row["next_offset"] for row in site.rows()] == [0, 1, 4]
    await partitions.close()
