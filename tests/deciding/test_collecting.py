"""Collected data: contributions go into memory, watermarks make releases, intrusions make ledger entries."""

import itertools
import json
from dataclasses import replace
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stream_app.deciding import rows
from stream_app.deciding.collection import Collection, LostCountersError
from stream_app.deciding.outcome import CountedContribution, ProcessedRecord, RejectedRecord, WatermarkAdvance
from stream_app.privacy.collected.collect import Tally
from stream_app.privacy.collected.steps import ALL_GIVEN_UP, GIVEN_UP, Move, OpenSteps, moved
from stream_app.privacy.reason import Rejection
from tests.collected import PAN_PRIVATE, REPLACE, SEED, STEP, collected, contribution, intrusion, schedules, watermark
from tests.run import Record, Run, default, limited, policy, reason
from tests.suite.speeds import scaled


def released(run: Run) -> list[tuple[int, Any]]:
    """Return timestamp and value of every release."""
    found = [json.loads(release) for release in run.releases]
    return [(release["timestamp"], release.get("value")) for release in found]


def test_items_become_counts() -> None:
    """A step is released when a watermark ends it, with one item per member."""
    run = Run()
    run.feed(collected())
    assert reason(run.feed(contribution(100, "ada", "walk"))) == "early", "nothing is open yet"
    assert isinstance(run.feed(watermark(103)), WatermarkAdvance)
    for member, value in (("ada", "walk"), ("bob", "walk"), ("cy", "ride")):
        assert isinstance(run.feed(contribution(109, member, value)), CountedContribution)
    run.feed(contribution(115, "ada", "ride"))
    before = dict(run.rows)
    assert reason(run.feed(contribution(101, "ada", "ride"))) == "duplicate"
    assert reason(run.feed(contribution(101, "ada", "no key"))) == "duplicate", "its value is not looked at"
    assert reason(run.feed(contribution(101, "dee", "swim"))) == "invalid-value"
    assert reason(run.feed(contribution(101, "dee", ["walk"]))) == "invalid-value"
    assert reason(run.feed(contribution(99, "dee", "walk"))) == "late"
    assert reason(run.feed(contribution(120, "dee", "walk"))) == "early"
    assert isinstance(run.feed(contribution(101, "dee", "ride")), CountedContribution), (
        "an item that was refused counts for none"
    )
    assert run.rows == before
    assert not run.releases
    run.feed(watermark(110))
    assert released(run) == [(100, {"walk": 2, "ride": 2})]
    assert reason(run.feed(contribution(109, "eve", "walk"))) == "late"
    assert isinstance(run.feed(contribution(120, "eve", "walk")), CountedContribution)
    assert reason(run.feed(watermark(119))) == "duplicate"
    assert reason(run.feed(watermark(109))) == "late"


def test_a_watermark_closes_every_step_before_it() -> None:
    """It closes them in order, including empty and skipped ones, and opens the next ones."""
    run = Run().feed_all([collected(), watermark(5), contribution(19, "ada", "ride"), watermark(45)])
    empty = {"walk": 0, "ride": 0}
    assert released(run) == [(0, empty), (10, {"walk": 0, "ride": 1}), (20, empty), (30, empty)]
    assert isinstance(run.feed(contribution(59, "ada", "ride")), CountedContribution)
    entries = [json.loads(entry) for entry in run.ledger]
    assert [entry["sequence"] for entry in entries] == [1, 2, 3, 4, 5]
    assert all(one["hash"] == other["previous"] for one, other in itertools.pairwise(entries))


def test_a_watermark_too_far_ahead() -> None:
    """It would close more than 10,000 steps together, so it changes nothing."""
    run = Run().feed_all([collected(), watermark(0)])
    assert reason(run.feed(watermark(STEP * 10_001))) == "future"
    assert isinstance(run.feed(watermark(STEP * 10_000)), WatermarkAdvance)
    assert len(run.releases) == 10_000
    wide = collected(value={"kind": "counts", "keys": [str(n) for n in range(4096)]})
    run = Run().feed_all([wide, watermark(0)])
    assert reason(run.feed(watermark(STEP * 257))) == "future"


@pytest.mark.parametrize("key", ["{nth:0200}", '"\\{nth}', "\x01{nth}", "ward {nth} \N{PILE OF POO}"])
def test_a_watermark_publishes_at_most_64_mib(key: str) -> None:
    """The hand-counted size covers key names of value and measurement and the longest numbers."""
    keys = [key.format(nth=nth) for nth in range(100)]
    run = Run().feed_all([collected(value={"kind": "counts", "keys": keys}), watermark(0)])
    row = run.rows["ward-3"]
    largest = orjson.dumps(dict.fromkeys(keys, -(2**53) + 1))
    most = min(10_000, 64 * 1024 * 1024 // (2 * len(largest)))
    assert isinstance(moved(row.policy, row.state, row.open_steps, STEP * most, 2), Move)
    assert moved(row.policy, row.state, row.open_steps, STEP * (most + 1), 2) == Rejection("future")


def test_the_future_of_contributions_is_bounded_by_open_steps() -> None:
    """The limit holds for what moves event time: observations and watermarks."""
    run = Run(limited(lifetime_nano=10**15, max_future_ms=15)).feed_all([collected()])
    assert reason(run.feed(watermark(16))) == "future"
    assert isinstance(run.feed(watermark(15)), WatermarkAdvance)
    assert isinstance(run.feed(contribution(29, "ada", "walk")), CountedContribution)
    assert reason(run.feed(contribution(30, "bob", "walk"))) == "early"
    assert json.loads(run.rejects[-1])["timestamp"] == 30


def given_up(collect: object = REPLACE) -> Run:
    """Return a run of a series whose open steps were given up: 0 is closed, 1 and 2 were open."""
    run = Run(limited(lifetime_nano=10**15)).feed_all([collected(1, collect), watermark(0), watermark(10)])
    run.rows["ward-3"] = replace(run.rows["ward-3"], open_steps=ALL_GIVEN_UP)
    run.collection.drop("ward-3")
    return run


def test_what_was_given_up_is_passed_over() -> None:
    """The first later watermark opens nothing, since a lost one may already have done so."""
    run = given_up()
    assert reason(run.feed(contribution(15, "ada", "walk"))) == "early"
    assert reason(run.feed(watermark(9))) == "duplicate"
    assert isinstance(run.feed(watermark(35)), WatermarkAdvance)
    assert run.rows["ward-3"].open_steps == OpenSteps(3, (GIVEN_UP, GIVEN_UP))
    assert reason(run.feed(contribution(39, "ada", "walk"))) == "late"
    assert reason(run.feed(contribution(49, "ada", "walk"))) == "late"
    assert reason(run.feed(contribution(50, "ada", "walk"))) == "early"
    assert run.collection.floor() is None
    run.feed(watermark(45))
    assert run.rows["ward-3"].open_steps == OpenSteps(4, (GIVEN_UP, 9))
    assert rows.load(dict(rows.dump(run.rows["ward-3"], None, set())).get, "ward-3", {}) == run.rows["ward-3"]
    assert reason(run.feed(contribution(49, "ada", "walk"))) == "late"
    assert isinstance(run.feed(contribution(50, "ada", "walk")), CountedContribution)
    assert run.collection.floor() == 9
    assert released(run) == [(0, {"walk": 0, "ride": 0})]
    run.feed(watermark(70))
    assert released(run)[1:] == [(50, {"walk": 1, "ride": 0}), (60, {"walk": 0, "ride": 0})]


def test_jumping_over_what_was_given_up() -> None:
    """Steps after it that were never open are empty, as usual."""
    run = given_up().feed_all([watermark(35), watermark(75)])
    assert [at for at, _ in released(run)] == [0, 50, 60]


def test_an_intrusion_where_nothing_is_counted() -> None:
    """It exposes nothing of abandoned steps, and never has an empty entry."""
    run = given_up(PAN_PRIVATE)
    assert reason(run.feed(intrusion())) == "early"
    run.feed(watermark(35))
    assert reason(run.feed(intrusion())) == "early"
    run.feed(watermark(45))
    assert isinstance(run.feed(intrusion()), ProcessedRecord)
    assert json.loads(run.ledger[-1])["exposed"] == [[50, 60]]


def test_a_new_version_and_the_end_drop_what_is_open() -> None:
    """They are dropped unread; the next watermark opens steps after the last decided one."""
    run = Run().feed_all([collected(), watermark(0), contribution(5, "ada", "walk"), watermark(10)])
    run.feed(contribution(12, "ada", "walk"))
    assert run.collection.floor() == 1
    assert isinstance(
        run.feed(collected(2, protection={"level": "event", "step": 7})), ProcessedRecord | RejectedRecord
    )
    run = Run(limited(lifetime_nano=10**18, accept_weaker_policies=True))
    run.feed_all([collected(), watermark(0), watermark(10), contribution(12, "ada", "walk")])
    run.feed(collected(2, protection={"level": "event", "step": 7}) | {"weaker": True})
    assert run.collection.floor() is None
    assert reason(run.feed(contribution(12, "bob", "walk"))) == "early"
    assert reason(run.feed(watermark(13))) == "duplicate", "7 .. 14 overlaps the last decided step"
    assert isinstance(run.feed(watermark(14)), WatermarkAdvance)
    run.feed(watermark(28))
    assert released(run)[1:] == [(14, {"walk": 0, "ride": 0}), (21, {"walk": 0, "ride": 0})]
    run.feed({"type": "close", "series": "ward-3"})
    assert run.collection.floor() is None
    assert run.rows["ward-3"].open_steps is None
    for record in (contribution(29, "ada", "walk"), watermark(40), intrusion()):
        assert reason(run.feed(record)) == "closed"


def test_a_default_policy_rules_from_the_first_watermark() -> None:
    """A rejected contribution adopts nothing."""
    members = {name: part for name, part in collected().items() if name not in {"type", "series", "version"}}
    run = Run()
    run.context = type(run.context)(run.context.keys, (default("ward-*", **members),))
    assert reason(run.feed(contribution(1, "ada", "walk"))) == "early"
    assert reason(run.feed({"series": "ward-3", "timestamp": 1, "value": {"walk": 1}})) == "wrong-type"
    assert not run.rows
    outcome = run.feed(watermark(1))
    assert isinstance(outcome, WatermarkAdvance)
    assert (outcome.adopted is not None, len(outcome.steps), len(run.ledger)) == (True, 0, 1)


@pytest.mark.parametrize("record", [contribution(1, "ada", "walk"), watermark(1), intrusion()])
def test_other_series_take_none_of_it(record: Record) -> None:
    """The records of collected data belong to policies with `collect`, and observations to all others."""
    assert reason(Run().feed_all([policy("ward-3")]).feed(record)) == "wrong-type"
    assert reason(Run().feed(record)) == "no-policy"


def test_an_intrusion() -> None:
    """It adds noise to open counters and records in the ledger what was exposed; bare counters cannot be fixed."""
    run = Run().feed_all([collected(collect=PAN_PRIVATE), watermark(25)])
    before = [list(counters.cells) for counters in run.collection.counted("ward-3").values()]
    assert isinstance(run.feed(intrusion()), ProcessedRecord)
    entry = json.loads(run.ledger[-1])
    assert entry["entry"] == "intrusion"
    assert (entry["intrusion_nano"], entry["exposed"], entry["policy"]) == (10**9, [[20, 40]], 1)
    after = [list(counters.cells) for counters in run.collection.counted("ward-3").values()]
    assert before != after
    assert reason(Run().feed_all([collected(), watermark(25)]).feed(intrusion())) == "invalid-policy"
    assert reason(Run().feed_all([collected(collect=PAN_PRIVATE)]).feed(intrusion())) == "early"


ODD = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.floats(), st.text(max_size=3),
    st.lists(st.none(), max_size=2),
    st.sampled_from(["walk", SEED, SEED.upper(), "é" * 101, 0, 15, 253_402_300_799_999, {"walk": 1}]),
)  # fmt: skip
HOSTILE = st.fixed_dictionaries(
    {"type": st.sampled_from(["contribution", "watermark", "intrusion"]), "series": st.just("ward-3")},
    optional={"timestamp": ODD | st.integers(0, 60), "member": ODD, "value": ODD, "seed": ODD | st.just(SEED)},
)


@settings(max_examples=scaled(60), suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(HOSTILE | schedules().map(lambda log: log[-1]), max_size=12))
def test_hostile_records_are_answered(records: list[dict[str, Any]]) -> None:
    """Any record is decided or rejected, and nothing is raised."""
    run = Run(limited(lifetime_nano=10**15)).feed_all([collected(collect=PAN_PRIVATE), watermark(0)])
    for record in records:
        before = len(run.rejects)
        outcome = run.feed(json.dumps(record).encode())
        assert (len(run.rejects) > before) == isinstance(outcome, RejectedRecord)


def test_lost_counters_are_noticed() -> None:
    """If a row has open steps that memory lacks, work stops instead of publishing empty counts."""
    for record in (contribution(5, "ada", "walk"), watermark(10), intrusion()):
        run = Run().feed_all([collected(collect=PAN_PRIVATE), watermark(0)])
        run.collection = Collection(bytes(32))
        with pytest.raises(LostCountersError, match="step 0 is open"):
            run.feed(record)


def test_series_that_come_and_go_leave_nothing_behind() -> None:
    """If one step stays open, data about dropped series is cleaned up when they are dropped."""
    collection = Collection(bytes(32))
    for nth in range(1000):
        gathers = Tally(("walk",), 1, 1)
        collection.put(f"a-{nth}", 0, collection.counters(f"a-{nth}", gathers, 0, nth, (0,)))
        if nth:
            collection.drop(f"a-{nth}")
    assert (len(collection), collection.floor()) == (1, 0)
    assert len(collection._opened) < 200  # noqa: SLF001 (nothing shows it)
