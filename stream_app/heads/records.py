"""Signed heads of the ledger: what one partition's chains had come to, signed as one Merkle root.

Invariant: let C be the committed entries of a partition below a head's `ledger_offset`. For every series, the last leaf
among this head's and all earlier heads' names the sequence and hash of the series' last entry in C or of a later one.
Hash chains and the chain of heads make every earlier byte of C follow from that. So whoever rewrites or cuts off what a
head covers must make a signature, whatever hashes are computed anew.
"""

from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from stream_app.formats import wire
from stream_app.heads.merkle import Tree
from stream_app.heads.signing import SigningKey

LEAVES_BYTES: Final = 64 * 1024
"""Size at which a record of leaves ends; with its last leaf it stays far under the largest record."""
SIGNATURE_MEMBER: Final = b',"signature":"'


class Leaf(NamedTuple):
    """The end of one series' chain: the last entry's sequence, and its hash in hex."""

    series: str
    sequence: int
    hash: str


@dataclass(frozen=True, slots=True)
class Head:
    """What is signed; heads of a partition are numbered from 1 and name each other's hashes."""

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
        body = wire.dump(
            {
                "type": "head",
                "topic": self.topic,
                "partition": self.partition,
                "partitions": self.partitions,
                "number": self.number,
                "time": self.time_ms,
                "ledger_offset": self.ledger_offset,
                "leaves": self.leaves,
                "root": self.root,
                "previous": self.previous,
                "key": self.key,
            }
        )[:-1]
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
        return Head(
            topic=found["topic"],
            partition=found["partition"],
            partitions=found["partitions"],
            number=found["number"],
            time_ms=found["time"],
            ledger_offset=found["ledger_offset"],
            leaves=found["leaves"],
            root=found["root"],
            previous=found["previous"],
            key=found["key"],
        )
    except (ValueError, KeyError, TypeError):
        return None


class LeafPages:
    """The leaves of a partition's head ``number``, put into records of bounded size and into its Merkle tree.

    They are added in the order of their series.
    """

    def __init__(self, partition: int, number: int) -> None:
        self._partition, self._number = partition, number
        self._tree = Tree()
        self._open: list[tuple[object, ...]] = []
        self._bytes = 0

    @property
    def count(self) -> int:
        """The number of leaves so far."""
        return self._tree.size

    @property
    def root(self) -> str:
        """The Merkle root of all leaves in hex."""
        return self._tree.root().hex()

    def add(self, leaf: Leaf) -> bytes | None:
        """Add a leaf; return a record when one is full."""
        plain = tuple(leaf)  # what is more than a tuple is no JSON
        text = wire.dump(plain)
        self._tree.add(text)
        self._open.append(plain)
        self._bytes += len(text) + 1
        return self.rest() if self._bytes >= LEAVES_BYTES else None

    def rest(self) -> bytes | None:
        """Return a record of the leaves that are in none yet, or None when there are none."""
        leaves, self._open, self._bytes = self._open, [], 0
        if not leaves:
            return None
        return wire.dump(
            {
                "type": "leaves",
                "partition": self._partition,
                "head": self._number,
                "first": self._tree.size - len(leaves),
                "leaves": leaves,
            }
        )
