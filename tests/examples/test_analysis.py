"""The figures of the examples agree with the truth, within their own standard errors."""

import itertools
import json
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

import analysis
from release import Location, Perturbed, Release, parse
from stream_app.cli import main
from tests.run import MADE_UP

STEPS = 4_500
NUMBERS = (0.5, 2.0, 9.5)
CATEGORIES = ("walk", "ride", "rest")
TRUTH = tuple(itertools.islice(itertools.cycle(("walk", "ride", "walk", "walk")), STEPS))


def released(folder: Path, values: Iterable[Any], kind: Mapping[str, Any], scheme: str) -> list[Release]:
    """Process events as a worker does, at event level, and return the releases."""
    policy = {
        "series": "a",
        "epsilon": 1.0,
        "protection": {"level": "event"},
        "scheme": {"name": scheme},
        "value": kind,
    }
    events = ({"series": "a", "timestamp": number, "value": value} for number, value in enumerate(values))
    (folder / "policies.jsonl").write_text(json.dumps(policy))
    (folder / "events.jsonl").write_text("".join(f"{json.dumps(event)}\n" for event in events))
    options = ["--policies", str(folder / "policies.jsonl"), "--out", str(folder / "out")]
    assert main(["replay", *MADE_UP, str(folder / "events.jsonl"), *options]) == 0
    return [parse(line) for line in (folder / "out" / "releases.jsonl").read_bytes().splitlines()]


def near(figure: analysis.Figure, truth: float) -> bool:
    """Return whether the truth is within six informative standard errors: chance fails once in 10^8 runs."""
    return abs(figure.estimate - truth) < 6 * figure.standard_error < 3


def test_mean(tmp_path: Path) -> None:
    """Measurements have the mean of the true numbers; estimates near the end of a range do not."""
    kind = {"kind": "number", "lower": 0, "upper": 10, "resolution": 0.001}
    releases = released(tmp_path, itertools.islice(itertools.cycle(NUMBERS), STEPS), kind, "uniform")
    assert near(analysis.mean(releases), sum(NUMBERS) / len(NUMBERS))


def test_mean_of_a_part(tmp_path: Path) -> None:
    """Each part of vectors has its own mean and its own error, which is that of noise at half the spend."""
    parts = {
        "pulse": {"lower": 46, "upper": 54, "resolution": 1},
        "oxygen": {"lower": 0.7, "upper": 1, "resolution": 0.01},
    }
    values = (
        {"pulse": 46 + 4 * number, "oxygen": 0.9} for number in itertools.islice(itertools.cycle(range(3)), STEPS)
    )
    releases = released(tmp_path, values, {"kind": "vector", "parts": parts}, "uniform")
    assert near(analysis.mean_of_part(releases, "pulse"), 50)
    assert near(analysis.mean_of_part(releases, "oxygen"), 0.9)
    ratio = analysis.mean_of_part(releases, "pulse").standard_error / (8 * 2 * math.sqrt(2 / STEPS))
    assert ratio == pytest.approx(1)


def test_estimates_are_biased(tmp_path: Path) -> None:
    """At the end of a range the mean of the estimates is far from the truth; that of the measurements is not."""
    kind = {"kind": "number", "lower": 0, "upper": 10, "resolution": 0.001}
    releases = released(tmp_path, itertools.repeat(0, STEPS), kind, "uniform")
    figure = analysis.mean(releases)
    estimates = [found.value for found in releases if isinstance(found, Perturbed) and isinstance(found.value, float)]
    assert near(figure, 0)
    assert not near(analysis.Figure(sum(estimates) / len(estimates), figure.standard_error), 0)


def test_repeats_are_no_measurements(tmp_path: Path) -> None:
    """Most steps under Adaptive repeat an earlier one: they are excluded, and the error is that of the rest."""
    kind = {"kind": "number", "lower": 0, "upper": 10, "resolution": 0.001}
    releases = released(tmp_path, itertools.repeat(4, STEPS), kind, "adaptive")
    perturbed = [found for found in releases if isinstance(found, Perturbed)]
    assert 0 < len(perturbed) < STEPS
    figure = analysis.mean(releases)
    assert figure == analysis.mean(perturbed)
    assert near(figure, 4)


def test_total(tmp_path: Path) -> None:
    """Sums of counts, by key."""
    kind = {"kind": "counts", "keys": ["walk", "ride"]}
    releases = released(tmp_path, itertools.repeat({"walk": 3, "ride": 1}, STEPS), kind, "uniform")
    for key, items in (("walk", 3), ("ride", 1)):
        figure = analysis.total(releases, key)
        assert abs(figure.estimate - STEPS * items) < 6 * figure.standard_error < STEPS


def test_share(tmp_path: Path) -> None:
    """Shares are right for each category, even one that never occurs; raw answers have a large error."""
    releases = released(tmp_path, TRUTH, {"kind": "category", "categories": list(CATEGORIES)}, "uniform")
    for category in CATEGORIES:
        assert near(analysis.share(releases, category, len(CATEGORIES)), TRUTH.count(category) / STEPS)
    answers = [found.measurement for found in releases if isinstance(found, Perturbed)]
    assert abs(answers.count("walk") / STEPS - 0.75) > 0.1


def test_noise_of_locations(tmp_path: Path) -> None:
    """Variance and median distance are as the page on reading releases says, on both axes of the plane."""
    bounds = {"south": 48.0, "west": 2.0, "north": 49.0, "east": 3.0}
    kind = {"kind": "location", "radius": 200, "resolution": 50, "bounds": bounds}
    releases = released(tmp_path, itertools.repeat({"latitude": 48.5, "longitude": 2.5}, STEPS), kind, "uniform")
    metres = math.radians(6_371_008.8)
    noise = [
        ((found.measurement.latitude - 48.5) * metres, (found.measurement.longitude - 2.5) * shrunk)
        for shrunk in [metres * math.cos(math.radians(49))]
        for found in releases
        if isinstance(found, Perturbed) and isinstance(found.measurement, Location)
    ]
    s = 1.005 * 200 + 1.415 * 50
    for axis in zip(*noise, strict=True):
        # The variance of planar Laplace noise is known to 3.7 % from so many; 3 b^2 alone would be off by 46 %.
        assert sum(metre**2 for metre in axis) / STEPS == pytest.approx(3 * s**2, rel=0.22)
    near_by = sum(math.hypot(*each) < 1.7 * s for each in noise)
    assert near_by / STEPS == pytest.approx(0.5, abs=0.06)


def test_nothing_to_say() -> None:
    """There is no figure without a measurement."""
    with pytest.raises(ValueError, match="no perturbed"):
        analysis.mean([])
    with pytest.raises(ValueError, match="no perturbed"):
        analysis.share([], "walk", 3)
