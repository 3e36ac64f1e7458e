"""The benchmark `loss`: the published algorithm computes the published function, and all figures are found."""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.measures import loss
from stream_app.loss.matrix import TransitionMatrix
from tests.loss.enumeration import enumerated, sums


def test_the_published_algorithm_finds_the_loss() -> None:
    """It agrees with trying every set of columns for every pair of rows, so the comparison is fair."""
    generator = np.random.default_rng(11)
    for states in (2, 3, 5, 7):
        for share in (0.2, 1.0):
            rows = generator.dirichlet(np.full(states, share), states)
            for alpha in (1e-6, 0.1, 1.0, 30.0):
                matrix = TransitionMatrix.of(rows)
                assert loss.published_carried(matrix.rows, alpha) == pytest.approx(
                    enumerated(*sums(matrix.rows), alpha), rel=1e-9
                )


def test_finds_the_stated_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sizes are tiny; the target in seconds applies only to a million steps."""
    monkeypatch.setattr(loss, "STATES", (4, 6))
    monkeypatch.setattr(loss, "MOST_STATES", 8)
    shown: list[str] = []
    sizes = replace(loss.DEFAULT, events=2_000, repeats=2)
    result = loss.run(None, sizes, lambda what, *_: shown.append(what))
    parts = ("setup", "steps", "step", "published_step", "published_over_step")
    assert result.figures.keys() == {f"{part}_{states}" for part in parts for states in (4, 6)} | {
        "landmark_losses",
        "setup_8",
    }
    assert [target.figure for target in result.targets] == ["published_over_step_4", "published_over_step_6"]
    assert len(result.figures["step_4"].runs) == 2
    assert shown
