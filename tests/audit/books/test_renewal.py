"""Renewals in the audit: real ones hold, forbidden ones are found, and missed ones are remarked."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stream_app.deciding.context import Context, Limits
from stream_app.deciding.outcome import RejectedRecord
from stream_app.deciding.rebuild import rebuild
from tests.audit.frauds.forged import behind, registered
from tests.audit.ways import audit, codes
from tests.audit.written import Written, seal
from tests.deciding.renewal.renewing import DRAWN, landmarks, renewing
from tests.run import KEYS, NUMBER, UNIFORM, Run, observation, policy
from tests.suite.speeds import scaled

NANO = 10**9
LIFETIME = 100 * NANO
ROOM = Context(KEYS, limits=Limits(lifetime_nano=LIFETIME))
TIGHT = Context(KEYS, limits=Limits(lifetime_nano=NANO))


def drawn() -> Run:
    """Return a run whose landmarks were drawn and which was renewed once, at 100."""
    protection = {"level": "landmark", "landmarks": [20, [500, 505]]}
    drawing = policy("a", renew=[100, 2000], protection=protection, dummies={**DRAWN, "end": 1000})
    return Run(ROOM).feed_all([drawing, observation("a", 0, 1), observation("a", 110, 1)])


@st.composite
def logs(draw: st.DrawFn) -> list[dict[str, object]]:
    """Return a log of one renewed series, with landmarks, late ones, windows, and versions by its operator."""
    level = draw(st.sampled_from(("landmark", "landmark", "user")))
    spans = draw(st.lists(st.integers(0, 39).map(lambda step: step * 10), max_size=6))
    protection: dict[str, object] = {"level": "user", "length": draw(st.integers(1, 30)), "step": 10}
    if level == "landmark":
        protection = landmarks(*spans, spare=draw(st.integers(0, 2)))
    bounds = sorted(draw(st.sets(st.integers(0, 400), max_size=5)))
    records: list[dict[str, object]] = [policy("a", protection=protection, renew=bounds)]
    now, version = 0, 1
    for turn in draw(st.lists(st.integers(0, 9), max_size=40)):
        now += (1, 1, 1, 1, 2, 3, 7, 1, 0, 0)[turn] * 10
        if turn == 8 and level == "landmark":
            records.append({"type": "landmarks", "series": "a", "add": [draw(st.integers(0, 400))]})
        elif turn == 9 and draw(st.booleans()):
            version += draw(st.integers(1, 4))
            records.append({**records[0], "version": version, "weaker": True})
        else:
            records.append(observation("a", now, 1))
    return records


@settings(max_examples=scaled(150))
@given(logs(), st.sampled_from((NANO, 3 * NANO, LIFETIME)))
def test_what_the_worker_renews_holds(records: list[dict[str, object]], lifetime: int) -> None:
    """There are no findings, no bound is missed if there was room, and each version counts once."""
    run = Run(Context(KEYS, limits=Limits(lifetime_nano=lifetime, accept_weaker_policies=True))).feed_all(records)
    report = audit(run.ledger, run.releases, lifetime)
    assert report.findings == ()
    assert {remark.code for remark in report.remarks} <= {"weaker-marked"}
    assert report.largest_nano <= lifetime


@pytest.mark.parametrize("bounds", [None, [], [2000]])
def test_a_renewal_that_is_spelt_otherwise_is_one(bounds: list[int] | None) -> None:
    """An operator's version names the same steps singly: the worker takes no more landmarks, as the audit says."""
    run = Run(ROOM)
    drawing = policy("a", renew=[100, 2000], protection={"level": "landmark", "landmarks": [20]}, dummies=DRAWN)
    run.feed_all([drawing, observation("a", 0, 1)])
    parameters = dict(json.loads(run.ledger[0])["parameters"])
    steps = [step for start, end in parameters["protection"]["landmarks"] for step in range(max(1, start), end)]
    parameters["protection"] = {**parameters["protection"], "landmarks": steps}
    parameters["renew"] = bounds
    run.feed_all([{"type": "policy", "series": "a", "version": 2, **parameters}, observation("a", 5, 1)])
    assert isinstance(run.feed({"type": "landmarks", "series": "a", "add": [700]}), RejectedRecord)
    assert run.rows["a"].policy.fixed
    assert audit(run.ledger, run.releases, lifetime_nano=LIFETIME).findings == ()
    assert rebuild(run.context, run.ledger, run.releases) == run.rows


def test_a_missed_bound_is_remarked_where_a_lifetime_is_known() -> None:
    """Only budget was lost, so it is not a finding; without the lifetime, nobody knows whether there was room."""
    run = Run(TIGHT).feed_all([renewing(), *(observation("a", at, 1) for at in (0, 50, 110, 120, 190, 500, 510))])
    assert audit(run.ledger, lifetime_nano=NANO).remarks == ()
    report = audit(run.ledger, lifetime_nano=LIFETIME)
    assert report.holds
    assert [remark.code for remark in report.remarks] == ["unrenewed", "unrenewed"]
    assert report.remarks[0].message == ("continues at 110, although the bound 100 renews it and there is room")
    assert report.remarks[1].message == ("continues at 500, although the bound 300 renews it and there is room")
    assert audit(run.ledger).remarks == ()


def test_a_claim_is_a_lifetime_that_the_ledger_tells() -> None:
    """The claim reveals a missed bound even if the auditor is told nothing; here `max_epsilon` was lowered."""
    run = Run(ROOM).feed_all([renewing(lifetime=2.0), observation("a", 0, 1)])
    run.context = Context(KEYS, limits=Limits(LIFETIME, NANO - 1))
    run.feed_all(observation("a", at, 1) for at in (110, 120))
    run.context = ROOM
    run.feed_all(observation("a", at, 1) for at in (210, 310))  # renewed at 200; at 300 nothing is left of the claim
    assert [entry["policy"] for entry in map(json.loads, run.ledger) if entry["entry"] == "policy"] == [1, 2]
    report = audit(run.ledger)
    assert report.holds
    assert [remark.code for remark in report.remarks] == ["unrenewed"]


def test_a_renewal_beyond_the_lifetime_is_found() -> None:
    """The bound grants nothing: the limit on the total over versions stays as promised."""
    run = Run(ROOM).feed_all([renewing(), observation("a", 0, 1), observation("a", 110, 1)])
    assert audit(run.ledger, lifetime_nano=2 * NANO).holds
    assert codes(audit(run.ledger, lifetime_nano=NANO)) == {"lifetime"}
    assert codes(audit(run.ledger)) == {"lifetime"}


def test_what_was_drawn_stays_fixed() -> None:
    """A landmark added to a renewed version would be known to be true, as before the renewal."""
    run = drawn()
    assert audit(run.ledger, run.releases, LIFETIME).holds
    other = Run(ROOM).feed_all([renewing(), observation("a", 0, 1), observation("a", 110, 1)])
    for made, found in ((run, {"refused-landmark"}), (other, set[str]())):
        forged = Written.of(made, LIFETIME)
        assert forged.entries[-1]["policy"] == 2
        left = forged.entries[-1]["landmarks_left"] + (10 if made is run else 1)
        forged = registered(forged, len(forged.entries) - 1, [[1500, 1510]], landmarks_left=left)
        assert codes(audit(forged.lines(), lifetime_nano=LIFETIME)) == found


@pytest.mark.parametrize("change", ["landmarks", "epsilon", "renew", "version"])
def test_another_version_is_an_operators(change: str) -> None:
    """A version is a renewal only if it equals what the renewal would write.

    Other versions may register landmarks.
    """
    forged = Written.of(drawn(), LIFETIME)
    policies = [entry for entry in forged.entries if entry["entry"] == "policy"]
    policies[1]["parameters"] |= {"epsilon": 0.5} if change == "epsilon" else {}
    parameters: dict[str, Any] = policies[1]["parameters"]
    if change == "epsilon":
        policies[1]["budget_nano"] = NANO // 2
    elif change == "landmarks":
        parameters["protection"]["landmarks"] = [[150, 160]]
    elif change == "renew":
        parameters["renew"] = [2001]
    del forged.entries[forged.entries.index(policies[1]) + 1 :]
    number = 3 if change == "version" else 2
    policies[1]["policy"] = number
    left = sum(end - start for start, end in parameters["protection"]["landmarks"]) + 1
    figures = {"budget_nano": policies[1]["budget_nano"], "landmark_spent_nano": 0, "landmarks_left": left}
    added = {"add": [[3000, 3001]], "charged_nano": 0} | figures | {"regular_peak_nano": 0}
    forged = behind(forged, len(forged.entries) - 1, "landmarks", **added)
    assert codes(audit(forged.lines(), lifetime_nano=LIFETIME)) == set()


def test_figures_of_a_renewed_version_are_checked_anew() -> None:
    """They include nothing of the version before: neither its spends nor its landmarks."""
    run = Run(ROOM).feed_all([renewing(), observation("a", 0, 1), observation("a", 110, 1)])
    forged = Written.of(run, LIFETIME)
    for figure, code in (("regular_peak_nano", "regular-peak"), ("landmarks_left", "landmarks-left")):
        changed = forged.copy()
        changed.entries[-1][figure] += 1
        assert codes(audit(seal(changed).lines(), lifetime_nano=LIFETIME)) == {code}


@pytest.mark.parametrize(
    "protection", [{"level": "event"}, {"level": "w-event", "window": 3}, {"level": "user", "length": 9}]
)
def test_which_levels_renew(protection: dict[str, object]) -> None:
    """A ledger with bounds at another level, or on collected data, has unknown terms."""
    run = Run(ROOM).feed_all([policy("a", protection=protection, scheme=UNIFORM, value=NUMBER)])
    forged = Written.of(run, LIFETIME)
    forged.entries[0]["parameters"]["renew"] = [1, 2]
    found = codes(audit(seal(forged).lines()))
    assert found == (set() if protection["level"] == "user" else {"unknown-terms"})
