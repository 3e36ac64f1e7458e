"""How far `recover` goes back if the changelog lost its end, and what it brings back, in memory."""

import json
from pathlib import Path

import pytest

from stream_app.cli.operating.recover import consequences
from stream_app.deciding.context import Limits
from stream_app.deciding.rebuild import RebuildError
from stream_app.kafka.rebuild.survey import AcceptedLosses
from stream_app.kafka.stops import PartitionStoppedError
from tests import units
from tests.cluster.group import Place
from tests.cluster.log import Draft
from tests.cluster.site import NAMES, Site, until
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
"""One release and one reject, which end the outputs."""
OUTPUTS = (NAMES.ledger, NAMES.releases, NAMES.rejects)


@pytest.mark.parametrize("lacks", OUTPUTS[1:])
async def test_readings_of_steps_that_were_open_there_come_along(site: Site, lacks: str) -> None:
    """The group's offset covers the steps that are open now; those open at that point began before it."""
    await site.goes_on("worker", OPEN_READINGS, CLOSED)
    whole = site.outputs()
    assert [len(log) for log in whole] == [3, 1, 1]
    site.lose_rows(len(OPEN_READINGS))
    site.lose_last(lacks)
    site.cluster.group("life").offsets[Place(NAMES.events, 0)] = 3  # the reading of read-2, whose step is open
    recovered = await site.recover()
    assert recovered.next_offset == len(OPEN_READINGS) + OUTPUTS.index(lacks) - 1
    assert recovered.open_steps == 3 - OUTPUTS.index(lacks)
    await site.goes_on("next")
    assert site.outputs() == whole


async def test_nothing_is_decided_again_whose_outputs_are_all_there(site: Site) -> None:
    """The rows are far behind the outputs, which nobody has to reproduce."""
    await site.goes_on("worker", OPEN_READINGS, CLOSED)
    site.lose_rows(len(OPEN_READINGS))
    recovered = await site.recover()
    assert recovered.next_offset == len(OPEN_READINGS) + len(CLOSED)
    assert recovered.open_steps == 1


async def test_input_without_an_output_is_decided_again_unless_a_later_reject_is_there(site: Site) -> None:
    """It may have been rejected; an existing reject shows that all earlier ones exist."""
    more = [reading(16, 2.0, "read-2"), observation("home-1", 1, 1.0)]
    await site.goes_on("worker", OPEN_READINGS, CLOSED, more)
    site.lose_rows(len(OPEN_READINGS))
    assert (await site.recover()).next_offset == len(OPEN_READINGS) + len(CLOSED)


async def test_a_watermark_of_which_some_releases_lack_closes_all_its_steps_again(tmp_path: Path) -> None:
    """Part of its batch was committed: the first of three releases, and the rows. Two releases share an input."""
    begun = [within(series="read-1"), reading(5, 1.0, "read-1"), reading(15, 2.0, "read-1")]
    closing = [watermark(30, "read-1"), observation("home-1", 1, 1.0)]
    whole = Site(tmp_path)
    await whole.goes_on("worker", begun, closing)
    site = torn_site(tmp_path / "torn")
    await site.goes_on("worker", begun)
    partitions, feed = await owned(site, "a")
    torn(site).takes = {NAMES.releases: 1}
    site.append(*closing)
    await feed.seek(0, len(begun))
    await until(lambda: bool(partitions.stopped))
    await partitions.close()
    assert [len(log) for log in site.outputs()] == [5, 1, 0]
    assert site.decided() == len([*begun, *closing])
    assert (await site.recover()).next_offset == len(begun)
    await site.goes_on("next")
    assert site.outputs() == whole.outputs()


async def test_the_last_of_two_rejects_in_a_row_is_published_again(site: Site) -> None:
    """The partition row names it, and the release after it does not hide its loss."""
    events = [observation("nobody-1", 1, 1.0), observation("nobody-1", 2, 1.0), observation("home-1", 1, 1.0)]
    await site.goes_on("worker", *([event] for event in events))
    whole = site.outputs()
    site.lose_last(NAMES.rejects)
    await site.stops("b", "rejects-short")
    assert (await site.recover()).next_offset == 1
    await site.goes_on("next")
    assert site.outputs() == whole


@pytest.mark.parametrize("count", [1, 2])
async def test_skipped_records_are_not_passed_over(site: Site, count: int) -> None:
    """The group's offset is after the outputs, and the rows are gone; an operator may accept that for good."""
    await site.goes_on("worker", [observation("home-1", 1, 1.0)])
    whole = site.outputs()
    site.append(*(observation("home-1", 2 + nth, 1.0) for nth in range(count)))
    site.cluster.group("life").offsets[Place(NAMES.events, 0)] = 1 + count
    site.cluster.remake(NAMES.changelog)
    with pytest.raises(PartitionStoppedError, match="input-skipped"):
        await site.recover()
    assert (await site.recover(AcceptedLosses(skipped_input=True))).next_offset == 1 + count
    await site.goes_on("worker", [observation("nobody-1", 1, 1.0)])
    assert site.outputs()[:2] == whole[:2]
    site.cluster.remake(NAMES.changelog)
    assert (await site.recover()).unanswered.lost_rejects == 0


async def test_a_reject_without_a_series_gives_up_nothing(site: Site) -> None:
    """A record that cannot be read names no series, and neither does input that was given up."""
    await site.goes_on("worker", [observation("nobody-1", 1, 1.0)], [{"series": 5}])
    site.cluster.remake(NAMES.changelog)
    site.lose_outputs(NAMES.rejects, 0)
    with pytest.raises(PartitionStoppedError, match=r"rejects-short.*of input 0;"):
        await site.recover()


@pytest.mark.parametrize(("series", "sequence"), [("home-1", 3), ("home-2", 1)])
async def test_aborted_entries_still_bind_after_recover(site: Site, series: str, sequence: int) -> None:
    """The row that `recover` writes makes the next owner read the ledger from the first of them on."""
    await site.goes_on("worker", [observation("home-1", 1, 1.0)])
    entry = {"entry": "release", "series": series, "sequence": sequence, "previous": "", "hash": "aa"}
    draft = Draft(series.encode(), json.dumps(entry).encode(), 0, [("input", b"1")])
    start = site.cluster.log(NAMES.ledger, 0).end
    await site.write({NAMES.ledger: [draft]}, end="abort")
    assert (await site.recover()).ledger_offset == start


async def test_a_lost_reject_of_the_very_first_input_is_missed(site: Site) -> None:
    """The partition row names its offset, which is 0."""
    await site.goes_on("worker", [observation("nobody-1", 1, 1.0)])
    site.lose_last(NAMES.rejects)
    await site.stops("b", "rejects-short")


async def test_a_reading_without_an_output_may_have_been_rejected(site: Site) -> None:
    """Nobody can know without deciding it again, so `recover` says so."""
    late = [watermark(20, "read-1"), reading(5, 1.0, "read-1"), reading(25, 1.0, "read-1"), *CLOSED[1:]]
    await site.goes_on("worker", OPEN_READINGS, late)
    site.lose_rows(len(OPEN_READINGS))
    assert [int(dict(one.headers)["input"]) for one in site.committed(NAMES.rejects)] == [5, 7]
    site.lose_outputs(NAMES.rejects, 5)
    told = await site.recover()
    assert (told.unanswered.lost_rejects, told.unanswered.unanswered, told.unanswered.first_unanswered) == (0, 2, 5)
    assert "2 inputs, from 5, have no output and may need none" in "\n".join(consequences(told))


async def test_holes_are_noticed_and_accepted_without_any_row(site: Site) -> None:
    """Everything in the ledger counts as decided; missing parts are given up and named."""
    events = [observation("nobody-1" if nth % 2 else "home-1", nth + 1, 1.0) for nth in range(7)]
    await site.goes_on("worker", *([event] for event in events))
    site.cluster.remake(NAMES.changelog)
    site.lose_outputs(NAMES.rejects, 1)
    with pytest.raises(PartitionStoppedError, match=r"rejects-short.*a release or a reject of input 1;.*of 1 records"):
        await site.recover()
    site.lose_outputs(NAMES.releases, 2)
    with pytest.raises(RebuildError, match="accept-lost-releases"):
        await site.recover()
    told = await site.recover(AcceptedLosses(lost_releases=True))
    assert (told.next_offset, told.given_up, told.unanswered.lost_rejects) == (7, {"home-1": 1}, 1)
    before = site.outputs()
    await site.goes_on("c", [observation("home-1", 8, 1.0)])
    assert [len(log) for log in site.outputs()] == [len(before[0]) + 1, len(before[1]) + 1, len(before[2])]


async def test_readings_of_units_after_the_outputs_stop_nobody_who_went_back(site: Site) -> None:
    """They have no output, and the group's offset passes them immediately: that does not show a lost row."""
    begun = [units.units(series="unit-1"), observation("home-1", 1, 1.0)]
    readings = [units.reading(nth, 1.0, "unit-1") for nth in (1, 2)]
    await site.goes_on("worker", begun, [observation("home-1", 2, 1.0)], readings)
    whole = site.outputs()
    site.lose_rows(len(begun))
    site.lose_last(NAMES.releases)
    site.cluster.group("life").offsets[Place(NAMES.events, 0)] = site.sent
    assert (await site.recover()).next_offset == len(begun)
    await site.goes_on("next")
    assert site.outputs() == whole


async def test_what_somebody_skipped_after_the_outputs_still_stops(site: Site) -> None:
    """The group's offset is after an observation without an output."""
    await site.goes_on("worker", [observation("home-1", 1, 1.0)], [observation("home-1", 2, 1.0)])
    site.lose_rows(1)
    site.lose_last(NAMES.releases)
    site.append(observation("home-1", 3, 1.0))
    site.cluster.group("life").offsets[Place(NAMES.events, 0)] = site.sent
    assert (await site.recover()).next_offset == 1
    await site.stops("b", "row-behind")


async def test_a_partition_whose_first_input_expired_begins_with_the_rest(site: Site) -> None:
    """Nothing was decided, so nothing decided is lost."""
    site.append(*(observation("home-1", nth, 1.0) for nth in (1, 2, 3)))
    site.cluster.log(NAMES.events, 0).delete_before(2)
    assert (await site.recover()).next_offset == 2


async def test_input_that_needed_no_output_is_missed(site: Site) -> None:
    """Only the group's offset shows that input was processed; what follows it is lost."""
    site.append(*(observation("home-1", nth, 1.0) for nth in (1, 2, 3)))
    site.cluster.group("life").offsets[Place(NAMES.events, 0)] = 1
    site.cluster.log(NAMES.events, 0).delete_before(2)
    with pytest.raises(PartitionStoppedError, match="input-lost"):
        await site.recover(AcceptedLosses(skipped_input=True))


async def test_an_aborted_entry_of_input_to_come_is_left_to_the_worker(tmp_path: Path) -> None:
    """The input before it is skipped on purpose; the entry joins the ledger only when it is decided again."""
    events = [observation("home-1", 1, 1.0), observation("home-2", 1, 1.0), observation("home-1", 2, 1.0)]
    (tmp_path / "whole").mkdir()
    whole = Site(tmp_path / "whole")
    await whole.goes_on("worker", *([event] for event in events))
    site = Site(tmp_path)
    await site.goes_on("worker", events[:1])
    site.append(*events[1:])
    entry = whole.committed(NAMES.ledger)[-1]
    await site.write({NAMES.ledger: [entry], NAMES.releases: whole.committed(NAMES.releases)[-1:]}, end="abort")
    site.cluster.group("life").offsets[Place(NAMES.events, 0)] = 2
    site.cluster.remake(NAMES.changelog)
    assert (await site.recover(AcceptedLosses(skipped_input=True))).next_offset == 2
    assert entry.value not in [one.value for one in site.committed(NAMES.ledger)]
    await site.goes_on("next")
    assert [one.value for one in site.committed(NAMES.ledger)].count(entry.value) == 1
    assert len(site.committed(NAMES.releases)) == 2


async def test_a_record_that_was_rejected_right_after_a_loss_is_not_counted(site: Site) -> None:
    """Its place is exactly where input starts to count again."""
    await site.goes_on("worker", OPEN_READINGS)
    site.cluster.remake(NAMES.changelog)
    site.cluster.log(NAMES.events, 0).delete_before(len(OPEN_READINGS))
    site.cluster.group("life").offsets[Place(NAMES.events, 0)] = 0
    told = await site.recover(AcceptedLosses(lost_input=True))
    assert told.lost_counts == 2
    far, limits = watermark(10**14, "read-1"), Limits(max_future_ms=86_400_000)
    await site.goes_on("worker", [far, watermark(20, "read-1"), reading(45, 1.0, "read-1")], limits=limits)
    assert json.loads(site.committed(NAMES.rejects)[-1].value)["reason"] == "future"
    site.cluster.remake(NAMES.changelog)
    site.cluster.group("life").offsets[Place(NAMES.events, 0)] = told.next_offset + 1
    assert (await site.recover()).lost_counts == 2
    await site.goes_on("worker", [watermark(80, "read-1")])
    assert [json.loads(one.value)["timestamp"] for one in site.committed(NAMES.releases)] == [40]


@pytest.mark.parametrize("accepted", [False, True])
async def test_units_whose_first_readings_expired_are_given_up(site: Site, *, accepted: bool) -> None:
    """They are given up unless somebody accepts a release from the remaining readings."""
    begun = [units.units(series="unit-1"), *(units.reading(nth, 1.0, "unit-1") for nth in (1, 3))]
    await site.goes_on("worker", begun, [units.reading(5, 1.0, "unit-1")], [observation("home-1", 1, 1.0)])
    site.cluster.remake(NAMES.changelog)
    site.cluster.log(NAMES.events, 0).delete_before(2)
    assert (await site.recover(AcceptedLosses(lost_input=accepted))).lost_counts == (0 if accepted else 1)
