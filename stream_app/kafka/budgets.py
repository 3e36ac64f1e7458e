"""How many series have which share of their budget left, and what all of them have left together."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from stream_app.deciding.rows import SeriesRow
from stream_app.kafka.owner.figures import PolicyLabels, label_of
from stream_app.monitoring.metrics import Metrics, WorkerMetric, class_of
from stream_app.privacy.values import NANO


@dataclass(slots=True)
class BudgetCounts:
    """Counts over series. A policy is the digest of the default policy that rules, empty for a series' own."""

    left: dict[tuple[str, str, str], int] = field(default_factory=dict)
    """Series by scheme, digest and class of the share of their budget that is left."""
    left_nano: dict[tuple[str, str], int] = field(default_factory=dict)
    """What they have left together, in nano-epsilon, by scheme and digest."""
    rates: dict[tuple[str, str], int] = field(default_factory=dict)
    """Series of Adaptive, BD and BA, by digest and class of their rate of publishing."""


def counted_budgets(rows: Iterable[SeriesRow]) -> BudgetCounts:
    """Count ``rows``; those of closed series, and budgets that cannot be used up, do not count."""
    # PRIVACY: budgets and rates follow from releases and policies alone; they stand in the ledger, or follow from it.
    counts = BudgetCounts()
    for row in rows:
        policy, state = row.policy, row.state
        if state.closed:
            continue
        if policy.sampling is not None:
            rated = (row.default, class_of(state.latest.rate_nano / NANO))
            counts.rates[rated] = counts.rates.get(rated, 0) + 1
        guard = state.guard
        if not policy.exhaustible or guard.budget_nano == 0:
            continue
        scheme, left_nano = policy.scheme.name, guard.budget_nano - guard.used_nano
        counted = (scheme, row.default, class_of(left_nano / guard.budget_nano))
        counts.left[counted] = counts.left.get(counted, 0) + 1
        payer = (scheme, row.default)
        counts.left_nano[payer] = counts.left_nano.get(payer, 0) + left_nano
    return counts


def show_budgets(metrics: Metrics, labels: PolicyLabels, counts: BudgetCounts) -> None:
    """Show the counts in the metrics, in place of what was shown before."""
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
