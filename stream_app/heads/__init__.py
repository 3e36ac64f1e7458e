"""Signed heads: what a ledger partition held at a time, as a Merkle tree."""
