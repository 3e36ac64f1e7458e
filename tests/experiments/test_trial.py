"""Trials compared with a literal computation: what `replay` decides, read back from its files."""

import json
from collections.abc import Callable, Mapping
from math import fsum
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from experiments.dataset import DataSet
from experiments.decisions import key_of
from experiments.experiment import METHODS
from experiments.setting import CONSTANT, NOTHING, Method, Placement, Setting
from experiments.trial import LOSS_STATES, PADDING, measured
from stream_app.cli import main
from stream_app.formats.records import Observation
from stream_app.loss.correlation import Correlation
from stream_app.loss.landmark import landmark_losses
from stream_app.privacy.values import Raw
from stream_app.setup.keyfile import write_private
from tests.command import saved
from tests.run import MADE_UP

VALUE = {"kind": "number", "lower": 0, "upper": 10, "resolution": 0.01}
NO_EXTRA: Mapping[str, Any] = {}
EMPTY = DataSet("walks", "m", 2.0, 1_000, VALUE, {})


def data(series: int = 2, steps: int = 60) -> DataSet:
    """Return random walks with gaps between their steps."""
    generator = np.random.default_rng(7)
    observations = []
    for nth in range(series):
        times = np.sort(generator.choice(2 * steps, steps, replace=False)) * 1_000
        values = np.clip(5 + generator.normal(0, 0.3, steps).cumsum(), 0, 10)
        observations += [
            Observation(f"walk-{nth}", int(at), Raw(float(value))) for at, value in zip(times, values, strict=True)
        ]
    return DataSet.of(observations, EMPTY)


def literal(
    folder: Path, found: DataSet, method: str, placement: Placement, seed: int, extra: Mapping[str, Any] = NO_EXTRA
) -> tuple[list[float], list[dict[str, Any]]]:
    """Return every error and the ledger's release entries, from what `replay` writes under the seed's key."""
    policies, events = [], []
    named = Method.named(method)
    for name, readings in found.series.items():
        marks = [readings[place].timestamp_ms for place in placement.of(name, len(readings), seed)]
        policies.append(
            {
                "type": "policy",
                "series": name,
                "version": 1,
                "epsilon": found.epsilon,
                "protection": {"level": "landmark", "landmarks": marks, "step": found.step_ms},
                "scheme": {"name": named.scheme, **({"accept_risk": True} if named.scheme == "skip" else {})},
                "filter": named.filter,
                "value": found.value,
                **extra,
            }
        )
        events += [{"series": name, "timestamp": each.timestamp_ms, "value": each.value} for each in readings]
    keys = key_of(seed)
    key = {"format": 1, "fingerprint": keys.fingerprint, "epoch": 0, "secret": keys.secret.hex()}
    write_private(folder / "seed.key", json.dumps(key).encode())
    file = saved(folder / "events.jsonl", *policies, *events)
    assert main(["replay", *MADE_UP, file, "--key", str(folder / "seed.key"), "--out", str(folder)]) == 0
    releases, entries = (
        [json.loads(line) for line in (folder / f"{file}.jsonl").read_text().splitlines()]
        for file in ("releases", "ledger")
    )
    middle = (found.value["lower"] + found.value["upper"]) / 2
    errors = [
        abs(event["value"] - release.get("value", middle)) for event, release in zip(events, releases, strict=True)
    ]
    return errors, [entry for entry in entries if entry["entry"] == "release"]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("share", [0, 30, 100])
def test_errors_are_those_of_the_releases(tmp_path: Path, method: str, share: int) -> None:
    """The error is the mean over all steps of all series, withheld ones guessed, beside the decision shares."""
    found, placement = data(), Placement(share)
    errors, entries = literal(tmp_path, found, method, placement, 3)
    measures = measured(Setting("walks", method, 2.0, placement), found, 3)
    decisions = [entry["decision"] for entry in entries]
    assert measures == {
        "error": fsum(errors) / len(errors),
        "perturbed": decisions.count("perturbed") / len(errors),
        "withheld": decisions.count("withheld") / len(errors),
        "landmarks": sum(entry["landmark"] for entry in entries) / len(errors),
    }


@pytest.mark.parametrize(("method", "said"), [(NOTHING, lambda _: 5.0), (CONSTANT, np.median)], ids=[NOTHING, CONSTANT])
def test_what_always_says_the_same(method: str, said: Callable[[Any], float]) -> None:
    """Without releases it is the middle; with full knowledge of the data, it is the median of each series."""
    found = data()
    distances = []
    for readings in found.series.values():
        raws = np.array([reading.value for reading in readings])
        distances += abs(raws - said(raws)).tolist()
    measures = measured(Setting("walks", method, 2.0, Placement(0)), found, 0)
    assert measures["error"] == pytest.approx(fsum(distances) / len(distances))


@pytest.mark.parametrize(("method", "scheme"), [("ba", {"name": "ba"}), ("uniform+level", {"name": "uniform"})])
def test_windows_are_those_of_the_policy(tmp_path: Path, method: str, scheme: dict[str, str]) -> None:
    """Errors at level w-event equal those computed literally."""
    found = data(1)
    protection = {"level": "w-event", "window": 8, "step": found.step_ms}
    extra = {"protection": protection, "scheme": scheme}
    errors, _ = literal(tmp_path, found, method, Placement(0), 2, extra)
    measures = measured(Setting("walks", method, 2.0, window=8), found, 2)
    assert measures["error"] == fsum(errors) / len(errors)


@pytest.mark.parametrize(("method", "scheme"), [("ba", {"name": "ba"}), ("uniform+level", {"name": "uniform"})])
def test_windows_beside_landmarks_are_those_of_the_policy(tmp_path: Path, method: str, scheme: dict[str, str]) -> None:
    """Errors at level landmark with a window equal literal ones; without landmarks, those of level w-event."""
    found, placement = data(1), Placement(20)
    (name,) = found.series
    readings = found.series[name]
    marks = [readings[place].timestamp_ms for place in placement.of(name, len(readings), 2)]
    protection = {"level": "landmark", "landmarks": marks, "window": 8, "step": found.step_ms}
    errors, _ = literal(tmp_path, found, method, placement, 2, {"protection": protection, "scheme": scheme})
    measures = measured(Setting("walks", method, 2.0, placement, window=8), found, 2)
    assert measures["error"] == fsum(errors) / len(errors)
    alone, beside = (
        measured(Setting("walks", method, 2.0, placed, window=8), found, 2) for placed in (None, Placement(0))
    )
    assert alone == beside


@pytest.mark.parametrize(
    ("method", "extra"), [("partitioned", {"fraction": 0.25}), ("padding", {"probability": PADDING})]
)
def test_dummies_are_those_of_the_policy(tmp_path: Path, method: str, extra: dict[str, float]) -> None:
    """Errors and landmarks with dummies equal literal ones, and both include what the draw costs and adds."""
    found, placement = data(1), Placement(20)
    (readings,) = found.series.values()
    reach = {"start": readings[0].timestamp_ms, "end": readings[-1].timestamp_ms + found.step_ms}
    dummies = {"dummies": {"method": method, **reach, **extra}}
    errors, entries = literal(tmp_path, found, "balanced+level", placement, 2, dummies)
    measures = measured(Setting("walks", "balanced+level", 2.0, placement, dummies=method, fraction=0.25), found, 2)
    assert measures["error"] == fsum(errors) / len(errors)
    assert measures["landmarks"] == sum(entry["landmark"] for entry in entries) / len(entries) > 0.2


def test_losses_are_of_the_ledgers_spends(tmp_path: Path) -> None:
    """Losses follow from the entries' budgets and the drawn landmarks, for an adversary who knows the strength."""
    found, placement = data(1), Placement(20, "bimodal")
    (readings,) = found.series.values()
    _, entries = literal(tmp_path, found, "adaptive", placement, 5)
    spends = [entry.get("epsilon_nano", 0) / 10**9 for entry in entries]
    adversary = Correlation.of_strength(LOSS_STATES, 0.8).adversary()
    estimates = landmark_losses(adversary, spends, placement.of("walk-0", len(readings), 5))
    measures = measured(Setting("walks", "adaptive", 2.0, placement, "loss", strength=0.8), found, 5)
    assert measures == {
        "estimate": max(estimates),
        "mean_estimate": pytest.approx(fsum(estimates) / len(estimates)),
        "timestamp": max(adversary.temporal_loss(spends).total),
        "sum": fsum(spends),
    }


def test_seeds_differ_and_repeat() -> None:
    """A trial depends only on its seed."""
    setting = Setting("walks", "adaptive", 2.0, Placement(20))
    found = [measured(setting, data(), seed)["error"] for seed in (0, 1, 0)]
    assert found[0] == found[2] != found[1]


def test_data_sets_keep_the_first_reading_of_a_step() -> None:
    """Readings are sorted by time and cut to the first steps; nothing printed shows a raw value."""
    readings = [(2_500, 7.25), (900, 1.0), (2_000, 3.0), (100, 2.0)]
    found = DataSet.of([Observation("a", at, Raw(value)) for at, value in readings], EMPTY)
    assert [tuple(reading) for reading in found.series["a"]] == [(100, 2.0), (2_000, 3.0)]
    assert len(found.first(1)) == 1
    assert "3.0" not in repr(found.series["a"]) + repr(found)
    assert found.digest() != found.first(1).digest()
