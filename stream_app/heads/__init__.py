"""Signed checkpoints (heads): the state of a ledger partition at one point in time, as a Merkle tree."""
