"""What a base passes to its views: readings, watermarks, landmarks and its end, each with its own outcomes."""

from dataclasses import replace

import pytest

from stream_app.deciding.context import Context, Limits
from stream_app.deciding.outcome import RejectedRecord, SeriesAndViews
from stream_app.deciding.rows import Views
from tests.deciding.views.logs import (
    BASE,
    DAY,
    UNIT,
    WEEK,
    base,
    context,
    entries,
    refused,
    run_of,
    view,
)
from tests.run import KEYS, Run, default, observation, policy
from tests.units import landmarks, reading, watermark


def test_one_reading_goes_to_base_and_views() -> None:
    """The first reading begins them all, in configuration order; a view's first entry marks it as a view."""
    run = run_of(reading(0, 5, BASE), reading(8, 5, BASE), reading(24, 6, BASE))
    assert [entry["entry"] for entry in entries(run, BASE)] == ["policy", "release", "release", "release"]
    assert [entry["entry"] for entry in entries(run, DAY)] == ["policy", "release", "release"]
    assert [entry["entry"] for entry in entries(run, WEEK)] == ["policy", "release"]
    firsts = {series: entries(run, series)[0] for series in (BASE, DAY, WEEK)}
    assert [one.get("view") for one in firsts.values()] == [None, True, True]
    assert list(firsts[DAY])[5:9] == ["charged_nano", "lifetime_nano", "view", "parameters"]
    assert [one.get("view") for one in entries(run, DAY)[1:]] == [None, None]
    assert run.rows[BASE].views == Views(("day", "week"))
    assert (run.rows[BASE].view, run.rows[DAY].view) == (False, True)


def test_claims_of_base_and_views_add_up_under_the_cap() -> None:
    """A view that its cap refuses is rejected once, under its own id, and counted from then on."""
    limits = Limits(member_separator="/", member_nano=25 * 10**8)
    defaults = base(), view("day", 8, epsilon=1.0), view("week", 24, epsilon=1.0)
    run = Run(context(*defaults, limits=limits))
    first = run.feed(reading(0, 5, BASE))
    assert isinstance(first, SeriesAndViews)
    assert first.passed == 0
    assert refused(run) == [(WEEK, "member-cap", 0)]
    assert (run.members["p-17/"].claimed_nano, run.members["p-17/"].series) == (2 * 10**9, 2)
    assert run.rows[BASE].views == Views(("day",), ("week",))
    again = run.feed(reading(2, 5, BASE))
    assert isinstance(again, SeriesAndViews)
    assert again.passed == 1
    assert refused(run) == [(WEEK, "member-cap", 0)]
    assert WEEK not in run.rows


@pytest.mark.parametrize(
    "record",
    [
        reading(0, 5, DAY),
        watermark(0, DAY),
        landmarks(9, series=DAY),
        {"type": "close", "series": DAY},
        {"type": "contribution", "series": DAY, "timestamp": 0, "member": "m", "value": 1},
    ],
)
@pytest.mark.parametrize("begun", [False, True])
def test_what_is_sent_to_a_view_is_malformed(record: dict[str, object], *, begun: bool) -> None:
    """This holds before and after it has begun, except for policies."""
    run = run_of(*([reading(0, 5, BASE)] if begun else []))
    before = list(run.ledger)
    run.feed(record)
    assert [(series, reason) for series, reason, _ in refused(run)] == [(DAY, "malformed")]
    assert run.ledger == before


def test_there_are_no_views_of_views() -> None:
    """A glob that matches a view's id as well makes no view of it."""
    each = default("*", protection={"level": "landmark"})
    everything = replace(each, view="day"), each
    run = run_of(observation("p/a", 1, 5), of=context(*everything))
    assert sorted(run.rows) == ["p/a", "p/a/day"]
    assert context(*everything).base_of("p/a/day/day") is None


def test_ids_of_views_are_no_longer_than_those_of_series() -> None:
    """The view is not created; its base continues."""
    each = default("*", protection={"level": "landmark"})
    of = context(replace(each, view="day"), each)
    fits, long = "p/" + "a" * 194, "p/" + "a" * 195
    run = run_of(observation(fits, 1, 5), observation(long, 1, 5), of=of)
    assert sorted(run.rows) == [fits, f"{fits}/day", long]
    assert not run.rejects


def test_each_target_rejects_for_itself() -> None:
    """A reading that is late for the base may be in time for a view, and the other way round; rejects name them."""
    run = run_of(reading(8, 5, BASE), reading(13, 5, BASE), reading(11, 4, BASE), reading(3, 4, BASE))
    assert refused(run) == [(BASE, "late", 2), (BASE, "late", 3), (DAY, "late", 3)]


def test_a_watermark_is_for_those_that_wait_for_one() -> None:
    """A base with one reading per step accepts none, and is not told so if a view accepted it."""
    run = run_of(reading(0, 5, BASE), watermark(8, BASE))
    assert refused(run) == [(WEEK, "duplicate", 1)], "its step has not ended"
    assert [entry["entry"] for entry in entries(run, DAY)] == ["policy", "release"]
    run.feed(watermark(8, BASE))
    assert refused(run)[1:] == [(BASE, "wrong-type", 2), (DAY, "duplicate", 2), (WEEK, "duplicate", 2)]


def test_a_base_that_refuses_its_first_record_makes_no_view() -> None:
    """A view needs its base."""
    run = run_of(reading(0, "x", BASE))
    assert refused(run) == [(BASE, "invalid-value", 0)]
    assert not run.ledger


def test_a_person_without_a_cap_has_no_views() -> None:
    """The configured cap applies to new persons: a person who claimed before it was set has none."""
    limits = Limits(member_separator="/", lifetime_nano=2 * 10**14)
    run = run_of(reading(0, 5, BASE), of=context(base(), limits=limits))
    run.context = context()
    run.feed(reading(6, 5, BASE))
    assert refused(run) == [(DAY, "member-cap", 1), (WEEK, "member-cap", 1)]
    assert (run.members["p-17/"].series, run.members["p-17/"].claimed_nano) == (1, 2 * 10**14)


def test_the_end_of_a_base_ends_its_views() -> None:
    """Open data are dropped unread, and a later record is rejected once."""
    run = run_of(reading(0, 5, BASE), {"type": "close", "series": BASE}, reading(30, 5, BASE))
    assert [entries(run, series)[-1]["entry"] for series in (BASE, DAY, WEEK)] == ["close"] * 3
    assert all(run.rows[series].state.closed for series in (BASE, DAY, WEEK))
    assert refused(run) == [(BASE, "closed", 2)]
    assert run.rows[DAY].open_units is None


def test_an_id_stays_what_it_exists_as() -> None:
    """An ordinary series with a view's id keeps it, and the view is refused."""
    run = run_of(policy(DAY), observation(DAY, 1, 5), of=context(base()))
    run.context = context()
    run.feed(reading(0, 5, BASE))
    assert refused(run) == [(DAY, "invalid-policy", 2)]
    assert run.rows[BASE].views == Views(("week",), ("day",))
    run.feed(observation(DAY, 30, 5))
    assert entries(run, DAY)[-1]["entry"] == "release"


OTHERS = [
    {"level": "event", "step": UNIT},
    {"level": "landmark", "step": 2 * UNIT},
    {"level": "landmark", "step": UNIT, "window": 2},
]


@pytest.mark.parametrize("protection", OTHERS)
def test_versions_that_protect_otherwise_are_refused(protection: dict[str, object]) -> None:
    """Level, unit and window are the same for all versions of a base and of a view."""
    limits = Limits(member_separator="/", member_nano=10**15, lifetime_nano=2 * 10**14, accept_weaker_policies=True)
    run = run_of(reading(0, 5, BASE), of=Context(KEYS, context().defaults, limits))
    rows = dict(run.rows)
    run.feed(policy(BASE, 2, protection=protection, weaker=True))
    run.feed(policy(DAY, 2, protection=protection, weaker=True))
    assert [(series, reason) for series, reason, _ in refused(run)] == [
        (BASE, "invalid-policy"),
        (DAY, "invalid-policy"),
    ]
    assert run.rows == rows


@pytest.mark.parametrize("protection", OTHERS)
def test_a_view_that_protects_otherwise_than_its_base_never_begins(protection: dict[str, object]) -> None:
    """Whatever made its base."""
    run = run_of(policy(BASE, protection=protection), of=Context(KEYS, context().defaults[1:], context().limits))
    assert refused(run) == [(BASE, "invalid-policy", 0)]
    other = default("p-*/sugar", protection=protection)
    run = run_of(reading(0, 5, BASE), of=context(other, *context().defaults[1:]))
    assert refused(run) == [(DAY, "invalid-policy", 0), (WEEK, "invalid-policy", 0)]


def test_a_view_may_have_later_versions() -> None:
    """It has its base's future landmarks, and none of its own."""
    run = run_of(reading(0, 5, BASE), landmarks(100, series=BASE))
    later = policy(DAY, 2, epsilon=1e4, protection={"level": "landmark", "step": UNIT})
    run.feed(later)
    assert entries(run, DAY)[-1]["parameters"]["protection"]["landmarks"] == [[100, 102]]
    own = policy(DAY, 3, epsilon=1e4, protection={"level": "landmark", "step": UNIT, "landmarks": [200]})
    outcome = run.feed(own)
    assert isinstance(outcome, RejectedRecord)
    assert outcome.reason == "invalid-policy"
    run.feed(reading(8, 5, BASE))
    assert entries(run, DAY)[-1]["decision"] == "perturbed"


def test_dummies_and_collected_data_have_no_views() -> None:
    """They are refused both as a base and as a version of one."""
    dummies = {"method": "padding", "probability": 0.5, "start": 0, "end": 40}
    hidden = base(dummies=dummies, protection={"spare": 0})
    run = run_of(reading(0, 5, BASE), of=context(hidden, *context().defaults[1:]))
    assert {reason for _, reason, _ in refused(run)} == {"invalid-policy"}
    assert sorted(run.rows) == [BASE]
    run = run_of(reading(0, 5, BASE))
    run.feed(
        policy(BASE, 2, protection={"level": "landmark", "step": UNIT}, dummies=dummies | {"start": 40, "end": 80})
    )
    assert refused(run) == [(BASE, "invalid-policy", 1)]
