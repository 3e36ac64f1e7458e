"""Hostile and absurd input: every record is answered once, and the same log gives the same bytes."""

from collections import Counter

import numpy as np
import pytest

from stream_app.deciding.context import Context, Limits
from stream_app.deciding.outcome import Outcome, ProcessedRecord, RejectedRecord
from stream_app.privacy.noise.key import KeyRing
from tests.deciding.test_decision import FUZZED
from tests.hostile import hostile
from tests.run import (
    ADAPTIVE,
    COUNTS,
    KEYS,
    LOCATION,
    SAMPLES,
    SCHEMES,
    Run,
    default,
    observation,
    policy,
)


@pytest.mark.parametrize("kind", SAMPLES)
@pytest.mark.parametrize("scheme", list(SCHEMES))
def test_the_same_log_gives_the_same_bytes(kind: str, scheme: str) -> None:
    """For every kind and scheme, the same log twice gives the same bytes, and another key gives other bytes."""
    records = [policy("a", value=SAMPLES[kind].declared, scheme=SCHEMES[scheme])]
    records += [observation("a", step, SAMPLES[kind].values[0]) for step in range(1, 30)]
    one, other = Run().feed_all(records), Run().feed_all(records)
    assert one.outputs == other.outputs
    assert one.rows == other.rows
    stranger = Run(Context(KeyRing("0123456789abcdef", 0, bytes(32)))).feed_all(records)
    assert stranger.releases != one.releases


def _answered(outcome: Outcome, written: tuple[int, int, int], canary: bytes | None) -> str:
    """Return what became of a record; assert that it is one decision or one reject, which reveals little."""
    if isinstance(outcome, RejectedRecord):
        assert written == (0, 0, 1)
        assert canary is None or canary not in outcome.value
        assert len(outcome.value) < 600
        return outcome.reason
    assert isinstance(outcome, ProcessedRecord)
    assert written in {(1, 1, 0), (1, 2, 0), (0, 1, 0), (0, 2, 0)}
    return str(outcome.decision)


def test_a_hundred_thousand_hostile_records() -> None:
    """Any record gets exactly one decision or reject; nothing is raised, and no reject has a payload."""
    context = Context(
        KEYS,
        (default("home-*"), default("bus-*", value=LOCATION), default("cell-*", value=COUNTS, scheme=ADAPTIVE)),
        Limits(lifetime_nano=10**18, accept_weaker_policies=True),
    )
    run = Run(context)
    seen: Counter[str] = Counter()
    for number, (record, canary) in enumerate(hostile(np.random.default_rng(1), FUZZED)):
        before = len(run.releases), len(run.ledger), len(run.rejects)
        outcome = run.feed(record)
        written = len(run.releases) - before[0], len(run.ledger) - before[1], len(run.rejects) - before[2]
        seen[_answered(outcome, written, canary)] += 1
        assert run.offset == number + 1
    assert seen.total() == FUZZED
    for common in (
        "malformed",
        "invalid-value",
        "invalid-policy",
        "no-policy",
        "too-large",
        "perturbed",
        "late",
        "None",
    ):
        assert seen[common] > FUZZED // 2000, seen  # the rarest are one in a thousand


def test_a_wrong_answer_would_be_caught() -> None:
    """A reject with its payload, a missing answer and two answers each fail the same check."""
    record, canary = b'{"series":"canary123"', b"canary123"
    real = Run().feed(record)
    assert _answered(real, (0, 0, 1), canary) == "malformed"
    assert isinstance(real, RejectedRecord)
    leaking = RejectedRecord(real.reason, real.key, real.value + record)
    for outcome, written in ((leaking, (0, 0, 1)), (real, (0, 0, 0)), (real, (0, 1, 1)), (real, (0, 0, 2))):
        with pytest.raises(AssertionError):
            _answered(outcome, written, canary)


def test_policies_with_absurd_parameters() -> None:
    """Parameters at the limits of doubles are refused or take effect; publishing under them raises nothing."""
    huge = [0, 1, -1, 1e-9, 5e-324, 1e-310, 1e-100, 1e-99, 1e99, 1e100, 1e101, 1.7e308, -1.7e308, 2**53, 0.1, 1e16]
    generator = np.random.default_rng(2)
    ruled = 0
    for number in range(4000):
        lower, upper, resolution, sensitivity = (huge[part] for part in generator.integers(0, len(huge), 4))
        value: dict[str, object] = {"kind": "number", "lower": lower, "upper": upper, "resolution": resolution}
        if number % 2:
            value["sensitivity"] = sensitivity
        if number % 3 == 0:
            value = {"kind": "counts", "keys": ["a"], "sensitivity": int(2 ** generator.integers(0, 54))}
        if number % 5 == 0:
            edges = [float(edge) for edge in generator.choice([-90, -85, -84.99, 0, 1e-9, 1, 5, 84, 85, 180, -180], 4)]
            bounds = dict(zip(("south", "west", "north", "east"), edges, strict=True))
            value = {"kind": "location", "radius": abs(upper), "resolution": abs(resolution), "bounds": bounds}
        epsilon = [1e-9, 1e-3, 1.0, 1e6][generator.integers(0, 4)]
        filtered = ["none", "level"][generator.integers(0, 2)]
        run = Run()
        outcome = run.feed(policy("a", epsilon=epsilon, value=value, filter=filtered, scheme=ADAPTIVE))
        if isinstance(outcome, ProcessedRecord):
            ruled += 1
            for step in range(1, 6):
                raw: object = {"number": upper, "counts": {"a": 2**53 - 1}}.get(str(value["kind"]))
                raw = raw if raw is not None else {"latitude": 89.9, "longitude": -180}
                assert isinstance(run.feed(observation("a", step * step * 40, raw)), ProcessedRecord)
    assert ruled > 200


@pytest.mark.parametrize("levels", [300, 1_000, 100_000])
@pytest.mark.parametrize(("begins", "ends"), [("[", "]"), ('{"a":', "}")])
def test_members_nested_too_deeply_are_refused(begins: str, ends: str, levels: int) -> None:
    """This holds anywhere in a record; later records are processed."""
    deep = begins * levels + "1" + ends * levels
    run = Run()
    run.feed(policy("a"))
    for record in (
        f'{{"series":"a","timestamp":1,"value":{deep}}}',
        f'{{"series":{deep},"timestamp":1,"value":1}}',
        f'{{"type":{deep},"series":"a"}}',
        f'{{"type":"landmarks","series":"a","add":{deep}}}',
        f'{{"type":"member","member":"a","epsilon":{deep}}}',
        f'{{"type":"policy","series":"b","version":1,"epsilon":1.0,"protection":{deep},"scheme":{deep},"value":{deep}}}',
    ):
        assert isinstance(run.feed(record.encode()), RejectedRecord)
    assert isinstance(run.feed(observation("a", 1, 1)), ProcessedRecord)
