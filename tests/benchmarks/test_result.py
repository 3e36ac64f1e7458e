"""Figures and targets."""

import pytest

from benchmarks.result import Figure, Target


def test_a_figure_tells_median_least_and_most() -> None:
    """The runs stay in their order."""
    assert Figure.of("us", [3, 1, 2]).document() == {"unit": "us", "median": 2, "min": 1, "max": 3, "runs": [3, 1, 2]}


@pytest.mark.parametrize(
    ("bound", "value", "met"), [("at least", 2, True), ("at least", 3, False), ("at most", 2, True)]
)
def test_a_target_compares_with_the_median(bound: str, value: float, *, met: bool) -> None:
    """The bound itself is met."""
    target = Target("speed", "at least" if bound == "at least" else "at most", value)
    assert target.met({"speed": Figure.of("x", [1, 2, 9])}) is met
