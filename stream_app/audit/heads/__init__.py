"""Signed heads: their signatures and chains, the ledger entries that they name, and proofs of entries."""
