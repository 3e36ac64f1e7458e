"""What a start refuses, and what a stop forgets, on the cluster in memory."""

import asyncio
import gc
import json
import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from stream_app.deciding.counters import Collection
from stream_app.kafka.evidence.ends import input_lost
from stream_app.kafka.memory.group import Place
from stream_app.kafka.memory.log import Draft
from tests.kafka.owner.test_partition import NAMES, Site, until


@pytest.fixture
def quiet() -> Any:
    """Let nobody log: pytest keeps what is logged, with the errors and their frames."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(before)


@pytest.fixture
def site(tmp_path: Path) -> Site:
    """Make a site."""
    return Site(tmp_path)


@pytest.mark.parametrize("expired", [3, 2])
async def test_a_group_that_has_decided_is_never_begun_anew(site: Site, expired: int) -> None:
    """Input expired up to the group's offset, rows and ledger are gone: what was spent is unknown, so it must stop."""
    partitions, feed = site.worker("a")
    await partitions.assign([0], 1)
    await until(lambda: partitions.working == [0])
    await site.send(feed)
    await until(lambda: site.decided() == 3)
    await partitions.close()
    before = [one.value for one in site.committed(NAMES.releases)]
    assert len(before) == 3
    site.cluster.group("life").offsets[Place(NAMES.events, 0)] = expired
    site.cluster.log(NAMES.events, 0).delete_before(3)
    for lost in (NAMES.changelog, NAMES.ledger):
        site.cluster.remake(lost)
    other, feed = site.worker("b")
    await other.assign([0], 1)
    await until(lambda: bool(other.working or other.stopped))
    assert other.stopped == {0: "row-missing"}
    await other.close()


class _Sneaks:
    """Brokers between whose answers somebody else appends an entry: when the restorer has asked whose the logs are."""

    def __init__(self, inner: Any, sneak: Any) -> None:
        """Let nobody in yet."""
        self._inner, self._sneak, self.judged = inner, sneak, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def reader(self, isolation: Any) -> Any:
        """Open a reader; the second of uncommitted records comes after the first look at whose they are."""
        if isolation == "read_uncommitted":
            self.judged += 1
            if self.judged == 2:
                self._sneak()
        return self._inner.reader(isolation)


async def test_who_writes_while_the_tail_is_read_stops_the_start(site: Site) -> None:
    """Whose the logs are is asked before the tail is read, and again behind the last thing read."""
    partitions, feed = site.worker("a")
    await partitions.assign([0], 1)
    await until(lambda: partitions.working == [0])
    await site.send(feed)
    await until(lambda: site.decided() == 3)
    await partitions.close()
    last = [one for one in site.committed(NAMES.ledger) if one.key == b"home-1"][-1]
    entry = json.loads(last.value) | {"sequence": 99, "hash": "f" * 64}

    def sneak() -> None:
        """Append an entry as another application would, without a transaction."""
        draft = Draft(b"home-1", json.dumps(entry).encode(), 0, [("input", b"99")])
        site.cluster.append(Place(NAMES.ledger, 0), [draft])

    other, _ = site.worker("b")
    parts = other._parts  # noqa: SLF001
    other._parts = replace(parts, brokers=_Sneaks(parts.brokers, sneak))  # noqa: SLF001
    await other.assign([0], 1)
    await until(lambda: bool(other.working or other.stopped))
    assert other.stopped == {0: "foreign-writer"}
    await other.close()


@pytest.mark.usefixtures("quiet")
async def test_a_stopped_partition_holds_no_raw_counters(site: Site) -> None:
    """PRIVACY: what open steps count, raw, was forgotten with the stop; the error that broke the input off keeps it."""
    partitions, _ = site.worker("a")
    await partitions.assign([0], 1)
    await until(lambda: partitions.working == [0])
    partitions.fail(0, input_lost(3, 5).stopped(0))
    await until(lambda: partitions.stopped == {0: "input-lost"})
    await asyncio.sleep(0.05)
    gc.collect()
    held = [one for one in gc.get_objects() if isinstance(one, Collection)]
    assert not held
    await partitions.close()


@pytest.mark.usefixtures("quiet")
async def test_a_stop_for_another_reason_holds_none_either(site: Site) -> None:
    """The control: where the error is not kept, nothing is."""
    partitions, feed = site.worker("a")
    await partitions.assign([0], 1)
    await until(lambda: partitions.working == [0])
    site.cluster.remake(NAMES.events)
    await site.send(feed)
    await until(lambda: partitions.stopped == {0: "topic-replaced"})
    await asyncio.sleep(0.05)
    gc.collect()
    assert not [one for one in gc.get_objects() if isinstance(one, Collection)]
    await partitions.close()
