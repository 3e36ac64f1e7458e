"""User level over a length; every level is one word, and what it needs, away from the others."""

import json

import numpy as np
import pytest

from stream_app.deciding.outcome import ProcessedRecord
from tests.run import ADAPTIVE, UNIFORM, Run, observation, policy

LENGTH = 12


@pytest.mark.parametrize("scheme", [UNIFORM, ADAPTIVE], ids=["uniform", "adaptive"])
def test_shares_are_those_of_the_formula(scheme: dict[str, object]) -> None:
    """Each gets (E - S) // r, r = length - steps since the first decided one, gaps included; after it nothing."""
    published = 0
    for seed in range(60):
        random = np.random.default_rng(seed)
        run = Run().feed_all([policy("a", epsilon=1.0, scheme=scheme, protection={"level": "user", "length": LENGTH})])
        step = first = int(random.integers(0, 50))
        spent = 0
        for _ in range(20):
            outcome = run.feed(observation("a", step, float(random.uniform(0, 10))))
            assert isinstance(outcome, ProcessedRecord)
            entry = json.loads(run.ledger[-1])
            left = LENGTH - (step - first)
            share = (10**9 - spent) // left if left > 0 else 0
            if entry["decision"] == "perturbed":
                assert entry["epsilon_nano"] == share
                published += 1
            else:
                assert share == 0 or scheme is ADAPTIVE
            spent += entry.get("epsilon_nano", 0)
            figures = (entry["landmark_spent_nano"], entry["landmarks_left"], entry["regular_peak_nano"])
            assert figures == (spent, max(0, left - 1), 0)
            assert entry["landmark"] is True
            step += int(random.choice([1, 1, 1, 2, 4]))
        assert spent <= 10**9
    assert published > 200


@pytest.mark.parametrize(
    "protection",
    [
        {"level": "landmark", "landmarks": [3, [5, 8]]},
        {"level": "event"},
        {"level": "user", "length": 30},
        {"level": "w-event", "window": 7},
    ],
    ids=lambda protection: str(protection["level"]),
)
def test_a_level_is_one_word_away(protection: dict[str, object]) -> None:
    """The same policy under each level publishes the same events; every release stays within epsilon."""
    run = Run().feed_all([policy("a", protection=protection)])
    run.feed_all(observation("a", step, 4) for step in range(20))
    spends = [json.loads(release)["epsilon_nano"] for release in run.releases]
    assert len(spends) == 20
    assert not run.rejects
    totals = {"landmark": [3, 5, 6, 7, 0], "event": [0], "user": range(20), "w-event": range(7)}
    assert sum(spends[step] for step in totals[str(protection["level"])]) <= 10**9
