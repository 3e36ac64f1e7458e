"""How the budgets of series stand: how many have which share left, and what all of them have left together."""

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass, field

from stream_app.deciding.rows import SeriesRow
from stream_app.privacy.values import NANO

SHARES = (0.0, 0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
"""Upper ends of the classes that series are counted in."""
CLASSES = tuple(f"{share:.2f}" for share in SHARES)
"""Their names, which sort as they do."""


@dataclass(slots=True)
class Standing:
    """Counts over series; policies by the digest of the default policy, empty for a series' own."""

    left: dict[tuple[str, str, str], int] = field(default_factory=dict)
    """Series by scheme, digest and class of the share of their budget that is left."""
    left_nano: dict[tuple[str, str], int] = field(default_factory=dict)
    """What they have left together, in nano-epsilon, by scheme and digest."""
    rates: dict[tuple[str, str], int] = field(default_factory=dict)
    """Series of Adaptive, BD and BA, by digest and class of their rate of publishing."""


def standing_of(rows: Iterable[SeriesRow]) -> Standing:
    """Count ``rows``; those of closed series, and budgets that cannot be used up, do not count."""
    # PRIVACY: budgets and rates follow from releases and policies alone; they stand in the ledger, or follow from it.
    standing = Standing()
    for row in rows:
        policy, state = row.policy, row.state
        if state.closed:
            continue
        if policy.sampling is not None:
            rated = (row.default, _class_of(state.rate_nano / NANO))
            standing.rates[rated] = standing.rates.get(rated, 0) + 1
        guard = state.guard
        if not policy.exhaustible or guard.budget_nano == 0:
            continue
        scheme, left_nano = policy.scheme.name, guard.budget_nano - guard.used_nano
        counted = (scheme, row.default, _class_of(left_nano / guard.budget_nano))
        standing.left[counted] = standing.left.get(counted, 0) + 1
        payer = (scheme, row.default)
        standing.left_nano[payer] = standing.left_nano.get(payer, 0) + left_nano
    return standing


def _class_of(share: float) -> str:
    return CLASSES[bisect_left(SHARES, share)]
