"""Checks signed checkpoints (heads): signatures, chains, the entries they name, and proofs of entries."""
