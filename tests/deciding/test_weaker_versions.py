"""A version weaker than the previous one: the conditions for it, and the future landmarks it keeps."""

import pytest

from stream_app.deciding.outcome import ProcessedRecord, RejectedRecord
from tests.deciding.test_decision import EXPECTING, WEAKER, read
from tests.run import (
    Run,
    limited,
    observation,
    policy,
)


@pytest.mark.parametrize(("said", "allowed"), [(False, False), (False, True), (True, False), (True, True)])
def test_a_weaker_version_needs_word_and_leave(said: bool, allowed: bool) -> None:  # noqa: FBT001
    """It rules only with both the record's flag and the setting; the entry has the flag after the charge."""
    run = Run(limited(accept_weaker_policies=allowed, lifetime_nano=2 * 10**9)).feed_all(WEAKER[:2])
    outcome = run.feed(policy("a", 2, weaker=said))
    if not (said and allowed):
        assert isinstance(outcome, RejectedRecord)
        assert outcome.reason == "weaker-policy"
        assert run.rows["a"].policy.version == 1
        return
    assert isinstance(outcome, ProcessedRecord)
    entry = read(run.ledger[-1])
    assert list(entry)[5:8] == ["charged_nano", "weaker", "parameters"]
    assert entry["weaker"] is True
    assert "weaker" not in entry["parameters"]


def test_the_word_alone_changes_nothing() -> None:
    """In a first version, or one that is not weaker, the member is ignored: the ledger is the same without it."""
    context = limited(accept_weaker_policies=True, lifetime_nano=2 * 10**9)
    later = policy("a", 2, protection={"level": "landmark", "landmarks": [9, 11]})
    plain = [EXPECTING, observation("a", 1, 1), later, observation("a", 2, 1)]
    said = [dict(record) | ({"weaker": True} if record["type"] == "policy" else {}) for record in plain]
    assert Run(context).feed_all(said).outputs == Run(context).feed_all(plain).outputs
    assert Run(context).feed_all(plain).rejects == []


def test_ten_landmarks_to_come_cannot_be_dropped() -> None:
    """Ten landmarks with one guaranteed epsilon in total would get one epsilon each at level event."""
    run = Run(limited(lifetime_nano=10**12))
    run.feed(policy("a", protection={"level": "landmark", "landmarks": [[10, 20]]}))
    assert isinstance(run.feed(policy("a", 2, protection={"level": "event"})), RejectedRecord)
    run.feed_all(observation("a", at, 1) for at in range(10, 20))
    spent = sum(read(entry).get("epsilon_nano", 0) for entry in run.ledger)
    assert 0 < spent <= 10**9


def test_dummies_are_united_with_what_is_to_come() -> None:
    """A version with dummies keeps the previous version's future landmarks, which are unknown to its own draw."""
    dummies = {"method": "padding", "probability": 0.5, "start": 40, "end": 48}
    hiding = policy("a", 2, protection={"level": "landmark", "landmarks": [41], "step": 4}, dummies=dummies)
    context = limited(lifetime_nano=2 * 10**9)
    before = policy("a", protection={"level": "landmark", "landmarks": [[1, 7], 90], "step": 1})
    run = Run(context).feed_all([before, observation("a", 2, 1), hiding])
    assert [read(entry)["entry"] for entry in run.ledger] == ["policy", "release", "policy", "dummies"]
    alone = Run(context).feed_all([{**hiding, "version": 1}])
    ruling, drawn = ({*run.rows["a"].policy.landmarks.intervals}, {*alone.rows["a"].policy.landmarks.intervals})
    # Steps 1 and 22 of 4 ms hold what of [1, 7) and 90 lies after the decided step, from 4 on.
    assert ruling == drawn | {(1, 2), (22, 23)}
    assert "weaker" not in read(run.ledger[2])
