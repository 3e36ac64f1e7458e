"""The experiments' command: its JSON, resuming after a kill, several processes, files, and what it refuses."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from io import StringIO
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from rich.console import Console

from experiments import store
from experiments.evaluation import EXPERIMENTS
from experiments.setting import UNRELEASED
from experiments.tables import tables
from tests.command import Cli
from tests.patience import PATIENCE_SECONDS

pytestmark = pytest.mark.slow

DRAWN = ["--steps", "20", "--seeds", "2", "--jobs", "1"]
QUICK = [*DRAWN, "--no-plots"]
POLICY = {
    "series": "home-*",
    "epsilon": 4.0,
    "protection": {"level": "landmark", "step": 60_000},
    "scheme": {"name": "uniform"},
    "value": {"kind": "number", "lower": 0, "upper": 10, "resolution": 0.1, "invalid": 5},
}

COLLECTED = POLICY | {
    "protection": {"level": "event", "step": 60_000},
    "value": {"kind": "choice", "items": ["north", "south"]},
    "collect": {"neighbours": "add-remove", "open_steps": 2},
}
MAPPED = ["data.csv", "--series", "home-1", "--timestamp-column", "t", "--value-columns", "v"]


def evaluated(cli: Cli, out: Path, *words: str | Path) -> dict[str, Any]:
    """Return the document that the command prints, which is also in the folder."""
    found: dict[str, Any] = cli(*QUICK, "--out", out, "--json", *words).document
    assert json.loads((out / "evaluation.json").read_bytes()) == found
    return found


def test_every_experiment_answers(tmp_path: Path, cli: Cli) -> None:
    """Each run writes tables, one plot per experiment, and the document, all readable by the owner only."""
    words = ["--data", "glucose", "--steps", "20", "--seeds", "1", "--jobs", "1", "--out", str(tmp_path)]
    shown = cli(*words).out
    for part in (
        "Mean error (mg/dl)",
        "Error of adaptive divided by the error of balanced+level",
        "strong correlation",
        "best constant publish nothing",
    ):
        assert part in shown
    names = {path.name for path in tmp_path.iterdir()}
    drawn = set(EXPERIMENTS) - {"statistics"}  # 20 steps hold no span; test_statistics has more
    assert names == {"evaluation.json", "trials.jsonl", *(f"{name}.png" for name in drawn)}
    for name in drawn:
        assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "trials.jsonl").stat().st_mode & 0o077 == 0
    document = json.loads((tmp_path / "evaluation.json").read_bytes())
    assert list(document["experiments"]) == list(EXPERIMENTS)
    assert document["data"][0]["readings"] == 20
    for row in document["experiments"]["compare"]:
        row |= {"ratio": 12.3, "low": 10.4, "high": 14.2}  # as after more seeds
    for table in tables(document["experiments"]):
        shown_at_80 = StringIO()
        Console(file=shown_at_80, width=80).print(table, crop=False)
        found = shown_at_80.getvalue().splitlines()
        assert max(map(len, found)) <= 80, found[0]


def test_it_goes_on_after_a_kill_with_more_processes(tmp_path: Path, cli: Cli) -> None:
    """After a kill with working processes, results are kept, the rest is added, and all is as in one quiet run."""
    whole = evaluated(cli, tmp_path / "whole", "--only", "compare", "--epsilon", "1", "--data", "glucose")
    out = tmp_path / "killed"
    words = [
        *QUICK,
        "--jobs",
        "2",
        "--only",
        "compare",
        "--epsilon",
        "1",
        "--data",
        "glucose",
        "--out",
        str(out),
    ]
    with subprocess.Popen([sys.executable, "-m", "experiments", *words], start_new_session=True) as running:
        trials, waited = out / "trials.jsonl", time.monotonic()
        while not trials.exists() or trials.read_bytes().count(b"\n") < 5:
            assert running.poll() is None
            assert time.monotonic() - waited < PATIENCE_SECONDS
            time.sleep(0.005)
        os.killpg(running.pid, signal.SIGKILL)
    kept = trials.read_bytes()
    kept = kept[: kept.rindex(b"\n") + 1]
    trials.write_bytes(kept + b'{"trial":"torn')
    assert evaluated(cli, out, "--only", "compare", "--epsilon", "1", "--data", "glucose", "--jobs", "2") == whole
    assert trials.read_bytes().startswith(kept)
    lines = sorted(trials.read_bytes().splitlines())
    assert lines == sorted((tmp_path / "whole" / "trials.jsonl").read_bytes().splitlines())
    assert len(set(lines)) == len(lines)


def test_what_changed_runs_anew(tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing runs twice: more seeds run only the new ones; other steps, epsilons or code reuse nothing."""

    def trials(*words: str) -> int:
        evaluated(cli, tmp_path, "--only", "compare", "--epsilon", "1", "--data", "glucose", *words)
        return (tmp_path / "trials.jsonl").read_bytes().count(b"\n")

    settings = 2 * 7 + 2  # methods, shares, the guess and the constant
    assert trials() == trials() == 2 * settings
    assert trials("--seeds", "3") == 3 * settings
    assert trials("--steps", "19") == 5 * settings
    monkeypatch.setattr(store, "code_digest", lambda: "other code")
    assert trials() == 7 * settings


def test_a_file_with_a_mapping(tmp_path: Path, cli: Cli) -> None:
    """CSV is accepted as in `replay`; invalid values and series without a policy are omitted."""
    rows = [f"{nth * 60_000},home-{nth % 2},{nth % 7}.5" for nth in range(80)]
    rows += ["90000000,home-1,broken", "0,other,1.0"]
    csv, policies = tmp_path / "data.csv", tmp_path / "policies.jsonl"
    csv.write_text("at,who,kwh\n" + "\n".join(rows) + "\n")
    policies.write_text(json.dumps(POLICY))
    mapping = ["--series-column", "who", "--timestamp-column", "at", "--value-columns", "kwh"]
    words = [*mapping, "--policies", str(policies), "--only", "share", "--steps", "40"]
    found = evaluated(cli, tmp_path / "out", csv, *words)
    (data,) = found["data"]
    assert (data["name"], data["series"], data["readings"], data["epsilon"]) == ("home-*", 2, 80, 4.0)
    rows_found = found["experiments"]["share"]
    assert {row["share"] for row in rows_found} == {None, 0, 20, 40, 60, 80, 100}
    nothing, constant = rows_found[:2]
    assert nothing["error"] == pytest.approx(sum(abs(nth % 7 + 0.5 - 5) for nth in range(80)) / 80)
    middles = {series: median([nth % 7 + 0.5 for nth in range(series, 80, 2)]) for series in (0, 1)}
    assert constant["error"] == pytest.approx(sum(abs(nth % 7 + 0.5 - middles[nth % 2]) for nth in range(80)) / 80)


def test_every_experiment_on_errors_has_the_best_constant(tmp_path: Path, cli: Cli) -> None:
    """Each data set has one row, the same everywhere: that of the median, by hand. Tables and plots show it."""
    values = [nth % 7 + 0.5 for nth in range(40)]
    csv, policies = tmp_path / "data.csv", tmp_path / "policies.jsonl"
    csv.write_text("at,kwh\n" + "".join(f"{nth * 60_000},{value}\n" for nth, value in enumerate(values)))
    policies.write_text(json.dumps(POLICY | {"series": "home-1"}))
    mapping = ["--series", "home-1", "--timestamp-column", "at", "--value-columns", "kwh"]
    names = ["share", "window", "beside", "dummies", "dummies-budget"]
    words = [str(csv), *mapping, "--policies", str(policies), "--only", *names, "--steps", "40"]
    document = evaluated(cli, tmp_path / "out", *words)
    off = sum(abs(value - median(values)) for value in values) / len(values)
    for name in names:
        rows = document["experiments"][name]
        held = [row for row in rows if row["method"] in UNRELEASED]
        assert [row["method"] for row in held] == list(UNRELEASED)
        assert held[1]["error"] == pytest.approx(off)
        (each,) = tables({name: rows})[:1]
        table: Any = each.renderables[1]
        assert list(table.columns[0].cells)[:2] == ["guessed", "best constant"]


def test_titles_and_pictures_of_a_file_say_what_they_are(
    tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They name data, epsilon, share or window, and the error with its unit.

    A legend lies within its picture, below all panels.
    """
    from matplotlib.figure import Figure  # noqa: PLC0415 - matplotlib is an optional extra

    figures: dict[str, Figure] = {}
    save = Figure.savefig

    def kept(figure: Figure, path: Path, **options: Any) -> None:
        figures[" ".join(figure.get_suptitle().split())] = figure
        save(figure, path, **options)

    monkeypatch.setattr(Figure, "savefig", kept)
    csv, policies = tmp_path / "homes.csv", tmp_path / "policies.jsonl"
    csv.write_text("at,kwh\n" + "".join(f"{nth * 60_000},{nth % 7 + 0.5}\n" for nth in range(40)))
    policies.write_text(json.dumps(POLICY | {"series": "*"}))
    words = ["--series", "home-1", "--timestamp-column", "at", "--value-columns", "kwh", "--policies", str(policies)]
    shown = cli(csv, *words, *DRAWN, "--out", tmp_path / "out").out
    for title in (
        "Mean error (units of kwh) by share of landmarks: * of homes.csv, epsilon 4",
        "Mean error (units of kwh) with a window of 12 steps, by share of landmarks: * of homes.csv, epsilon 4",
        "Error of adaptive divided by the error of balanced+level, by share of landmarks: * of homes.csv",
    ):
        assert title in shown.splitlines()
    assert list(figures) == [
        "Mean error by share of landmarks",
        "Error of adaptive divided by the error of balanced+level, by share of landmarks",
        "Mean error at level w-event, by window length in steps",
        "Mean error with a window of 12 steps, by share of landmarks",
        "Mean error with dummy landmarks, by share of true landmarks",
        "Mean error by the share of the budget spent on drawing dummies, 20 % landmarks",
        "Landmark temporal loss (an estimate): * of homes.csv, epsilon 4",
        "Processor time per decision",
    ]
    for heading, figure in figures.items():
        figure.draw_without_rendering()
        (legend,) = figure.legends
        where = legend.get_window_extent()
        assert figure.bbox.x0 <= where.x0 <= where.x1 <= figure.bbox.x1, heading
        for axes in figure.axes:
            drawn: Any = axes.get_tightbbox()
            assert not where.overlaps(drawn), heading
        if heading.startswith("Error of"):
            assert "constant baseline, epsilon 1" in {text.get_text() for text in legend.get_texts()}
        if heading.startswith("Mean error"):
            assert all(axes.get_ylabel() == "mean error (units of kwh)" for axes in figure.axes)
            assert all(axes.get_title().startswith("* of homes.csv, epsilon 4") for axes in figure.axes)
            assert "constant baseline" in {text.get_text() for text in legend.get_texts()}


def test_no_line_loses_its_label(tmp_path: Path, cli: Cli) -> None:
    """In a pipe each line of a comparison has its label and all ratios, with their bounds or a note of none."""
    shown = cli(*QUICK, "--out", tmp_path, "--data", "ride", "--only", "compare").out
    document = json.loads((tmp_path / "evaluation.json").read_bytes())
    lines = [line for line in shown.splitlines() if re.match(r"  \d+ % ", line)]
    shares = list(dict.fromkeys(row["share"] for row in document["experiments"]["compare"]))
    assert [int(line.split()[0]) for line in lines] == shares
    for share, line in zip(shares, lines, strict=True):
        rows = [row for row in document["experiments"]["compare"] if row["share"] == share]
        assert len(line.split()) == 2 + 2 * len(rows)
        assert line.count("unbounded") == sum(row["low"] is None for row in rows)
    assert "unbounded: too few seeds" in shown
    for label in ("guessed", "best constant", "adaptive", "balanced+level"):
        assert len([line for line in shown.splitlines() if line.startswith(f"  {label} ")]) == 2


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["data.csv"], "--policies: required with FILE"),
        (["data.csv", "--policies", "missing.jsonl"], "there is no such file"),
        (["data.csv", "--policies", "policies.jsonl"], "--timestamp-column"),
        (
            [*MAPPED, "--policies", "collected.jsonl"],
            "collected.jsonl: home-*: the policy collects what contributors send",
        ),
        (["--policies", "policies.jsonl"], "omit it"),
        (["--out", "data.csv/below"], "specify a writable folder"),
    ],
)
def test_unusable_input(
    tmp_path: Path,
    cli: Cli,
    monkeypatch: pytest.MonkeyPatch,
    words: list[str],
    message: str,
) -> None:
    """The exit code is 2; the message names field and remedy."""
    monkeypatch.chdir(tmp_path)
    Path("data.csv").write_text("t,v\n1,2\n")
    Path("policies.jsonl").write_text(json.dumps(POLICY))
    Path("collected.jsonl").write_text(json.dumps(COLLECTED))
    assert message in cli(*QUICK, *words, code=2).err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--compare", "adaptive", "levels"], "unknown method 'levels'"),
        (["--epsilon", "0"], "'0' is not a budget"),
        (["--shares", "5", "101"], "'101' is not a share"),
        (["--seeds", "0"], "not a whole number above 0"),
        (["--only", "nothing"], '--only "nothing"'),
    ],
)
def test_unusable_options(cli: Cli, words: list[str], message: str) -> None:
    """The parser refuses them and lists what is available."""
    assert message in cli.ended(*words).err
