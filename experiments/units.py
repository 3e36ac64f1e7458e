"""Trials of statistics: a person's days and weeks, from protected units and from averaged releases.

Every statistic is compared with the same statistic of all raw readings of its span. All measured values come from the
same publishing decision that the worker uses.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby, pairwise
from math import fsum
from statistics import median
from typing import Any, Final, NamedTuple

from experiments.dataset import DataSet, Reading
from experiments.decisions import begun, decided
from experiments.setting import Method, Setting
from stream_app.privacy.collected.within import Aggregate
from stream_app.privacy.fold import StepResult
from stream_app.privacy.kinds import Category, Histogram, Kind, Number, UnitMean
from stream_app.privacy.kinds.localtime import DAY_MS, HOUR_MS
from stream_app.privacy.noise.key import KeyRing
from stream_app.privacy.noise.mechanisms import truth_probability
from stream_app.privacy.policy import Policy, policy_of
from stream_app.privacy.units.readings import EMPTY
from stream_app.privacy.units.steps import decide_units
from stream_app.privacy.values import Raw

MINUTE_MS: Final = 60_000
SPANS: Final[Mapping[str, int]] = {
    "10 minutes": 10 * MINUTE_MS,
    "day": DAY_MS,
    "week": 7 * DAY_MS,
    "30 days": 30 * DAY_MS,
}
UNITS: Final[Mapping[str, int]] = {"minute": MINUTE_MS, "hour": HOUR_MS, "day": DAY_MS}
FEWEST_STEPS: Final = 24  # readings in a span that make an average of them worth comparing
FEWEST_SPANS: Final = 4
PROFILE: Final = "30 days, by hour"
PLACES: Final = 6  # rows and columns of the grid of places within the declared bounds of positions
UNIT: Final = "unit"
AVERAGED: Final = ("uniform", "balanced")
YESTERDAY: Final = "yesterday"
"""In place of a method, in addition to the constant: the true value of the previous span.

Only someone who has the data knows it.
"""


class Target(NamedTuple):
    """A statistic to compare for each span of a series, by the hour of the day or as a whole."""

    name: str
    span_ms: int
    by_hour: bool = False


Parts = Mapping[str, float]  # a statistic by part: "" for a mean, hours of the day, categories


def targets_of(data: DataSet) -> tuple[Target, ...]:
    """Return the targets to compare: spans of many steps that occur several times in the data."""
    lengths = [each[-1].timestamp_ms - each[0].timestamp_ms for each in data.series.values() if each]
    fitting = [
        Target(name, span_ms)
        for name, span_ms in SPANS.items()
        if span_ms >= FEWEST_STEPS * data.step_ms and max(lengths, default=0) >= FEWEST_SPANS * span_ms
    ]
    hourly = data.value["kind"] == "number" and data.step_ms <= HOUR_MS
    profile = [Target(PROFILE, each.span_ms, by_hour=True) for each in fitting if each.name == "30 days" and hourly]
    return (*fitting, *profile)


def units_of(data: DataSet) -> tuple[int, ...]:
    """Return the units to compare: one reading, and the next longer common unit."""
    longer = [unit_ms for unit_ms in UNITS.values() if unit_ms > data.step_ms]
    return (data.step_ms, *longer[:1])


def placed(data: DataSet) -> DataSet:
    """Return positions as places, the cells of a grid over their declared bounds, and other data unchanged."""
    if data.value["kind"] != "location":
        return data
    bounds = data.value["bounds"]
    names = [f"{row}-{column}" for row in range(PLACES) for column in range(PLACES)]

    def place(value: Any) -> Raw:
        row = _part(value["latitude"], bounds["south"], bounds["north"])
        return Raw(f"{row}-{_part(value['longitude'], bounds['west'], bounds['east'])}")

    found = {
        name: tuple(Reading(at_ms, place(value)) for at_ms, value in series) for name, series in data.series.items()
    }
    return replace(data, unit="share of the time", value={"kind": "category", "categories": names}, series=found)


def _part(number: float, low: float, high: float) -> int:
    return max(0, min(PLACES - 1, int((number - low) / (high - low) * PLACES)))


def statistics_of(setting: Setting, data: DataSet, keys: KeyRing) -> Mapping[str, float]:
    """Return the mean error of each target, over all spans of all series that have enough readings."""
    found: dict[str, list[float]] = {}
    for name, readings in data.series.items():
        measured = _measured(setting, data, keys, name) if setting.method in AVERAGED else []
        for target in targets_of(data):
            truths = true_statistics(data, readings, target)
            match setting.method:
                case "constant":
                    said = dict.fromkeys(truths, _best(list(truths.values())))
                case "yesterday":
                    said = {after: truths[before] for before, after in pairwise(truths)}
                case "unit":
                    said = dict(_of_units(setting, data, keys, name, target))
                case _:
                    said = _averaged(data, measured, target)
            errors = [_error(truth, said[index]) for index, truth in truths.items() if index in said]
            found.setdefault(target.name, []).extend(errors)
    return {name: fsum(errors) / len(errors) for name, errors in found.items() if errors}


def true_statistics(data: DataSet, readings: Sequence[Reading], target: Target) -> dict[int, Parts]:
    """Return the statistics of all raw readings by span.

    Spans with less than half as many readings as the fullest span are omitted.
    """
    spans: dict[int, list[tuple[int, Parts]]] = {}
    for at_ms, value in readings:
        raw: Any = value
        indicated = {"": float(raw)} if data.value["kind"] == "number" else {_name(raw): 1.0}
        spans.setdefault(at_ms // target.span_ms, []).append((at_ms, indicated))
    most = max(map(len, spans.values()))
    return {index: _means(values, target) for index, values in spans.items() if 2 * len(values) >= most}


def _name(category: object) -> str:
    return category if isinstance(category, str) else str(category).lower()


def _means(values: Sequence[tuple[int, Parts]], target: Target) -> Parts:
    """Return the mean of numbers by hour or as a whole, or the shares of categories."""
    sums: dict[str, float] = {}
    counts: dict[str, int] = {}
    for at_ms, parts in values:
        for part, number in parts.items():
            name = str(at_ms // HOUR_MS % 24) if target.by_hour else part
            sums[name] = sums.get(name, 0.0) + number
            counts[name] = counts.get(name, 0) + 1
    return {
        name: found / (counts[name] if target.by_hour or name == "" else len(values)) for name, found in sums.items()
    }


def _best(statistics: Sequence[Parts]) -> Parts:
    """Return the constant baseline: the median of each part, with 0 for spans that lack the part."""
    names = dict.fromkeys(name for parts in statistics for name in parts)
    return {name: median(parts.get(name, 0.0) for parts in statistics) for name in names}


def _error(truth: Parts, said: Parts) -> float:
    """Return the mean error of means; for shares, the fraction of the time assigned to a wrong category."""
    numbers = set(truth) <= _NUMBERED
    names = set(truth) & set(said) if numbers else set(truth) | set(said)
    errors = fsum(abs(truth.get(name, 0.0) - said.get(name, 0.0)) for name in names)
    return errors / len(names) if numbers else errors / 2


_NUMBERED: Final = frozenset({"", *map(str, range(24))})


def _of_units(setting: Setting, data: DataSet, keys: KeyRing, name: str, target: Target) -> Iterator[tuple[int, Parts]]:
    """Yield the release of each span, as the worker's publishing decision makes it."""
    policy = unit_policy(data, setting, target)
    units, kind = policy.units, policy.kind
    assert units is not None, "the policy has units"
    assert isinstance(kind, UnitMean | Histogram) or target.by_hour, (
        "the kind is a mean, a mean by hour, or a histogram"
    )
    _, state = begun(keys, policy, name)
    for index, group in groupby(data.series[name], lambda reading: policy.index_of(reading.timestamp_ms)):
        held = [EMPTY] * units.per_step
        for at_ms, value in group:
            at, since_ms = divmod(at_ms - policy.start_of(index), units.unit_ms)
            cells = kind.quantise(value)
            assert cells is not None, "data sets contain only valid readings"
            held[at] = held[at].joined(units, since_ms, cells[0])
        outcome = decide_units(keys, policy, state, name, index, held)
        assert outcome is not None, "a span with readings has units"
        state = outcome.state
        assert outcome.decision == "perturbed", "all of epsilon is spent on each step"
        said: Any = kind.publish(state.latest.estimate)
        said = _shares(said) if isinstance(kind, Histogram) else said
        yield index, said if isinstance(said, dict) else {"": said}


def unit_policy(data: DataSet, setting: Setting, target: Target) -> Policy:
    """Return the policy of a statistic; each unit contributes the mean of its numbers or its last category."""
    assert setting.unit_ms is not None, "a unit is protected"
    number = data.value["kind"] == "number"
    aggregate: Aggregate = "mean" if number else "last"
    value = {**data.value, "statistic": "mean" if number else "histogram"}
    value |= {"by": "hour"} if target.by_hour else {}
    protection = {"level": "event", "unit": setting.unit_ms, "step": target.span_ms, "open_steps": 1}
    protection |= {"within": aggregate}
    parameters = {"epsilon": setting.epsilon, "protection": protection, "scheme": {"name": "uniform"}, "value": value}
    return policy_of(parameters, 1)


def _averaged(data: DataSet, measured: Sequence[tuple[int, Parts]], target: Target) -> dict[int, Parts]:
    """Return the means or shares of single releases at level `landmark`, by span."""
    found = {}
    for index, group in groupby(measured, lambda each: each[0] // target.span_ms):
        means = _means(list(group), target)
        found[index] = means if data.value["kind"] == "number" else _shares(means)
    return found


def _shares(parts: Parts) -> Parts:
    """Return noisy shares or counts as shares of a whole: none is below 0, and their sum is 1."""
    positive = {name: max(0.0, part) for name, part in parts.items()}
    whole = fsum(positive.values())
    return {name: part / whole if whole else 1 / len(parts) for name, part in positive.items()}


def _measured(setting: Setting, data: DataSet, keys: KeyRing, name: str) -> Sequence[tuple[int, Parts]]:
    """Return the measurements of all regular steps; for categories, an unbiased share of each category."""
    readings = data.series[name]
    # Balanced splits epsilon between regular steps and landmarks. One landmark, at the first reading, is enough for
    # this.
    landmarks = (readings[0].timestamp_ms,) if setting.method == "balanced" else ()
    protection = {"level": "landmark", "landmarks": landmarks}
    policy = Method.named(setting.method).policy(data, setting.epsilon, protection)
    return [
        (reading.timestamp_ms, _unbiased(policy.kind, outcome))
        for reading, outcome in zip(readings, decided(keys, policy, name, readings), strict=True)
        if outcome.decision == "perturbed" and not outcome.landmark
    ]


def _unbiased(kind: Kind, step: StepResult) -> Parts:
    measurement: Any = kind.publish(step.state.latest.measurement)
    if isinstance(kind, Number):
        return {"": float(measurement)}
    assert isinstance(kind, Category), "only numbers and categories are averaged"
    k = len(kind.categories)
    t = truth_probability(step.spend_nano, k)
    f = (1 - t) / (k - 1)
    return {_name(category): ((category == measurement) - f) / (t - f) for category in kind.categories}
