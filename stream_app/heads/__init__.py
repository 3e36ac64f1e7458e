"""Signed checkpoints (heads): the state of a ledger partition at a time, as a Merkle tree."""
