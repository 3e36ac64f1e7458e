"""Merkle trees, in the form of Certificate Transparency: one hash stands for a list of leaves, in their order.

Source: B. Laurie, A. Langley, E. Kasper, Certificate Transparency, RFC 6962 (2013), section 2.1, with BLAKE2b-256.
Leaves and nodes are hashed under different first bytes, so that no node can be passed off as a leaf.
"""

from hashlib import blake2b
from typing import Final

LEAF_PREFIX: Final = b"\x00"
NODE_PREFIX: Final = b"\x01"
HASH_BYTES: Final = 32


class Tree:
    """The tree over the leaves so far; it keeps one hash for each complete subtree."""

    __slots__ = ("_complete", "size")

    def __init__(self) -> None:
        self._complete: list[bytes] = []  # roots of complete subtrees, the largest first
        self.size = 0

    def add(self, leaf: bytes) -> None:
        """Add a leaf after the others."""
        node = _hash(LEAF_PREFIX + leaf)
        # Each low bit set in the size is a complete subtree as large as the one that ends here.
        size = self.size
        while size & 1:
            node = _hash(NODE_PREFIX + self._complete.pop() + node)
            size >>= 1
        self._complete.append(node)
        self.size += 1

    def root(self) -> bytes:
        """Return the root; of no leaves it is the hash of nothing."""
        if not self._complete:
            return _hash(b"")
        node = self._complete[-1]
        for left in reversed(self._complete[:-1]):
            node = _hash(NODE_PREFIX + left + node)
        return node


def _hash(content: bytes) -> bytes:
    return blake2b(content, digest_size=HASH_BYTES).digest()
