"""The experiments: the trials that each one needs, and its rows for JSON, tables and plots."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from experiments.dataset import DataSet
from experiments.setting import CONSTANT, DISTRIBUTIONS, UNRELEASED, Placement, Setting
from experiments.spread import Ratio, SeedMean
from experiments.trial import LOSS_STATES, Measures
from experiments.units import AVERAGED, UNIT, YESTERDAY, placed, targets_of, units_of
from stream_app.calendar.words import duration_in_words
from stream_app.privacy.dummies.request import MOST_STEPS, MethodName

SHARES = (0, 20, 40, 60, 80, 100)  # percentages of steps that are landmarks, as in the source papers
COMPARED_SHARES = (0, 5, 20, 40, 60, 80, 100)
TIMED_SHARE = 20
SMOOTHINGS: Mapping[str, float] = {"weak": 1.0, "moderate": 0.1, "strong": 0.01}
"""The thesis' degrees of correlation: Laplacian smoothing of the identity (Cao et al. 2017, equation 25)."""
METHODS = ("uniform", "adaptive", "skip", "balanced", "balanced+level")
WINDOWS = (1, 5, 10, 20, 40, 80)  # steps of a window
PRIVATE = "private"
BESIDE = 12  # steps of a window beside landmarks: an hour of packaged glucose readings
BESIDE_SHARES = (0, 1, 2, 5, 10, 20)  # percentages of steps that are landmarks beside windows
BESIDE_METHODS = ("uniform", "uniform+level", "bd", "ba", "balanced", "balanced+level")
"""The first four also work for windows without landmarks."""
WINDOW_METHODS = ("uniform", "uniform+level", "bd", "ba", f"bd-{PRIVATE}", f"ba-{PRIVATE}")
ORDERED = ("number", "counts")  # kinds with a defined private dissimilarity
RELEASED = ("perturbed", "withheld")  # shares of the steps, shown beside an error
LOSS_METHODS = ("uniform", "adaptive", "balanced")
NO_DUMMIES = "none"
PAID_DUMMIES: Sequence[MethodName] = ("heuristic", "partitioned")
DUMMIES: Sequence[MethodName] = (*PAID_DUMMIES, "padding")
DUMMY_METHODS = ("uniform", "balanced+level")
FRACTIONS = (0.01, 0.1, 0.25, 0.5)
"""Shares of the budget spent on drawing dummies; the first is the default in policies."""
EPSILONS = (0.1, 1.0, 4.0)  # of statistics
PAID_SHARE = 20  # percentage of landmarks if the share of the budget varies

Row = Mapping[str, Any]  # a row of an experiment's results: JSON values
Found = Callable[[Setting], Sequence[Measures]]  # returns the measures of a setting's trials, one per seed


@dataclass(frozen=True, slots=True)
class MeanErrors:
    """Mean errors by the parameters that the settings vary, and the baselines for comparison."""

    data: Sequence[DataSet]
    released: Sequence[Setting]
    varied: tuple[str, ...]  # the members of its rows: some of share, window, dummies and fraction
    means: Sequence[str] = RELEASED  # further measures

    def settings(self) -> list[Setting]:
        """Return the settings whose trials this experiment needs."""
        return [*_held_against(self.data), *self.released]

    def rows(self, found: Found) -> list[Row]:
        """Return one row per setting; parameters that do not apply, such as a share at level w-event, are None."""
        units, rows = {one.name: one.unit for one in self.data}, list[Row]()
        shares = {one.share for one in self.released}
        for setting in self.settings():
            where = {"data": setting.data, "unit": units[setting.data], "method": setting.method}
            varies: dict[str, object] = {"share": setting.share, "window": setting.window}
            if setting.method in UNRELEASED:
                share = next(iter(shares)) if len(shares) == 1 else None
                varies |= {"share": share, "dummies": None, "fraction": None}
            else:
                varies |= {"dummies": setting.dummies or NO_DUMMIES, "fraction": setting.fraction}
            varied = {name: varies[name] for name in self.varied}
            measures = found(setting)
            besides = {name: mean_of(name, measures) for name in self.means}
            rows.append({**where, "epsilon": setting.epsilon, **varied, **spread_of("error", measures), **besides})
        return rows


def errors_by_share(data: Sequence[DataSet]) -> MeanErrors:
    """Return mean errors by the share of landmarks, for all methods."""
    cells = product(data, METHODS, SHARES)
    settings = [Setting(one.name, method, one.epsilon, Placement(share)) for one, method, share in cells]
    return MeanErrors(data, settings, ("share",))


def errors_by_window(data: Sequence[DataSet]) -> MeanErrors:
    """Return mean errors at level w-event by window length, for the schemes of that level."""
    settings = [
        Setting(one.name, method, one.epsilon, window=window)
        for one, method, window in product(data, WINDOW_METHODS, WINDOWS)
        if one.value["kind"] in ORDERED or not method.endswith(PRIVATE)
    ]
    return MeanErrors(data, settings, ("window",))


def errors_beside_windows(data: Sequence[DataSet]) -> MeanErrors:
    """Return mean errors with a window: at level landmark by the share of landmarks, and at level w-event."""
    places = [None, *(Placement(share) for share in BESIDE_SHARES)]
    settings = [
        Setting(one.name, method, one.epsilon, placement, window=BESIDE)
        for one, method, placement in product(data, BESIDE_METHODS, places)
        if placement is not None or not method.startswith("balanced")
    ]
    return MeanErrors(data, settings, ("window", "share"))


def errors_by_dummies(data: Sequence[DataSet]) -> MeanErrors:
    """Return mean errors for each dummy method and without dummies, at the default share of the budget."""
    return _with_dummies(data, SHARES, (NO_DUMMIES, *DUMMIES), FRACTIONS[:1])


def errors_by_fraction(data: Sequence[DataSet]) -> MeanErrors:
    """Return mean errors with dummies by the share of the budget spent on drawing them."""
    return _with_dummies(data, (PAID_SHARE,), PAID_DUMMIES, FRACTIONS)


def _with_dummies(
    data: Sequence[DataSet], shares: Sequence[int], dummies: Sequence[str], fractions: Sequence[float]
) -> MeanErrors:
    short = [one for one in data if _takes_dummies(one)]
    settings = []
    for one, method, name, fraction, share in product(short, DUMMY_METHODS, dummies, fractions, shares):
        drawn, paid = (None if name == NO_DUMMIES else name), (fraction if name in PAID_DUMMIES else 0.0)
        settings.append(Setting(one.name, method, one.epsilon, Placement(share), dummies=drawn, fraction=paid))
    return MeanErrors(short, settings, ("share", "dummies", "fraction"), ("landmarks",))


def _takes_dummies(data: DataSet) -> bool:
    """Return whether every series is short enough to draw dummies for it."""
    most = min(MOST_STEPS[dummies] for dummies in DUMMIES)
    spans_ms = (readings[-1].timestamp_ms - readings[0].timestamp_ms for readings in data.series.values())
    return all(span_ms // data.step_ms < most for span_ms in spans_ms)


@dataclass(frozen=True, slots=True)
class Comparison:
    """The error of the first method divided by that of the second, at equal epsilon."""

    data: Sequence[DataSet]
    first: str
    second: str
    epsilons: Sequence[float]
    shares: Sequence[int] = COMPARED_SHARES

    def settings(self) -> list[Setting]:
        """Return the settings whose trials this experiment needs."""
        return _held_against(self.data) + [setting for _, pair in self._pairs() for setting in pair]

    def rows(self, found: Found) -> list[Row]:
        """Return one row for each data set, epsilon and share."""
        rows: list[Row] = []
        for data, (first, second) in self._pairs():
            errors = [[measures["error"] for measures in found(setting)] for setting in (first, second)]
            ratio = Ratio.of(*errors)
            rows.append(
                {
                    "data": data.name,
                    "unit": data.unit,
                    "epsilon": first.epsilon,
                    "share": first.share,
                    "first": self.first,
                    "first_error": SeedMean.of(errors[0]).mean,
                    "second": self.second,
                    "second_error": SeedMean.of(errors[1]).mean,
                    "ratio": ratio.ratio,
                    "low": ratio.low,
                    "high": ratio.high,
                    **{f"{one.method}_error": mean_of("error", found(one)) for one in _held_against([data])},
                }
            )
        return rows

    def _pairs(self) -> Iterator[tuple[DataSet, tuple[Setting, Setting]]]:
        for data, epsilon, share in product(self.data, self.epsilons, self.shares):
            places = Placement(share)
            first, second = (Setting(data.name, method, epsilon, places) for method in (self.first, self.second))
            yield data, (first, second)


@dataclass(frozen=True, slots=True)
class LossByCorrelation:
    """Temporal loss by the distribution of landmarks and the correlation strength, on the first data set."""

    data: DataSet

    def settings(self) -> list[Setting]:
        """Return the settings whose trials this experiment needs."""
        return [setting for _, _, setting in self._named()]

    def rows(self, found: Found) -> list[Row]:
        """Return one row for each method, distribution, strength and share."""
        rows: list[Row] = []
        for name, distribution, setting in self._named():
            measures = found(setting)
            rows.append(
                {
                    "data": setting.data,
                    "method": setting.method,
                    "epsilon": setting.epsilon,
                    "distribution": distribution,
                    "correlation": name,
                    "strength": setting.strength,
                    "share": setting.share,
                    **spread_of("estimate", measures),
                    **{each: mean_of(each, measures) for each in ("mean_estimate", "timestamp", "sum")},
                }
            )
        return rows

    def _named(self) -> Iterator[tuple[str, str, Setting]]:
        data, cells = self.data, product(LOSS_METHODS, SMOOTHINGS.items(), DISTRIBUTIONS, SHARES)
        for method, (name, smoothing), distribution, share in cells:
            strength, places = 1 / (1 + LOSS_STATES * smoothing), Placement(share, distribution)
            yield name, distribution, Setting(data.name, method, data.epsilon, places, "loss", strength=strength)


@dataclass(frozen=True, slots=True)
class TimeByMethod:
    """Processor time per decision, for all methods on all data sets."""

    data: Sequence[DataSet]

    def settings(self) -> list[Setting]:
        """Return the settings whose trials this experiment needs."""
        places = Placement(TIMED_SHARE)
        return [
            Setting(data.name, method, data.epsilon, places, "time") for data, method in product(self.data, METHODS)
        ]

    def rows(self, found: Found) -> list[Row]:
        """Return one row for each data set and method."""
        return [
            {
                "data": setting.data,
                "method": setting.method,
                "epsilon": setting.epsilon,
                "share": setting.share,
                **spread_of("microseconds", found(setting)),
            }
            for setting in self.settings()
        ]


@dataclass(frozen=True, slots=True)
class ErrorOfStatistics:
    """Mean error of means and shares over days, weeks and months by epsilon, on all data sets."""

    data: Sequence[DataSet]

    @classmethod
    def of(cls, data: Sequence[DataSet]) -> "ErrorOfStatistics":
        """Return the experiment on numbers, categories and positions (as places) with spans to compare."""
        kinds = {"number", "category", "location"}
        return cls([placed(one) for one in data if one.value["kind"] in kinds and targets_of(one)])

    def settings(self) -> list[Setting]:
        """Return the settings whose trials this experiment needs."""
        return [setting for _, _, setting in self._named()]

    def rows(self, found: Found) -> list[Row]:
        """Return one row for each data set, span, method and epsilon; epsilon is None if nothing is released."""
        rows: list[Row] = []
        for data, method, setting in self._named():
            measures = found(setting)
            for target in targets_of(data):
                errors = [{"error": each[target.name]} for each in measures if target.name in each]
                if errors:
                    epsilon = None if setting.method in {CONSTANT, YESTERDAY} else setting.epsilon
                    where = {"data": data.name, "unit": data.unit, "span": target.name, "method": method}
                    rows.append({**where, "epsilon": epsilon, **spread_of("error", errors)})
        return rows

    def _named(self) -> Iterator[tuple[DataSet, str, Setting]]:
        for data in self.data:
            for method in (CONSTANT, YESTERDAY):
                yield data, method, Setting(data.name, method, EPSILONS[0], measure="statistic")
            for epsilon in EPSILONS:
                for method in AVERAGED:
                    yield data, f"{method}, averaged", Setting(data.name, method, epsilon, measure="statistic")
                for unit_ms in units_of(data):
                    setting = Setting(data.name, UNIT, epsilon, measure="statistic", unit_ms=unit_ms)
                    yield data, f"unit {duration_in_words(unit_ms)}", setting


Experiment = MeanErrors | Comparison | LossByCorrelation | TimeByMethod | ErrorOfStatistics


def _held_against(data: Sequence[DataSet]) -> list[Setting]:
    """Return the baselines for comparison with each method: settings of all data sets that release nothing."""
    return [Setting(one.name, name, one.epsilon, Placement(0)) for one in data for name in UNRELEASED]


def mean_of(name: str, measures: Sequence[Measures]) -> float:
    """Return the mean of one measure over all seeds."""
    return SeedMean.of([each[name] for each in measures]).mean


def spread_of(name: str, measures: Sequence[Measures]) -> Row:
    """Return the mean of one measure over all seeds and its confidence interval, as members of a row."""
    mean = SeedMean.of([each[name] for each in measures])
    return {name: mean.mean, "low": mean.low, "high": mean.high}
