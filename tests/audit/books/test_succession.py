"""Weaker versions in the audit: this second implementation agrees with the worker's on every small pair."""

import json
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from stream_app.audit import Auditor
from stream_app.audit.finding import KeyChange, Remark
from stream_app.privacy.noise.key import KeyRing
from tests.audit.histories import History, histories
from tests.audit.ways import audit
from tests.privacy.test_weaker import Version, versions
from tests.privacy.test_weaker_values import BOUNDS, NARROW
from tests.run import CATEGORY, COUNTS, LOCATION, NUMBER, Record, Run, limited, observation, policy

CONTEXT = limited(accept_weaker_policies=True, lifetime_nano=10**12)


@cache
def protection_of(version: Version) -> object:
    """Return the protection of a small version in the form of a policy."""
    return version.policy(1).parameters["protection"]


def version_of(series: str, version: Version, number: int) -> Record:
    """Return the record of a small version; every record says that it is weaker."""
    value = {**NUMBER, "resolution": 1}
    return policy(series, number, protection=protection_of(version), value=value, weaker=True)


def assert_remarked(run: Run) -> int:
    """Check that the audit remarks exactly the marked entries; return how many there are."""
    entries = [json.loads(line) for line in run.ledger]
    marked = [(entry["series"], entry["sequence"]) for entry in entries if entry.get("weaker")]
    report = audit(run.ledger, lifetime_nano=10**12)
    assert report.holds
    assert [(remark.code, *remark[1:3]) for remark in report.remarks] == [("weaker-marked", *place) for place in marked]
    assert not any("the ledger does not show it" in remark.message for remark in report.remarks)
    return len(marked)


@pytest.mark.parametrize("events_ms", [(), pytest.param((1,), marks=pytest.mark.long), (1, 4)])
def test_levels_by_enumeration(events_ms: tuple[int, ...]) -> None:
    """For every pair of small versions, each as a series, the audit remarks exactly those the worker marked."""
    pairs = weaker = 0
    for ruling in versions(1):
        run = Run(CONTEXT)
        for nth, new in enumerate(versions(2)):
            series = f"{nth}"
            run.feed(version_of(series, ruling, 1))
            run.feed_all(observation(series, at, 1) for at in events_ms)
            run.feed(version_of(series, new, 2))
            pairs += 1
        weaker += assert_remarked(run)
    assert 100 < weaker < pairs - 100


SUBSTITUTED = {**CATEGORY, "invalid": "none"}
COLLECTED = {"neighbours": "replace", "open_steps": 2}
KEYED = {"kind": "counts", "keys": ["x"]}
FORMS: tuple[dict[str, Any], ...] = (
    *({"value": each} for each in (NUMBER, NARROW, {**NARROW, "sensitivity": 3}, {**NARROW, "upper": 9})),
    *({"value": {**NUMBER, "invalid": 5}}, {"value": {**NUMBER, "sensitivity": 10}}, {"value": {**NUMBER, "upper": 5}}),
    *({"value": each} for each in (COUNTS, {**COUNTS, "sensitivity": 1}, CATEGORY, SUBSTITUTED)),
    *({"value": {**each, "categories": ["none", "ill"]}} for each in (CATEGORY, SUBSTITUTED)),
    *({"value": {**COUNTS, "keys": each}} for each in (["ride", "rest"], ["more", "rest", "ride", "walk"])),
    *({"value": each} for each in (LOCATION, {**LOCATION, "radius": 400}, {**LOCATION, "resolution": 20})),
    *({"value": {**LOCATION, "bounds": {**BOUNDS, side: BOUNDS[side] + 0.01}}} for side in BOUNDS),
    *({"value": KEYED, "collect": each} for each in (COLLECTED, {**COLLECTED, "neighbours": "add-remove"})),
    {"value": {**KEYED, "keys": ["x", "y"]}, "collect": COLLECTED},
    *({"value": KEYED, "collect": {**COLLECTED, "intrusion_nano": each}} for each in (4, 5)),
)


def test_neighbours_by_enumeration() -> None:
    """The same holds for every pair of value forms."""
    weaker = 0
    for former in FORMS:
        run = Run(CONTEXT)
        for nth, form in enumerate(FORMS):
            run.feed_all(policy(f"{nth}", number, weaker=True, **each) for number, each in ((1, former), (2, form)))
        weaker += assert_remarked(run)
    assert 50 < weaker < len(FORMS) ** 2 - 50


def test_an_unmarked_one_is_no_finding() -> None:
    """The ledger is from a program version that refused none: the audit holds and remarks what was given up."""
    run = Run(CONTEXT)
    run.feed(policy("a", protection={"level": "landmark", "landmarks": [9]}))
    run.feed(policy("a", 2, weaker=True))
    old = [line.replace(b'"weaker":true,', b"") for line in run.ledger]
    report = audit(old[:1])
    assert report.holds
    assert report.document()["remarks"] == []
    # The last entry's hash covers what was taken out: the finding is about that alone.
    report = audit(old, lifetime_nano=10**12)
    assert {finding.code for finding in report.findings} == {"bad-hash"}
    message = "future landmarks are dropped, the first at 9"
    expected = {"code": "weaker-unmarked", "series": "a", "sequence": 2, "message": message}
    assert report.document()["remarks"] == [expected]
    assert f"remark: weaker-unmarked  a #2  {message}" in report.text()


def test_whoever_follows_is_told_at_once() -> None:
    """Followers learn of remarks and key changes when the entry arrives, not with the report."""
    told: list[Remark | KeyChange] = []
    run = Run(CONTEXT)
    run.feed(policy("a", protection={"level": "landmark", "landmarks": [9]}))
    run.feed(policy("a", 2, weaker=True))
    run.context = replace(run.context, keys=KeyRing("f" * 16, 0, bytes(32)))
    run.feed(observation("a", 1, 1))
    auditor = Auditor(lifetime_nano=10**12, aside=told.append)
    auditor.entries(run.ledger)
    remark, change = told
    assert (remark.series, remark.sequence) == ("a", 2)
    assert change == KeyChange("a", 3, "0123456789abcdef", "f" * 16)
    assert auditor.finish().holds


@settings(max_examples=60, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(histories())
def test_histories(history: History) -> None:
    """In drawn histories with late landmarks, dummies and changed steps, remarks are just the marked entries."""
    entries = [json.loads(line) for line in history.ledger]
    marked = {(entry["series"], entry["sequence"]) for entry in entries if entry.get("weaker")}
    report = audit(history.ledger, lifetime_nano=history.lifetime_nano)
    assert report.holds
    assert {(remark.series, remark.sequence) for remark in report.remarks} == marked
