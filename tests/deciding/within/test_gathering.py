"""Steps of several readings under the other rules: limits, versions, renewals, landmarks, members, columns."""

import json
from typing import Any

import pytest

from stream_app.deciding.collection import Collection, LostCountersError
from stream_app.deciding.context import Context, Limits
from stream_app.deciding.decider import Decider, Outlets
from stream_app.deciding.outcome import CountedContribution, WatermarkAdvance
from stream_app.formats.records import InputRecord
from stream_app.privacy.collected.plain import MOST_READINGS
from stream_app.privacy.noise.key import KeyRing
from tests.deciding.columns.test_same_bytes import taken_of
from tests.readings import reading, watermark, within
from tests.run import KEYS, NUMBER, VECTOR, Run, default, limited, policy

LANDMARK = {"level": "landmark", "landmarks": [20]}


def steps(run: Run) -> list[tuple[int, Any]]:
    """Return the released steps with their values."""
    return [(one["timestamp"], one.get("value")) for one in map(json.loads, run.releases)]


def test_a_reading_closes_the_steps_behind_it_all_at_once() -> None:
    """It closes steps up to i - open_steps in order, and skips those without a reading."""
    run = Run().feed_all([within(open_steps=4), reading(31, 3), reading(2, 1), reading(18, 2)])
    assert not run.releases
    outcome = run.feed(reading(75, 5))
    assert isinstance(outcome, WatermarkAdvance)
    assert steps(run) == [(0, 1.0), (10, 2.0), (30, 3.0)]
    assert isinstance(run.feed(reading(41, 4)), WatermarkAdvance), "the first of its step"
    assert isinstance(run.feed(reading(42, 4)), CountedContribution)
    run.feed_all([reading(39, 1), watermark(80)])
    assert steps(run)[3:] == [(40, 8.0), (70, 5.0)]
    assert run.reasons == ["late"]


def test_a_watermark_closes_steps_for_good() -> None:
    """This holds before any reading, and for empty steps; a seed is ignored."""
    run = Run().feed_all([within(), watermark(25), reading(19, 1), reading(20, 2), watermark(29), watermark(19)])
    run.feed({**watermark(30), "seed": "5e" * 32})
    assert steps(run) == [(20, 2.0)]
    assert run.reasons == ["late", "duplicate", "late"]


def test_a_series_says_which_watermarks_it_takes() -> None:
    """With one observation per step, none; with `collect`, those with a seed; without a policy, it is unknown."""
    collect: dict[str, Any] = {
        "value": {"kind": "counts", "keys": ["walk"]},
        "collect": {"neighbours": "replace", "open_steps": 1},
    }
    run = Run().feed_all([policy("a"), policy("b", **collect), *(watermark(5, series) for series in "abc")])
    assert run.reasons == ["wrong-type", "malformed", "malformed"]
    run = Run().feed_all([within(), {**watermark(5), "seed": "none"}])
    assert run.reasons == ["malformed"], "a seed is one or was not found;"


def test_a_step_takes_so_many_readings() -> None:
    """The next reading is too large, before its value is inspected; the step is decided by the others."""
    step = {"step": 20_000}
    run = Run().feed_all([within(aggregate="last", protection=step), *(reading(at, 1) for at in range(MOST_READINGS))])
    run.feed_all([reading(MOST_READINGS, "none"), reading(5, "none"), watermark(20_000)])
    assert run.reasons == ["too-large", "duplicate"]
    assert steps(run) == [(0, 1.0)]


def test_an_invalid_reading_is_refused_by_itself() -> None:
    """It opens and closes nothing, and does not use its moment; a substitute would be read in its place."""
    run = Run().feed_all([within(open_steps=1), reading(1, 1), reading(11, "none"), reading(2, None), reading(2, 2)])
    run.feed(watermark(10))
    assert run.reasons == ["invalid-value", "invalid-value"]
    assert steps(run) == [(0, 3.0)]
    hiding = within(open_steps=1, value=NUMBER | {"invalid": 0.25})
    run = Run().feed_all([hiding, reading(1, 1), reading(2, "none"), reading(2, 3), reading(11, None)])
    assert run.reasons == ["duplicate"]
    assert steps(run) == [(0, 1.25)]


def test_the_far_future_is_refused_where_it_would_open_a_step() -> None:
    """An open step accepts readings, whatever the limit is now."""
    run = Run(limited(max_future_ms=10))
    run.feed(within())
    run.feed(reading(11, 1), appended_ms=0)
    run.feed(reading(15, 1), appended_ms=10)
    run.feed(reading(19, 1), appended_ms=0)
    run.feed(watermark(30), appended_ms=0)
    run.feed(watermark(30), appended_ms=20)
    assert run.reasons == ["future", "future"]
    assert steps(run) == [(10, 2.0)]


def test_readings_of_an_erased_epoch_are_refused_and_open_steps_passed_over() -> None:
    """Nothing of them is released, and nothing spent."""
    whole = KeyRing(KEYS.fingerprint, 0, KEYS.secret, 100)
    later = whole.erased_before(1)
    assert later is not None
    run = Run(Context(whole))
    run.feed_all([within(open_steps=20), reading(95, 1), reading(105, 2)])
    run.context = Context(later)
    run.feed_all([reading(96, 1), watermark(120)])
    assert run.reasons == ["key-erased"]
    assert steps(run) == [(100, 2.0)]


@pytest.mark.parametrize(
    ("members", "kept"),
    [
        ({}, True),
        ({"scheme": {"name": "balanced"}, "protection": {"level": "landmark", "landmarks": [10]}}, True),
        ({"aggregate": "max"}, False),
        ({"open_steps": 3}, False),
        ({"protection": {"absent": 1}}, False),
        ({"value": NUMBER | {"invalid": 1}}, False),
        ({"protection": {"step": 5}}, False),
    ],
)
def test_a_version_that_reads_alike_takes_open_steps_over(members: dict[str, Any], kept: bool) -> None:  # noqa: FBT001
    """Any other version drops them unread: they belong to the previous version."""
    run = Run(limited(lifetime_nano=10**15, accept_weaker_policies=True))
    run.feed_all([within(), reading(11, 1), reading(12, 2), within(2, **members) | {"weaker": True}])
    assert not run.rejects
    assert len(run.collection) == kept
    run.feed_all([watermark(20), watermark(30)] if not kept else [reading(13, 3), watermark(30)])
    found = [one for one in steps(run) if one[1] != 1.0]
    assert found == ([(10, 6.0)] if kept else [])
    assert all(json.loads(release)["policy"] == 2 for release in run.releases)


def test_a_closed_series_drops_what_is_open() -> None:
    """Nothing of it is released."""
    run = Run().feed_all([within(), reading(11, 1), {"type": "close", "series": "ward-3"}])
    run.feed_all([reading(12, 1), watermark(20)])
    assert run.reasons == ["closed", "closed"]
    assert not run.releases
    assert run.collection == Collection(bytes(32))


def test_an_open_step_becomes_a_landmark_at_no_charge() -> None:
    """It is not decided, whatever readings it has."""
    run = Run().feed_all([within(protection={"level": "landmark"}, epsilon=1.0), reading(1, 1), reading(11, 1)])
    run.feed_all([{"type": "landmarks", "series": "ward-3", "add": [5, 15]}, watermark(20)])
    entries = [json.loads(entry) for entry in run.ledger[1:]]
    assert [entry.get("charged_nano") for entry in entries] == [0, None, None]
    assert [entry["landmark"] for entry in entries[1:]] == [True, True]


def test_a_bound_is_due_at_the_step_that_is_decided() -> None:
    """Several versions may begin if one record closes several steps; open steps continue under them."""
    form = {"level": "user", "length": 2}
    log = [within(protection=form, epsilon=1.0, open_steps=4, renew=[15, 25]), reading(5, 1), reading(12, 2)]
    log += [reading(22, 3), reading(38, 4), reading(23, 3), watermark(50)]
    context = Context(KEYS, limits=Limits(lifetime_nano=10**15))
    run = Run(context).feed_all(log)
    assert [json.loads(release)["policy"] for release in run.releases] == [1, 1, 2, 3]
    ledger: list[bytes] = []
    outlets = Outlets(lambda _key, value, _at, _headers: ledger.append(value), _drop, _drop, None)
    decider = Decider(context, lambda _: None, outlets, Collection(bytes(32)))
    records = [InputRecord("e", 0, nth, 0, None, json.dumps(record).encode()) for nth, record in enumerate(log)]
    decider.decide(records)
    assert ledger == run.ledger
    assert decider.renewals == {"begun": 2}
    assert sum(decider.spent.values()) == run.spent_nano
    assert sum(decider.used().values()) == run.spent_nano, "all of it is used up"
    assert decider.changed["ward-3"] == run.rows["ward-3"]


def _drop(_key: object, _value: bytes, _at: int, _headers: object) -> None:
    """Put out nothing."""


def test_a_member_claims_with_the_first_reading() -> None:
    """Under a default policy, the member's entry comes first, then the policy's."""
    form = {"level": "event", "step": 10, "within": "sum", "open_steps": 1}
    limits = Limits(lifetime_nano=10**9, member_separator="/", member_nano=10**9)
    context = Context(KEYS, (default("*", protection=form),), limits)
    log = [reading(5, 1, "p/a"), reading(15, 2, "p/a"), reading(5, 1, "p/b")]
    run = Run(context).feed_all(log)
    assert run.reasons == ["member-cap"]
    found: list[tuple[str, str]] = []

    def noted(_key: object, value: bytes, _at: int, _headers: object) -> None:
        entry = json.loads(value)
        found.append((entry["series"], entry["entry"]))

    decider = Decider(context, lambda _: None, Outlets(noted, _drop, _drop, None), Collection(bytes(32)))
    decider.decide([InputRecord("e", 0, nth, 0, None, json.dumps(one).encode()) for nth, one in enumerate(log)])
    assert found == [("p/", "member"), ("p/a", "policy"), ("p/a", "release")]
    assert decider.members == run.members


def test_a_watermark_adopts_a_default_policy_that_fills_gaps() -> None:
    """Earlier readings are early, and adopt nothing."""
    form = {"level": "event", "step": 10, "within": "sum", "open_steps": 1, "absent": 1}
    run = Run(Context(KEYS, (default("*", protection=form),)))
    run.feed_all([reading(5, 1), watermark(0), reading(5, 2), reading(15, 2), watermark(30)])
    assert run.reasons == ["early", "early"]
    assert [at for at, _ in steps(run)] == [0, 10, 20]


def test_what_a_watermark_may_close_is_bounded() -> None:
    """This applies only if every step is decided; without `absent`, only open steps are."""
    for form, refused in (({"absent": 1}, ["future"]), ({"absent": "approximated"}, ["future"]), ({}, [])):
        run = Run().feed_all([within(protection=form), watermark(0), watermark(100_010)])
        assert run.reasons == refused
    names = {f"{nth:02}" + "x" * 198: {"lower": 0, "upper": 1, "resolution": 0.5} for nth in range(64)}
    wide = within(aggregate="last", value={"kind": "vector", "parts": names}, protection={"absent": "approximated"})
    assert Run().feed_all([wide, watermark(0), watermark(20_000)]).reasons == ["future"]
    narrow = within(aggregate="last", value=VECTOR, protection={"absent": "approximated"})
    assert not Run().feed_all([narrow, watermark(0), watermark(20_000)]).reasons


def test_lost_readings_are_told() -> None:
    """If a row has an open step whose readings are missing, no decision is made from only part of them."""
    run = Run().feed_all([within(), reading(11, 1)])
    run.collection = Collection(bytes(32))
    for record in (reading(12, 1), reading(35, 1), watermark(20)):
        with pytest.raises(LostCountersError, match="'ward-3': step 1 is open"):
            run.feed(record)


def test_readings_go_one_by_one() -> None:
    """Among events that columns take, the bytes are the same both ways; columns take only single observations."""
    several = {"level": "event", "step": 10, "within": "sum", "open_steps": 1}
    context = Context(
        KeyRing("0123456789abcdef", 0, bytes(range(32))),
        (default("home-*", protection={"level": "event"}), default("meter-*", protection=several)),
    )
    log = [reading(at * 7, 1.5, f"{name}-{nth}") for at in range(8) for nth in range(20) for name in ("home", "meter")]
    assert taken_of(context, log) == 3 * 20  # the series of single observations, in all batches but the first
