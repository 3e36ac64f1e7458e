"""The Merkle tree of RFC 6962, section 2.1, written out as its recursion."""

from collections.abc import Callable, Sequence
from hashlib import blake2b

Hash = Callable[[bytes], bytes]


def blake(content: bytes) -> bytes:
    """Return BLAKE2b-256."""
    return blake2b(content, digest_size=32).digest()


def split_of(count: int) -> int:
    """Return the largest power of two smaller than ``count``."""
    split = 1
    while 2 * split < count:
        split *= 2
    return split


def literal_root(leaves: Sequence[bytes], digest: Hash = blake) -> bytes:
    """Return MTH(D[n])."""
    if not leaves:
        return digest(b"")
    if len(leaves) == 1:
        return digest(b"\x00" + leaves[0])
    split = split_of(len(leaves))
    return digest(b"\x01" + literal_root(leaves[:split], digest) + literal_root(leaves[split:], digest))


def literal_path(index: int, leaves: Sequence[bytes]) -> list[bytes]:
    """Return PATH(m, D[n])."""
    if len(leaves) == 1:
        return []
    split = split_of(len(leaves))
    if index < split:
        return [*literal_path(index, leaves[:split]), literal_root(leaves[split:])]
    return [*literal_path(index - split, leaves[split:]), literal_root(leaves[:split])]
