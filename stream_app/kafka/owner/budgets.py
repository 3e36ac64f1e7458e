"""Counts budgets over series, by the policy labels of the metrics."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from stream_app.deciding.columns.carried import gathered, guard_of
from stream_app.deciding.columns.states import FREE, States
from stream_app.deciding.context import DefaultPolicy
from stream_app.deciding.rows import SeriesRow, first_default
from stream_app.kafka.owner.cache import RowReader
from stream_app.monitoring.metrics import CLASSES, USED_UP, Metrics, WorkerMetric, classes_of
from stream_app.privacy.amounts import Ints
from stream_app.privacy.policy import Policy
from stream_app.privacy.protection import LandmarkLevel, UserLevel
from stream_app.privacy.rule import Rule
from stream_app.privacy.state import Promise, last_decided
from stream_app.privacy.values import NANO
from stream_app.words.amount import worse

OWN = "own"  # label of all policies that series sent for themselves
EARLIER = "earlier"  # label of removed default policies that still apply to some series
MORE = "more"  # label of all default policies after the first `NAMED`
NAMED = 20

PolicyLabels = dict[str, str]  # labels by the digests of default policies


def labels_of(defaults: Sequence[DefaultPolicy]) -> PolicyLabels:
    """Return the labels of the configured default policies: their positions, starting with ``default-1``.

    If several globs have equal policies, the first position counts, because the state identifies policies by digest.
    """
    # PRIVACY: the position and not the glob, which can be the id of one series.
    labels: PolicyLabels = {}
    for place, default in enumerate(defaults, 1):
        labels.setdefault(default.digest, f"default-{place}" if place <= NAMED else MORE)
    return labels


def label_of(labels: PolicyLabels, default: str) -> str:
    """Return the label of a row's policy; ``default`` names its default policy (empty for a series' own policy)."""
    return labels.get(first_default(default), EARLIER) if default else OWN


@dataclass(slots=True)
class BudgetCounts:
    """Counts over series, by the digest of their default policy; the digest is empty for a series' own policy."""

    left: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    """The number of series, by scheme, digest and class of the remaining share of the budget."""
    left_nano: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Total remaining budget of these series in nano-epsilon, by scheme and digest."""
    rates: Counter[tuple[str, str]] = field(default_factory=Counter)
    """The number of Adaptive, BD and BA series, by digest and class of their publishing rate."""
    most: tuple[int, int] = (0, 0)
    """The used amount and the budget, in nano-epsilon, of the series that has used the largest share."""

    def use(self, used_nano: int, epsilon_nano: int) -> None:
        """Update ``most`` with the part of its budget that a series has used."""
        if worse(used_nano, epsilon_nano, *self.most):
            self.most = (used_nano, epsilon_nano)


def counted_budgets(rows: Iterable[RowReader]) -> BudgetCounts:
    """Count the series in memory, except closed ones.

    The remaining budgets exclude budgets that cannot be exhausted, and budgets that are nearly used up as planned.
    """
    # PRIVACY: budgets and rates depend on releases and policies alone; they are in the ledger, or can be derived from
    # it.
    counts = BudgetCounts()
    for reader in rows:
        for group in budget_groups(reader.rows(), reader.states, np.arange(len(reader.states.names))):
            group.add_to(counts)
    return counts


class _PlannedUse(NamedTuple):
    """The data that shows which series have used up their budgets as planned; all columns have equal length."""

    ends: "list[_PlannedEnd]"
    first_steps: Ints
    last_steps: Ints
    spare_left: Ints

    def reached(self) -> Any:
        """Return which series have no spare landmarks and have reached the end until which their budget must last."""
        steps, from_first = np.array(self.ends, np.int64).reshape(-1, 2).T
        return (self.spare_left == 0) & (self.last_steps + 1 >= steps + from_first * self.first_steps)


class BudgetGroup(NamedTuple):
    """Series that are not closed, with one default policy and one scheme; columns have equal length."""

    default: str
    policy: Policy | Rule
    budgets_nano: Ints
    used_nano: Ints
    rates_nano: Ints | None  # None if the scheme has no publishing rate
    planned: Callable[[Ints], _PlannedUse]
    """Returns the rest for the series at some indices; only few are asked for, because this blocks the event loop."""

    def observe(self, metrics: Metrics) -> None:
        """Show the remaining share of each budget that can be exhausted, and each publishing rate."""
        if self.policy.protection.exhaustible:
            for share in (1 - self.used_nano / self.budgets_nano).tolist():
                metrics.observe(WorkerMetric.BUDGET_LEFT_SHARE, share)
        if self.rates_nano is not None:
            for rate in (self.rates_nano / NANO).tolist():
                metrics.observe(WorkerMetric.SAMPLING_RATE, rate)

    def add_to(self, counts: BudgetCounts) -> None:
        """Add the series to the counts."""
        name, default = self.policy.scheme.name, self.default
        if self.rates_nano is not None:
            for rate, number in _classes(self.rates_nano / NANO):
                counts.rates[default, rate] += number
        budgets, used_nano = self.budgets_nano, self.used_nano
        shares = used_nano / budgets
        at = int(np.argmax(np.where(shares == shares.max(), budgets, -1)))  # ties: that of the largest budget
        counts.use(int(used_nano[at]), int(budgets[at]))
        if not self.policy.protection.exhaustible:
            return
        left_nano = budgets - used_nano
        (low,) = np.nonzero(left_nano <= _LITTLE * budgets)
        counted = np.ones(len(budgets), np.bool_)
        if len(low):
            counted[low] = ~self.planned(low).reached()
        left_nano, budgets = left_nano[counted], budgets[counted]
        for share, number in _classes(left_nano / budgets):
            counts.left[name, default, share] += number
        if len(left_nano):  # a total of 0 would look like a budget that runs out
            counts.left_nano[name, default] += _sum(left_nano)


def budget_groups(rows: Iterable[SeriesRow], states: States, places: Ints) -> Iterator[BudgetGroup]:
    """Yield the series of some rows and those at some places of columns, except closed ones.

    The amounts are copies; what `BudgetGroup.planned` returns is read from the columns when it is called.
    """
    yield from _of_rows(rows)
    yield from _of_states(states, places)


def _of_rows(rows: Iterable[SeriesRow]) -> Iterator[BudgetGroup]:
    groups: defaultdict[tuple[object, ...], list[SeriesRow]] = defaultdict(list)
    for row in rows:
        if not row.state.closed:
            policy = row.policy
            alike = policy.scheme.name, policy.sampling is None, policy.protection.exhaustible
            groups[row.default, *alike].append(row)
    for own in groups.values():
        amounts = [(row.state.guard.budget_nano, row.state.guard.used_nano) for row in own]
        budgets, used_nano = np.array(amounts, np.int64).T
        policy, rates_nano = own[0].policy, np.array([row.state.latest.rate_nano for row in own], np.int64)
        rates = None if policy.sampling is None else rates_nano
        yield BudgetGroup(own[0].default, policy, budgets, used_nano, rates, partial(_planned_rows, own))


def _planned_rows(rows: Sequence[SeriesRow], some: Ints) -> _PlannedUse:
    own = [rows[nth] for nth in some.tolist()]
    figures = [(row.state.clock.first_step, row.state.clock.last_step, row.state.promise.spare_left) for row in own]
    return _PlannedUse([_PlannedEnd.of(row.policy, row.state.promise) for row in own], *np.array(figures, np.int64).T)


def _of_states(states: States, places: Ints) -> Iterator[BudgetGroup]:
    figures = states.figures
    for number, own in _by_group(figures["group"][places], places):
        group = states.groups[number]
        guard: Any = guard_of(figures, own)
        yield BudgetGroup(
            group.default,
            group.rule,
            guard.budget_nano,
            guard.used_nano,
            None if group.rule.sampling is None else figures["rate_nano"][own],
            partial(_planned_states, states, own),
        )


def _by_group(numbers: Ints, places: Ints) -> list[tuple[int, Ints]]:
    """Return each group's number and its places; sort once for all groups, because this blocks the event loop."""
    order = np.argsort(numbers, kind="stable")
    numbers, places = numbers[order], places[order]
    ends = (np.flatnonzero(np.diff(numbers, append=FREE - 1)) + 1).tolist()
    runs = pairwise([0, *ends])
    return [(group, places[begin:end]) for begin, end in runs if (group := int(numbers[begin])) != FREE]


def _planned_states(states: States, places: Ints, some: Ints) -> _PlannedUse:
    low = places[some]
    periods = [states.periods[place] for place in low.tolist()]
    # Compute once per period, however many series share it, because this blocks the event loop.
    ends = {id(period): period for period in periods}
    known = {name: _PlannedEnd.of(period.policy, period.promise) for name, period in ends.items()}
    steps_ms = np.array([period.policy.step_ms for period in periods], np.int64)
    figures = gathered(states.figures, low)
    last_steps = last_decided(figures["decided_ms"], steps_ms)["last_step"]
    return _PlannedUse(
        [known[id(period)] for period in periods], figures["first_step"], last_steps, figures["spare_left"]
    )


_LITTLE: Final = float(USED_UP[-1])
"""The remaining share below which a budget counts as nearly used up."""


class _PlannedEnd(NamedTuple):
    """The step until which a budget must last, not counting spare landmarks; a small remainder after it is planned."""

    step: int
    from_first: bool = False
    """Whether ``step`` is counted from the first step of the series."""

    @classmethod
    def of(cls, policy: Policy, promise: Promise) -> "_PlannedEnd":
        """Return the end of the stream at user level, and the last landmark's end at landmark level.

        Landmarks spend nothing if steps contain units.
        """
        match policy.protection:
            case UserLevel(length=length):
                return cls(length - int(_LITTLE * length), from_first=True)
            case LandmarkLevel() if policy.units is None and promise.landmarks.intervals:
                return cls(promise.landmarks.intervals[-1][1])
            case _:
                return cls(0)


def _classes(shares: npt.NDArray[np.float64]) -> Iterator[tuple[str, int]]:
    """Yield each class that occurs, and the number of shares in it."""
    return ((CLASSES[nth], number) for nth, number in enumerate(np.bincount(classes_of(shares)).tolist()) if number)


def _sum(nanos: npt.NDArray[np.int64]) -> int:
    """Return the sum, which may exceed 64 bits."""
    return (int((nanos >> 32).sum()) << 32) + int((nanos & 0xFFFFFFFF).sum())


def show_budgets(metrics: Metrics, labels: PolicyLabels, counts: BudgetCounts) -> None:
    """Show the counts in the metrics, replacing the previous ones."""
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
