"""Dummy landmarks in decision, rows, ledger, rebuild and audit: L' replaces L everywhere and permanently."""

import json
import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import pytest

from stream_app.deciding import rows
from stream_app.deciding.context import Context, Limits
from stream_app.deciding.outcome import ProcessedRecord
from stream_app.deciding.rebuild import rebuild
from stream_app.formats.encoding import NO_HASH, control_entry, sealed
from stream_app.formats.records import PolicyRecord
from stream_app.formats.wire import decode
from stream_app.kafka.client.topics import OUTPUT_BYTES
from stream_app.privacy import fold
from stream_app.privacy.dummies.request import MOST_STEPS
from stream_app.privacy.landmarks import LandmarkSet
from stream_app.privacy.parameters import LAST_TIMESTAMP_MS
from stream_app.privacy.policy import PolicyError, policy_of
from tests.audit.ways import audit
from tests.deciding.test_rows import TableRun
from tests.run import KEYS, Record, Run, default, observation, policy

STEP = 1000
RANGE = {"start": 0, "end": 10 * STEP}
METHODS: dict[str, dict[str, object]] = {
    "optimal": {"utility": "count", "fraction": 0.1},
    "heuristic": {"fraction": 0.25},
    "partitioned": {"utility": "count", "fraction": 1e-9},
    "padding": {"probability": 0.5},
}
CHARGES = {"optimal": 10**8, "heuristic": 25 * 10**7, "partitioned": 1, "padding": 0}


def asked(method: str, landmarks: list[Any], version: int = 1, **members: object) -> dict[str, object]:
    """Return a policy record with dummies over ten seconds."""
    protection = {"level": "landmark", "landmarks": landmarks, "step": STEP}
    dummies = {"method": method, **RANGE, **METHODS[method]}
    return policy("home-7", version, **{"protection": protection, "dummies": dummies, **members})


def log(method: str, landmarks: list[Any]) -> list[Record]:
    """Return a log of one series: policy, observations, a registration that must be refused, and the close."""
    readings = [observation("home-7", step * STEP, step / 3) for step in range(12)]
    late = {"type": "landmarks", "series": "home-7", "add": [20 * STEP]}
    return [asked(method, landmarks), *readings[:6], late, *readings[6:], {"type": "close", "series": "home-7"}]


@pytest.mark.parametrize("method", METHODS)
def test_ledger_and_figures(method: str) -> None:
    """The policy entry has L' and no `dummies`; the next has the charge, on which S builds; the audit agrees."""
    run = Run().feed_all(log(method, [3000, 7500]))
    policy_entry, dummies_entry = (json.loads(line) for line in run.ledger[:2])
    assert policy_entry["charged_nano"] == 0
    assert "dummies" not in policy_entry["parameters"]
    spans = policy_entry["parameters"]["protection"]["landmarks"]
    assert [span for span in spans if span[0] % STEP or span[1] % STEP] == []
    drawn = {step for start, end in spans for step in range(start // STEP, end // STEP)}
    assert {3, 7} <= drawn <= set(range(10))
    assert dummies_entry == dummies_entry | {"entry": "dummies", "method": method, "charged_nano": CHARGES[method]}
    assert list(dummies_entry)[3:6] == ["policy", "method", "charged_nano"]
    released = run.entries("release")
    assert [entry["timestamp"] // STEP for entry in released if entry["landmark"]] == sorted(drawn)
    spent = sum(entry.get("epsilon_nano", 0) for entry in released if entry["landmark"])
    assert released[-1]["landmark_spent_nano"] == spent + CHARGES[method]
    assert [json.loads(line)["reason"] for line in run.rejects] == ["refused-landmark"]
    assert audit(run.ledger, run.releases).findings == ()


@pytest.mark.parametrize("method", METHODS)
def test_rows_and_rebuilt_rows_go_on_the_same(method: str) -> None:
    """Stored as bytes after every record, or rebuilt from the ledger anywhere, they give the same later bytes."""
    records = log(method, [3000, 7500])
    whole = Run().feed_all(records)
    assert TableRun().feed_all(records).outputs == whole.outputs
    for cut in range(1, len(records)):
        first = Run().feed_all(records[:cut])
        again = Run()
        again.offset = first.offset
        again.rows = dict(rebuild(first.context, first.ledger, first.releases))
        assert again.rows == first.rows
        again.feed_all(records[cut:])
        assert [*first.ledger, *again.ledger] == whole.ledger
        assert [*first.rejects, *again.rejects] == whole.rejects


def outputs(run: Run) -> list[bytes]:
    """Return everything that leaves a run: releases, ledger, rejects, and the stored rows."""
    stored = [part for row in run.rows.values() for pair in rows.dump(row, None, set()) for part in pair]
    return [*run.releases, *run.ledger, *run.rejects, *stored]


@pytest.mark.parametrize("method", METHODS)
def test_outputs_depend_on_the_joined_set_alone(method: str) -> None:
    """For any true landmarks and spelling, the same L' gives the same bytes, step by step."""
    spellings: list[list[Any]] = [[], [2000], [2000, 2999], [[2000, 3000]], [[2500, 4500]], [2000, 3000, 4000]]
    spellings += [[start * STEP for start in range(10) if number >> start & 1] for number in range(1, 2**10, 23)]
    by_drawn: dict[bytes, list[list[bytes]]] = defaultdict(list)
    for landmarks in spellings:
        run = Run().feed_all(log(method, landmarks))
        drawn = json.loads(run.ledger[0])["parameters"]["protection"]["landmarks"]
        by_drawn[json.dumps(drawn).encode()].append(outputs(run))
    shared = [found for found in by_drawn.values() if len(found) > 1]
    assert len(shared) >= 1, "the test needs landmarks that draw the same"
    assert sum(map(len, shared)) >= 6
    assert all(other == found[0] for found in shared for other in found)
    # The control: another L' is seen.
    firsts = [found[0] for found in by_drawn.values()]
    assert len({tuple(found) for found in firsts}) == len(firsts) > 1


@pytest.mark.parametrize("method", METHODS)
def test_no_true_timestamp_is_written(method: str) -> None:
    """Timestamps inside a step are in no output, error or text of a value; only their steps are."""
    canaries = [3_141, 7_653, 7_919]
    run = Run().feed_all(log(method, [*canaries, [8_087, 8_117]]))
    refused = asked(method, [*canaries, 99_991], 2)
    run.feed(refused)
    texts = [line.decode() for line in outputs(run)] + [repr(row.policy) for row in run.rows.values()]
    undrawn = decode(json.dumps(asked(method, canaries)).encode())
    assert isinstance(undrawn, PolicyRecord)
    texts += [repr(undrawn), repr(policy_of(undrawn.parameters, 1)), str(policy_of(undrawn.parameters, 1).parameters)]
    for wrong in ([99_991], [[8_117, 8_087]], [3_141, "x"], [-3_141]):
        record = decode(json.dumps(asked(method, wrong)).encode())
        assert isinstance(record, PolicyRecord)
        with pytest.raises(PolicyError) as raised:
            policy_of(record.parameters, 1)
        texts.append(str(raised.value))
    for text in texts:
        for canary in (*canaries, 8_087, 8_117, 99_991):
            assert not re.search(rf"(?<![0-9a-f.]){canary}(?![0-9a-f.])", text), (canary, text)


def test_series_of_a_default_policy_share_a_draw() -> None:
    """Separate rows have the same draw: the intersection of different draws would be the true landmarks."""
    record = asked("padding", [3000])
    shared = default("home-*", protection=record["protection"], dummies=record["dummies"])
    run = Run(Context(KEYS, (shared,)))
    for number in range(12):
        assert isinstance(run.feed(observation(f"home-{number}", 1000, 1)), ProcessedRecord)
    sets = {json.dumps(found["parameters"]["protection"]["landmarks"]) for found in run.entries("policy")}
    assert len(sets) == 1
    assert len(run.entries("dummies")) == 12
    other = default("h*", protection=record["protection"], dummies=record["dummies"])
    elsewhere = Run(Context(KEYS, (other,)))
    elsewhere.feed(observation("home-0", 1000, 1))
    assert json.dumps(elsewhere.entries("policy")[0]["parameters"]["protection"]["landmarks"]) not in sets
    pairs = [pair for row in run.rows.values() for pair in rows.dump(row, None, set())]
    assert {key[:1] for key, _ in pairs} == {b"s", b"p"}
    assert rebuild(run.context, run.ledger, run.releases) == run.rows
    late = run.feed({"type": "landmarks", "series": "home-3", "add": [20_000]})
    assert json.loads(run.rejects[0])["reason"] == "refused-landmark", late
    assert audit(run.ledger, run.releases).holds


def test_the_fingerprint_tells_nothing_of_the_landmarks() -> None:
    """The stored fingerprint of a configuration is the same for other true landmarks: nobody can test guesses."""
    prints = set()
    for landmarks in ([3000], [4000, 5000]):
        record = asked("heuristic", landmarks)
        shared = default("home-*", protection=record["protection"], dummies=record["dummies"])
        prints.add(Context(KEYS, (shared,)).fingerprint)
    assert len(prints) == 1
    other = asked("padding", [3000])
    shared = default("home-*", protection=other["protection"], dummies=other["dummies"])
    assert Context(KEYS, (shared,)).fingerprint not in prints


def test_versions_draw_the_same_and_the_charge_counts_for_life() -> None:
    """A second version with the same landmarks has the same L'; both charges count against the lifetime."""
    run = Run(Context(KEYS, limits=Limits(lifetime_nano=10**9 + 25 * 10**7)))
    run.feed_all([asked("heuristic", [3000, 7500], version) for version in (1, 2)])
    first, second = run.entries("policy")
    assert first["parameters"] == second["parameters"]
    assert isinstance(run.feed(asked("heuristic", [3000, 7500], 3, epsilon=0.75)), ProcessedRecord)
    assert json.loads(run.ledger[-1])["charged_nano"] == 1875 * 10**5
    run.feed(asked("heuristic", [3000, 7500], 4))
    assert json.loads(run.rejects[-1])["reason"] == "budget-cap"
    assert audit(run.ledger, lifetime_nano=10**9 + 25 * 10**7).holds
    assert not audit(run.ledger, lifetime_nano=10**9 + 25 * 10**7 - 1).holds


def test_a_range_of_decided_steps_is_refused() -> None:
    """A version whose range begins before the last decided step's end is refused, wherever its landmarks are."""
    run = Run().feed_all([policy("home-7", protection={"level": "landmark", "step": STEP}, epsilon=0.5)])
    run.feed(observation("home-7", 4 * STEP, 1))
    for start, reason in ((4, "invalid-policy"), (5, None)):
        record = asked("padding", [8 * STEP], 2, epsilon=1e-9)
        dummies = {"method": "padding", "probability": 0.5, "start": start * STEP, "end": 10 * STEP}
        before = len(run.rejects)
        run.context = Context(KEYS, limits=Limits(lifetime_nano=10**10))
        run.feed(record | {"dummies": dummies})
        assert [json.loads(line)["reason"] for line in run.rejects[before:]] == ([reason] if reason else [])


def test_the_last_step_of_all() -> None:
    """A range up to the last timestamp, whose last step ends after it, can be read back as written."""
    start = LAST_TIMESTAMP_MS // 7000 * 7000 - 14_000
    dummies = {"method": "padding", "probability": 1, "start": start, "end": LAST_TIMESTAMP_MS}
    protection = {"level": "landmark", "landmarks": [start], "step": 7000}
    run = Run().feed_all([policy("home-7", protection=protection, dummies=dummies)])
    assert isinstance(run.feed(observation("home-7", LAST_TIMESTAMP_MS - 1, 1)), ProcessedRecord)
    assert run.entries("policy")[0]["parameters"]["protection"]["landmarks"] == [[start, LAST_TIMESTAMP_MS]]
    assert run.entries("release")[0]["landmark"]
    assert rebuild(run.context, run.ledger, run.releases) == run.rows
    assert audit(run.ledger, run.releases).findings == ()


def test_the_longest_range_fits_a_row_and_an_entry() -> None:
    """With every second one of 65,536 steps a landmark, the most intervals possible stay below a topic's limit."""
    steps = MOST_STEPS["padding"]
    drawn = LandmarkSet(tuple((step, step + 1) for step in range(10**9, 10**9 + steps, 2)))
    record = asked("padding", [], dummies={"method": "padding", "probability": 0.5, "start": 0, "end": steps * STEP})
    made = policy_of({name: part for name, part in record.items() if name not in {"type", "series", "version"}}, 1)
    ruling = made.ruling(drawn)
    adopted = fold.adopt(ruling, None, None, None)
    assert isinstance(adopted, fold.StateChange)
    entry, _ = sealed(control_entry("x" * 200, 1, adopted.entry), KEYS.fingerprint, 0, NO_HASH)
    row = rows.SeriesRow("x" * 200, b"x" * 200, 1, NO_HASH, ruling, "", adopted.state)
    assert max(len(entry), *(len(value) for _, value in rows.dump(row, None, set()))) < OUTPUT_BYTES - 2**20


def faults(**members: object) -> Iterator[str]:
    """Yield the faults of a policy with dummies."""
    record = asked("heuristic", [3000]) | members
    try:
        policy_of({name: record[name] for name in record if name not in {"type", "series", "version"}}, 1)
    except PolicyError as error:
        yield from (f"{fault.member}: {fault.message}" for fault in error.faults)


@pytest.mark.parametrize(
    ("members", "said"),
    [
        ({"protection": {"level": "landmark", "step": STEP, "spare": 1}}, "protection.spare: with dummies"),
        ({"protection": {"level": "event"}}, "dummies: level event has no landmarks"),
        (
            {"protection": {"level": "landmark", "landmarks": [10_000], "step": STEP}},
            "protection.landmarks: some landmarks are",
        ),
        ({"dummies": {"method": "optimal", "start": 0, "end": 16_001}}, "dummies.method: optimal accepts a range of"),
        ({"dummies": {"method": "optimal", "start": 5, "end": 5}}, "dummies.end: a range"),
        ({"dummies": {"method": "optimal", "start": 5}}, "dummies.end: is missing"),
        ({"dummies": {"method": "padding", **RANGE, "probability": 0}}, "dummies.probability"),
        ({"dummies": {"method": "padding", **RANGE, "probability": 0.1, "fraction": 0.1}}, "dummies.fraction"),
        ({"dummies": {"method": "heuristic", **RANGE, "fraction": 1}}, "dummies.fraction"),
    ],
)
def test_what_is_refused(members: dict[str, object], said: str) -> None:
    """Each wrong request is a fault that names its member and the remedy."""
    found = [*faults(**members)]
    assert any(each.startswith(said) for each in found), found
