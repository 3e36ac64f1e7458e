"""Signed heads: their form, their signatures and chains, and the ledger entries that they name."""
