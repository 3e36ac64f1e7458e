"""Signed checkpoints of the ledger: the state of one partition's chains, signed as one Merkle root.

Invariant: let C be the committed entries of a partition below a checkpoint's `ledger_offset`. For every series, the
last leaf in this checkpoint and all earlier checkpoints names the sequence number and hash of the series' last entry in
C or of a later entry. Given the hash chains and the chain of checkpoints, that leaf determines every earlier byte of C.
Anyone who rewrites or truncates what a checkpoint covers must therefore produce a signature, whatever hashes they
recompute.
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
    """The Merkle tree over the leaves so far, in order, kept as one hash for each complete subtree.

    Source: B. Laurie, A. Langley, E. Kasper, Certificate Transparency, RFC 6962 (2013), section 2.1, with BLAKE2b-256.
    Leaves and nodes are hashed with different first bytes, so that no node can pass as a leaf.
    """

    __slots__ = ("_complete", "size")

    def __init__(self) -> None:
        self._complete: list[bytes] = []  # roots of complete subtrees, largest first
        self.size = 0

    def add(self, leaf: bytes) -> None:
        """Append a leaf."""
        node = _hash(LEAF_PREFIX + leaf)
        # Each trailing 1 bit of the size is a complete subtree as large as the one that ends here.
        size = self.size
        while size & 1:
            node = _hash(NODE_PREFIX + self._complete.pop() + node)
            size >>= 1
        self._complete.append(node)
        self.size += 1

    def root(self) -> bytes:
        """Return the root, which is the hash of the empty string if there are no leaves."""
        if not self._complete:
            return _hash(b"")
        node = self._complete[-1]
        for left in reversed(self._complete[:-1]):
            node = _hash(NODE_PREFIX + left + node)
        return node


def _hash(content: bytes) -> bytes:
    return blake2b(content, digest_size=HASH_BYTES).digest()


LEAVES_BYTES: Final = 64 * 1024
"""The size at which a record of leaves is full; even with its last leaf, it is far below the maximum size."""
SIGNATURE_MEMBER: Final = b',"signature":"'
_SPELT: Final = {"time_ms": "time"}  # record members named differently from their fields


class Leaf(NamedTuple):
    """The end of one series' chain: the last entry's sequence number, and its hash in hex."""

    series: str
    sequence: int
    hash: str


@dataclass(frozen=True, slots=True)
class Head:
    """The signed content, in the order of a record's members.

    Numbers start at 1, and each checkpoint names the hash of the previous one.
    """

    topic: str  # of the ledger
    partition: int
    partitions: int
    number: int
    time_ms: int  # not before the last head
    ledger_offset: int  # committed entries below are covered by this head and earlier ones
    leaves: int
    root: str  # hex
    previous: str  # hex BLAKE2b-256 of the last head's record, zeros at first
    key: str  # fingerprint of the signing key

    def encode(self, key: SigningKey) -> bytes:
        """Return the record, whose last member is the signature of all bytes before it."""
        members = {_SPELT.get(name, name): found for name, found in asdict(self).items()}
        body = wire.dump({"type": "head", **members})[:-1]
        return b'%b%b%b"}' % (body, SIGNATURE_MEMBER, key.sign(body).hex().encode())


def decode(record: bytes, key: SigningKey) -> Head | None:
    """Return the checkpoint in a record; return None if there is none or if this key's signature is forged."""
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
    """The leaves of checkpoint ``number`` of a partition, in bounded records and in its Merkle tree.

    Leaves are added in the order of their series.
    """

    def __init__(self, partition: int, number: int) -> None:
        self._partition, self._number = partition, number
        self.tree = Tree()
        self._open: list[tuple[object, ...]] = []
        self._bytes = 0

    def add(self, leaf: Leaf) -> bytes | None:
        """Add a leaf; return a record if one is full."""
        plain = tuple(leaf)  # a subclass of tuple is not JSON
        text = wire.dump(plain)
        self.tree.add(text)
        self._open.append(plain)
        self._bytes += len(text) + 1
        return self.rest() if self._bytes >= LEAVES_BYTES else None

    def rest(self) -> bytes | None:
        """Return a record of the leaves that are not yet in any record, or None if no leaves remain."""
        leaves, self._open, self._bytes = self._open, [], 0
        if not leaves:
            return None
        place = {"type": "leaves", "partition": self._partition, "head": self._number}
        return wire.dump({**place, "first": self.tree.size - len(leaves), "leaves": leaves})
