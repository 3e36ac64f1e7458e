"""The README's figures are those of docs/figures.json, and docs/figures.json is what a run gives."""

import json
from pathlib import Path
from typing import Any

import pytest

from stream_app.evaluation.experiment import Comparison
from stream_app.evaluation.packaged import PACKAGED
from stream_app.evaluation.placement import Placement
from stream_app.evaluation.trial import ErrorOf, Measures, Setting, measured

ROOT = Path(__file__).parents[2]
SHARE = 20
HEADER = (
    f"| data, {SHARE} % landmarks | epsilon | no release, guessed | Adaptive | Balanced + `level` | ratio |\n"
    "|---|---|---|---|---|---|\n"
)


@pytest.fixture(scope="module")
def figures() -> dict[str, Any]:
    """Return the committed results of `evaluate --only share compare`."""
    found: dict[str, Any] = json.loads((ROOT / "docs" / "figures.json").read_bytes())
    return found


def shown(value: float) -> str:
    """Return three digits, or all of a whole number above them."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def line(row: dict[str, Any]) -> str:
    """Return a row as the README has it."""
    errors = (row["nothing_error"], row["first_error"], row["second_error"])
    ratio = f"{shown(row['ratio'])} ({shown(row['low'])} to {shown(row['high'])})"
    cells = (f"{row['data']} ({row['unit']})", f"{row['epsilon']:g}", *map(shown, errors), ratio)
    return f"| {' | '.join(cells)} |\n"


def test_the_readme_shows_the_committed_figures(figures: dict[str, Any]) -> None:
    """Every number of its table of errors."""
    rows = [row for row in figures["experiments"]["compare"] if row["share"] == SHARE]
    assert len(rows) == 2 * len(PACKAGED)
    assert HEADER + "".join(map(line, rows)) in (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_committed_figures_are_of_the_packaged_data(figures: dict[str, Any]) -> None:
    """As they are declared now, under as many seeds as the issue asks for."""
    assert figures["seeds"] == 30
    for stated in figures["data"]:
        data = PACKAGED[stated["name"]](1_000)
        assert (stated["unit"], stated["epsilon"], stated["step"]) == (data.unit, data.epsilon, data.step_ms)
        assert (stated["value"], stated["readings"]) == (data.value, len(data))


def test_a_rerun_gives_the_same_numbers_exactly(figures: dict[str, Any]) -> None:
    """One cell of the comparison anew, with its interval: to the last digit."""
    data = PACKAGED["glucose"](1_000)
    comparison = Comparison((data,), "adaptive", "balanced+level", (1.0,), (SHARE,))
    known: dict[Setting, list[Measures]] = {
        setting: [measured(setting, data, seed) for seed in range(30)] for setting in comparison.settings()
    }
    assert ErrorOf("glucose", "adaptive", 1.0, Placement(SHARE)) in known
    assert comparison.rows(known.__getitem__)[0] in figures["experiments"]["compare"]
