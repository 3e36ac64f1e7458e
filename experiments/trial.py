"""A trial: one setting of an experiment under one seed.

Except for times, it is a pure function of its setting, data and seed. The seed determines the noise key and the
landmarks. All measured values come from the same publishing decision that the worker uses.
"""

import time
from collections.abc import Mapping
from math import fsum
from typing import Any, assert_never

from experiments.dataset import DataSet
from experiments.decisions import decided, key_of, published
from experiments.setting import NOTHING, UNRELEASED, Method, Setting
from experiments.units import statistics_of
from stream_app.loss.correlation import Correlation
from stream_app.loss.landmark import landmark_losses
from stream_app.privacy.policy import Policy
from stream_app.privacy.values import NANO

LOSS_STEPS = 100  # steps of a series whose temporal loss is computed, as in the thesis
LOSS_STATES = 2  # states of the Markov chain
MICROSECONDS = 1e6
PADDING = 0.25  # probability used for padding

Measures = Mapping[str, float]  # measures of a trial by name, each over all steps, never of one step


def measured(setting: Setting, data: DataSet, seed: int) -> Measures:
    """Return the measures of a trial of a setting under one seed."""
    match setting.measure:
        case "error" if setting.method in UNRELEASED:
            return _unreleased(setting, data)
        case "error":
            return _errors(setting, data, seed)
        case "loss":
            return _losses(setting, data.first(LOSS_STEPS), seed)
        case "time":
            return _times(setting, data, seed)
        case "statistic":
            return statistics_of(setting, data, key_of(seed))
        case _:
            assert_never(setting.measure)


def _policy(setting: Setting, data: DataSet, name: str, seed: int) -> tuple[Policy, list[int]]:
    """Return the policy of a series, and the positions of its landmarks among its readings."""
    readings, places = data.series[name], list[int]()
    protection: dict[str, Any] = {"level": "w-event"}
    if setting.placement is not None:
        places = setting.placement.of(name, len(readings), seed)
        protection = {"level": "landmark", "landmarks": tuple(readings[place].timestamp_ms for place in places)}
    if setting.window is not None:
        protection["window"] = setting.window
    dummies: dict[str, Any] | None = None
    if setting.dummies is not None:
        dummies = {"method": setting.dummies, "start": readings[0].timestamp_ms}
        dummies["end"] = readings[-1].timestamp_ms + data.step_ms
        dummies |= {"probability": PADDING} if setting.dummies == "padding" else {"fraction": setting.fraction}
    return Method.named(setting.method).policy(data, setting.epsilon, protection, dummies), places


def _unreleased(setting: Setting, data: DataSet) -> Measures:
    kind = Method.named("uniform").policy(data, setting.epsilon, {"level": "event"}).kind.item
    errors = []
    for readings in data.series.values():
        raws = [reading.value for reading in readings]
        said = kind.guess if setting.method == NOTHING else kind.best_constant(raws)
        errors += [kind.error(raw, said) for raw in raws]
    return {"error": fsum(errors) / len(errors), "perturbed": 0.0, "withheld": 1.0, "landmarks": 0.0}


def _errors(setting: Setting, data: DataSet, seed: int) -> Measures:
    keys, errors, perturbed, withheld, landmarks = key_of(seed), [], 0, 0, 0
    for name, readings in data.series.items():
        policy, _ = _policy(setting, data, name, seed)
        kind = policy.kind.item
        for reading, outcome in zip(readings, decided(keys, policy, name, readings), strict=True):
            errors.append(kind.error(reading.value, published(policy, outcome)))
            perturbed += outcome.decision == "perturbed"
            withheld += outcome.decision == "withheld"
            landmarks += outcome.landmark
    counts = {"perturbed": perturbed, "withheld": withheld, "landmarks": landmarks}
    return {"error": fsum(errors) / len(errors), **{name: count / len(errors) for name, count in counts.items()}}


def _losses(setting: Setting, data: DataSet, seed: int) -> Measures:
    assert setting.strength is not None, "a loss needs the strength of a correlation"
    adversary = Correlation.of_strength(LOSS_STATES, setting.strength).adversary()
    keys, found = key_of(seed), []
    for name, readings in data.series.items():
        policy, places = _policy(setting, data, name, seed)
        spends = [outcome.spend_nano / NANO for outcome in decided(keys, policy, name, readings)]
        estimates = landmark_losses(adversary, spends, places)
        total = adversary.temporal_loss(spends).total
        found.append((max(estimates), fsum(estimates) / len(estimates), max(total), fsum(spends)))
    columns = zip(("estimate", "mean_estimate", "timestamp", "sum"), zip(*found, strict=True), strict=True)
    return {name: fsum(column) / len(found) for name, column in columns}


def _times(setting: Setting, data: DataSet, seed: int) -> Measures:
    keys, seconds = key_of(seed), 0.0
    for name, readings in data.series.items():
        policy, _ = _policy(setting, data, name, seed)
        began = time.process_time()
        for _ in decided(keys, policy, name, readings):
            pass
        seconds += time.process_time() - began
    return {"microseconds": seconds / len(data) * MICROSECONDS}
