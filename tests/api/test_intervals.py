"""Intervals have the stated coverage after announced looks and for this library's frames, landmarks apart."""

import io
import json
from datetime import timedelta
from math import floor, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.signal import fftconvolve
from scipy.stats import dlaplace

import landmark_stream as ls
from stream_app.setup import keyfile
from tests.api.conftest import HOUR, START

Rows = list[dict[str, Any]]
EPSILON, INTRUSION_NANO = 1.0, 500_000_000
HOMES = 2
"""Contributors to each step, each with an item of 3, or at "walk"."""
KINDS: dict[str, dict[str, Any]] = {
    "sum": {"value": ls.Number(0, 10, 0.5), "statistic": "sum", "sensitivity": 20, "grid": 0.5, "truth": 3.0 * HOMES},
    "mean": {
        "value": ls.Number(0, 10, 0.5),
        "statistic": "mean",
        "sensitivity": 20,
        "grid": 0.5 / HOMES,
        "truth": 3.0,
    },
    "counts": {"value": ls.Counts(("walk", "ride")), "sensitivity": 2, "grid": 1.0, "truth": float(HOMES)},
}
"""Each kind with its sensitivity and the grid of its noise, worked out by hand."""


def collecting(kind: str) -> ls.Policy:
    """Return a policy whose counters start with noise."""
    collect = ls.Collect("replace", 2, intrusion_nano=INTRUSION_NANO, statistic=KINDS[kind].get("statistic"))
    value = KINDS[kind]["value"]
    return ls.Policy.event(epsilon=EPSILON, value=value, collect=collect, step=HOUR, scheme=ls.Uniform())


def seen(kind: str, looks: int, steps: int, series: str = "ward") -> Rows:
    """Return records that close steps of one series, each of which was open during this many announced looks."""
    item = "walk" if kind == "counts" else 3.0
    rows: Rows = []
    for nth in range(0, 2 * steps, 2):  # two are open, and both close before the next two open
        first, second = START + nth * HOUR, START + (nth + 1) * HOUR
        rows.append({"type": "watermark", "timestamp": first})
        rows += [
            {"type": "contribution", "timestamp": start, "member": f"{series}-{home}", "value": item}
            for start in (first, second)
            for home in range(HOMES)
        ]
        rows += [{"type": "intrusion"}] * looks
    rows.append({"type": "watermark", "timestamp": START + 2 * steps * HOUR})
    return [row | {"series": series} for row in rows]


def law(kind: str, looks: int, steps: int) -> np.ndarray[Any, Any]:
    """Return the law of the noise in a sum over steps, in cells around the middle, by scipy and step by step."""
    rates = [EPSILON / KINDS[kind]["sensitivity"]]
    rates += [INTRUSION_NANO / 1e9 / KINDS[kind]["sensitivity"]] * (1 + looks)
    found = np.ones(1)
    for rate in rates * steps:
        reach = int(40 / rate)
        found = fftconvolve(found, dlaplace(rate).pmf(np.arange(-reach, reach + 1)))
    return found


def held(kind: str, looks: int, steps: int, width: float) -> float:
    """Return the exact probability that the mean of such a sum lies within a width."""
    chances = law(kind, looks, steps)
    middle, cells = len(chances) // 2, floor(width / KINDS[kind]["grid"] * steps / 2 + 1e-6)
    return float(chances[max(0, middle - cells) : middle + cells + 1].sum())


@pytest.mark.parametrize("looks", [0, 1, 2, 5])
@pytest.mark.parametrize("kind", KINDS)
def test_intervals_after_looks_hold_the_truth_exactly(kind: str, looks: int, tmp_path: Path) -> None:
    """Intervals of columns and means cover 95 % or slightly more, for releases and their frame.

    The coverage is computed exactly, by the law of all noise drawn.
    """
    found = ls.release(seen(kind, looks, 3), collecting(kind), out=tmp_path)
    part, suffix = ("walk", "_walk") if kind == "counts" else ("", "")
    sensitivity, grid = KINDS[kind]["sensitivity"], KINDS[kind]["grid"]
    start = (1 + looks) * dlaplace(INTRUSION_NANO / 1e9 / sensitivity).var()
    error = grid * sqrt(dlaplace(EPSILON / sensitivity).var() + start)
    assert len(found.releases) == 6
    for row in found.releases:
        assert row[f"standard_error{suffix}"] == pytest.approx(error)
        assert 0.95 <= held(kind, looks, 1, row[f"high{suffix}"] - row[f"low{suffix}"]) < 0.96
    for frame in (found, pd.DataFrame(found.frame)):
        mean = next(row for row in ls.mean(frame) if row.get("part", "") == part)
        assert mean["standard_error"] == pytest.approx(error / sqrt(6))
        assert 0.95 <= held(kind, looks, 6, mean["high"] - mean["low"]) < 0.96


@pytest.mark.parametrize("kind", KINDS)
def test_intervals_of_many_datasets_hold_the_truth(kind: str, datasets: int, tmp_path: Path) -> None:
    """The noise drawn follows this law: as many intervals contain the truth as the law predicts, and no fewer."""
    told = [row for nth in range(datasets) for row in seen(kind, 2, 1, f"ward-{nth}")]
    rows = [row if row["type"] == "contribution" else row | {"seed": f"{nth:064x}"} for nth, row in enumerate(told)]
    key = {"format": 1, "fingerprint": "5a" * 8, "epoch": 0, "secret": "5a" * 32}
    keyfile.write_private(tmp_path / "key", json.dumps(key).encode())
    found = ls.release(rows, collecting(kind), out=tmp_path / "out", key=tmp_path / "key")
    suffix, truth = "_walk" if kind == "counts" else "", KINDS[kind]["truth"]
    columns = [row[f"low{suffix}"] <= truth <= row[f"high{suffix}"] for row in found.releases]
    means = [
        row["low"] - 1e-9 <= truth <= row["high"] + 1e-9 for row in ls.mean(found) if row.get("part") in {None, "walk"}
    ]
    (width, *_) = (row[f"high{suffix}"] - row[f"low{suffix}"] for row in found.releases)
    (mean, *_) = (row["high"] - row["low"] for row in ls.mean(found))
    for each, steps, wide, number in ((columns, 1, width, 2 * datasets), (means, 2, mean, datasets)):
        exact = held(kind, 2, steps, wide)
        assert exact >= 0.95
        assert len(each) == number
        assert abs(np.mean(each) - exact) < 5 * sqrt(exact * (1 - exact) / number)


def near(one: ls.Table, other: ls.Table) -> bool:
    """Return whether two tables are equal, with numbers equal up to rounding."""

    def figures(table: ls.Table) -> list[list[float]]:
        return [[cell for cell in row.values() if isinstance(cell, float)] for row in table]

    def words(table: ls.Table) -> list[dict[str, Any]]:
        return [{name: cell for name, cell in row.items() if not isinstance(cell, float)} for row in table]

    return words(one) == words(other) and figures(one) == [pytest.approx(row, rel=1e-9) for row in figures(other)]


def lines(found: ls.Released, name: str) -> Rows:
    """Return the records of a file in a folder."""
    return [json.loads(line) for line in (found.folder / name).read_text().splitlines()]


@pytest.fixture
def evening(rows: Rows, policy: ls.Policy, tmp_path: Path) -> ls.Released:
    """Return the releases of two homes with an evening of landmarks, whose noise is larger."""
    return ls.release(rows, policy, out=tmp_path / "evening")


def test_landmarks_are_kept_apart(evening: ls.Released) -> None:
    """This is the default for any grouping and frame; one mean of both is taken only on request, with a note."""
    apart = ls.mean(evening, ("series", "landmark"))
    assert ls.mean(evening).rows() == apart.rows()
    assert apart.columns == ["series", "landmark", "mean", "standard_error", "low", "high", "steps"]
    assert {row["landmark"]: row["steps"] for row in ls.mean(evening, ())} == {False: 90, True: 6}
    frame = evening.releases.to_pandas()
    text = io.StringIO(frame.to_csv(index=False))
    for found in (frame, evening.releases.to_polars(), evening.releases.rows(), pd.read_csv(text, parse_dates=[1])):
        assert near(ls.mean(found), apart)
    small, large = sorted({row["standard_error"] for row in apart})
    assert small == pytest.approx(0.001 * sqrt(dlaplace(1 / 10_000).var() / 45), rel=1e-6)
    assert large == pytest.approx(0.001 * sqrt(dlaplace(1 / 30_000).var() / 3), rel=1e-6)
    together = ls.mean(frame, landmarks="together")
    assert [row["steps"] for row in together] == [48, 48]
    assert together.columns == ["series", *apart.columns[2:]]
    assert "these steps include landmarks" in together.note
    assert not apart.note
    with pytest.raises(ls.Error, match=r"^landmarks: is neither"):
        ls.mean(evening, landmarks="mixed")  # type: ignore[arg-type]
    with pytest.raises(ls.Error, match=r'^landmarks: conflicts with "landmark" in by=, which keeps landmarks apart'):
        ls.mean(evening, "landmark", landmarks="together")


def test_landmarks_of_a_frame_are_those_of_its_column(rows: Rows, tmp_path: Path) -> None:
    """A landmark registered later is in the ledger and the frame, but not in the given policy."""
    spared = ls.Policy.landmark(epsilon=2, landmarks=[], spare=1, value=ls.Number(0, 10, 0.001), step=HOUR)
    later = {"type": "landmarks", "series": "home-1", "version": 1, "add": [1_769_821_200_000]}
    known = [row for row in rows if row["series"] == "home-1"]
    found = ls.release([known[0], later, *known[1:]], spared, out=tmp_path)
    for frame in (found, found.releases.rows()):
        assert {row["landmark"]: row["steps"] for row in ls.mean(frame, policy=spared)} == {False: 47, True: 1}
    alone = ls.read_releases(found.folder / "releases.jsonl")
    with pytest.raises(ls.Error, match=r"^row 0: does not say whether its step is a landmark; .*ledger"):
        ls.mean(alone, policy=spared)
    assert ls.mean(alone, policy=spared, landmarks="together").rows()[0]["steps"] == 48


@pytest.mark.parametrize("kind", [*KINDS, "vector", "location"])
def test_a_frame_carries_its_noise(kind: str, tmp_path: Path) -> None:
    """Without any policy, a frame's means equal the releases' up to rounding; so do smoothed counts."""
    rows: Rows = seen(kind, 2, 2) if kind in KINDS else []
    columns, policy = "value", collecting(kind) if kind in KINDS else None
    if kind == "vector":
        policy = ls.Policy.event(
            epsilon=3, value=ls.Vector({"x": ls.Range(0, 1, 0.5), "y": ls.Range(0, 9, 1)}), step=HOUR
        )
        rows = [{"series": "a", "timestamp": START + n * HOUR, "value": {"x": 0.5, "y": 4}} for n in range(9)]
    if kind == "location":
        bounds = ls.Bounds(48.8, 2.2, 48.9, 2.4)
        policy = ls.Policy.event(epsilon=3, value=ls.Location(200, 50, bounds), step=HOUR)
        at = {"latitude": 48.85, "longitude": 2.3}
        rows = [{"series": "a", "timestamp": START + n * HOUR, "value": at} for n in range(9)]
    assert policy is not None
    found = ls.release(rows, policy, out=tmp_path, value_columns=columns)
    for frame in (found.releases.to_pandas(), found.releases.to_polars(), found.releases.rows()):
        assert near(ls.mean(frame), ls.mean(found))
        if kind in {"counts", "vector", "location"}:
            assert near(ls.smooth(frame, policy=policy), ls.smooth(found))


@pytest.mark.parametrize("kind", KINDS)
def test_what_lacks_its_noise_is_refused(kind: str, tmp_path: Path) -> None:
    """Records state only the closing noise; only the ledger, not a policy, tells how often counters were seen."""
    policy = collecting(kind)
    found = ls.release(seen(kind, 1, 1), policy, out=tmp_path)
    alone = ls.read_releases(found.folder / "releases.jsonl")
    assert not {name for name in alone.columns if name.startswith(("standard_error", "low", "high"))}
    cut = [{name: cell for name, cell in row.items() if not name.startswith("grid")} for row in found.releases]
    for frame in (alone, lines(found, "releases.jsonl"), alone.to_pandas(), cut):
        for asked in ({}, {"policy": policy}):
            with pytest.raises(ls.Error, match=r"^row 0: does not say how noisy its measurement is; .*ledger"):
                ls.mean(frame, **asked)  # type: ignore[arg-type]
    whole = ls.read_releases(found.folder / "releases.jsonl", ledger=found.folder / "ledger.jsonl")
    assert ls.mean(whole).rows() == ls.mean(found).rows()


def test_what_lacks_its_landmarks_is_refused(evening: ls.Released, policy: ls.Policy) -> None:
    """Without ledger and policy, landmarks are unknown; an invalid flag is not a flag."""
    rows = evening.releases.rows()
    cut = [{name: cell for name, cell in row.items() if name != "landmark"} for row in rows]
    for by in ("series", "landmark", timedelta(hours=6)):
        with pytest.raises(ls.Error, match=r"^row 0: does not say whether its step is a landmark"):
            ls.mean(cut, by)
    assert ls.mean(cut, landmarks="together").rows()[0]["steps"] == 48
    assert ls.mean(cut, policy=policy).rows() == ls.mean(evening).rows()
    with pytest.raises(ls.Error, match=r"^row 1: landmark contains a value that no release can have:"):
        ls.mean([rows[0], rows[1] | {"landmark": 1.0}, *rows[2:]])


@pytest.mark.parametrize(
    "odd",
    [
        {"measurement": 1000.0},
        {"standard_error": -1.0},
        {"standard_error": float("nan")},
        {"fourth_cumulant": float("nan")},
        {"fourth_cumulant": "3"},
        {"low": float("-inf")},
        {"high": 0.0, "low": 1.0},
        {"grid": -0.5},
    ],
)
def test_noise_that_no_measurement_has(odd: dict[str, Any], evening: ls.Released) -> None:
    """A frame whose measurements were changed, but not their intervals, has no mean."""
    rows = evening.releases.rows()
    with pytest.raises(ls.Error, match=r"^row 3: measurement or its noise"):
        ls.mean([*rows[:3], rows[3] | odd, *rows[4:]])
