"""Frauds by sort: each yields forged copies of a true ledger, with the codes of which at least one must be found.

A forger who knows the format rewrites the chain with all hashes (`renumber`, `seal`); one who does not leaves them.
Where a ledger alone cannot show the fraud, because what it says would be true of another history, the releases do.
"""

from tests.audit.frauds import chains, figures, promises, published, windows
from tests.audit.frauds.forged import Fraud

FRAUDS: tuple[Fraud, ...] = (*chains.FRAUDS, *figures.FRAUDS, *promises.FRAUDS, *published.FRAUDS, *windows.FRAUDS)

__all__ = ["FRAUDS", "Fraud"]
