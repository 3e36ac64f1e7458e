"""How far `recover` goes back where the changelog lost its end, and what comes along, on the cluster in memory."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from stream_app.cli.operating.recover import consequences
from stream_app.kafka.evidence.row import PARTITION_KEY
from stream_app.kafka.rebuild.survey import Accepted
from stream_app.kafka.stops import PartitionStoppedError
from tests.audit.ways import audit
from tests.cluster.group import Place
from tests.cluster.log import Draft
from tests.kafka.owner.test_partition import NAMES, Site, until
from tests.kafka.owner.test_torn import owned, torn, torn_site
from tests.readings import reading, watermark, within
from tests.run import observation

OPEN_READINGS = [
    within(series="read-1"),
    within(series="read-2"),
    reading(5, 1.0, "read-1"),
    reading(15, 2.0, "read-2"),
]
CLOSED = [watermark(10, "read-1"), {"series": "nobody-1", "timestamp": 1, "value": 1.0}]
"""One release, and one reject, with which the outputs end."""
OUTPUTS = (NAMES.ledger, NAMES.releases, NAMES.rejects)


async def decide(site: Site, *batches: Sequence[dict[str, Any]]) -> None:
    """Let a worker with an empty disk decide so many batches, one after the other, and end."""
    await site.goes_on("worker", *batches)


async def go_on(site: Site) -> None:
    """Let a worker with an empty disk decide what is left."""
    await site.goes_on("next")


def lose_rows(site: Site, next_offset: int) -> None:
    """Let the changelog end with the partition row that goes on at ``next_offset``."""
    rows = [one for one in site.committed(NAMES.changelog) if one.key == PARTITION_KEY]
    site.cluster.log(NAMES.changelog, 0).lose_tail(
        next(one.offset for one in rows if json.loads(one.value)["next_offset"] == next_offset) + 2
    )


def lose_last(site: Site, topic: str) -> None:
    """Let a log end before its last record."""
    site.cluster.log(topic, 0).lose_tail(site.committed(topic)[-1].offset)


outputs, recover = Site.outputs, Site.recover


@pytest.mark.parametrize("lacks", OUTPUTS[1:])
async def test_readings_of_steps_that_were_open_there_come_along(site: Site, lacks: str) -> None:
    """The group's offset tells of the steps that are open now; those that were open there began before it."""
    await decide(site, OPEN_READINGS, CLOSED)
    whole = site.outputs()
    assert [len(log) for log in whole] == [3, 1, 1]
    lose_rows(site, len(OPEN_READINGS))
    lose_last(site, lacks)
    site.cluster.group("life").offsets[Place(NAMES.events, 0)] = 3  # the reading of read-2, whose step is open
    recovered = await site.recover()
    assert recovered.next_offset == len(OPEN_READINGS) + OUTPUTS.index(lacks) - 1
    assert recovered.open_steps == 3 - OUTPUTS.index(lacks)
    await go_on(site)
    assert site.outputs() == whole


async def test_nothing_is_decided_again_whose_outputs_are_all_there(site: Site) -> None:
    """The rows lie far behind the outputs; nobody has to come to these once more."""
    await decide(site, OPEN_READINGS, CLOSED)
    lose_rows(site, len(OPEN_READINGS))
    recovered = await site.recover()
    assert recovered.next_offset == len(OPEN_READINGS) + len(CLOSED)
    assert recovered.open_steps == 1


async def test_input_without_an_output_is_decided_again_unless_a_later_reject_is_there(site: Site) -> None:
    """It may have been rejected; a reject that is there shows that all before it are."""
    more = [reading(16, 2.0, "read-2"), observation("home-1", 1, 1.0)]
    await decide(site, OPEN_READINGS, CLOSED, more)
    lose_rows(site, len(OPEN_READINGS))
    assert (await site.recover()).next_offset == len(OPEN_READINGS) + len(CLOSED)


async def test_a_watermark_of_which_some_releases_lack_closes_all_its_steps_again(tmp_path: Path) -> None:
    """A part of its batch was committed, with the first of three releases and the rows: two releases have one input."""
    begun = [within(series="read-1"), reading(5, 1.0, "read-1"), reading(15, 2.0, "read-1")]
    closing = [watermark(30, "read-1"), observation("home-1", 1, 1.0)]
    whole = Site(tmp_path)
    await decide(whole, begun, closing)
    site = torn_site(tmp_path / "torn")
    await decide(site, begun)
    partitions, feed = await owned(site, "a")
    torn(site).takes = {NAMES.releases: 1}
    site.append(*closing)
    await feed.seek(0, len(begun))
    await until(lambda: bool(partitions.stopped))
    await partitions.close()
    assert [len(log) for log in site.outputs()] == [5, 1, 0]
    assert site.decided() == len([*begun, *closing])
    assert (await site.recover()).next_offset == len(begun)
    await go_on(site)
    assert site.outputs() == whole.outputs()


async def test_the_last_of_two_rejects_in_a_row_is_published_again(site: Site) -> None:
    """The partition row names it, and the release after it does not hide that it is gone."""
    events = [observation("nobody-1", 1, 1.0), observation("nobody-1", 2, 1.0), observation("home-1", 1, 1.0)]
    await decide(site, *([event] for event in events))
    whole = site.outputs()
    lose_last(site, NAMES.rejects)
    await site.stops("b", "rejects-short")
    assert (await site.recover()).next_offset == 1
    await go_on(site)
    assert site.outputs() == whole


async def test_one_skipped_record_is_not_passed_over(site: Site) -> None:
    """The group's offset is one beyond the outputs, and the rows are gone."""
    await decide(site, [observation("home-1", 1, 1.0)])
    site.append(observation("home-1", 2, 1.0))
    site.cluster.group("life").offsets[Place(NAMES.events, 0)] = 2
    site.cluster.remake(NAMES.changelog)
    with pytest.raises(PartitionStoppedError, match="input-skipped"):
        await site.recover()


@pytest.mark.parametrize(("series", "sequence"), [("home-1", 3), ("home-2", 1)])
async def test_aborted_entries_still_bind_after_recover(site: Site, series: str, sequence: int) -> None:
    """The row that it writes lets the next owner read the ledger from the first of them on."""
    await decide(site, [observation("home-1", 1, 1.0)])
    entry = {"entry": "release", "series": series, "sequence": sequence, "previous": "", "hash": "aa"}
    draft = Draft(series.encode(), json.dumps(entry).encode(), 0, [("input", b"1")])
    start = site.cluster.log(NAMES.ledger, 0).end
    await site.write({NAMES.ledger: [draft]}, end="abort")
    assert (await site.recover()).ledger_offset == start


async def test_a_lost_reject_of_the_very_first_input_is_missed(site: Site) -> None:
    """The partition row names its offset, which is zero."""
    await decide(site, [observation("nobody-1", 1, 1.0)])
    lose_last(site, NAMES.rejects)
    await site.stops("b", "rejects-short")


MIXED = [observation("nobody-1" if nth % 2 else "home-1", nth + 1, 1.0) for nth in range(9)]
"""Inputs with even offsets are released, those with odd offsets are rejected; each is a batch of its own."""
LATER = [observation("home-1", 10, 1.0), observation("nobody-1", 11, 1.0)]
ACCEPTED = Accepted(lost_releases=True)


def lose_outputs(site: Site, topic: str, *inputs: int) -> None:
    """Lose the records of a log that inputs came to."""
    for record in site.committed(topic):
        if record.key != b"" and int(dict(record.headers)["input"]) in inputs:
            site.cluster.log(topic, 0).lose_within(record.offset, record.offset + 1)


def without(log: Sequence[Any], *inputs: int) -> list[Any]:
    """Return the records of a log that came of other inputs."""
    return [one for one in log if int(dict(one[2])["input"]) not in inputs]


async def whole(folder: Path, *batches: Sequence[dict[str, Any]]) -> list[list[Any]]:
    """Return what input comes to where nothing is lost."""
    site = Site(folder)
    await decide(site, *batches)
    return site.outputs()


def audited(site: Site) -> dict[str, int]:
    """Return what the audit finds, by kind."""
    report = audit(*([value for _, value, _ in log] for log in site.outputs()[:2]))
    assert report.broken("promise") == 0
    return dict(report.counts)


@pytest.fixture
def other(tmp_path: Path) -> Path:
    """Make a folder for another site."""
    (tmp_path / "other").mkdir()
    return tmp_path / "other"


@pytest.mark.parametrize("lost", [(2,), (6,), (2, 4), (0,), (0, 2, 4, 6)])
@pytest.mark.parametrize("rows", [0, 1, 2])
async def test_releases_missing_before_later_ones_are_given_up_on_demand(
    site: Site, other: Path, lost: Sequence[int], rows: int
) -> None:
    """They cannot be published in their place: `recover` names the first, and then every later step is decided."""
    await decide(site, *([record] for record in MIXED))
    lose_rows(site, rows)
    beyond = [offset for offset in lost if offset >= rows]
    lose_outputs(site, NAMES.releases, *beyond)
    if not beyond:
        return
    await site.stops_deciding("b", "releases-short")
    with pytest.raises(PartitionStoppedError) as refused:
        await site.recover()
    assert refused.value.reason == "releases-short"
    assert f"the release that input {beyond[0]} came to" in str(refused.value)
    assert f"the releases of {len(beyond)} steps of 1 series are lost" in str(refused.value)
    assert "--accept-lost-releases" in str(refused.value)
    told = await site.recover(ACCEPTED)
    assert (told.given_up, told.closed, told.next_offset) == ({"home-1": len(beyond)}, [], beyond[0])
    assert f"home-1: {len(beyond)} steps" in "\n".join(consequences(told))
    assert (await site.recover()).given_up == told.given_up, "what was accepted is known"
    await site.goes_on("c", LATER)
    ledger, releases, rejects = await whole(other, *([record] for record in (*MIXED, *LATER)))
    assert site.outputs() == [ledger, without(releases, *beyond), rejects]
    assert audited(site) == {"entry-without-release": len(beyond)}


async def test_lost_last_outputs_are_published_though_earlier_releases_are_given_up(site: Site, other: Path) -> None:
    """`recover` goes back before both; what lies after the last of its log is written, and nothing else."""
    await decide(site, *([record] for record in MIXED))
    lose_rows(site, 1)
    lose_outputs(site, NAMES.releases, 2, 8)
    lose_outputs(site, NAMES.rejects, 7)
    assert (await site.recover(ACCEPTED)).given_up == {"home-1": 1}
    await site.goes_on("c", LATER)
    ledger, releases, rejects = await whole(other, *([record] for record in (*MIXED, *LATER)))
    assert site.outputs() == [ledger, without(releases, 2), rejects]


async def test_of_several_releases_of_one_input_the_first_is_given_up(site: Site, other: Path) -> None:
    """Those after it are there, and lie there once."""
    begun = [within(series="read-1"), reading(5, 1.0, "read-1"), reading(15, 2.0, "read-1")]
    closing = [watermark(30, "read-1"), observation("home-1", 1, 1.0)]
    await decide(site, begun, closing)
    lose_rows(site, len(begun))
    first, *_ = site.committed(NAMES.releases)
    site.cluster.log(NAMES.releases, 0).lose_within(first.offset, first.offset + 1)
    await site.stops_deciding("b", "releases-short")
    with pytest.raises(PartitionStoppedError, match=f"the release that input {len(begun)} came to"):
        await site.recover()
    told = await site.recover(ACCEPTED)
    assert (told.given_up, told.next_offset, told.open_steps) == ({"read-1": 1}, len(begun), 2)
    await go_on(site)
    ledger, releases, rejects = await whole(other, begun, closing)
    assert site.outputs() == [ledger, releases[1:], rejects]


@pytest.mark.parametrize("lost", [(1,), (5,), (3, 5), (1, 3, 5)])
@pytest.mark.parametrize("rows", [0, 1])
async def test_rejects_missing_before_later_ones_are_named(
    site: Site, other: Path, lost: Sequence[int], rows: int
) -> None:
    """`recover` says how many and from where on, and passes over them only on demand; nothing is published twice."""
    await decide(site, *([record] for record in MIXED))
    lose_rows(site, rows)
    lose_outputs(site, NAMES.rejects, *lost)
    await site.stops_deciding("b", "rejects-short")
    with pytest.raises(PartitionStoppedError) as refused:
        await site.recover()
    assert refused.value.reason == "rejects-short"
    assert f"a release or a reject of input {lost[0]}" in str(refused.value)
    assert f"the rejects of {len(lost)} records are lost" in str(refused.value)
    assert "--accept-lost-releases" in str(refused.value)
    told = await site.recover(ACCEPTED)
    assert (told.unanswered.lost_rejects, told.unanswered.first_lost_reject) == (len(lost), lost[0])
    assert f"the first of input {lost[0]}" in "\n".join(consequences(told))
    assert (await site.recover()).unanswered.lost_rejects == 0, "the rows cover them now"
    await site.goes_on("c", LATER)
    ledger, releases, rejects = await whole(other, *([record] for record in (*MIXED, *LATER)))
    assert site.outputs() == [ledger, releases, without(rejects, *lost)]
    assert audited(site) == {}


async def test_rejects_missing_beyond_where_recover_goes_back_to_are_passed_over(site: Site, other: Path) -> None:
    """The next owner decides that input again, and stops for none that was accepted."""
    await decide(site, *([record] for record in MIXED))
    lose_rows(site, 1)
    lose_outputs(site, NAMES.releases, 2)
    lose_outputs(site, NAMES.rejects, 1, 5)
    with pytest.raises(PartitionStoppedError, match="releases-short"):
        await site.recover()
    told = await site.recover(ACCEPTED)
    assert (told.next_offset, told.given_up, told.unanswered.lost_rejects) == (2, {"home-1": 1}, 2)
    await site.goes_on("c", LATER)
    ledger, releases, rejects = await whole(other, *([record] for record in (*MIXED, *LATER)))
    assert site.outputs() == [ledger, without(releases, 2), without(rejects, 1, 5)]


async def test_a_reading_without_an_output_may_have_been_rejected(site: Site) -> None:
    """Nobody can know without deciding it again, so `recover` says so."""
    late = [watermark(20, "read-1"), reading(5, 1.0, "read-1"), reading(25, 1.0, "read-1"), *CLOSED[1:]]
    await decide(site, OPEN_READINGS, late)
    lose_rows(site, len(OPEN_READINGS))
    assert [int(dict(one.headers)["input"]) for one in site.committed(NAMES.rejects)] == [5, 7]
    lose_outputs(site, NAMES.rejects, 5)
    told = await site.recover()
    assert (told.unanswered.lost_rejects, told.unanswered.unanswered, told.unanswered.first_unanswered) == (0, 2, 5)
    assert "2 inputs, from 5 on, have no output and may need none" in "\n".join(consequences(told))
