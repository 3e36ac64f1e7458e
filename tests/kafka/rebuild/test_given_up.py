"""Batches of which only a part was committed and whose input is gone, on the cluster in memory: `recover` gives up."""

import json
from collections import Counter
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from stream_app.cli.operating.recover import consequences
from stream_app.kafka.rebuild.given_up import GivenUp
from stream_app.kafka.rebuild.survey import Accepted
from stream_app.kafka.stops import PartitionStoppedError
from tests.audit.ways import audit
from tests.kafka.owner.test_partition import NAMES, Site, until
from tests.kafka.owner.test_torn import LEDGER as WHOLE
from tests.kafka.owner.test_torn import REJECTS, RELEASES, Torn, finished, owned, send, torn_site

EVERYTHING = Accepted(lost_input=True, lost_releases=True)


@pytest.fixture
def site(tmp_path: Path) -> Site:
    """Make a site."""
    return torn_site(tmp_path)


async def torn_and_forgotten(
    site: Site, ledger: int, releases: int, rejects: int, rows: int, *, committed: bool = True
) -> None:
    """Publish a release of `home-1`, tear the batch after it, and lose the input of both."""
    partitions, feed = await owned(site, "a")
    send(site, ["home-1"])
    await feed.seek(0, 0)
    await until(lambda: site.decided() == 1)
    assert isinstance(site.cluster, Torn)
    site.cluster.takes = {NAMES.ledger: ledger, NAMES.releases: releases, NAMES.rejects: rejects, NAMES.changelog: rows}
    site.cluster.late = committed
    send(site)
    await feed.seek(0, 1)
    await until(lambda: bool(partitions.stopped))
    await partitions.close()
    site.cluster.takes = {}
    counts = [ledger, releases, rejects] if committed else [0, 0, 0]
    assert [len(log) for log in site.outputs()] == [2 + counts[0], 1 + counts[1], counts[2]]
    site.cluster.log(NAMES.events, 0).delete_before(-1)


def values(site: Site, log: int) -> list[Any]:
    """Return the records of a log, read as JSON."""
    return [json.loads(value) for _, value, _ in site.outputs()[log]]


def steps(site: Site, log: int) -> list[tuple[str, int]]:
    """Return the steps of a log's releases or release entries."""
    return [(one["series"], one["timestamp"]) for one in values(site, log) if one.get("entry", "release") == "release"]


LEDGER, ROWS = WHOLE - 1, 4
"""`home-1` has its policy already."""
PARTS = [
    *((ledger, 0, 0, 0) for ledger in range(1, LEDGER)),
    *product([LEDGER], range(RELEASES + 1), range(REJECTS + 1), [0]),
    *product([LEDGER], [0, 2, RELEASES], [0, REJECTS], range(1, ROWS)),
    *product([LEDGER], range(RELEASES), range(REJECTS + 1), [ROWS]),
    *product([LEDGER], [RELEASES], range(REJECTS), [ROWS]),
]
"""Entries, releases, rejects and rows that are committed."""


@pytest.mark.parametrize(("ledger", "releases", "rejects", "rows"), PARTS)
async def test_what_cannot_be_published_any_more_is_given_up(
    site: Site, ledger: int, releases: int, rejects: int, rows: int
) -> None:
    """Its epsilon stays spent, it is told by series, and nothing is decided twice, whatever comes later."""
    await torn_and_forgotten(site, ledger, releases, rejects, rows)
    kept = {one.key.decode() for one in site.committed(NAMES.changelog)}
    decided = [series for series, _ in steps(site, 0)[1:]]
    lacking = Counter(decided[releases:])
    if lacking or (rejects < REJECTS and rows == ROWS):
        with pytest.raises(PartitionStoppedError, match="releases-short" if lacking else "rejects-short"):
            await site.recover(Accepted(lost_input=True))
    before = site.outputs()
    told = await site.recover(EVERYTHING)
    assert told.given_up == lacking
    unknown = {series for series in lacking if series != "home-1" and f"s{series}" not in kept}
    assert set(told.closed) == unknown
    assert site.outputs()[1] == before[1], "no release is published"
    lines = "\n".join(consequences(told))
    assert all((f"{series}: {steps} steps" in lines) for series, steps in lacking.items())
    assert lines.count("it is closed") == len(unknown)
    await go_on(site, ["home-1", "home-2", "home-3", "home-1"], closed=unknown)
    report = audit([value for _, value, _ in site.outputs()[0]], [value for _, value, _ in site.outputs()[1]])
    assert dict(report.counts) == ({"entry-without-release": lacking.total()} if lacking else {})
    assert report.broken("promise") == 0
    again = await site.recover()
    assert (again.given_up, again.closed) == (lacking, []), "what was accepted is known, and nothing more is needed"


async def go_on(site: Site, series: Sequence[str], closed: set[str]) -> None:
    """Let a worker decide events; those of ``closed`` series are rejected, the others released, each once."""
    before = [len(log) for log in site.outputs()]
    send(site, series)
    await finished(site, "c")
    assert [one["series"] for one in values(site, 1)[before[1] :]] == [one for one in series if one not in closed]
    assert [one["reason"] for one in values(site, 2)[before[2] :]] == ["closed" for one in series if one in closed]
    for log in (0, 1):
        assert len(set(steps(site, log))) == len(steps(site, log))


@pytest.mark.parametrize("releases", range(RELEASES))
async def test_aborted_entries_without_their_releases_are_given_up(site: Site, releases: int) -> None:
    """They may have been read, so they are spent; releases that were written beside them are published."""
    await torn_and_forgotten(site, LEDGER, releases, 0, 0, committed=False)
    with pytest.raises(PartitionStoppedError, match="release-lost"):
        await site.recover(Accepted(lost_input=True))
    told = await site.recover(EVERYTHING)
    assert sum(told.given_up.values()) == RELEASES - releases
    assert len(site.outputs()[1]) == 1 + releases
    await go_on(site, ["home-1", "home-2", "home-3"], closed=set(told.closed))
    report = audit([value for _, value, _ in site.outputs()[0]], [value for _, value, _ in site.outputs()[1]])
    assert dict(report.counts) == {"entry-without-release": RELEASES - releases}


def test_releases_are_given_up_between_two_inputs_alone() -> None:
    """The first input counts, the end does not; what is there is never given up."""
    given_up = GivenUp(2, 4)
    for offset in range(6):
        entry = {"entry": "release", "release": "aa", "series": "home-1"}
        assert given_up.or_given_up(entry, offset, {"aa": b"{}"}) == {"aa": b"{}"}
        assert bool(given_up.or_given_up(entry, offset, {})) == (2 <= offset < 4)
    assert (dict(given_up.steps), given_up.last) == ({"home-1": 2}, 3)
