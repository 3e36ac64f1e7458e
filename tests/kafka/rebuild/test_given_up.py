"""What `recover` gives up: partial batches without input, and outputs before later ones; in memory."""

import json
from collections import Counter
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from stream_app.cli.operating.recover import consequences
from stream_app.kafka.rebuild.given_up import GivenUp
from stream_app.kafka.rebuild.survey import AcceptedLosses
from stream_app.kafka.stops import PartitionStoppedError
from tests.audit.ways import audit
from tests.cluster.site import NAMES, Site, until
from tests.kafka.owner.test_torn import LEDGER as WHOLE
from tests.kafka.owner.test_torn import REJECTS, RELEASES, Torn, finished, owned, send, torn_site
from tests.readings import reading, watermark, within
from tests.run import default, observation

EVERYTHING = AcceptedLosses(lost_input=True, lost_releases=True)


@pytest.fixture
def site(tmp_path: Path) -> Site:
    """Make a site."""
    return torn_site(tmp_path)


async def torn_and_forgotten(
    site: Site, ledger: int, releases: int, rejects: int, rows: int, *, committed: bool = True
) -> None:
    """Publish a release of `home-1`, tear the batch after it, and lose both inputs."""
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
"""The numbers of committed entries, releases, rejects and rows."""


@pytest.mark.parametrize(("ledger", "releases", "rejects", "rows"), PARTS)
async def test_what_cannot_be_published_any_more_is_given_up(
    site: Site, ledger: int, releases: int, rejects: int, rows: int
) -> None:
    """Its epsilon stays spent, it is reported by series, and nothing is decided twice, whatever comes later."""
    await torn_and_forgotten(site, ledger, releases, rejects, rows)
    kept = {one.key.decode() for one in site.committed(NAMES.changelog)}
    decided = [series for series, _ in steps(site, 0)[1:]]
    lacking = Counter(decided[releases:])
    if lacking or (rejects < REJECTS and rows == ROWS):
        with pytest.raises(PartitionStoppedError, match="releases-short" if lacking else "rejects-short"):
            await site.recover(AcceptedLosses(lost_input=True))
    before = site.outputs()
    told = await site.recover(EVERYTHING)
    assert told.given_up == lacking
    unknown = {series for series in lacking if series != "home-1" and f"s{series}" not in kept}
    assert set(told.closed) == unknown
    assert site.outputs()[1] == before[1], "no release is published"
    lines = "\n".join(consequences(told))
    assert all((f"{series}: {steps} steps" in lines) for series, steps in lacking.items())
    assert lines.count("the series is closed") == len(unknown)
    await go_on(site, ["home-1", "home-2", "home-3", "home-1"], closed=unknown)
    report = audit([value for _, value, _ in site.outputs()[0]], [value for _, value, _ in site.outputs()[1]])
    assert dict(report.counts) == ({"entry-without-release": lacking.total()} if lacking else {})
    assert report.broken("promise") == 0
    again = await site.recover()
    assert (again.given_up, again.closed) == (lacking, []), "what was accepted is known, and nothing more is needed"


async def go_on(site: Site, series: Sequence[str], closed: set[str]) -> None:
    """Let a worker decide events; ``closed`` series are rejected, the others released, each once."""
    before = [len(log) for log in site.outputs()]
    send(site, series)
    await finished(site, "c")
    assert [one["series"] for one in values(site, 1)[before[1] :]] == [one for one in series if one not in closed]
    assert [one["reason"] for one in values(site, 2)[before[2] :]] == ["closed" for one in series if one in closed]
    for log in (0, 1):
        assert len(set(steps(site, log))) == len(steps(site, log))


@pytest.mark.parametrize("releases", range(RELEASES))
async def test_aborted_entries_without_their_releases_are_given_up(site: Site, releases: int) -> None:
    """They may have been read, so they are spent; releases written along with them are published."""
    await torn_and_forgotten(site, LEDGER, releases, 0, 0, committed=False)
    with pytest.raises(PartitionStoppedError, match="release-lost"):
        await site.recover(AcceptedLosses(lost_input=True))
    told = await site.recover(EVERYTHING)
    assert sum(told.given_up.values()) == RELEASES - releases
    assert len(site.outputs()[1]) == 1 + releases
    await go_on(site, ["home-1", "home-2", "home-3"], closed=set(told.closed))
    report = audit([value for _, value, _ in site.outputs()[0]], [value for _, value, _ in site.outputs()[1]])
    assert dict(report.counts) == {"entry-without-release": RELEASES - releases}


def test_releases_are_given_up_between_two_inputs_alone() -> None:
    """The first input counts, the end does not; existing outputs are never given up."""
    given_up = GivenUp(2, 4)
    for offset in range(6):
        entry = {"entry": "release", "release": "aa", "series": "home-1"}
        assert given_up.or_given_up(entry, offset, {"aa": b"{}"}) == {"aa": b"{}"}
        assert bool(given_up.or_given_up(entry, offset, {})) == (2 <= offset < 4)
    assert (dict(given_up.steps), given_up.last) == ({"home-1": 2}, 3)


MIXED = [observation("nobody-1" if nth % 2 else "home-1", nth + 1, 1.0) for nth in range(9)]
"""Inputs with even offsets are released, those with odd offsets are rejected; each is a batch of its own."""
LATER = [observation("home-1", 10, 1.0), observation("nobody-1", 11, 1.0)]
ACCEPTED = AcceptedLosses(lost_releases=True)


def without(log: Sequence[Any], *inputs: int) -> list[Any]:
    """Return the records of a log that resulted from other inputs."""
    return [one for one in log if int(dict(one[2])["input"]) not in inputs]


async def whole(folder: Path, *batches: Sequence[dict[str, Any]]) -> list[list[Any]]:
    """Return the outputs of input of which nothing is lost."""
    site = Site(folder)
    await site.goes_on("worker", *batches)
    return site.outputs()


def audited(site: Site) -> dict[str, int]:
    """Return what the audit finds, by kind."""
    ledger, releases, _ = ([value for _, value, _ in log] for log in site.outputs())
    report = audit(ledger, releases)
    assert report.broken("promise") == 0
    return {str(kind): count for kind, count in report.counts.items()}


@pytest.fixture
def other(tmp_path: Path) -> Path:
    """Make a folder for another site."""
    (tmp_path / "other").mkdir()
    return tmp_path / "other"


@pytest.mark.parametrize(
    ("rows", "lost"), [*product((0, 1, 2), [(2,), (6,), (2, 4)]), *product((0,), [(0,), (0, 2, 4, 6)])]
)
async def test_releases_missing_before_later_ones_are_given_up_on_demand(
    site: Site, other: Path, rows: int, lost: Sequence[int]
) -> None:
    """They cannot be published in their place: `recover` names the first, and then every later step is decided."""
    await site.goes_on("worker", *([record] for record in MIXED))
    site.lose_rows(rows)
    site.lose_outputs(NAMES.releases, *lost)
    await site.stops("b", "releases-short")
    with pytest.raises(PartitionStoppedError) as refused:
        await site.recover()
    assert refused.value.reason == "releases-short"
    assert f"the release for input {lost[0]}" in str(refused.value)
    assert f"the releases of {len(lost)} steps of 1 series are lost" in str(refused.value)
    assert "--accept-lost-releases" in str(refused.value)
    told = await site.recover(ACCEPTED)
    assert (told.given_up, told.closed, told.next_offset) == ({"home-1": len(lost)}, [], lost[0])
    assert f"home-1: {len(lost)} steps" in "\n".join(consequences(told))
    assert (await site.recover()).given_up == told.given_up, "what was accepted is known"
    await site.goes_on("c", LATER)
    ledger, releases, rejects = await whole(other, *([record] for record in (*MIXED, *LATER)))
    assert site.outputs() == [ledger, without(releases, *lost), rejects]
    assert audited(site) == {"entry-without-release": len(lost)}


async def test_lost_last_outputs_are_published_though_earlier_releases_are_given_up(site: Site, other: Path) -> None:
    """`recover` goes back before both; only what comes after the last of its log is written."""
    await site.goes_on("worker", *([record] for record in MIXED))
    site.lose_rows(1)
    site.lose_outputs(NAMES.releases, 2, 8)
    site.lose_outputs(NAMES.rejects, 7)
    assert (await site.recover(ACCEPTED)).given_up == {"home-1": 1}
    await site.goes_on("c", LATER)
    ledger, releases, rejects = await whole(other, *([record] for record in (*MIXED, *LATER)))
    assert site.outputs() == [ledger, without(releases, 2), rejects]


@pytest.mark.parametrize("later", [[], [observation("home-1", 1, 1.0)]])
async def test_of_several_releases_of_one_input_the_first_is_given_up(
    site: Site, other: Path, later: list[dict[str, Any]]
) -> None:
    """The releases after it exist, exactly once."""
    begun = [within(series="read-1"), reading(5, 1.0, "read-1"), reading(15, 2.0, "read-1")]
    closing = [watermark(30, "read-1"), *later]
    await site.goes_on("worker", begun, closing)
    site.lose_rows(len(begun))
    first, *_ = site.committed(NAMES.releases)
    site.cluster.log(NAMES.releases, 0).lose_within(first.offset, first.offset + 1)
    await site.stops("b", "releases-short")
    with pytest.raises(PartitionStoppedError, match=f"the release for input {len(begun)}"):
        await site.recover()
    told = await site.recover(ACCEPTED)
    assert (told.given_up, told.next_offset, told.open_steps) == ({"read-1": 1}, len(begun), 2)
    await site.goes_on("c")
    ledger, releases, rejects = await whole(other, begun, closing)
    assert site.outputs() == [ledger, releases[1:], rejects]


@pytest.mark.parametrize("lost", [(1,), (5,), (3, 5), (1, 3, 5)])
@pytest.mark.parametrize("rows", [0, 1])
async def test_rejects_missing_before_later_ones_are_named(
    site: Site, other: Path, lost: Sequence[int], rows: int
) -> None:
    """`recover` gives their number and start, and passes over them only on demand; nothing is published twice."""
    await site.goes_on("worker", *([record] for record in MIXED))
    site.lose_rows(rows)
    site.lose_outputs(NAMES.rejects, *lost)
    await site.stops("b", "rejects-short")
    with pytest.raises(PartitionStoppedError) as refused:
        await site.recover()
    assert refused.value.reason == "rejects-short"
    assert f"a release or a reject of input {lost[0]}" in str(refused.value)
    assert f"the rejects of {len(lost)} records are lost" in str(refused.value)
    assert "--accept-lost-releases" in str(refused.value)
    told = await site.recover(ACCEPTED)
    assert (told.unanswered.lost_rejects, told.unanswered.first_lost_reject) == (len(lost), lost[0])
    assert f"inputs, from input {lost[0]}, are lost" in "\n".join(consequences(told))
    assert (await site.recover()).unanswered.lost_rejects == 0, "the rows cover them now"
    await site.goes_on("c", LATER)
    ledger, releases, rejects = await whole(other, *([record] for record in (*MIXED, *LATER)))
    assert site.outputs() == [ledger, releases, without(rejects, *lost)]
    assert audited(site) == {}


async def test_rejects_missing_beyond_where_recover_goes_back_to_are_passed_over(site: Site, other: Path) -> None:
    """The next owner decides that input again, and does not stop for an accepted loss."""
    await site.goes_on("worker", *([record] for record in MIXED))
    site.lose_rows(1)
    site.lose_outputs(NAMES.releases, 2)
    site.lose_outputs(NAMES.rejects, 1, 5)
    with pytest.raises(PartitionStoppedError, match="releases-short"):
        await site.recover()
    told = await site.recover(ACCEPTED)
    assert (told.next_offset, told.given_up, told.unanswered.lost_rejects) == (2, {"home-1": 1}, 2)
    await site.goes_on("c", LATER)
    ledger, releases, rejects = await whole(other, *([record] for record in (*MIXED, *LATER)))
    assert site.outputs() == [ledger, without(releases, 2), without(rejects, 1, 5)]


@pytest.mark.parametrize("accepted", [AcceptedLosses(), ACCEPTED], ids=["rows are there", "rows are gone"])
async def test_what_repeats_a_release_that_is_given_up_comes_out_again(site: Site, accepted: AcceptedLosses) -> None:
    """Later outputs depend on what the step measured: `recover` goes back to its input if that is just kept."""
    protection = {"level": "w-event", "window": 4}
    site.policy = default(
        "home-*", scheme={"name": "bd", "dissimilarity": "private"}, protection=protection, epsilon=30
    )
    await site.goes_on("worker", *([observation("home-1", nth + 1, 1.0 + 8 * (nth // 4 % 2))] for nth in range(12)))
    decisions = [release["decision"] for release in values(site, 1)]
    assert decisions[9:] == ["perturbed", "approximated", "approximated"]
    site.lose_rows(0)
    site.lose_outputs(NAMES.releases, 9)
    await site.recover(ACCEPTED)
    await site.goes_on("c")
    before = site.outputs()
    if accepted.lost_releases:
        site.cluster.remake(NAMES.changelog)
    site.lose_outputs(NAMES.releases, 11)
    site.cluster.log(NAMES.events, 0).delete_before(9)
    told = await site.recover(accepted)
    assert (told.next_offset, told.again, told.given_up) == (9, 3, {"home-1": 1})
    await site.goes_on("d")
    assert site.outputs() == before
