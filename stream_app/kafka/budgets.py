"""How many series have which share of their budget left, and what all of them have left together."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from stream_app.deciding.columns.states import FREE, States
from stream_app.deciding.rows import SeriesRow
from stream_app.kafka.owner.cache import RowReader
from stream_app.kafka.owner.figures import PolicyLabels, label_of
from stream_app.monitoring.metrics import CLASSES, Metrics, WorkerMetric, class_of, classes_of
from stream_app.privacy.values import NANO
from stream_app.words.amount import worse


@dataclass(slots=True)
class BudgetCounts:
    """Counts over series. A policy is the digest of the default policy that rules, empty for a series' own."""

    left: dict[tuple[str, str, str], int] = field(default_factory=dict)
    """Series by scheme, digest and class of the share of their budget that is left."""
    left_nano: dict[tuple[str, str], int] = field(default_factory=dict)
    """What they have left together, in nano-epsilon, by scheme and digest."""
    rates: dict[tuple[str, str], int] = field(default_factory=dict)
    """Series of Adaptive, BD and BA, by digest and class of their rate of publishing."""
    most: tuple[int, int] = (0, 0)
    """What the series with the largest share used of its promise, and that promise, in nano-epsilon."""

    def use(self, used_nano: int, epsilon_nano: int) -> None:
        """Take what a series used of its promise."""
        if worse(used_nano, epsilon_nano, *self.most):
            self.most = (used_nano, epsilon_nano)


def counted_budgets(rows: Iterable[RowReader]) -> BudgetCounts:
    """Count the series in memory; those that are closed, and budgets that cannot be used up, do not count."""
    # PRIVACY: budgets and rates follow from releases and policies alone; they stand in the ledger, or follow from it.
    counts = BudgetCounts()
    for reader in rows:
        for row in reader.rows():
            _count_row(counts, row)
        _count_states(counts, reader.states)
    return counts


def _count_row(counts: BudgetCounts, row: SeriesRow) -> None:
    policy, guard = row.policy, row.state.guard
    if row.state.closed:
        return
    if guard.budget_nano:
        counts.use(guard.used_nano, guard.budget_nano)
    if policy.sampling is not None:
        _add(counts.rates, (row.default, class_of(row.state.latest.rate_nano / NANO)), 1)
    if not policy.exhaustible or guard.budget_nano == 0:
        return
    scheme, left_nano = policy.scheme.name, guard.budget_nano - guard.used_nano
    _add(counts.left, (scheme, row.default, class_of(left_nano / guard.budget_nano)), 1)
    _add(counts.left_nano, (scheme, row.default), left_nano)


def _count_states(counts: BudgetCounts, states: States) -> None:
    # In the order of their groups once, however many groups there are: the event loop waits meanwhile.
    figures = states.figures[: len(states.names)]
    numbers = figures["group"]
    order = np.argsort(numbers, kind="stable")
    ends = np.searchsorted(numbers[order], np.arange(FREE, len(states.groups)), "right")
    for group, begin, end in zip(states.groups, ends[:-1], ends[1:], strict=True):
        places, name, default = order[begin:end], group.rule.scheme.name, group.default
        if group.rule.sampling is not None:
            for rate, number in _classes(figures["rate_nano"][places] / NANO):
                _add(counts.rates, (default, rate), number)
        if not len(places):
            continue
        budgets = figures["budget_nano"][places]
        used_nano = (figures["landmark_spent_nano"] + figures["regular_peak_nano"])[places]
        shares = used_nano / budgets
        at = int(np.argmax(np.where(shares == shares.max(), budgets, -1)))  # of equal shares that of the largest
        counts.use(int(used_nano[at]), int(budgets[at]))
        if group.rule.exhaustible:
            left_nano = budgets - used_nano
            for share, number in _classes(left_nano / budgets):
                _add(counts.left, (name, default, share), number)
            _add(counts.left_nano, (name, default), _sum(left_nano))


def _classes(shares: npt.NDArray[np.float64]) -> Iterator[tuple[str, int]]:
    """Yield how many shares are of each class that any is of."""
    return ((CLASSES[nth], number) for nth, number in enumerate(np.bincount(classes_of(shares)).tolist()) if number)


def _sum(nanos: npt.NDArray[np.int64]) -> int:
    """Return the sum, which may have more than 64 bits."""
    return (int((nanos >> 32).sum()) << 32) + int((nanos & 0xFFFFFFFF).sum())


_Key = TypeVar("_Key")


def _add(counts: dict[_Key, int], key: _Key, number: int) -> None:
    counts[key] = counts.get(key, 0) + number


def show_budgets(metrics: Metrics, labels: PolicyLabels, counts: BudgetCounts) -> None:
    """Show the counts in the metrics, in place of what was shown before."""
    metrics.set(WorkerMetric.BUDGET_MOST_USED_NANO_EPSILON, counts.most[0])
    metrics.set(WorkerMetric.BUDGET_MOST_PROMISED_NANO_EPSILON, counts.most[1])
    metrics.replace(
        WorkerMetric.BUDGET_LEFT_SERIES,
        [((scheme, label_of(labels, default), share), n) for (scheme, default, share), n in counts.left.items()],
    )
    metrics.replace(
        WorkerMetric.BUDGET_LEFT_NANO_EPSILON,
        [((scheme, label_of(labels, default)), nano) for (scheme, default), nano in counts.left_nano.items()],
    )
    metrics.replace(
        WorkerMetric.SAMPLING_RATE_SERIES,
        [((label_of(labels, default), rate), n) for (default, rate), n in counts.rates.items()],
    )
