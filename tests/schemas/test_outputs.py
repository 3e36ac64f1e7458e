"""Outputs: everything the decision writes fits its schema, and the audit reads what fits."""

import json
from collections.abc import Iterable
from itertools import product
from typing import Any, get_args

import orjson
import pytest
from hypothesis import HealthCheck, given, settings

from stream_app.audit.finding import Finding
from stream_app.audit.form.entry import OpaqueEntry
from stream_app.audit.form.reader import is_claim, read_entry, read_head_record, read_proof, read_release
from stream_app.formats import encoding
from stream_app.privacy.reason import Reason
from tests import readings
from tests.audit import gathered
from tests.audit.histories import History, histories
from tests.audit.test_people import logs
from tests.run import SAMPLES, SCHEMES, Record, Run, limited, observation, policy
from tests.schemas.catalogue import HEADS, examples, fits, label, strict_validator
from tests.schemas.changes import places, removed

AUDITED = ("release", "ledger-entry", "claim", *HEADS, "proof")
HOUR = 3_600_000
START = 1_338_534_000_000
LEVELS: dict[str, Record] = {
    "landmark": {"level": "landmark", "landmarks": [START, [START + 2 * HOUR, START + 4 * HOUR]], "step": HOUR},
    "event": {"level": "event", "step": HOUR},
    "user": {"level": "user", "step": HOUR, "length": 6},
}
VARIANTS = [
    pytest.param(kind, scheme, level, id=f"{kind}-{scheme}-{level}")
    for kind, scheme, level in product(SAMPLES, SCHEMES, LEVELS)
    if level != "user" or scheme in {"uniform", "adaptive"}
]


def misfits(record: str, lines: Iterable[bytes]) -> list[str]:
    """Return the outputs that do not fit, with the faults."""
    check = strict_validator(record)
    found = [(line, json.loads(line)) for line in lines]
    return [
        f"{line.decode()}: {[error.message for error in check.iter_errors(document)]}"
        for line, document in found
        if not fits(record, document, strict=True)
    ]


def life(kind: str, scheme: str, level: str, **value: object) -> list[Record]:
    """Return the records of a series' whole life, including refused ones."""
    members: dict[str, Any] = {
        "scheme": SCHEMES[scheme],
        "protection": LEVELS[level],
        "value": {**SAMPLES[kind].declared, **value},
    }
    values = SAMPLES[kind].accepted
    records: list[Record] = [observation("home-7", START, values[0]), policy("home-7", **members)]
    events = [observation("home-7", START + nth * HOUR, values[nth % len(values)]) for nth in range(12)]
    records += [*events[:2], {"type": "landmarks", "series": "home-7", "add": [START + HOUR]}, *events[2:]]
    records += [observation("home-7", START + 11 * HOUR, None), observation("home-7", START, values[0])]
    records += [observation("home-7", START + 12 * HOUR, None)]
    records += [{"type": "landmarks", "series": "home-7", "add": [START + 30 * HOUR, [START, START + HOUR]]}]
    records += [policy("home-7", version=1, **members), {"type": "close", "series": "home-7"}]
    return [*records, observation("home-7", START + 40 * HOUR, values[0])]


@pytest.mark.parametrize(("kind", "scheme", "level"), VARIANTS)
def test_whole_lives(kind: str, scheme: str, level: str) -> None:
    """Every release, entry and reject of a series fits, with and without clamping, filter and a substitute."""
    sample = SAMPLES[kind]
    variants: list[Record] = [{}]
    variants += [{"clamp": False}] if sample.has_clamp else []
    variants += [{"invalid": sample.substitute}] if sample.substitute is not None else []
    for value in variants:
        run = Run().feed_all(life(kind, scheme, level, **value))
        assert misfits("release", run.releases) == []
        assert misfits("ledger-entry", run.ledger) == []
        assert misfits("reject", run.rejects) == []
        assert {json.loads(line)["entry"] for line in run.ledger} >= {"policy", "release", "close"}


def test_every_sort_occurs() -> None:
    """The lives above show every decision, every kind of entry and most reasons."""
    runs = [Run().feed_all(life(*variant.values)) for variant in VARIANTS]  # type: ignore[arg-type]
    entries = [json.loads(line) for run in runs for line in run.ledger]
    assert {entry["entry"] for entry in entries} == {"policy", "landmarks", "release", "close"}
    assert {entry.get("decision") for entry in entries} == {None, "perturbed", "approximated", "withheld"}
    assert any(entry["charged_nano"] for entry in entries if entry["entry"] == "landmarks")
    reasons = {json.loads(line)["reason"] for run in runs for line in run.rejects}
    expected = {"no-policy", "duplicate", "late", "invalid-value", "refused-landmark", "invalid-policy", "closed"}
    assert reasons == expected


@settings(max_examples=15, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(histories())
def test_any_history(history: History) -> None:
    """The outputs of drawn histories fit."""
    assert misfits("release", history.releases) == []
    assert misfits("ledger-entry", history.ledger) == []
    assert misfits("reject", history.rejects) == []


@settings(max_examples=25, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(gathered.schedules() | readings.schedules())
def test_any_log_of_several_items(drawn: list[Record]) -> None:
    """The outputs of drawn logs of collected sums, means and choices, and of steps of several readings, fit."""
    run = Run(limited(accept_weaker_policies=True)).feed_all(drawn)
    assert misfits("release", run.releases) == []
    assert misfits("ledger-entry", run.ledger) == []
    assert misfits("reject", run.rejects) == []


@settings(max_examples=25, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(logs())
def test_any_log_of_people(run: Run) -> None:
    """The outputs of drawn logs with members fit: claims, caps, and the rejects of both."""
    assert misfits("release", run.releases) == []
    assert misfits("ledger-entry", run.ledger) == []
    assert misfits("reject", run.rejects) == []


@pytest.mark.parametrize("value", [b"", b"[]", b'{"series":7}', b'{"series":"a","timestamp":5}', b" " * 300_000, None])
def test_rejects_of_anything(value: bytes | None) -> None:
    """A value that holds no record is rejected by a record that fits."""
    run = Run(limited(accept_policies=False))
    run.feed(value)
    assert misfits("reject", run.rejects) == []
    assert len(run.rejects) == 1


@pytest.mark.parametrize("reason", get_args(Reason))
def test_every_reason(reason: Reason) -> None:
    """A reject of every reason fits, with or without what could be read."""
    for series, timestamp_ms in (("home-7", START), ("home-7", None), (None, START), (None, None)):
        assert (
            misfits("reject", [encoding.encode_reject(series, timestamp_ms, reason, "landmark.events", 3, 1187)]) == []
        )


def read_by_the_audit(record: str, value: bytes) -> bool:
    """Return whether the audit reads an output."""
    if record == "release":
        return not isinstance(read_release(value), Finding)
    if record == "proof":
        return not isinstance(read_proof(value), str)
    if record == "claim":
        return is_claim(value)
    if record in HEADS:
        return not isinstance(read_head_record(value), Finding)
    return not isinstance(read_entry(value), Finding | OpaqueEntry)


@pytest.mark.parametrize("sort", ["valid", "invalid"])
def test_the_audit_agrees(sort: Any) -> None:
    """The audit, an independent implementation, reads the examples that fit and no others."""
    found = [each for each in examples(sort) if each.record in AUDITED]
    differing = [
        label(each)
        for each in found
        if read_by_the_audit(each.record, orjson.dumps(each.document)) != (sort == "valid")
    ]
    # Of policies, which are read later.
    terms = [
        f"ledger-entry-policy-{name}"
        for name in (
            *("choice-without-collect", "renew-intervals", "units-without-statistic", "unknown-level"),
            *("unknown-parameter", "with-dummies"),
        )
    ]
    assert differing == ([] if sort == "valid" else terms)


@pytest.mark.parametrize("record", AUDITED)
def test_every_member_is_needed(record: str) -> None:
    """An output without any one of its members neither fits nor is read."""
    for example in examples("valid"):
        for path in places(example.document) if example.record == record else ():
            # Without the first, the version is as strong as the one before; without the second, nothing is claimed;
            # without the third, it is of a number that was not collected; without a sum's count, it is of items.
            needless = {("weaker",), ("lifetime_nano",), ("statistic",), ("view",)}  # a series is mostly none
            if example.name == "perturbed-units-sum":
                needless.add(("count",))
            if len(path) == 1 and path not in needless:
                document = removed(example.document, path)
                assert not fits(record, document, strict=True), path
                assert not read_by_the_audit(record, orjson.dumps(document)), path
