"""The experiments: which trials each needs, and its rows, the same for JSON, tables and plots."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Protocol

from stream_app.evaluation.dataset import DataSet
from stream_app.evaluation.placement import DISTRIBUTIONS, Placement
from stream_app.evaluation.spread import Ratio, SeedMean
from stream_app.evaluation.trial import (
    CONSTANT,
    LOSS_STATES,
    NOTHING,
    DummiesOf,
    ErrorOf,
    LossOf,
    Measures,
    Setting,
    TimeOf,
    WindowOf,
)

SHARES = (0, 20, 40, 60, 80, 100)  # per cent of the steps that are landmarks, as in the source papers
COMPARED_SHARES = (0, 5, 20, 40, 60, 80, 100)
TIMED_SHARE = 20
SMOOTHINGS: Mapping[str, float] = {"weak": 1.0, "moderate": 0.1, "strong": 0.01}
"""The thesis' degrees of correlation: Laplacian smoothing of the identity matrix (Cao et al. 2017, equation 25)."""
METHODS = ("uniform", "adaptive", "skip", "balanced", "balanced+level")
WINDOWS = (1, 5, 10, 20, 40, 80)  # steps of a window
PRIVATE = "private"
BESIDE = 12  # steps of a window beside landmarks: an hour of the packaged glucose readings
BESIDE_SHARES = (0, 1, 2, 5, 10, 20)  # per cent of the steps that are landmarks beside windows
BESIDE_METHODS = ("uniform", "uniform+level", "bd", "ba", "balanced", "balanced+level")
"""The first four serve windows without landmarks as well."""
WINDOW_METHODS = ("uniform", "uniform+level", "bd", "ba", f"bd-{PRIVATE}", f"ba-{PRIVATE}")
ORDERED = ("number", "counts")  # kinds whose private dissimilarity is defined
RELEASED = ("perturbed", "withheld")  # shares of the steps that stand beside an error
LOSS_METHODS = ("uniform", "adaptive", "balanced")
UNRELEASED = (NOTHING, CONSTANT)
"""What every method is held against: to say one thing always, without and with knowledge of the data."""

Row = Mapping[str, Any]  # a line of an experiment's results: JSON values
Found = Callable[[Setting], Sequence[Measures]]  # returns what the trials of a setting found, a seed an item


class PaperExperiment(Protocol):
    """An experiment: the settings it needs, and the rows that it makes of their trials."""

    def settings(self) -> "Sequence[Setting]":
        """Return the settings whose trials it needs."""

    def rows(self, found: Found) -> list[Row]:
        """Return its results."""


@dataclass(frozen=True, slots=True)
class ErrorByShare:
    """Mean error by the share of landmarks, for all methods on all data."""

    data: Sequence[DataSet]
    methods: Sequence[str]

    def settings(self) -> list[ErrorOf]:
        """Return the settings whose trials it needs."""
        cells = product(self.data, self.methods, SHARES)
        return held_against(self.data) + [
            ErrorOf(data.name, method, data.epsilon, Placement(share)) for data, method, share in cells
        ]

    def rows(self, found: Found) -> list[Row]:
        """Return a row a data set, method and share."""
        units = {data.name: data.unit for data in self.data}
        rows: list[Row] = []
        for setting in self.settings():
            varied = {"share": None if setting.method in UNRELEASED else setting.placement.share_percent}
            rows.append(error_row(setting, units[setting.data], varied, found(setting), RELEASED))
        return rows


@dataclass(frozen=True, slots=True)
class Comparison:
    """How many times the error of the second method the first one's is, at equal epsilon."""

    data: Sequence[DataSet]
    first: str
    second: str
    epsilons: Sequence[float]
    shares: Sequence[int] = COMPARED_SHARES

    def settings(self) -> list[ErrorOf]:
        """Return the settings whose trials it needs."""
        return held_against(self.data) + [setting for _, pair in self._pairs() for setting in pair]

    def rows(self, found: Found) -> list[Row]:
        """Return a row a data set, epsilon and share."""
        rows: list[Row] = []
        for data, (first, second) in self._pairs():
            errors = [[measures["error"] for measures in found(setting)] for setting in (first, second)]
            ratio = Ratio.of(*errors)
            rows.append(
                {
                    "data": data.name,
                    "unit": data.unit,
                    "epsilon": first.epsilon,
                    "share": first.placement.share_percent,
                    "first": self.first,
                    "first_error": SeedMean.of(errors[0]).mean,
                    "second": self.second,
                    "second_error": SeedMean.of(errors[1]).mean,
                    "ratio": ratio.ratio,
                    "low": ratio.low,
                    "high": ratio.high,
                    **{f"{name}_error": mean_of("error", found(_unreleased(data, name))) for name in UNRELEASED},
                }
            )
        return rows

    def _pairs(self) -> Iterator[tuple[DataSet, tuple[ErrorOf, ErrorOf]]]:
        for data, epsilon, share in product(self.data, self.epsilons, self.shares):
            places = Placement(share)
            first, second = (ErrorOf(data.name, method, epsilon, places) for method in (self.first, self.second))
            yield data, (first, second)


@dataclass(frozen=True, slots=True)
class ErrorByWindow:
    """Mean error at level w-event by the length of the window, for its schemes on all data."""

    data: Sequence[DataSet]

    def settings(self) -> list[ErrorOf | WindowOf]:
        """Return the settings whose trials it needs."""
        return held_against(self.data) + [
            WindowOf(data.name, method, data.epsilon, window)
            for data, method, window in product(self.data, WINDOW_METHODS, WINDOWS)
            if data.value["kind"] in ORDERED or not method.endswith(PRIVATE)
        ]

    def rows(self, found: Found) -> list[Row]:
        """Return a row a data set, method and window; its window is None where nothing is released."""
        units = {data.name: data.unit for data in self.data}
        rows: list[Row] = []
        for setting in self.settings():
            varied = {"window": setting.window if isinstance(setting, WindowOf) else None}
            rows.append(error_row(setting, units[setting.data], varied, found(setting), RELEASED))
        return rows


@dataclass(frozen=True, slots=True)
class ErrorBesideWindows:
    """Mean error at level landmark with a window by the share of landmarks, and at level w-event with the same one."""

    data: Sequence[DataSet]

    def settings(self) -> list[ErrorOf | WindowOf]:
        """Return the settings whose trials it needs."""
        places = [None, *(Placement(share) for share in BESIDE_SHARES)]
        return held_against(self.data) + [
            WindowOf(data.name, method, data.epsilon, BESIDE, placement)
            for data, method, placement in product(self.data, BESIDE_METHODS, places)
            if placement is not None or not method.startswith("balanced")
        ]

    def rows(self, found: Found) -> list[Row]:
        """Return a row a data set, method and share.

        Its share is None at level w-event and where nothing is released, its window in the latter case too.
        """
        units = {data.name: data.unit for data in self.data}
        rows: list[Row] = []
        for setting in self.settings():
            released = setting if isinstance(setting, WindowOf) else None
            share = released.placement.share_percent if released and released.placement else None
            varied = {"window": released.window if released else None, "share": share}
            rows.append(error_row(setting, units[setting.data], varied, found(setting), RELEASED))
        return rows


@dataclass(frozen=True, slots=True)
class LossByCorrelation:
    """Temporal loss by where landmarks lie and how strong the correlation is, on the first data set."""

    data: DataSet

    def settings(self) -> list[LossOf]:
        """Return the settings whose trials it needs."""
        return [setting for _, setting in self._named()]

    def rows(self, found: Found) -> list[Row]:
        """Return a row a method, distribution, strength and share."""
        rows: list[Row] = []
        for name, setting in self._named():
            measures = found(setting)
            rows.append(
                {
                    "data": setting.data,
                    "method": setting.method,
                    "epsilon": setting.epsilon,
                    "distribution": setting.placement.distribution,
                    "correlation": name,
                    "strength": setting.strength,
                    "share": setting.placement.share_percent,
                    **spread_of("estimate", measures),
                    "mean_estimate": mean_of("mean_estimate", measures),
                    "timestamp": mean_of("timestamp", measures),
                    "sum": mean_of("sum", measures),
                }
            )
        return rows

    def _named(self) -> Iterator[tuple[str, LossOf]]:
        for method, (name, smoothing), distribution, share in product(
            LOSS_METHODS, SMOOTHINGS.items(), DISTRIBUTIONS, SHARES
        ):
            strength = 1 / (1 + LOSS_STATES * smoothing)
            places = Placement(share, distribution)
            yield name, LossOf(self.data.name, method, self.data.epsilon, places, strength)


@dataclass(frozen=True, slots=True)
class TimeByMethod:
    """Processor time of one decision, for all methods on all data."""

    data: Sequence[DataSet]
    methods: Sequence[str]

    def settings(self) -> list[TimeOf]:
        """Return the settings whose trials it needs."""
        places = Placement(TIMED_SHARE)
        return [TimeOf(data.name, method, data.epsilon, places) for data, method in product(self.data, self.methods)]

    def rows(self, found: Found) -> list[Row]:
        """Return a row a data set and method."""
        return [
            {
                "data": setting.data,
                "method": setting.method,
                "epsilon": setting.epsilon,
                "share": setting.placement.share_percent,
                **spread_of("microseconds", found(setting)),
            }
            for setting in self.settings()
        ]


def held_against(data: Sequence[DataSet]) -> list[Any]:
    """Return the settings in which nothing is released, of all data: what each method is compared with."""
    return [_unreleased(one, name) for one in data for name in UNRELEASED]


def _unreleased(data: DataSet, name: str) -> ErrorOf:
    return ErrorOf(data.name, name, data.epsilon, Placement(0))


def error_row(
    setting: ErrorOf | WindowOf | DummiesOf, unit: str, varied: Row, measures: Sequence[Measures], means: Sequence[str]
) -> Row:
    """Return a row on an error: where it was found, what the experiment varies, the error and means besides."""
    return {
        "data": setting.data,
        "unit": unit,
        "method": setting.method,
        "epsilon": setting.epsilon,
        **varied,
        **spread_of("error", measures),
        **{name: mean_of(name, measures) for name in means},
    }


def mean_of(name: str, measures: Sequence[Measures]) -> float:
    """Return the mean over seeds of one measure."""
    return SeedMean.of([each[name] for each in measures]).mean


def spread_of(name: str, measures: Sequence[Measures]) -> Row:
    """Return the mean over seeds of one measure, with its interval, as members of a row."""
    mean = SeedMean.of([each[name] for each in measures])
    return {name: mean.mean, "low": mean.low, "high": mean.high}
