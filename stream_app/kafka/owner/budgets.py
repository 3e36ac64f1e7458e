"""Counts budgets, limits and losses over series and persons, by the policy labels of the metrics."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from stream_app.deciding.columns.carried import Figures
from stream_app.deciding.columns.states import FREE, States
from stream_app.deciding.context import DefaultPolicy
from stream_app.deciding.members import Claims, Member
from stream_app.deciding.rows import SeriesRow, first_default, stored_loss
from stream_app.kafka.owner.cache import RowReader
from stream_app.monitoring.metrics import CLASSES, USED_UP, Metrics, WorkerMetric, class_of, classes_of
from stream_app.privacy.amounts import Flags, Ints
from stream_app.privacy.policy import Policy
from stream_app.privacy.protection import LandmarkLevel, UserLevel
from stream_app.privacy.state import Promise
from stream_app.privacy.values import NANO
from stream_app.setup.settings import Settings
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
        counts.rates[row.default, class_of(row.state.latest.rate_nano / NANO)] += 1
    if not policy.exhaustible or guard.budget_nano == 0:
        return
    scheme, left_nano = policy.scheme.name, guard.budget_nano - guard.used_nano
    promise, clock = row.state.promise, row.state.clock
    planned = _PlannedEnd.of(policy, promise)
    end = planned.step + planned.from_first * clock.first_step
    if left_nano <= _LITTLE * guard.budget_nano and not promise.spare_left and clock.last_step + 1 >= end:
        return
    counts.left[scheme, row.default, class_of(left_nano / guard.budget_nano)] += 1
    counts.left_nano[scheme, row.default] += left_nano


def _count_states(counts: BudgetCounts, states: States) -> None:
    # Sort by group once, however many groups there are, because this blocks the event loop.
    figures = states.figures[: len(states.names)]
    numbers = figures["group"]
    order = np.argsort(numbers, kind="stable")
    ends = np.searchsorted(numbers[order], np.arange(FREE, len(states.groups)), "right")
    for group, begin, end in zip(states.groups, ends[:-1], ends[1:], strict=True):
        places, name, default = order[begin:end], group.rule.scheme.name, group.default
        if group.rule.sampling is not None:
            for rate, number in _classes(figures["rate_nano"][places] / NANO):
                counts.rates[default, rate] += number
        if not len(places):
            continue
        budgets = figures["budget_nano"][places]
        used_nano = (figures["landmark_spent_nano"] + figures["regular_peak_nano"])[places]
        shares = used_nano / budgets
        at = int(np.argmax(np.where(shares == shares.max(), budgets, -1)))  # ties: that of the largest budget
        counts.use(int(used_nano[at]), int(budgets[at]))
        if group.rule.exhaustible:
            left_nano = budgets - used_nano
            counted = _counted(states, places, figures, left_nano <= _LITTLE * budgets)
            left_nano, budgets = left_nano[counted], budgets[counted]
            for share, number in _classes(left_nano / budgets):
                counts.left[name, default, share] += number
            counts.left_nano[name, default] += _sum(left_nano)


_LITTLE: Final = float(USED_UP[-1])
"""The remaining share below which a budget counts as nearly used up."""


class _PlannedEnd(NamedTuple):
    """The step until which a budget must last, apart from spare landmarks; a small remainder after it is planned."""

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


def _counted(states: States, places: Ints, figures: Figures, little: Flags) -> Flags:
    """Return which series are counted: all except those whose budget is nearly used up as planned."""
    found, low = ~little, places[little]
    periods = [states.periods[place] for place in low.tolist()]
    if periods:
        # Compute once per period, however many series share it, because this blocks the event loop.
        _, firsts, of = np.unique(np.fromiter(map(id, periods), np.int64), return_index=True, return_inverse=True)
        ends = [_PlannedEnd.of(periods[nth].policy, periods[nth].promise) for nth in firsts.tolist()]
        steps_ms = np.array([periods[nth].policy.step_ms for nth in firsts.tolist()], np.int64)[of]
        steps, from_first = np.array(ends, np.int64)[of].T
        lasts = figures["decided_ms"][low] // steps_ms
        found[little] = (figures["spare_left"][low] > 0) | (lasts + 1 < steps + from_first * figures["first_step"][low])
    return found


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


class CapCounts:
    """The number of persons with a limit, by class of the unreserved share of that limit."""

    def __init__(self) -> None:
        self.left: Counter[str] = Counter()  # by class

    def take(self, members: Iterable[Member]) -> None:
        """Start over, and count all persons of the partition."""
        self.left.clear()
        self.move((None, member) for member in members)

    def move(self, claims: Iterable[Claims]) -> None:
        """Apply the changes of a batch, given the rows of its persons before and after the batch."""
        # PRIVACY: reserved amounts and limits depend on policies and public facts, and are in the ledger; no person is
        # named.
        for before, after in claims:
            for member, sign in ((before, -1), (after, 1)):
                if member is not None and member.cap_nano is not None:
                    cap_nano = member.cap_nano or 1  # a limit of zero has no reservations
                    self.left[class_of((cap_nano - member.claimed_nano) / cap_nano)] += sign

    def show(self, metrics: Metrics, partition: str) -> None:
        """Show the counts once any person has had a limit."""
        for share in self.left:
            metrics.set(WorkerMetric.CAP_LEFT_MEMBERS, self.left[share], partition, share)

    @staticmethod
    def withdraw(metrics: Metrics, partition: str) -> None:
        """Remove the counts."""
        for share in CLASSES:
            metrics.drop(WorkerMetric.CAP_LEFT_MEMBERS, partition, share)


class LossCounts:
    """Exact counts, updated per batch, of a partition's series with a backward loss and with an alarming loss."""

    def __init__(self, settings: Settings) -> None:
        self.alarm = settings.correlation_alarm
        self.wanted = bool(settings.correlations)
        """Whether losses are counted: only a series whose policy names a configured correlation has a loss."""
        self.correlated = 0
        self.alarmed = 0

    def take(self, stored: Iterable[bytes]) -> None:
        """Start over, and count the stored rows of all series."""
        self.correlated = self.alarmed = 0
        self.move((None, stored_loss(row)) for row in stored)

    def move(self, losses: Iterable[tuple[float | None, float | None]]) -> None:
        """Apply a batch's changes, given the loss (or None) of each of its series before and after the batch."""
        for before, after in losses:
            self.correlated += (after is not None) - (before is not None)
            self.alarmed += self._alarming(after) - self._alarming(before)

    def _alarming(self, loss: float | None) -> bool:
        return self.alarm is not None and loss is not None and loss >= self.alarm
