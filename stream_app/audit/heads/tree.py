"""Merkle roots and inclusion proofs, RFC 6962 section 2.1 over BLAKE2b-256: the audit's own reading of it."""

from collections.abc import Sequence
from hashlib import blake2b
from typing import Final

_BYTES: Final = 32


def leaf_hash(leaf: bytes) -> bytes:
    """Return the hash of a leaf's bytes."""
    return blake2b(b"\x00" + leaf, digest_size=_BYTES).digest()


def root_of(hashes: Sequence[bytes]) -> bytes:
    """Return the root over leaf hashes: neighbours are joined level by level, one without a neighbour moves up."""
    if not hashes:
        return blake2b(b"", digest_size=_BYTES).digest()
    level = list(hashes)
    while len(level) > 1:
        level = _above(level)
    return level[0]


def path_of(hashes: Sequence[bytes], index: int) -> list[bytes]:
    """Return what leaf `index` must be joined with, from the bottom up, to give the root."""
    level, path = list(hashes), []
    while len(level) > 1:
        beside = index ^ 1
        if beside < len(level):
            path.append(level[beside])
        level, index = _above(level), index >> 1
    return path


def rooted(leaf: bytes, index: int, count: int, path: Sequence[bytes]) -> bytes | None:
    """Return the root of `count` leaves that the one at `index` has by its path, or None when the path cannot be."""
    if not 0 <= index < count:
        return None
    node, last, rest = leaf, count - 1, list(path)
    while last:
        # A node without a neighbour is the last of its level, at an even place.
        if index & 1 or index < last:
            if not rest:
                return None
            beside = rest.pop(0)
            node = _join(beside, node) if index & 1 else _join(node, beside)
        index, last = index >> 1, last >> 1
    return node if not rest else None


def _above(level: list[bytes]) -> list[bytes]:
    joined = [_join(level[place], level[place + 1]) for place in range(0, len(level) - 1, 2)]
    return joined + level[len(level) & ~1 :]


def _join(left: bytes, right: bytes) -> bytes:
    return blake2b(b"\x01" + left + right, digest_size=_BYTES).digest()
