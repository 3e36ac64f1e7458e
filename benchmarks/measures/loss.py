"""The benchmark `loss`: temporal loss by the convex envelope, relative to the published algorithm."""

import time
from collections.abc import Callable
from math import expm1, isclose, log
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from benchmarks.result import Figure, Result, Show, Target
from benchmarks.rig.workload import Sizes
from stream_app.loss.envelope import Envelope
from stream_app.loss.landmark import landmark_losses
from stream_app.loss.matrix import TransitionMatrix
from stream_app.loss.temporal import Adversary

DEFAULT = Sizes(events=1_000_000, series=1, repeats=3)
"""``events`` are the steps of one recurrence."""
NEEDS_BROKER = False
STATES = (50, 200)
MOST_STATES = 1_000
PUBLISHED_STEPS = 3
LANDMARKS_SHARE = 100
"""One in this many timestamps is a landmark; a tenth of the steps is used."""
SEED = 5

_T = TypeVar("_T")


def run(_: None, sizes: Sizes, show: Show) -> Result:
    """Measure the set-up, a step, the published algorithm's step, and a series' landmark losses."""
    generator = np.random.default_rng(SEED)
    found: dict[str, list[float]] = {}
    epsilons = (generator.random(sizes.events) * (generator.random(sizes.events) < 0.5)).tolist()
    matrices = {states: TransitionMatrix.of(generator.dirichlet(np.ones(states), states)) for states in STATES}
    for states, matrix in matrices.items():
        for repeat in range(sizes.repeats):
            show("loss", repeat, sizes.repeats)
            for name, value in _compared(matrix, epsilons).items():
                found.setdefault(f"{name}_{states}", []).append(value)
    envelope = Envelope.of(matrices[STATES[-1]])
    adversary = Adversary(envelope, envelope)
    few = epsilons[: max(1, sizes.events // 10)]
    landmarks = generator.choice(len(few), max(1, len(few) // LANDMARKS_SHARE), replace=False).tolist()
    for _repeat in range(sizes.repeats):
        seconds, _losses = _timed(lambda: landmark_losses(adversary, few, landmarks))
        found.setdefault("landmark_losses", []).append(seconds)
    large = TransitionMatrix.of(generator.dirichlet(np.ones(MOST_STATES), MOST_STATES))
    found[f"setup_{MOST_STATES}"] = [_timed(lambda: Envelope.of(large))[0]]
    figures = {name: Figure.of(_unit(name), values) for name, values in found.items()}
    targets = [Target(f"published_over_step_{states}", "at least", 1_000) for states in STATES]
    if sizes.events == DEFAULT.events:
        targets.append(Target(f"steps_{STATES[-1]}", "at most", 2))
    return Result("loss", sizes.document(), figures, tuple(targets))


def _compared(matrix: TransitionMatrix, epsilons: list[float]) -> dict[str, float]:
    setup, envelope = _timed(lambda: Envelope.of(matrix))
    steps, losses = _timed(lambda: envelope.accumulated(epsilons))
    own = [losses[at * (len(losses) - 1) // PUBLISHED_STEPS] for at in range(1, PUBLISHED_STEPS + 1)]
    theirs, carried = _timed(lambda: [published_carried(matrix.rows, alpha) for alpha in own])
    for alpha, value in zip(own, carried, strict=True):
        if not isclose(value, envelope.carried(alpha), rel_tol=1e-9):
            raise AssertionError("both algorithms find the same loss")
    step, their_step = steps / len(epsilons), theirs / PUBLISHED_STEPS
    return {
        "setup": setup,
        "steps": steps,
        "step": step * 1e6,
        "published_step": their_step * 1e6,
        "published_over_step": their_step / step,
    }


def _timed(work: Callable[[], _T]) -> tuple[float, _T]:
    """Return the processor time in seconds and the result."""
    began = time.process_time()
    result = work()
    return time.process_time() - began, result


def _unit(name: str) -> str:
    if name.startswith("published_over"):
        return "x"
    return "us" if "step_" in name else "s"


def published_carried(rows: NDArray[np.float64], alpha: float) -> float:
    """Return L(alpha) of a transition matrix by the authors' algorithm: Cao et al. 2017, algorithm 1.

    Each ordered pair of rows is solved again at every step. The algorithm keeps the columns with q > d and repeatedly
    drops those whose q / d is at most the joint ratio of the kept columns. The paper solves one pair at a time. Here
    numpy solves all pairs of a row together, which is faster, so a ratio against this version is conservative.
    """
    x = expm1(alpha)
    return log(max(_largest_ratio(row, rows, x) for row in rows))


def _largest_ratio(q: NDArray[np.float64], rows: NDArray[np.float64], x: float) -> float:
    kept = q > rows
    while True:
        ratio = (np.where(kept, q, 0).sum(axis=1) * x + 1) / (np.where(kept, rows, 0).sum(axis=1) * x + 1)
        # Cao et al. 2017, inequality 21, without dividing by a probability of 0.
        still = kept & (q > ratio[:, None] * rows)
        if (still == kept).all():
            return float(ratio.max())
        kept = still
