"""A trial: one setting of an experiment under one seed. A pure function of setting, data and seed (but for times).

The seed makes the noise key and draws the landmarks; what is measured went through the fold that the worker uses.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import blake2b
from math import fsum
from typing import Any, Literal, NamedTuple, assert_never

from stream_app.analysis.error import best_constant, error, guess
from stream_app.evaluation.dataset import DataSet, Reading
from stream_app.evaluation.method import Method
from stream_app.evaluation.placement import Placement
from stream_app.loss.correlation import Correlation
from stream_app.loss.landmark import landmark_losses
from stream_app.privacy import fold
from stream_app.privacy.dummies.draw import drawn_policy, named_by_series
from stream_app.privacy.fold import Stepped
from stream_app.privacy.noise.key import SECRET_BYTES, KeyRing
from stream_app.privacy.policy import Policy
from stream_app.privacy.published import Approximated, Perturbed, Withheld
from stream_app.privacy.reason import Refused
from stream_app.privacy.state import State
from stream_app.privacy.values import NANO

LOSS_STEPS = 100  # steps of a series whose temporal loss is looked at, as in the thesis
LOSS_STATES = 2  # states of the Markov chain
MICROSECONDS = 1e6
PADDING = 0.25  # probability of a padding coin
NOTHING = "nothing"  # in place of a method: nothing is released, and every value is guessed
CONSTANT = "constant"
"""In place of a method: for each series the constant with the smallest error, which only who has the data knows."""

Measures = Mapping[str, float]  # what a trial found, by name; figures over all steps, never one of a step


class ErrorOf(NamedTuple):
    """How far releases are from raw values."""

    data: str
    method: str
    epsilon: float
    placement: Placement
    measure: Literal["error"] = "error"


class WindowOf(NamedTuple):
    """How far releases are from raw values under a window in steps: at level w-event, or beside placed landmarks."""

    data: str
    method: str
    epsilon: float
    window: int
    placement: Placement | None = None
    measure: Literal["window"] = "window"


class DummiesOf(NamedTuple):
    """How far releases are from raw values when dummy landmarks join the true ones."""

    data: str
    method: str
    epsilon: float
    placement: Placement
    dummies: str
    fraction: float  # share of the budget that pays for the draw; padding needs none
    measure: Literal["dummies"] = "dummies"


class LossOf(NamedTuple):
    """Temporal loss of the first steps of each series, for an adversary who knows a correlation."""

    data: str
    method: str
    epsilon: float
    placement: Placement
    strength: float
    measure: Literal["loss"] = "loss"


class TimeOf(NamedTuple):
    """Processor time of a decision."""

    data: str
    method: str
    epsilon: float
    placement: Placement
    measure: Literal["time"] = "time"


Setting = ErrorOf | WindowOf | DummiesOf | LossOf | TimeOf


def measured(setting: Setting, data: DataSet, seed: int) -> Measures:
    """Return what the trial of a setting under one seed finds."""
    match setting:
        case ErrorOf():
            return _errors(setting, data, seed)
        case WindowOf():
            return _walked(data, seed, lambda name: _windowed(setting, data, name, seed))
        case DummiesOf():
            return _walked(data, seed, lambda name: _disguised(setting, data, name, seed))
        case LossOf():
            return _losses(setting, data.first(LOSS_STEPS), seed)
        case TimeOf():
            return _times(setting, data, seed)
        case _:
            assert_never(setting)


def key_of(seed: int) -> KeyRing:
    """Return the noise key of a seed: of the form of every other one, but known to all, so never to publish with."""
    secret = blake2b(seed.to_bytes(8, "big"), digest_size=SECRET_BYTES, person=b"evaluation-key").digest()
    return KeyRing("0" * 16, 0, secret)


def begun(keys: KeyRing, policy: Policy, name: str) -> tuple[Policy, State]:
    """Return the policy that rules a new series, whose dummies are drawn, and the state at its start."""
    ruling = drawn_policy(keys, named_by_series(name), policy)
    if isinstance(ruling, Refused):
        raise TypeError(f"the dummies were refused: {ruling.reason}")
    adopted = fold.adopt(ruling, None, None, None)
    if isinstance(adopted, Refused):
        raise TypeError(f"the policy was refused: {adopted.reason}")
    if policy.dummies is None:
        return ruling, adopted.state
    disguised = fold.disguise(ruling, adopted.state, policy.dummies.method, policy.dummies.charge_nano)
    if isinstance(disguised, Refused):
        raise TypeError(f"the draw of dummies was refused: {disguised.reason}")
    return ruling, disguised.state


def decided(keys: KeyRing, policy: Policy, name: str, readings: Sequence[Reading]) -> Iterator[Stepped]:
    """Yield what the fold decides of every reading of a new series."""
    policy, state = begun(keys, policy, name)
    for timestamp_ms, value in readings:
        outcome = fold.step(keys, policy, state, name, timestamp_ms, value)
        if not isinstance(outcome, Stepped):
            raise TypeError(f"a reading of the data was refused: {outcome.reason}")
        state = outcome.state
        yield outcome


def published(policy: Policy, outcome: Stepped) -> object:
    """Return the value of the release, or a guess where it has none."""
    match outcome.release:
        case Perturbed() | Approximated():
            return policy.kind.publish(outcome.release.estimate)
        case Withheld():
            return guess(policy.kind)
        case _:
            assert_never(outcome.release)


def _policy(setting: ErrorOf | LossOf | TimeOf, data: DataSet, name: str, seed: int) -> tuple[Policy, list[int]]:
    """Return the policy of a series, and the places of its landmarks among its readings."""
    readings = data.series[name]
    places = setting.placement.of(name, len(readings), seed)
    landmarks_ms = [readings[place].timestamp_ms for place in places]
    protection = {"level": "landmark", "landmarks": tuple(landmarks_ms)}
    return Method.named(setting.method).policy(data, setting.epsilon, protection), places


def _errors(setting: ErrorOf, data: DataSet, seed: int) -> Measures:
    if setting.method in {NOTHING, CONSTANT}:
        kind = Method.named("uniform").policy(data, setting.epsilon, {"level": "event"}).kind
        errors = []
        for readings in data.series.values():
            raws = [reading.value for reading in readings]
            said = guess(kind) if setting.method == NOTHING else best_constant(kind, raws)
            errors += [error(raw, said, kind) for raw in raws]
        return {"error": fsum(errors) / len(errors), "perturbed": 0.0, "withheld": 1.0, "landmarks": 0.0}
    return _walked(data, seed, lambda name: _policy(setting, data, name, seed)[0])


def _windowed(setting: WindowOf, data: DataSet, name: str, seed: int) -> Policy:
    protection: dict[str, Any] = {"level": "w-event", "window": setting.window}
    if setting.placement is not None:
        readings = data.series[name]
        places = setting.placement.of(name, len(readings), seed)
        protection |= {"level": "landmark", "landmarks": tuple(readings[place].timestamp_ms for place in places)}
    return Method.named(setting.method).policy(data, setting.epsilon, protection)


def _disguised(setting: DummiesOf, data: DataSet, name: str, seed: int) -> Policy:
    readings = data.series[name]
    landmarks_ms = [readings[place].timestamp_ms for place in setting.placement.of(name, len(readings), seed)]
    dummies: dict[str, Any] = {"method": setting.dummies, "start": readings[0].timestamp_ms}
    dummies["end"] = readings[-1].timestamp_ms + data.step_ms
    dummies |= {"probability": PADDING} if setting.dummies == "padding" else {"fraction": setting.fraction}
    protection = {"level": "landmark", "landmarks": tuple(landmarks_ms)}
    return Method.named(setting.method).policy(data, setting.epsilon, protection, dummies)


def _walked(data: DataSet, seed: int, policy_of: Callable[[str], Policy]) -> Measures:
    """Return the mean error over all steps of all series, and what was decided."""
    keys, errors, perturbed, withheld, landmarks = key_of(seed), [], 0, 0, 0
    for name, readings in data.series.items():
        policy = policy_of(name)
        for reading, outcome in zip(readings, decided(keys, policy, name, readings), strict=True):
            errors.append(error(reading.value, published(policy, outcome), policy.kind))
            perturbed += isinstance(outcome.release, Perturbed)
            withheld += isinstance(outcome.release, Withheld)
            landmarks += outcome.landmark
    counts = {"perturbed": perturbed, "withheld": withheld, "landmarks": landmarks}
    return {"error": fsum(errors) / len(errors), **{name: count / len(errors) for name, count in counts.items()}}


def _losses(setting: LossOf, data: DataSet, seed: int) -> Measures:
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


def _times(setting: TimeOf, data: DataSet, seed: int) -> Measures:
    keys, seconds = key_of(seed), 0.0
    for name, readings in data.series.items():
        policy, _ = _policy(setting, data, name, seed)
        began = time.process_time()
        for _ in decided(keys, policy, name, readings):
            pass
        seconds += time.process_time() - began
    return {"microseconds": seconds / len(data) * MICROSECONDS}
