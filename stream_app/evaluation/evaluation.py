"""An evaluation: runs the trials that the chosen experiments need, on several cores, and returns the results."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import as_completed
from dataclasses import dataclass
from itertools import product
from typing import Any

from stream_app.evaluation.dataset import DataSet
from stream_app.evaluation.experiment import (
    METHODS,
    SHARES,
    Comparison,
    ErrorBesideWindows,
    ErrorByShare,
    ErrorByWindow,
    Found,
    LossByCorrelation,
    PaperExperiment,
    Row,
    TimeByMethod,
    error_row,
    held_against,
)
from stream_app.evaluation.placement import Placement
from stream_app.evaluation.spread import CONFIDENCE
from stream_app.evaluation.store import Store, code_digest
from stream_app.evaluation.trial import DummiesOf, ErrorOf, Measures, Setting, TimeOf, measured
from stream_app.privacy.dummies.request import MOST_STEPS, MethodName
from stream_app.processes import pooled

NO_DUMMIES = "none"
PAID_DUMMIES: Sequence[MethodName] = ("heuristic", "partitioned")
DUMMIES: Sequence[MethodName] = (*PAID_DUMMIES, "padding")
DUMMY_METHODS = ("uniform", "balanced+level")
FRACTIONS = (0.01, 0.1, 0.25, 0.5)
"""Shares of the budget that pay for the draw of dummies; the first is the default of policies."""
PAID_SHARE = 20  # per cent of landmarks where the share of the budget varies


@dataclass(frozen=True, slots=True)
class ErrorByDummies:
    """Mean error with dummy landmarks, by their method and the share of the budget that pays for the draw."""

    data: Sequence[DataSet]  # data sets whose series are all short enough to draw dummies for
    shares: Sequence[int]
    dummies: Sequence[str]
    fractions: Sequence[float]

    @classmethod
    def by_share(cls, data: Sequence[DataSet]) -> "ErrorByDummies":
        """Return the effect of each method of dummies, at the default share of the budget."""
        return cls(_short(data), SHARES, (NO_DUMMIES, *DUMMIES), FRACTIONS[:1])

    @classmethod
    def by_fraction(cls, data: Sequence[DataSet]) -> "ErrorByDummies":
        """Return the effect of the share of the budget that the draw takes."""
        return cls(_short(data), (PAID_SHARE,), PAID_DUMMIES, FRACTIONS)

    def settings(self) -> list[ErrorOf | DummiesOf]:
        """Return the settings whose trials it needs."""
        return held_against(self.data) + [setting for *_, setting in self._named()]

    def rows(self, found: Found) -> list[Row]:
        """Return a row a data set, method, kind of dummies, share of landmarks and fraction of the budget.

        Where nothing is released, dummies and fraction are None, and the share where it varies.
        """
        share = None if len(self.shares) > 1 else self.shares[0]
        units = {data.name: data.unit for data in self.data}
        rows: list[Row] = []
        for setting in held_against(self.data):
            varied: Row = {"share": share, "dummies": None, "fraction": None}
            rows.append(error_row(setting, units[setting.data], varied, found(setting), ("landmarks",)))
        for data, dummies, fraction, setting in self._named():
            varied = {"share": setting.placement.share_percent, "dummies": dummies, "fraction": fraction}
            rows.append(error_row(setting, data.unit, varied, found(setting), ("landmarks",)))
        return rows

    def _named(self) -> Iterator[tuple[DataSet, str, float, ErrorOf | DummiesOf]]:
        cells = product(self.data, DUMMY_METHODS, self.dummies, self.fractions, self.shares)
        for data, method, dummies, fraction, share in cells:
            places = Placement(share)
            if dummies == NO_DUMMIES:
                yield data, dummies, 0.0, ErrorOf(data.name, method, data.epsilon, places)
            else:
                paid = fraction if dummies in PAID_DUMMIES else 0.0
                yield data, dummies, paid, DummiesOf(data.name, method, data.epsilon, places, dummies, paid)


def _short(data: Sequence[DataSet]) -> list[DataSet]:
    """Return the sets in which dummies can be drawn for every series."""
    most = min(MOST_STEPS[dummies] for dummies in DUMMIES)
    return [
        one
        for one in data
        if all((each[-1].timestamp_ms - each[0].timestamp_ms) // one.step_ms < most for each in one.series.values())
    ]


EXPERIMENTS: Mapping[str, str] = {
    "share": "mean error by the share of landmarks, for all schemes",
    "compare": "error of one method over that of another, at equal epsilon",
    "window": "mean error at level w-event by the length of the window",
    "beside": "mean error of landmarks with a window by their share, beside level w-event alone",
    "dummies": "mean error with dummy landmarks, by their method",
    "dummies-budget": "mean error with dummy landmarks, by the share of the budget that draws them",
    "correlation": "temporal loss by where landmarks lie and how strong values are correlated",
    "time": "processor time of a decision",
}
TIMED_SEEDS = 5  # runs of a timing, at most

Trial = tuple[Setting, int]  # a setting and a seed
Show = Callable[[int, int], None]  # shows how many trials of how many are done

_held: dict[str, DataSet] = {}
"""The data of a process that runs trials, given once at its start: they are larger than all else it is told."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The experiments to run, their data, and how many seeds each setting has."""

    data: Sequence[DataSet]
    experiments: Mapping[str, PaperExperiment]
    seeds: int

    @classmethod
    def of(cls, data: Sequence[DataSet], only: Sequence[str], seeds: int, comparison: Comparison) -> "Evaluation":
        """Return the experiments named, on at least one data set; ``comparison`` is that of the name `compare`."""
        made: dict[str, PaperExperiment] = {
            "share": ErrorByShare(data, METHODS),
            "compare": comparison,
            "window": ErrorByWindow(data),
            "beside": ErrorBesideWindows(data),
            "dummies": ErrorByDummies.by_share(data),
            "dummies-budget": ErrorByDummies.by_fraction(data),
            "correlation": LossByCorrelation(data[0]),
            "time": TimeByMethod(data, METHODS),
        }
        return cls(data, {name: made[name] for name in EXPERIMENTS if name in only}, seeds)

    def run(self, store: Store, jobs: int, show: Show) -> None:
        """Run the trials that the store lacks, on ``jobs`` processes."""
        complete(self.trials(), {one.name: one for one in self.data}, store, jobs, show)

    def trials(self) -> list[Trial]:
        """Return all trials, each once."""
        settings = dict.fromkeys(setting for one in self.experiments.values() for setting in one.settings())
        return [(setting, seed) for setting in settings for seed in range(self._seeds(setting))]

    def rows(self, store: Store) -> dict[str, list[Row]]:
        """Return the results of every experiment, all of whose trials are in the store."""

        def found(setting: Setting) -> list[Measures]:
            return [store.found(setting, seed) for seed in range(self._seeds(setting))]

        return {name: one.rows(found) for name, one in self.experiments.items()}

    def document(self, store: Store) -> dict[str, Any]:
        """Return everything as JSON values: figures over many steps and seeds, no value of a step."""
        return {
            "code": code_digest(),
            "seeds": self.seeds,
            "interval": f"{CONFIDENCE:.0%} over seeds: Student's t of a mean, Fieller's of a ratio",
            "data": [
                {
                    "name": one.name,
                    "unit": one.unit,
                    "epsilon": one.epsilon,
                    "step": one.step_ms,
                    "value": one.value,
                    "series": len(one.series),
                    "readings": len(one),
                }
                for one in self.data
            ],
            "experiments": self.rows(store),
        }

    def _seeds(self, setting: Setting) -> int:
        return min(self.seeds, TIMED_SEEDS) if isinstance(setting, TimeOf) else self.seeds


def complete(trials: Sequence[Trial], data: Mapping[str, DataSet], store: Store, jobs: int, show: Show) -> None:
    """Run the trials that the store lacks and keep each result as it comes. Times are taken last, one by one."""
    lacking = [trial for trial in dict.fromkeys(trials) if trial not in store]
    together = [trial for trial in lacking if not isinstance(trial[0], TimeOf)]
    alone = [trial for trial in lacking if isinstance(trial[0], TimeOf)]
    done = len(trials) - len(lacking)
    show(done, len(trials))
    for part, workers in ((together, jobs), (alone, 1)):
        for (setting, seed), measures in _results(part, data, workers):
            store.add(setting, seed, measures)
            done += 1
            show(done, len(trials))


def _results(trials: Sequence[Trial], data: Mapping[str, DataSet], jobs: int) -> Iterator[tuple[Trial, Measures]]:
    if jobs == 1 or len(trials) == 1:
        yield from (((setting, seed), measured(setting, data[setting.data], seed)) for setting, seed in trials)
    elif trials:
        with pooled(jobs, _hold, (dict(data),)) as pool:
            running = {pool.submit(_one, trial): trial for trial in trials}
            yield from ((running[future], future.result()) for future in as_completed(running))


def _hold(data: dict[str, DataSet]) -> None:
    _held.update(data)


def _one(trial: Trial) -> Measures:
    setting, seed = trial
    return measured(setting, _held[setting.data], seed)
