"""Signed heads of the ledger: what one partition's chains had come to, signed as one Merkle root.

Invariant: let C be the committed entries of a partition below a head's `ledger_offset`. For every series, the last leaf
among this head's and all earlier heads' names the sequence and hash of the series' last entry in C or of a later one.
Hash chains and the chain of heads make every earlier byte of C follow from that. So whoever rewrites or cuts off what a
head covers must make a signature, whatever hashes are computed anew.
"""

from dataclasses import asdict, dataclass, fields
from hashlib import blake2b
from typing import Any, Final, NamedTuple

from stream_app.formats import wire
from stream_app.heads.signing import SigningKey

LEAF_PREFIX: Final = b"\x00"
NODE_PREFIX: Final = b"\x01"
HASH_BYTES: Final = 32


class Tree:
    """The Merkle tree over the leaves so far, in their order; it keeps one hash for each complete subtree.

    Source: B. Laurie, A. Langley, E. Kasper, Certificate Transparency, RFC 6962 (2013), section 2.1, with BLAKE2b-256.
    Leaves and nodes are hashed under different first bytes, so that no node can be passed off as a leaf.
    """

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


LEAVES_BYTES: Final = 64 * 1024
"""Size at which a record of leaves ends; with its last leaf it stays far under the largest record."""
SIGNATURE_MEMBER: Final = b',"signature":"'
_SPELT: Final = {"time_ms": "time"}  # members of a record that have another name than the field


class Leaf(NamedTuple):
    """The end of one series' chain: the last entry's sequence, and its hash in hex."""

    series: str
    sequence: int
    hash: str


@dataclass(frozen=True, slots=True)
class Head:
    """What is signed, in the order of a record's members; numbered from 1, each names the hash of the one before."""

    topic: str  # of the ledger
    partition: int
    partitions: int
    number: int
    time_ms: int  # never before the last head's
    ledger_offset: int  # committed entries below are covered by this head and those before it
    leaves: int
    root: str  # hex
    previous: str  # BLAKE2b-256 of the last head's record in hex, zeros at first
    key: str  # fingerprint of the signing key

    def encode(self, key: SigningKey) -> bytes:
        """Return the record: the signature is its last member, over all bytes before it."""
        members = {_SPELT.get(name, name): found for name, found in asdict(self).items()}
        body = wire.dump({"type": "head", **members})[:-1]
        return b'%b%b%b"}' % (body, SIGNATURE_MEMBER, key.sign(body).hex().encode())


def decode(record: bytes, key: SigningKey) -> Head | None:
    """Return the head that a record holds; None when it holds none, or claims the key's signature without having it."""
    try:
        found: Any = wire.load(record)
        body, _, _ = record.partition(SIGNATURE_MEMBER)
        if found["type"] != "head":
            return None
        if found["key"] == key.fingerprint and not key.signed(body, bytes.fromhex(found["signature"])):
            return None
        return Head(**{each.name: found[_SPELT.get(each.name, each.name)] for each in fields(Head)})
    except (ValueError, KeyError, TypeError):
        return None


class LeafPages:
    """The leaves of a partition's head ``number``, put into records of bounded size and into its Merkle tree.

    They are added in the order of their series.
    """

    def __init__(self, partition: int, number: int) -> None:
        self._partition, self._number = partition, number
        self.tree = Tree()
        self._open: list[tuple[object, ...]] = []
        self._bytes = 0

    def add(self, leaf: Leaf) -> bytes | None:
        """Add a leaf; return a record when one is full."""
        plain = tuple(leaf)  # what is more than a tuple is no JSON
        text = wire.dump(plain)
        self.tree.add(text)
        self._open.append(plain)
        self._bytes += len(text) + 1
        return self.rest() if self._bytes >= LEAVES_BYTES else None

    def rest(self) -> bytes | None:
        """Return a record of the leaves that are in none yet, or None when there are none."""
        leaves, self._open, self._bytes = self._open, [], 0
        if not leaves:
            return None
        place = {"type": "leaves", "partition": self._partition, "head": self._number}
        return wire.dump({**place, "first": self.tree.size - len(leaves), "leaves": leaves})
