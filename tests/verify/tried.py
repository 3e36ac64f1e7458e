"""Experiments in tests: one policy, some of its pairs, and a subject that may have a fault."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any

from stream_app.deciding.rows import SeriesRow
from stream_app.verify.experiment import Experiment, gathered, here
from stream_app.verify.gathered import pairs_of
from stream_app.verify.neighbours import Pair
from stream_app.verify.trial import ruled
from stream_app.verify.verdict import PairResult, verdict

SECRET = b"tests of verify, known to all..."
STEP = 10
Plant = Callable[[SeriesRow], AbstractContextManager[SeriesRow]]
"""Runs with a fault in the code or in the row, and yields the row with which series then begin."""


def row_of(**parameters: Any) -> SeriesRow:
    """Return the row with which a policy begins; epsilon is 2 by default."""
    return ruled({"epsilon": 2.0, **parameters}, SECRET)


def pair_of(row: SeriesRow, name: str) -> Pair:
    """Return the pair of a policy with this name."""
    (pair,) = (pair for pair in pairs_of(row.policy) if pair.name == name)
    return pair


def tried(row: SeriesRow, name: str, plant: Plant, runs: int) -> PairResult:
    """Return what that many runs on one pair show about a policy with a fault."""
    with plant(row) as faulty:
        experiment = Experiment(faulty, None, (pair_of(row, name),), SECRET)
        seen = gathered(experiment, runs, here(experiment, experiment.parts(runs)), lambda _, __: True)
    (result,) = verdict(experiment, seen).results
    return result


def protected(level: str, *, landmarks: list[int] | None = None, **members: Any) -> Mapping[str, Any]:
    """Return the `protection` of a policy; landmarks are given by their steps' indices."""
    found: dict[str, Any] = {"level": level, "step": STEP, **members}
    if landmarks is not None:
        found["landmarks"] = [index * STEP for index in landmarks]
    return found
