"""The docs' figures are those of docs/figures.json, which a run reproduces."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from experiments.command import PIPE_WIDTH
from experiments.dataset import PACKAGED
from experiments.experiment import COMPARED_SHARES, Comparison
from experiments.setting import Placement, Setting
from experiments.tables import tables
from experiments.trial import Measures, measured

ROOT = Path(__file__).parents[2]
SHARE = 20
HEADER = (
    f"| data, {SHARE} % landmarks | epsilon | guessed | constant baseline | Adaptive | Balanced + `level` "
    "| ratio |\n|---|---|---|---|---|---|---|\n"
)


@pytest.fixture(scope="module")
def figures() -> dict[str, Any]:
    """Return the committed results of `evaluate --only share compare`."""
    found: dict[str, Any] = json.loads((ROOT / "docs" / "figures.json").read_bytes())
    return found


def shown(value: float) -> str:
    """Return three significant digits, or the rounded whole number from 100 on."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def line(row: dict[str, Any]) -> str:
    """Return a row as docs/evaluation.md shows it."""
    errors = (row[f"{name}_error"] for name in ("nothing", "constant", "first", "second"))
    ratio = f"{shown(row['ratio'])} ({shown(row['low'])} to {shown(row['high'])})"
    cells = (f"{row['data']} ({row['unit']})", f"{row['epsilon']:g}", *map(shown, errors), ratio)
    return f"| {' | '.join(cells)} |\n"


def test_the_page_shows_the_committed_figures(figures: dict[str, Any]) -> None:
    """Every number of its table of errors is shown."""
    rows = [row for row in figures["experiments"]["compare"] if row["share"] == SHARE]
    assert len(rows) == 2 * len(PACKAGED)
    assert HEADER + "".join(map(line, rows)) in (ROOT / "docs" / "evaluation.md").read_text(encoding="utf-8")


def test_the_readme_shows_two_of_them(figures: dict[str, Any]) -> None:
    """At epsilon 1, it says where single releases have a smaller error than a constant, and where not."""
    said = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    rows = {(row["data"], row["epsilon"]): row for row in figures["experiments"]["compare"] if row["share"] == SHARE}
    ride, glucose = rows["ride", 1], rows["glucose", 1]
    off, constant = (shown(ride[f"{name}_error"]) for name in ("second", "constant"))
    assert f"At epsilon 1, positions on a bicycle ride have an error of {off} m (baseline: {constant} m)" in said
    assert "and releases of blood sugar are no better than a constant" in said
    assert glucose["second_error"] > glucose["constant_error"]


@pytest.mark.parametrize("width", [60, 100, 120, PIPE_WIDTH])
def test_no_table_loses_a_label_or_a_figure(figures: dict[str, Any], width: int) -> None:
    """This holds for any terminal width and in a pipe, where no line of these is broken either."""
    console = Console(width=width, force_terminal=True, no_color=True)
    with console.capture() as caught:
        for table in tables(figures["experiments"]):
            console.print(table, crop=False)
    lines = caught.get().splitlines()
    labels = Counter(line[2:].split("  ")[0] for line in lines if line.startswith("  "))
    sets = len(PACKAGED)
    compared = {f"{share} %" for share in COMPARED_SHARES}
    assert {labels[share] for share in compared} == {sets}
    assert labels["guessed"] == labels["best constant"] == labels["balanced+level"] == 3 * sets
    assert "…" not in caught.get()
    for row in figures["experiments"]["compare"]:
        assert row["high"] is None or any(f"..{row['high']:.3g}" in line for line in lines)
    if width == PIPE_WIDTH:
        ratios = [line for line in lines if line[2:].split("  ")[0] in compared]
        assert {len(line.split()) for line in ratios} == {6}, "a share and its sign, two ratios with their bounds"


def test_the_committed_figures_are_of_the_packaged_data(figures: dict[str, Any]) -> None:
    """They are of the data as declared now, under as many seeds as the issue requires."""
    assert figures["seeds"] == 30
    for stated in figures["data"]:
        data = PACKAGED[stated["name"]](1_000)
        assert (stated["unit"], stated["epsilon"], stated["step"]) == (data.unit, data.epsilon, data.step_ms)
        assert (stated["value"], stated["readings"]) == (data.value, len(data))


def test_a_rerun_gives_the_same_numbers_exactly(figures: dict[str, Any]) -> None:
    """Rerunning one cell of the comparison gives the same numbers and interval, to the last digit."""
    data = PACKAGED["glucose"](1_000)
    comparison = Comparison((data,), "adaptive", "balanced+level", (1.0,), (SHARE,))
    known: dict[Setting, list[Measures]] = {
        setting: [measured(setting, data, seed) for seed in range(30)] for setting in comparison.settings()
    }
    assert Setting("glucose", "adaptive", 1.0, Placement(SHARE)) in known
    assert comparison.rows(known.__getitem__)[0] in figures["experiments"]["compare"]
