"""What is lost without old keys: every record and release compared with separate runs; no broker."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stream_app.deciding.collection import Collection
from stream_app.deciding.context import Context, Limits
from stream_app.formats.records import InputRecord
from stream_app.kafka.rebuild.dry_run import Run as Beside
from stream_app.kafka.rebuild.dry_run import Shortfall
from stream_app.privacy.collected.steps import GIVEN_UP, OpenSteps
from stream_app.privacy.noise.key import KeyRing
from tests import readings
from tests.collected import STEP, collected, contribution, schedules, watermark
from tests.run import KEYS, Record, Run, observation, policy
from tests.suite.speeds import scaled

EPOCH_MS = 100
WHOLE = KeyRing(KEYS.fingerprint, 0, KEYS.secret, EPOCH_MS)
LATER = WHOLE.erased_before(1)
assert LATER is not None
CONTEXTS = tuple(Context(keys, limits=Limits(lifetime_nano=10**18)) for keys in (WHOLE, LATER))


def runs(log: Sequence[Record]) -> list[Run]:
    """Decide a log with the whole key and with only the later ones."""
    return [Run(context).feed_all(log) for context in CONTEXTS]


def shortfall_of(log: Sequence[Record], size: int = 3) -> tuple[int, int]:
    """Return how many records are decided differently and how many releases are lost, in batches of ``size``."""
    beside = Shortfall(*(Beside(context, lambda _: None, Collection(bytes(32))) for context in CONTEXTS))
    records = [
        InputRecord("events", 0, offset, 0, None, json.dumps(record).encode()) for offset, record in enumerate(log)
    ]
    for start in range(0, len(records), size):
        beside.decide(records[start : start + size])
    return beside.otherwise, beside.lost(())


def steps(run: Run) -> set[tuple[str, int]]:
    """Return the steps that a run released."""
    found = map(json.loads, run.releases)
    return {(release["series"], release["timestamp"]) for release in found}


def test_a_gain_hides_no_loss() -> None:
    """Ten steps are passed over, so a later watermark of a new version is in time and closes many others."""
    version_2 = collected(2, protection={"level": "event", "step": 3 * STEP})
    log: list[Record] = [collected(), watermark(0), watermark(100), version_2, watermark(95), watermark(3000)]
    whole, later = runs(log)
    assert len(later.releases) > len(whole.releases), "the net loss is none"
    assert len(steps(whole) - steps(later)) == 10
    assert shortfall_of(log) == (1, 10), "the watermark at 95, and the ten"


def test_open_steps_count() -> None:
    """Each step that will be passed over counts once; those whose key remains do not count."""
    begun: list[Record] = [collected(), watermark(85), contribution(95, "ada", "walk")]
    assert shortfall_of(begun) == (0, 2), "at 80 and 90"
    assert shortfall_of([*begun, watermark(90)]) == (0, 2), "80 was to be released, 90 is open; 100 stays"
    assert shortfall_of([*begun, watermark(130)]) == (0, 2)
    assert shortfall_of([collected(), watermark(100), watermark(130)]) == (0, 0)
    assert shortfall_of([*begun, {"type": "close", "series": "ward-3"}]) == (0, 0), "open steps end with the series"


def test_given_up_steps_are_no_loss() -> None:
    """Such steps are never released, whatever the key."""
    whole = Run(CONTEXTS[0]).feed_all([collected(), watermark(75)])
    for opened_at, lost in ((GIVEN_UP, GIVEN_UP), 0), ((GIVEN_UP, 1), 1):
        row = replace(whole.rows["ward-3"], open_steps=OpenSteps(8, opened_at))
        find = {"ward-3": row}.get
        beside = Shortfall(*(Beside(context, find, Collection(bytes(32))) for context in CONTEXTS))
        assert beside.lost(["ward-3"]) == lost


def test_a_record_that_both_reject_is_no_loss() -> None:
    """An old event is rejected without its key; one that is late in any case is not counted."""
    log = [policy("a", protection={"level": "landmark", "step": STEP})]
    log += [observation("a", 150, 3.3), observation("a", 20, 3.3), observation("b", 20, 3.3)]
    assert shortfall_of([*log[:1], observation("a", 20, 3.3), *log[1:]]) == (1, 1)
    assert shortfall_of(log) == (0, 0)


def opened(run: Run, since_ms: int = 0) -> set[tuple[str, int]]:
    """Return the steps still open at the end that begin at ``since_ms`` or later."""
    return {
        (row.series, index * row.policy.step_ms)
        for row in run.rows.values()
        if row.open_steps is not None
        for index in row.open_steps.begun
        if index * row.policy.step_ms >= since_ms
    }


@settings(max_examples=scaled(60), suppress_health_check=[HealthCheck.too_slow])
@given(
    log=st.one_of(schedules(), readings.schedules()),
    shift_ms=st.sampled_from((0, 60, 80, 90, 95)),
    size=st.integers(1, 9),
)
def test_what_is_told_is_what_differs(log: list[dict[str, Any]], shift_ms: int, size: int) -> None:
    """Over whole schedules, the counts equal differing rejects and lost steps; if both are 0, all is the same."""
    log = [
        record | {"timestamp": record["timestamp"] + shift_ms} if "timestamp" in record else record for record in log
    ]
    whole, later = runs(log)
    otherwise, lost = shortfall_of(log, size)
    rejected = [{json.loads(reject)["offset"] for reject in run.rejects} for run in (whole, later)]
    assert otherwise == len(rejected[0] ^ rejected[1])
    to_come = steps(later) | opened(later, EPOCH_MS)
    assert lost == len((steps(whole) | opened(whole)) - to_come)
    if not otherwise and not lost:
        # What both reject they may reject for another reason: a value that fits nothing, or an epoch without its key.
        assert (whole.releases, whole.ledger) == (later.releases, later.ledger)
