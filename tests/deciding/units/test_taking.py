"""Readings into units, and units into steps: what is refused, closed, or dropped by a version or the end."""

import json
from typing import Any

import pytest

from stream_app.deciding.collection import Collection
from stream_app.deciding.context import Context
from stream_app.deciding.landmarksmet import LandmarksMet
from stream_app.deciding.outcome import CountedContribution, WatermarkAdvance
from stream_app.deciding.rows import dump, load
from stream_app.deciding.units.blocks import Blocks
from stream_app.privacy.noise.key import KeyRing
from stream_app.privacy.units.readings import MOST_READINGS
from tests.run import KEYS, Run, limited
from tests.units import CATEGORY, landmarks, reading, units, watermark


def reasons(run: Run) -> list[str]:
    """Return why records were refused, in order."""
    return [json.loads(reject)["reason"] for reject in run.rejects]


def steps(run: Run) -> list[tuple[int, Any, Any]]:
    """Return the released steps with value and count."""
    return [(one["timestamp"], one.get("value"), one.get("count")) for one in map(json.loads, run.releases)]


def test_a_reading_closes_the_steps_behind_it() -> None:
    """It closes steps up to i - open_steps in order, skipping empty ones; a unit counts once, whatever it read."""
    run = Run().feed_all([units(), reading(1, 1), reading(39, 2), reading(2, 3), reading(3, 5), reading(81, 4)])
    assert steps(run) == [(0, pytest.approx(8 / 3), 3)]
    assert isinstance(run.feed(reading(83, 7)), CountedContribution), "the row of its unit alone changed"
    assert isinstance(run.feed(reading(199, 7)), WatermarkAdvance)
    assert steps(run)[1:] == [(80, 5.5, 2)]
    run.feed(reading(119, 1))
    assert reasons(run) == ["late"]
    entries = [json.loads(entry) for entry in run.ledger]
    assert [(entry["entry"], entry.get("timestamp")) for entry in entries[1:]] == [("release", 0), ("release", 80)]


def test_steps_begin_at_the_offset() -> None:
    """Readings before it belong to no step."""
    run = Run().feed_all([units(protection={"offset": 13}), reading(12, 1), reading(13, 1), reading(52, 2)])
    run.feed_all([watermark(12), watermark(52), watermark(53)])
    assert reasons(run) == ["late", "late", "duplicate"]
    assert steps(run) == [(13, 1.5, 2)]


def test_a_reading_that_is_not_later_in_its_unit_is_refused_unread() -> None:
    """The same time is a duplicate, an earlier one late, whatever its value; another unit accepts it."""
    run = Run().feed_all([units(protection={"unit": 10}), reading(5, 1), reading(5, "none"), reading(4, "none")])
    run.feed_all([reading(15, 2), reading(9, 3), reading(8, 3), reading(7, None)])
    assert reasons(run) == ["duplicate", "late", "late", "late"]
    run.feed(watermark(40))
    assert steps(run) == [(0, 2.5, 2)]


def test_an_invalid_reading_changes_nothing() -> None:
    """It opens and closes no step and uses no moment; a substitute would be read in its place."""
    run = Run().feed_all([units(), reading(1, 1), reading(300, "none"), reading(2, None), reading(2, 3), watermark(40)])
    assert reasons(run) == ["invalid-value", "invalid-value"]
    assert steps(run) == [(0, 2.0, 2)]
    run = Run().feed_all([units(value={"invalid": 4}), reading(1, "none"), watermark(40)])
    assert steps(run) == [(0, 4.0, 1)]


@pytest.mark.parametrize(("within", "held"), [("last", 1.0), ("max", 4.0), ("sum", 8.0), ("mean", 2.667)])
def test_a_unit_holds_what_the_policy_says(within: str, held: float) -> None:
    """The result is from 3, 4 and 1, each rounded and clamped first."""
    run = Run().feed_all([units(protection={"unit": 20, "within": within})])
    run.feed_all([reading(1, 3), reading(2, 4.0001), reading(3, 1), watermark(40)])
    assert steps(run) == [(0, held, 1)]


def test_a_unit_takes_so_many_readings() -> None:
    """One more reading is too large, before its value is inspected."""
    long = {"unit": 200_000, "step": 200_000}
    run = Run().feed_all([units(protection=long), *(reading(at, 1) for at in range(MOST_READINGS))])
    run.feed_all([reading(MOST_READINGS, "none"), watermark(200_000)])
    assert reasons(run) == ["too-large"]
    assert steps(run) == [(0, 1.0, 1)]


def test_landmarks_are_left_out_read_or_not() -> None:
    """A step with only landmarks has no release and no entry, but its time still passes."""
    policy = units(protection={"level": "landmark", "landmarks": [[0, 4]]})
    run = Run().feed_all([policy, reading(1, 9), reading(5, 1), landmarks(7, [40, 80]), reading(6, 9), reading(41, 9)])
    run.feed_all([watermark(40), watermark(80), reading(42, 1)])
    assert steps(run) == [(0, 1.0, 1)]
    assert reasons(run) == ["late"]
    run.feed_all([reading(81, 2), landmarks([0, 6]), watermark(120)])
    charged = [json.loads(entry).get("charged_nano") for entry in run.ledger if b'"landmarks","' in entry]
    assert charged[0] == 0, "nothing of it was decided"
    assert steps(run)[1:] == [(80, 2.0, 1)] or reasons(run)[-1] == "refused-landmark"


@pytest.mark.parametrize(
    ("members", "kept"),
    [
        ({}, True),
        ({"epsilon": 5e5, "scheme": {"name": "balanced"}}, True),
        ({"protection": {"within": "max"}}, False),
        ({"protection": {"open_steps": 3}}, False),
        ({"protection": {"offset": 2}}, False),
        ({"protection": {"unit": 4}}, False),
        ({"value": {"statistic": "sum"}}, False),
        ({"value": {"by": "hour"}}, False),
        ({"value": CATEGORY | {"statistic": "histogram"}}, False),
        ({"protection": {"level": "landmark"}}, True),
    ],
)
def test_a_version_that_reads_alike_takes_open_steps_over(members: dict[str, Any], kept: bool) -> None:  # noqa: FBT001
    """Any other version drops them and their rows unread."""
    run = Run(limited(lifetime_nano=10**17, accept_weaker_policies=True))
    value = members.get("value", {})
    if value.get("kind") == "category":
        members = members | {"value": {"lower": None, "upper": None, "resolution": None} | value}
    second = units(2, **members) | {"weaker": True}
    second["value"] = {name: part for name, part in second["value"].items() if part is not None}
    run.feed_all([units(), reading(11, 1), reading(13, 2), second])
    assert not run.rejects
    opened = run.rows["sugar-1"].open_units
    assert (opened is not None and len(opened.steps) == 1) == kept
    assert (run.collection.units != Blocks()) == kept
    run.feed(watermark(100))
    assert steps(run) == ([(0, 1.5, 2)] if kept else [])


def test_a_version_marked_weaker_drops_what_is_open() -> None:
    """This applies if it is weaker: open data share a guarantee with later data."""
    run = Run(limited(lifetime_nano=10**17, accept_weaker_policies=True))
    first = units(protection={"level": "landmark", "landmarks": [200]})
    run.feed_all([first, reading(11, 1), units(2, protection={"level": "landmark"}) | {"weaker": True}, watermark(80)])
    assert not run.releases
    assert not run.rejects


def test_a_closed_series_drops_what_is_open() -> None:
    """None of it is released, and none of its rows stay."""
    run = Run().feed_all([units(), reading(11, 1), {"type": "close", "series": "sugar-1"}])
    assert run.collection == Collection(bytes(32))
    assert run.rows["sugar-1"].open_units is None
    run.feed_all([reading(12, 1), watermark(20)])
    assert reasons(run) == ["closed", "closed"]


def test_readings_of_an_erased_epoch_are_refused_and_open_steps_passed_over() -> None:
    """Nothing of them is released, spent or entered; their rows are deleted."""
    whole = KeyRing(KEYS.fingerprint, 0, KEYS.secret, 100)
    later = whole.erased_before(1)
    assert later is not None
    run = Run(Context(whole)).feed_all([units(protection={"step": 20}), reading(95, 1), reading(105, 2)])
    run.context = Context(later)
    run.feed_all([reading(98, 1), watermark(140)])
    assert reasons(run) == ["key-erased"]
    assert [one[0] for one in steps(run)] == [100]
    assert run.collection.units == Blocks()


def test_steps_of_another_key_are_passed_over() -> None:
    """Its rows open only under that key; steps that open under the new one are decided."""
    run = Run().feed_all([units(), reading(1, 1), reading(41, 2)])
    run.context = Context(KeyRing("fedcba9876543210", 0, bytes(32)))
    run.feed_all([reading(43, 2), reading(81, 3), watermark(200)])
    assert reasons(run) == ["key-erased"]
    assert [one[0] for one in steps(run)] == [80]


def test_the_far_future_is_refused_where_it_would_open_a_step() -> None:
    """An open step accepts readings, whatever the limit is now."""
    run = Run(limited(max_future_ms=10))
    run.feed(units())
    run.feed(reading(11, 1), appended_ms=0)
    run.feed(reading(15, 1), appended_ms=10)
    run.feed(reading(19, 1), appended_ms=0)
    run.feed(watermark(80), appended_ms=0)
    assert reasons(run) == ["future", "future"]


def test_a_row_keeps_what_is_open() -> None:
    """The row reads back as written; a row without open data is as short as before."""
    run = Run().feed_all([units(), reading(11, 1), reading(39, 1), reading(79, 1)])
    row = run.rows["sugar-1"]
    stored = dict(dump(row, None, set()))
    assert load(stored.get, "sugar-1", {}) == row
    assert stored[b"ssugar-1"].endswith(b'[0,[0,1,"0123456789abcdef","3"],[1,1,"0123456789abcdef","2"]]]')


def test_landmark_units_that_have_a_reading_are_met() -> None:
    """Each unit counts as events are sent or accepted: the ledger shows no unit, since landmarks are left out."""
    sent = [units(protection={"level": "landmark", "landmarks": [[10, 14], 81], "offset": 1}), reading(12, 1)]
    met = LandmarksMet()
    list(met.sent(json.dumps(record).encode() for record in [*sent, reading(13, 2), reading(30, 3)]))
    assert met.document() == {"landmark_steps": 4, "landmark_steps_met": 2}
    run = Run().feed_all([*sent, reading(30, 3), watermark(41)])
    told = LandmarksMet()
    for entry in map(json.loads, run.ledger):
        told.written(entry)
    for at_ms in (12, 13, 30):
        told.taken(sent[0]["series"], at_ms)
    assert told.document() == met.document()
    assert told.sentence.startswith("2 of 4 landmark units have an event: the events are from 1970-01-01T00:00:00.012Z")
