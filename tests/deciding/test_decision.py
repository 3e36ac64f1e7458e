"""One record in, one decision out: the worked example, every reason code, the order of checks, hostile records."""

import json
from typing import Any, get_args

import pytest

from stream_app.deciding.context import Context, Limits
from stream_app.deciding.outcome import ProcessedRecord, RejectedRecord
from stream_app.privacy.noise.key import KeyRing
from stream_app.privacy.reason import Reason
from tests.run import (
    CATEGORY,
    COUNTS,
    KEYS,
    NUMBER,
    SCHEMES,
    UNIFORM,
    Run,
    default,
    limited,
    observation,
    policy,
    reason,
)

HOUR = 3_600_000
FUZZED = 100_000

EXAMPLE: dict[str, Any] = {
    "type": "policy",
    "series": "home-7",
    "version": 1,
    "epsilon": 1.0,
    "protection": {
        "level": "landmark",
        "landmarks": [1338570000000, [1338580800000, 1338591600000]],
        "step": HOUR,
        "spare": 2,
    },
    "scheme": {"name": "adaptive", "increase": 0.5, "decrease": 0.5, "minimum": 0.1},
    "filter": "none",
    "value": {"kind": "number", "lower": 0, "upper": 10, "resolution": 0.001},
    "correlation": "household",
}


def read(value: bytes) -> dict[str, Any]:
    """Return the members of a record."""
    found = json.loads(value)
    assert isinstance(found, dict)
    return found


def test_the_worked_example_of_the_design() -> None:
    """The design's policy and first event give its figures: budgets, scale, landmarks left, member order."""
    run = Run().feed_all([EXAMPLE, observation("home-7", 1338534000000, 1.011)])
    policy_entry, release_entry = (read(entry) for entry in run.ledger)
    release = read(run.releases[0])
    assert list(policy_entry) == [
        *("series", "sequence", "entry", "policy", "budget_nano", "charged_nano", "parameters"),
        *("key", "epoch", "previous", "hash"),
    ]
    assert policy_entry["budget_nano"] == 1_000_000_000
    assert policy_entry["charged_nano"] == 0
    assert policy_entry["parameters"] == {
        name: part for name, part in EXAMPLE.items() if name not in {"type", "series", "version"}
    }
    assert list(release) == [
        *("series", "timestamp", "value", "decision", "measurement", "epsilon_nano", "scale", "policy")
    ]
    assert (release["epsilon_nano"], release["scale"]) == (142_857_148, 69.99999748000009)
    assert list(release_entry) == [
        *("series", "sequence", "entry", "timestamp", "decision", "landmark", "policy", "budget_nano"),
        *("epsilon_nano", "landmark_spent_nano", "landmarks_left", "regular_peak_nano", "release"),
        *("key", "epoch", "previous", "hash"),
    ]
    assert release_entry["landmark"] is False
    assert release_entry["landmarks_left"] == 6
    assert release_entry["landmark_spent_nano"] == 0
    assert release_entry["regular_peak_nano"] == 142_857_148


def test_approximated_and_withheld_releases() -> None:
    """A step without publication names its source or holds no value at all; its entry spends nothing."""
    skip = policy("home-8", scheme=SCHEMES["skip"], protection={"level": "landmark", "landmarks": [0, 2], "step": 1})
    run = Run().feed_all([skip, *(observation("home-8", step, 5) for step in range(3))])
    withheld, perturbed, approximated = (read(release) for release in run.releases)
    assert withheld == {"series": "home-8", "timestamp": 0, "decision": "withheld", "policy": 1}
    assert list(approximated) == ["series", "timestamp", "value", "decision", "source", "policy"]
    assert (approximated["source"], approximated["value"]) == (1, perturbed["value"])
    assert "epsilon_nano" not in read(run.ledger[1])
    assert read(run.ledger[1])["landmarks_left"] == 1


REASONS: dict[str, tuple[Context, list[dict[str, object] | bytes | None]]] = {
    "malformed": (Context(KEYS), [b"{"]),
    "wrong-type": (Context(KEYS), [policy("a"), {"type": "watermark", "series": "a", "timestamp": 5}]),
    "invalid-value": (Context(KEYS), [policy("a"), observation("a", 1, "one")]),
    "misrouted": (Context(KEYS, partition_of=len), [policy("a")]),
    "no-policy": (Context(KEYS, (default("b*"),)), [observation("a", 1, 1)]),
    "invalid-policy": (Context(KEYS), [policy("a", epsilon=-1)]),
    "late": (Context(KEYS), [policy("a"), observation("a", 9, 1), observation("a", 7, 1)]),
    "duplicate": (Context(KEYS), [policy("a"), observation("a", 9, 1), observation("a", 9, 1)]),
    "future": (limited(max_future_ms=100), [policy("a"), observation("a", 101, 1)]),
    "closed": (Context(KEYS), [policy("a"), {"type": "close", "series": "a"}, observation("a", 1, 1)]),
    "refused-landmark": (
        Context(KEYS),
        [policy("a"), observation("a", 1, 1), {"type": "landmarks", "series": "a", "add": [1]}],
    ),
    "weaker-policy": (
        limited(accept_weaker_policies=True),
        [policy("a", protection={"level": "landmark", "landmarks": [9]}), observation("a", 1, 1), policy("a", 2)],
    ),
    "budget-cap": (limited(max_epsilon_nano=10**9 - 1), [policy("a")]),
    "member-cap": (limited(member_separator="/", member_nano=10**9 - 1), [policy("a")]),
    "key-erased": (Context(KeyRing("00", 1, bytes(32), 86_400_000)), [policy("a"), observation("a", 86_399_999, 1)]),
    "too-large": (Context(KEYS), [b'{"series":"a","timestamp":1,"value":"%b"}' % (b"x" * 2**18)]),
}


@pytest.mark.parametrize("reason", list(REASONS))
def test_every_reason(reason: str) -> None:
    """Each reason code but the reserved `early` comes from its own record, which the reject names."""
    context, records = REASONS[reason]
    run = Run(context)
    outcomes = [run.feed(record) for record in records]
    assert all(isinstance(outcome, ProcessedRecord) for outcome in outcomes[:-1])
    last = outcomes[-1]
    assert isinstance(last, RejectedRecord)
    assert last.reason == reason
    reject = read(last.value)
    assert list(reject) == ["series", "timestamp", "reason", "topic", "partition", "offset"]
    assert (reject["reason"], reject["topic"], reject["offset"]) == (reason, "landmark.events", len(records) - 1)
    assert reject["series"] == (None if reason in {"malformed", "too-large"} else "a")


def test_no_reason_is_forgotten() -> None:
    """The table above has every code of the design; two apply only to collected data."""
    assert set(REASONS) == set(get_args(Reason)) - {"early", "input-lost"}


EXPECTING = policy("a", protection={"level": "landmark", "landmarks": [9]})
WEAKER = [EXPECTING, observation("a", 1, 1), policy("a", 2, weaker=True)]


@pytest.mark.parametrize(
    ("context", "records", "expected"),
    [
        # State comes before the value: a late event is late even when its value is none.
        (Context(KEYS), [policy("a"), observation("a", 9, 1), observation("a", 7, "x")], "late"),
        (Context(KEYS), [policy("a"), {"type": "close", "series": "a"}, observation("a", 7, "x")], "closed"),
        (limited(max_future_ms=5), [policy("a"), observation("a", 9, "x")], "future"),
        (Context(KEYS, partition_of=len), [observation("a", 9, "x")], "misrouted"),
        (Context(KeyRing("00", 1, bytes(32), 86_400_000)), [policy("a"), observation("a", 5, "x")], "key-erased"),
        (Context(KEYS), [observation("a", 9, "x")], "no-policy"),
        # Versions increase strictly; landmarks lie after the last decided step.
        (Context(KEYS), [policy("a", 2), policy("a", 2)], "invalid-policy"),
        (Context(KEYS), [policy("a", 2), policy("a", 1)], "invalid-policy"),
        (
            limited(lifetime_nano=10**10),
            [policy("a"), observation("a", 9, 1), policy("a", 2, protection={"level": "landmark", "landmarks": [9]})],
            "invalid-policy",
        ),
        (limited(accept_policies=False), [policy("a")], "invalid-policy"),
        # Lifetime: the first policy's epsilon when none is set.
        (Context(KEYS), [policy("a"), observation("a", 9, 1), policy("a", 2, epsilon=1e-9)], "budget-cap"),
        # A version that is none comes before a weaker one, and that before what it would cost.
        (limited(max_epsilon_nano=10**9), [*WEAKER[:2], policy("a", 1, epsilon=2)], "invalid-policy"),
        (limited(max_epsilon_nano=10**9), [*WEAKER[:2], policy("a", 2, epsilon=2)], "weaker-policy"),
        (Context(KEYS), [*WEAKER[:2], policy("a", 2)], "weaker-policy"),
        (limited(lifetime_nano=10**9), [policy("a", epsilon=1.1)], "budget-cap"),
        # Landmarks: levels other than `landmark`, steps of an earlier period, all or none.
        (
            Context(KEYS),
            [policy("a", protection={"level": "event"}), {"type": "landmarks", "series": "a", "add": [9]}],
            "refused-landmark",
        ),
        (
            Context(KEYS),
            [
                policy("a", epsilon=2.0, protection={"level": "event"}),
                observation("a", 9, 1),
                {"type": "landmarks", "series": "a", "add": [100, 9]},
            ],
            "refused-landmark",
        ),
        (Context(KEYS), [{"type": "close", "series": "a"}], "no-policy"),
        (Context(KEYS), [{"type": "landmarks", "series": "a", "add": [1]}], "no-policy"),
        (Context(KEYS), [policy("a"), {"type": "close", "series": "a"}, policy("a", 2, epsilon="x")], "closed"),
    ],
)
def test_which_check_comes_first(context: Context, records: list[dict[str, object]], expected: str) -> None:
    """Envelope and time are checked first, then the state, the value last."""
    run = Run(context)
    *_, last = [run.feed(record) for record in records]
    assert reason(last) == expected


def test_a_rejected_record_changes_nothing() -> None:
    """After each rejected record, the row is the same object, and later bytes are as if it had not arrived."""
    good = [policy("a"), observation("a", 5, 1), observation("a", 6, 2), observation("a", 9, 3)]
    bad: list[dict[str, object] | bytes | None] = [
        *(b"", None, b"[]", observation("a", 5, 1), observation("a", 4, 1), observation("a", 50, "x"), policy("a")),
        {"type": "landmarks", "series": "a", "add": [5]},
        {"type": "landmarks", "series": "a", "add": []},
    ]
    clean = Run().feed_all(good)
    run = Run()
    for record in good:
        run.feed(record)
        if "a" in run.rows and run.releases:
            for worse in bad:
                row = run.rows["a"]
                assert isinstance(run.feed(worse), RejectedRecord)
                assert run.rows["a"] is row
    assert (run.releases, run.ledger) == (clean.releases, clean.ledger)


def test_a_default_policy_rules_until_the_first_own_one() -> None:
    """The first matching default is copied into the ledger with a series' first decided record, never before."""
    context = Context(
        KEYS, (default("home-*"), default("*", value=COUNTS)), Limits(3 * 10**9, accept_weaker_policies=True)
    )
    run = Run(context)
    assert isinstance(run.feed(observation("home-1", 5, "x")), RejectedRecord)
    assert run.ledger == []
    run.feed_all([observation("home-1", 5, 1), observation("cell", 5, {"walk": 2})])
    assert [read(entry)["entry"] for entry in run.ledger] == ["policy", "release"] * 2
    assert [read(run.ledger[n])["parameters"]["value"]["kind"] for n in (0, 2)] == ["number", "counts"]
    assert isinstance(run.feed(policy("home-1", 1)), RejectedRecord), "the default had version 1"
    assert isinstance(run.feed(policy("home-1", 2, value=CATEGORY, weaker=True)), ProcessedRecord)
    assert isinstance(run.feed(observation("home-1", 6, "ill")), ProcessedRecord)


@pytest.mark.parametrize(
    "members", [{"protection": {"level": "event"}}, {"protection": {"level": "user", "length": 5}}, {}]
)
def test_default_policies_are_shared(members: dict[str, object]) -> None:
    """A series under a default policy of any level keeps referring to it, so that its row has no copy."""
    context = Context(KEYS, (default("*", **members),))
    run = Run(context).feed_all([observation("a", 5, 1), observation("a", 6, 1)])
    assert run.rows["a"].default == context.defaults[0].digest


def test_routing_trusts_key_and_partition() -> None:
    """A record whose key is not its series, or whose partition is not the key's, is misrouted."""
    run = Run(Context(KEYS, partition_of=lambda key: 0 if key == b"a" else 1))
    assert isinstance(run.feed(policy("a"), key=b"a"), ProcessedRecord)
    for key in (None, b"", b"b", b"A"):
        assert reason(run.feed(observation("a", 1, 1), key=key)) == "misrouted"
    assert reason(run.feed(policy("b"), key=b"b")) == "misrouted"
    assert isinstance(run.feed(observation("a", 1, 1), key=b"a"), ProcessedRecord)


def test_the_clock_counts_only_where_it_is_asked_for() -> None:
    """Append times change no byte of releases and event entries, unless a limit on the future is set."""
    records = [policy("a"), observation("a", 5, 1), observation("a", 6, 1)]
    one, other = Run(), Run()
    for record in records:
        one.feed(record, appended_ms=0)
        other.feed(record, appended_ms=10**12)
    assert one.outputs == other.outputs
    bounded = Run(limited(max_future_ms=10))
    assert isinstance(bounded.feed(policy("a"), appended_ms=0), ProcessedRecord)
    assert isinstance(bounded.feed(observation("a", 110, 1), appended_ms=99), RejectedRecord)
    assert isinstance(bounded.feed(observation("a", 110, 1), appended_ms=100), ProcessedRecord)


def test_message_keys_and_timestamps() -> None:
    """Release entries have the step's start as timestamp, others the input's time; the key is the series."""
    run = Run()
    adopted = run.feed(policy("größe", protection={"level": "landmark", "step": 10}), appended_ms=77)
    decided = run.feed(observation("größe", 25, 1), appended_ms=78)
    late = run.feed(observation("größe", 5, 1), appended_ms=79)
    assert isinstance(adopted, ProcessedRecord)
    assert isinstance(decided, ProcessedRecord)
    assert isinstance(late, RejectedRecord)
    assert (adopted.entries[0].timestamp_ms, adopted.entries[0].sequence) == (77, 1)
    assert (decided.entries[0].timestamp_ms, decided.entries[0].sequence) == (20, 2)
    assert {adopted.row.key, decided.row.key, late.key} == {"größe".encode()}


def test_the_policy_of_the_ledger_is_the_records() -> None:
    """The policy entry has the record's parameters as sent, so an audit needs nothing else."""
    record = policy("a", scheme=UNIFORM, value=NUMBER, correlation="x")
    run = Run().feed_all([record])
    parameters = {name: part for name, part in record.items() if name not in {"type", "series", "version"}}
    assert read(run.ledger[0])["parameters"] == parameters
