"""Whole logs decided as columns and one by one, checked against the guarantee and an audit of the output."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from stream_app.audit.auditor import Auditor
from stream_app.deciding.collection import Collection
from stream_app.deciding.columns.batch import BatchDecider
from stream_app.deciding.context import Context, Limits
from stream_app.deciding.decider import Outlets
from stream_app.formats.records import InputRecord, Records
from stream_app.formats.wire import dump
from stream_app.kafka.memory.rows import MemoryRows
from stream_app.kafka.owner.cache import RowReader
from stream_app.privacy.noise.key import KeyRing
from tests.run import KEYS, SCHEMES, Record, default, observation, policy

STEP = 10
EVENT = {"level": "event", "step": STEP}
HOMES = [f"home-{nth}" for nth in range(20)]
WAYS = pytest.mark.parametrize("fewest", [1, 10**6], ids=["together", "one by one"])


class Log:
    """A log that is decided batch by batch, with all its output."""

    def __init__(self, context: Context, fewest: int) -> None:
        self.context = context
        self.reader = RowReader(MemoryRows(), 0, 10_000, fewest)
        self.collection = Collection(bytes(32))
        self.out: dict[str, list[bytes]] = {"ledger": [], "releases": [], "rejects": []}
        self.together = 0

    def decide(self, *sent: Record) -> "Log":
        """Decide a batch."""

        def put(topic: str) -> Any:
            return lambda _key, value, *_: self.out[topic].append(value)

        records = Records.of(InputRecord("events", 0, nth, 0, None, dump(one)) for nth, one in enumerate(sent))
        outlets = Outlets(put("ledger"), put("releases"), put("rejects"), None)
        decider = BatchDecider(self.context, self.reader, outlets, self.collection, fewest=self.reader.fewest)
        for _ in decider.decide(records):
            pass
        self.reader.take(decider.alone.changed)
        self.together += len(decider.places)
        return self

    def found(self, topic: str) -> list[dict[str, Any]]:
        """Return the records of a topic."""
        return [json.loads(value) for value in self.out[topic]]

    def audited(self, limits: Limits = Limits()) -> list[str]:  # noqa: B008 (a frozen value)
        """Return the codes of an audit's findings in ledger and releases."""
        auditor = Auditor(compare=True, lifetime_nano=limits.lifetime_nano)
        auditor.entries(self.out["ledger"])
        auditor.releases(self.out["releases"])
        return [finding.code for finding in auditor.finish().findings]


def steps(time_ms: int, names: Sequence[str] = HOMES) -> list[Record]:
    """Return an observation of each series at one time."""
    return [observation(name, time_ms, 4.0) for name in names]


@WAYS
def test_nothing_is_spent_while_a_window_of_the_version_before_holds_a_spend(fewest: int) -> None:
    """Steps 1 to 4 share a window of five with step 0, on which an earlier version spent; step 5 does not."""
    limits = Limits(lifetime_nano=10**11, accept_weaker_policies=True)
    log = Log(Context(KEYS, limits=limits), fewest)
    window = {"level": "w-event", "window": 5, "step": STEP}
    log.decide(*(policy(name, 1, protection=window) for name in HOMES), *steps(0))
    log.decide(*(policy(name, 2, protection=EVENT, weaker=True) for name in HOMES), *steps(STEP))
    for step in range(2, 8):
        log.decide(*steps(step * STEP + 3))
    spent = {release["timestamp"] // STEP for release in log.found("releases") if "epsilon_nano" in release}
    assert spent == {0, 5, 6, 7}
    assert log.audited(limits) == []


@pytest.mark.parametrize("scheme", SCHEMES)
@WAYS
def test_landmarks_and_any_other_step_stay_within_the_budget(fewest: int, scheme: str) -> None:
    """The sum is taken step by step from releases; regular steps precede landmarks, and some are added late."""
    protection = {"level": "landmark", "step": STEP, "landmarks": [30, 50, 80]}
    log = Log(Context(KEYS, (default("*", protection=protection, scheme=SCHEMES[scheme]),)), fewest)
    landmarks = {3, 5, 8}
    for step in range(10):
        if step == 6:
            log.decide(*({"type": "landmarks", "series": name, "add": [40, 90]} for name in HOMES))
            if not log.out["rejects"]:  # Skip has spent all that a passed step could be charged
                landmarks |= {4, 9}
        log.decide(*steps(step * STEP))
        for name in HOMES:
            spent = {one["timestamp"] // STEP: one["epsilon_nano"] for one in log.found("releases")
                     if one["series"] == name and "epsilon_nano" in one}  # fmt: skip
            regular = (nano for at, nano in spent.items() if at not in landmarks)
            assert sum(spent.get(at, 0) for at in landmarks) + max(regular, default=0) <= 10**9
    assert log.audited() == []


def test_a_step_across_two_epochs_is_of_the_one_in_which_it_starts() -> None:
    """With epochs of 15 ms and steps of 10, the step from 10 on is in the first epoch, whenever its event is."""
    outs, within = [], (0, 17, 29, 34, 46, 59, 63)
    for fewest, times in ((1, within), (10**6, within), (10**6, range(0, 70, STEP))):
        log = Log(Context(KeyRing(KEYS.fingerprint, 0, KEYS.secret, 15), (default("*", protection=EVENT),)), fewest)
        for time_ms in times:
            log.decide(*steps(time_ms))
        entries = [entry for entry in log.found("ledger") if entry["entry"] == "release"]
        assert len(entries) == 7 * len(HOMES)
        assert all(entry["epoch"] == entry["timestamp"] // 15 for entry in entries)
        assert (log.together > 0) == (fewest == 1)
        assert log.audited() == []
        outs.append(log.out)
    assert outs[0] == outs[1] == outs[2]  # wherever in its step an event lies: the same noise


@WAYS
def test_a_step_that_starts_in_an_erased_epoch_is_rejected(fewest: int) -> None:
    """Its event belongs to a later epoch, whose key still exists."""
    keys = KeyRing(KEYS.fingerprint, 0, KEYS.secret, 15)
    log = Log(Context(keys, (default("*", protection=EVENT),)), fewest).decide(*steps(0))
    erased = keys.erased_before(1)
    assert erased is not None
    log.context = Context(erased, log.context.defaults)
    log.decide(*steps(17))
    assert [reject["reason"] for reject in log.found("rejects")] == ["key-erased"] * len(HOMES)
    log.decide(*steps(21))
    assert len(log.found("releases")) == 2 * len(HOMES)
    assert log.audited() == []


@WAYS
def test_what_lies_ahead_of_the_brokers_clock_is_rejected(fewest: int) -> None:
    """The last accepted moment is the record's own time plus 5 ms; a rejected event advances nothing."""
    log = Log(Context(KEYS, (default("*"),), Limits(max_future_ms=5)), fewest).decide(*steps(0))
    log.decide(*steps(5, HOMES[:10]), *steps(6, HOMES[10:]))
    assert [(reject["reason"], reject["series"]) for reject in log.found("rejects")] == [
        ("future", name) for name in HOMES[10:]
    ]
    log.decide(*steps(4, HOMES[10:]))
    assert len(log.found("releases")) == 2 * len(HOMES)  # all at 0, half of them at 5, the others at 4
    assert log.audited() == []
