"""Collected data: contributions into memory, watermarks into releases, intrusions into the ledger."""

import itertools
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stream_app.collection import Collection, LostCountersError
from stream_app.outcome import Advanced, Counted, Decided, Outcome, Rejected
from tests.collected import PAN_PRIVATE, SEED, STEP, collected, contribution, intrusion, schedules, watermark
from tests.run import Record, Run, default, limited, policy


def reason(outcome: Outcome) -> str:
    """Return why a record was rejected; empty when it was not."""
    return outcome.reason if isinstance(outcome, Rejected) else ""


def released(run: Run) -> list[tuple[int, Any]]:
    """Return timestamp and value of every release."""
    found = [json.loads(release) for release in run.releases]
    return [(release["timestamp"], release.get("value")) for release in found]


def test_items_become_counts() -> None:
    """A step is released when a watermark ends it, with one item a member."""
    run = Run()
    run.feed(collected())
    assert reason(run.feed(contribution(100, "ada", "walk"))) == "early", "nothing is open yet"
    assert isinstance(run.feed(watermark(103)), Advanced)
    for member, value in (("ada", "walk"), ("bob", "walk"), ("cy", "ride")):
        assert isinstance(run.feed(contribution(109, member, value)), Counted)
    run.feed(contribution(115, "ada", "ride"))
    rows = dict(run.rows)
    assert reason(run.feed(contribution(101, "ada", "ride"))) == "duplicate"
    assert reason(run.feed(contribution(101, "ada", "no key"))) == "duplicate", "its value is not looked at"
    assert reason(run.feed(contribution(101, "dee", "swim"))) == "invalid-value"
    assert reason(run.feed(contribution(101, "dee", ["walk"]))) == "invalid-value"
    assert reason(run.feed(contribution(99, "dee", "walk"))) == "late"
    assert reason(run.feed(contribution(120, "dee", "walk"))) == "early"
    assert isinstance(run.feed(contribution(101, "dee", "ride")), Counted), "an item that was refused counts for none"
    assert run.rows == rows
    assert not run.releases
    run.feed(watermark(110))
    assert released(run) == [(100, {"walk": 2, "ride": 2})]
    assert reason(run.feed(contribution(109, "eve", "walk"))) == "late"
    assert isinstance(run.feed(contribution(120, "eve", "walk")), Counted)
    assert reason(run.feed(watermark(119))) == "duplicate"
    assert reason(run.feed(watermark(109))) == "late"


def test_a_watermark_closes_every_step_before_it() -> None:
    """Empty ones too, and those that it jumped over, in order; and opens the next ones."""
    run = Run().feed_all([collected(), watermark(5), contribution(19, "ada", "ride"), watermark(45)])
    empty = {"walk": 0, "ride": 0}
    assert released(run) == [(0, empty), (10, {"walk": 0, "ride": 1}), (20, empty), (30, empty)]
    assert isinstance(run.feed(contribution(59, "ada", "ride")), Counted)
    entries = [json.loads(entry) for entry in run.ledger]
    assert [entry["sequence"] for entry in entries] == [1, 2, 3, 4, 5]
    assert all(one["hash"] == other["previous"] for one, other in itertools.pairwise(entries))


def test_a_watermark_too_far_ahead() -> None:
    """It would close more than 10,000 steps at once, and changes nothing."""
    run = Run().feed_all([collected(), watermark(0)])
    assert reason(run.feed(watermark(STEP * 10_001))) == "future"
    assert isinstance(run.feed(watermark(STEP * 10_000)), Advanced)
    assert len(run.releases) == 10_000
    wide = collected(value={"kind": "counts", "keys": [str(n) for n in range(4096)]})
    run = Run().feed_all([wide, watermark(0)])
    assert reason(run.feed(watermark(STEP * 257))) == "future"


def test_a_new_version_and_the_end_drop_what_is_open() -> None:
    """Unread; the next watermark opens anew, behind the last decided step."""
    run = Run().feed_all([collected(), watermark(0), contribution(5, "ada", "walk"), watermark(10)])
    run.feed(contribution(12, "ada", "walk"))
    assert run.collection.floor() == 1
    assert isinstance(run.feed(collected(2, protection={"level": "event", "step": 7})), Decided | Rejected)
    run = Run(limited(lifetime_nano=10**18))
    run.feed_all([collected(), watermark(0), watermark(10), contribution(12, "ada", "walk")])
    run.feed(collected(2, protection={"level": "event", "step": 7}))
    assert run.collection.floor() is None
    assert reason(run.feed(contribution(12, "bob", "walk"))) == "early"
    assert reason(run.feed(watermark(13))) == "duplicate", "7 .. 14 overlaps the last decided step"
    assert isinstance(run.feed(watermark(14)), Advanced)
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
    assert reason(run.feed({"series": "ward-3", "timestamp": 1, "value": {"walk": 1}})) == "malformed"
    assert not run.rows
    outcome = run.feed(watermark(1))
    assert isinstance(outcome, Advanced)
    assert [len(outcome.adopted), len(outcome.steps), len(run.ledger)] == [1, 0, 1]


@pytest.mark.parametrize("record", [contribution(1, "ada", "walk"), watermark(1), intrusion()])
def test_other_series_take_none_of_it(record: Record) -> None:
    """The records of collected data belong to policies with `collect`, and observations to all others."""
    assert reason(Run().feed_all([policy("ward-3")]).feed(record)) == "malformed"
    assert reason(Run().feed(record)) == "no-policy"


def test_an_intrusion() -> None:
    """It adds noise to what is open, and says in the ledger what was exposed; bare counters cannot be mended."""
    run = Run().feed_all([collected(collect=PAN_PRIVATE), watermark(25)])
    before = [list(counters.cells) for counters in run.collection.opened("ward-3").values()]
    assert isinstance(run.feed(intrusion()), Decided)
    entry = json.loads(run.ledger[-1])
    assert entry["entry"] == "intrusion"
    assert (entry["intrusion_nano"], entry["exposed"], entry["policy"]) == (10**9, [[20, 40]], 1)
    after = [list(counters.cells) for counters in run.collection.opened("ward-3").values()]
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


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(HOSTILE | schedules().map(lambda log: log[-1]), max_size=12))
def test_hostile_records_are_answered(records: list[dict[str, Any]]) -> None:
    """Whatever a record holds, it is decided or rejected, and nothing is raised."""
    run = Run(limited(lifetime_nano=10**15)).feed_all([collected(collect=PAN_PRIVATE), watermark(0)])
    for record in records:
        before = len(run.rejects)
        outcome = run.feed(json.dumps(record).encode())
        assert (len(run.rejects) > before) == isinstance(outcome, Rejected)


def test_lost_counters_are_noticed() -> None:
    """A row that has steps open while memory has none stops the work instead of publishing empty counts."""
    for record in (contribution(5, "ada", "walk"), watermark(10), intrusion()):
        run = Run().feed_all([collected(collect=PAN_PRIVATE), watermark(0)])
        run.collection = Collection(bytes(32))
        with pytest.raises(LostCountersError, match="step 0 is open"):
            run.feed(record)
