"""An evaluation: the chosen experiments on the chosen data, run where results lack, and its document."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from stream_app.evaluation.dataset import DataSet
from stream_app.evaluation.disguise import ErrorByDummies
from stream_app.evaluation.experiment import (
    METHODS,
    Comparison,
    ErrorByShare,
    ErrorByWindow,
    Experiment,
    LossByCorrelation,
    Row,
    TimeByMethod,
)
from stream_app.evaluation.running import Show, Trial, complete
from stream_app.evaluation.spread import CONFIDENCE
from stream_app.evaluation.store import Store, code_digest
from stream_app.evaluation.trial import Measures, Setting, TimeOf

EXPERIMENTS: Mapping[str, str] = {
    "share": "mean error by the share of landmarks, for all schemes",
    "compare": "error of one method over that of another, at equal epsilon",
    "window": "mean error at level w-event by the length of the window",
    "dummies": "mean error with dummy landmarks, by their method",
    "dummies-budget": "mean error with dummy landmarks, by the share of the budget that draws them",
    "correlation": "temporal loss by where landmarks lie and how strong values are correlated",
    "time": "processor time of a decision",
}
TIMED_SEEDS = 5
"""Runs of a timing, at most."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What is to be found out."""

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
    ) -> "Evaluation":
        """Return the experiments named, on at least one data set; ``comparison`` is that of the name `compare`."""
        made: dict[str, Experiment] = {
            "share": ErrorByShare(data, METHODS),
            "compare": comparison,
            "window": ErrorByWindow(data),
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
