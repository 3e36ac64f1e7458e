"""Running trials, on several cores at once."""

import multiprocessing
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed

from stream_app.evaluation.dataset import DataSet
from stream_app.evaluation.store import Store
from stream_app.evaluation.trial import Measures, Setting, TimeOf, measured

Trial = tuple[Setting, int]
"""A setting and a seed."""
Show = Callable[[int, int], None]
"""Shows how many trials of how many are done."""

_held: dict[str, DataSet] = {}
"""The data of a process that runs trials, given once at its start: they are larger than all else it is told."""


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
        context = multiprocessing.get_context("spawn")  # alike on all systems, and no thread of ours is copied
        with ProcessPoolExecutor(jobs, context, _hold, (dict(data),)) as pool:
            try:
                running = {pool.submit(_one, trial): trial for trial in trials}
                yield from ((running[future], future.result()) for future in as_completed(running))
            finally:
                pool.shutdown(cancel_futures=True)


def _hold(data: dict[str, DataSet]) -> None:
    _held.update(data)


def _one(trial: Trial) -> Measures:
    setting, seed = trial
    return measured(setting, _held[setting.data], seed)
