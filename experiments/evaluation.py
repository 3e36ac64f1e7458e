"""An evaluation: runs the trials of the chosen experiments on several cores and returns the results."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import as_completed
from dataclasses import dataclass
from typing import Any

from experiments import experiment
from experiments.dataset import DataSet
from experiments.experiment import Comparison, ErrorOfStatistics, Experiment, Row
from experiments.setting import Setting
from experiments.spread import CONFIDENCE
from experiments.store import Store, code_digest
from experiments.trial import Measures, measured
from stream_app.processes import pooled

EXPERIMENTS: Mapping[str, str] = {
    "share": "mean error by the share of landmarks, for all schemes",
    "compare": "error of one method divided by that of another, at equal epsilon",
    "window": "mean error at level w-event by the length of the window",
    "beside": "mean error at level landmark with a window, by the share of landmarks, compared with level w-event",
    "dummies": "mean error with dummy landmarks, by their method",
    "dummies-budget": "mean error with dummy landmarks, by the share of the budget spent on drawing them",
    "correlation": "temporal loss by landmark positions and strength of the correlation",
    "time": "processor time per decision",
    "statistics": "mean error of daily, weekly and monthly statistics from protected units, compared with averaged "
    "releases",
}
MOST_SEEDS: Mapping[str, int] = {"time": 5, "statistic": 10}
"""Maximum number of runs for a measure. A statistic already has an error for every span of all data."""

Trial = tuple[Setting, int]  # a setting and a seed
Show = Callable[[int, int], None]  # shows how many of all trials are done

_held: dict[str, DataSet] = {}
"""The data of a process that runs trials, sent once at its start because of their size."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The experiments to run, their data, and the number of seeds for each setting."""

    data: Sequence[DataSet]
    experiments: Mapping[str, Experiment]
    seeds: int

    @classmethod
    def of(
        cls,
        data: Sequence[DataSet],
        only: Sequence[str],
        seeds: int,
        comparison: Comparison,
        whole: Sequence[DataSet] = (),
    ) -> "Evaluation":
        """Return the named experiments on at least one data set; ``comparison`` is the experiment `compare`.

        ``whole`` is the data of `statistics`, under other names, with more steps than the other experiments use.
        """
        statistics = ErrorOfStatistics.of(whole)
        made: dict[str, Experiment] = {
            "share": experiment.errors_by_share(data),
            "compare": comparison,
            "window": experiment.errors_by_window(data),
            "beside": experiment.errors_beside_windows(data),
            "dummies": experiment.errors_by_dummies(data),
            "dummies-budget": experiment.errors_by_fraction(data),
            "correlation": experiment.LossByCorrelation(data[0]),
            "time": experiment.TimeByMethod(data),
            "statistics": statistics,
        }
        return cls([*data, *statistics.data], {name: made[name] for name in EXPERIMENTS if name in only}, seeds)

    def run(self, store: Store, jobs: int, show: Show) -> None:
        """Run the trials missing from the store in ``jobs`` processes, and store each result when it arrives.

        Times are measured last, one trial at a time.
        """
        trials = self.trials()
        lacking = [trial for trial in trials if trial not in store]
        together = [trial for trial in lacking if trial[0].measure != "time"]
        alone = [trial for trial in lacking if trial[0].measure == "time"]
        done = len(trials) - len(lacking)
        show(done, len(trials))
        for part, workers in ((together, jobs), (alone, 1)):
            for (setting, seed), measures in _results(part, {one.name: one for one in self.data}, workers):
                store.add(setting, seed, measures)
                done += 1
                show(done, len(trials))

    def trials(self) -> list[Trial]:
        """Return all trials without duplicates."""
        settings = dict.fromkeys(setting for one in self.experiments.values() for setting in one.settings())
        return [(setting, seed) for setting in settings for seed in range(self._seeds(setting))]

    def rows(self, store: Store) -> dict[str, list[Row]]:
        """Return the results of every experiment; all their trials must be in the store."""

        def found(setting: Setting) -> list[Measures]:
            return [store.found(setting, seed) for seed in range(self._seeds(setting))]

        return {name: one.rows(found) for name, one in self.experiments.items()}

    def document(self, store: Store) -> dict[str, Any]:
        """Return everything as JSON values: figures over many steps and seeds, but no value of any single step."""
        return {
            "code": code_digest(),
            "seeds": self.seeds,
            "interval": f"{CONFIDENCE:.0%} over seeds: Student's t interval for a mean, Fieller's interval for a ratio",
            "data": [{**one.stated(), "series": len(one.series), "readings": len(one)} for one in self.data],
            "experiments": self.rows(store),
        }

    def _seeds(self, setting: Setting) -> int:
        return min(self.seeds, MOST_SEEDS.get(setting.measure, self.seeds))


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
