"""A value as `absent`: a step without a reading is decided as one with that value, byte for byte."""

import json
from itertools import product
from typing import Any

import pytest

from tests.collected import SCHEMES_OF, STEP
from tests.readings import AGGREGATES, reading, watermark, within
from tests.run import SAMPLES, Run

HIDING = [name for name, sample in SAMPLES.items() if sample.substitute is not None]
"""Kinds in which any two values are neighbours."""
LEVELS: tuple[dict[str, Any], ...] = (
    {"level": "event"},
    {"level": "landmark", "landmarks": [20], "spare": 1},
    {"level": "landmark", "landmarks": [20], "window": 2},
    {"level": "user", "length": 3},
    {"level": "w-event", "window": 2},
)
KINDS = [("number", aggregate) for aggregate in AGGREGATES] + [(name, "last") for name in HIDING if name != "number"]


def told(
    present: tuple[bool, ...], kind: str, aggregate: str, level: dict[str, Any], scheme: Any
) -> tuple[list[bytes], list[bytes], list[bytes]]:
    """Return the output for three steps, some of which read the value that represents a missing reading."""
    absent, value = SAMPLES[kind].substitute, SAMPLES[kind].declared
    protection = {**level, "absent": absent}
    run = Run()
    run.feed(within(1, aggregate, 1, protection=protection, value=value, scheme=scheme, epsilon=2.0))
    run.feed(watermark(0))
    for step, read in enumerate(present):
        if read:
            run.feed(reading(step * STEP + 3, absent))
        run.feed(watermark((step + 1) * STEP))
    return run.outputs


@pytest.mark.parametrize(("kind", "aggregate"), KINDS)
@pytest.mark.parametrize("level", LEVELS, ids=lambda level: f"{level['level']}-{level.get('window', 1)}")
def test_which_steps_had_a_reading_shows_nowhere(kind: str, aggregate: str, level: dict[str, Any]) -> None:
    """All eight ways give equal releases, entries and rejects: proposal, coin, spend and noise are the same."""
    schemes: list[dict[str, object]] = list(SCHEMES_OF[str(level["level"])])
    if kind == "number" and level["level"] == "w-event":
        schemes.append({"name": "ba", "dissimilarity": "private"})
    for scheme in schemes:
        outputs = [told(present, kind, aggregate, level, scheme) for present in product((False, True), repeat=3)]
        assert len(outputs[0][0]) == 3
        assert not outputs[0][2]
        assert all(output == outputs[0] for output in outputs)


def test_a_filled_gap_costs_nothing_and_shows() -> None:
    """With "approximated", a step without a reading repeats the last release, or is withheld before the first."""
    run = Run().feed_all([
        within(protection={"level": "user", "length": 4, "absent": "approximated"}, epsilon=4.0),
        watermark(0),
        watermark(10),
        reading(15, 1),
        watermark(40),
    ])  # fmt: skip
    found = [json.loads(release) for release in run.releases]
    assert [(one["timestamp"], one["decision"]) for one in found] == [
        (0, "withheld"),
        (10, "perturbed"),
        (20, "approximated"),
        (30, "approximated"),
    ]
    assert [one.get("epsilon_nano", 0) for one in found] == [0, 4 * 10**9 // 3, 0, 0]
    assert run.spent_nano == 4 * 10**9 // 3


def test_an_absent_landmark_leaves_its_share() -> None:
    """A filled gap at a landmark spends nothing, and later shares grow, as with any absent landmark."""
    landmarks = {"level": "landmark", "landmarks": [0, 10, 20], "absent": "approximated"}
    log = [within(protection=landmarks, epsilon=1.0), watermark(0), watermark(20), reading(25, 1), watermark(30)]
    entries = [json.loads(entry) for entry in Run().feed_all(log).ledger]
    assert [entry.get("landmarks_left") for entry in entries] == [None, 2, 1, 0]
    assert [entry.get("epsilon_nano") for entry in entries] == [None, None, None, 5 * 10**8]
