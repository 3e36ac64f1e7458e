"""The chain of signed heads of each partition: signatures, numbers, links, and the Merkle root over the leaves.

It proves that the ledger still holds what it held when each head was signed, also against somebody who computes every
hash anew. What follows a partition's last head can be cut off unseen, and so can the last heads themselves together
with what they cover, unless a witness kept them.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Final, NamedTuple, assert_never

from stream_app.audit.chain import DIGEST_BYTES
from stream_app.audit.entry import ZEROS
from stream_app.audit.expected import Expected
from stream_app.audit.finding import Code, Finding
from stream_app.audit.head import SIGNATURE_MEMBER, Head, Leaves
from stream_app.audit.publickey import PublicKeys
from stream_app.audit.reader import leaf_bytes, read_head_record
from stream_app.audit.tree import leaf_hash, root_of

_MISSING: Final = bytes(DIGEST_BYTES)


class HeadsRead(NamedTuple):
    """What an audit read of the heads."""

    heads: int
    partitions: int
    oldest: Head | None  # of the partitions' last heads
    entries_signed: int  # entries at or before the last leaf of their series
    witnessed: int  # heads that the witness holds

    def unsigned(self, entries: int) -> int:
        """Return how many of the ledger's `entries` follow the last heads."""
        return max(0, entries - self.entries_signed)

    def document(self, entries: int) -> dict[str, int | None]:
        """Return it as the `--json` report has it; `entries` are the ledger's."""
        return {
            "heads": self.heads,
            "partitions": self.partitions,
            "oldest": None if self.oldest is None else self.oldest.time,
            "unsigned": self.unsigned(entries),
            "witnessed": self.witnessed,
        }


@dataclass(slots=True)
class _Partition:
    """The end of one partition's heads so far, and the leaves of the head to come."""

    last: Head | None = None
    digests: bytearray = field(default_factory=bytearray)  # of the heads' records, zeros where one is missing
    head: int = 0  # the number of the head that the leaves belong to
    hashes: list[bytes] = field(default_factory=list)
    series: str = ""  # of the last leaf

    @property
    def number(self) -> int:
        return len(self.digests) // DIGEST_BYTES

    def digest(self, number: int) -> bytes:
        return bytes(self.digests[(number - 1) * DIGEST_BYTES : number * DIGEST_BYTES])


class Heads:
    """Takes the records of the heads topic as they come, and before them those of a witness."""

    def __init__(
        self, keys: PublicKeys, tell: Callable[[Finding], None], topic: str | None = None, *, late: bool = False
    ) -> None:
        """Trust these keys; `tell` gets the findings; `topic` is the ledger's name, None to take the first head's.

        `late` allows heads after the entries that they name.
        """
        self._keys, self._tell, self._topic = keys, tell, topic
        self._expected = Expected(tell, late=late)
        self._count: int | None = None  # of partitions
        self._partitions: dict[int, _Partition] = {}
        self._witnessed: dict[tuple[int, int], bytes] = {}

    def record(self, data: bytes, place: int | None = None) -> None:
        """Take in a record; `place` is the partition that it lay on, None when it comes from a file."""
        found = read_head_record(data)
        if isinstance(found, Finding):
            self._tell(found)
            return
        if place is not None and found.partition != place:
            self._add("head-place", f"a record of partition {found.partition} lies on partition {place}")
            return
        partition = self._partitions.setdefault(found.partition, _Partition())
        match found:
            case Leaves():
                self._leaves(partition, found)
            case Head():
                self._head(partition, found, data)
            case _:
                assert_never(found)

    def entries(self, lines: Iterable[bytes]) -> None:
        """Meet lines of the ledger, once all records of the heads were taken in."""
        self._expected.entries(lines)

    @property
    def entries_signed(self) -> int:
        """How many entries stand at or before the last leaf of their series."""
        return self._expected.entries_signed

    def witness(self, data: bytes) -> None:
        """Take in a record that a witness kept; leaves among them are passed over."""
        found = read_head_record(data)
        if isinstance(found, Finding):
            self._tell(found._replace(message=f"in the witness: {found.message}"))
        elif isinstance(found, Head):
            self._check_signature(found, data)
            digest = _digest(data)
            if self._witnessed.setdefault((found.partition, found.number), digest) != digest:
                self._add("head-conflict", f"the witness holds two heads {_name(found)}")

    def finish(self) -> HeadsRead:
        """Tell what is missing at the end, and return what was read."""
        self._expected.finish()
        for number, partition in sorted(self._partitions.items()):
            if partition.hashes:
                self._add("head-leaves", f"leaves of head {partition.head} of partition {number} without the head")
        for (number, head), digest in sorted(self._witnessed.items()):
            self._compare(number, head, digest)
        ends = [partition.last for partition in self._partitions.values() if partition.last is not None]
        for number in sorted(set(range(self._count or 1)) - {end.partition for end in ends}):
            self._add("head-missing", f"no head of partition {number}: nothing vouches for it")
        return HeadsRead(
            heads=sum(partition.number for partition in self._partitions.values()),
            partitions=len(ends),
            oldest=min(ends, key=lambda end: end.time, default=None),
            entries_signed=self._expected.entries_signed,
            witnessed=len(self._witnessed),
        )

    def _leaves(self, partition: _Partition, found: Leaves) -> None:
        if found.head <= partition.number:
            return  # a copy, of a head that was checked with its own leaves
        if found.head != partition.head:
            if partition.hashes:
                name = f"head {partition.head} of partition {found.partition}"
                self._add("head-leaves", f"leaves of {name} without the head")
            partition.head, partition.hashes, partition.series = found.head, [], ""
        if found.first != len(partition.hashes) or not partition.series < found.leaves[0].series:
            name = f"head {found.head} of partition {found.partition}"
            self._add("head-leaves", f"leaves {len(partition.hashes)} and on of {name} are missing or in another order")
        for leaf in found.leaves:
            text = leaf_bytes(leaf)
            partition.hashes.append(leaf_hash(text))
            self._expected.leaf(leaf, text)
        partition.series = found.leaves[-1].series

    def _head(self, partition: _Partition, head: Head, data: bytes) -> None:
        digest = _digest(data)
        if head.number <= partition.number:
            if partition.digest(head.number) != digest:
                self._add("head-conflict", f"head {_name(head)} stands twice, with different bytes")
            return
        self._check_signature(head, data)
        self._check_place(head)
        self._check_link(partition, head)
        of_it = partition.hashes if partition.head == head.number else []
        if len(of_it) != head.leaves or root_of(of_it).hex() != head.root:
            message = f"the {len(of_it)} leaves of head {_name(head)} do not give its root over {head.leaves}"
            self._add("head-leaves", message)
        partition.hashes = []
        partition.digests += _MISSING * min(head.number - partition.number - 1, 2**20) + digest
        partition.last = head

    def _check_signature(self, head: Head, data: bytes) -> None:
        body, _, _ = data.partition(SIGNATURE_MEMBER)
        signed = self._keys.signed(head.key, body, bytes.fromhex(head.signature))
        if signed is None:
            message = f"head {_name(head)} is signed by key {head.key}; trusted is {self._keys.fingerprints}"
            self._add("head-signature", message)
        elif not signed:
            self._add("head-signature", f"head {_name(head)} has not the signature of key {head.key}")

    def _check_place(self, head: Head) -> None:
        self._topic = self._topic or head.topic
        self._count = self._count or head.partitions
        if (head.topic, head.partitions) != (self._topic, self._count):
            found = f"{head.topic} with {head.partitions} partitions"
            message = f"head {_name(head)} is of {found}, not of {self._topic} with {self._count}"
            self._add("head-place", message)

    def _check_link(self, partition: _Partition, head: Head) -> None:
        due = partition.number + 1
        if head.number != due:
            self._add("head-missing", f"heads {due}..{head.number - 1} of partition {head.partition} are missing")
        elif head.previous != (partition.digest(due - 1).hex() if due > 1 else ZEROS):
            self._add("head-chain", f"head {_name(head)} does not name the head before it")
        last = partition.last
        if last is not None and (head.time < last.time or head.ledger_offset < last.ledger_offset):
            self._add("head-order", f"head {_name(head)} has an earlier time or ledger offset than the one before it")

    def _compare(self, number: int, head: int, digest: bytes) -> None:
        partition = self._partitions.get(number, _Partition())
        if head > partition.number:
            message = f"the witness holds head {head} of partition {number}; the heads end at {partition.number}"
            self._add("witness", message)
        elif partition.digest(head) != digest:
            self._add("witness", f"the witness holds another head {head} of partition {number}")

    def _add(self, code: Code, message: str) -> None:
        self._tell(Finding(code, "", 0, message))


def _digest(data: bytes) -> bytes:
    return blake2b(data, digest_size=DIGEST_BYTES).digest()


def _name(head: Head) -> str:
    return f"{head.number} of partition {head.partition}"
