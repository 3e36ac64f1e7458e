"""Frauds by kind: each yields forgeries of a true ledger, with codes of which at least one must be found.

A forger who knows the format rewrites the chain with all hashes (`renumber`, `seal`); others leave them unchanged. If a
ledger alone cannot show the fraud, because its content would be true of another history, the releases show it.
"""

from tests.audit.frauds import chains, figures, promises, published, windows
from tests.audit.frauds.forged import Fraud

FRAUDS: tuple[Fraud, ...] = (*chains.FRAUDS, *figures.FRAUDS, *promises.FRAUDS, *published.FRAUDS, *windows.FRAUDS)

__all__ = ["FRAUDS", "Fraud"]
