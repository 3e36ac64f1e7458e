"""The chain of signed heads in each partition: signatures, numbers, links, and Merkle roots of leaves.

The heads prove that the ledger still contains what it contained when each head was signed, even against an attacker who
recomputes every hash. Entries after a partition's last head can be cut off unnoticed. The last heads can also be cut
off, together with the entries that they cover, unless a witness kept these heads. A head without the signature of a
trusted key is a finding and has no other effect: its number, its leaves, and its statements about topic and partitions
are ignored.
"""

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import pairwise
from typing import NamedTuple

from stream_app.audit.chain import DIGEST_BYTES
from stream_app.audit.finding import Code, Finding
from stream_app.audit.form.entry import ZEROS
from stream_app.audit.form.head import SIGNATURE_MEMBER, Head, Leaf, Leaves
from stream_app.audit.form.reader import leaf_bytes, read_head_record
from stream_app.audit.heads.expected import ExpectedEntries
from stream_app.audit.heads.publickey import PublicKeys
from stream_app.audit.heads.tree import leaf_hash, root_of


class HeadsRead(NamedTuple):
    """What an audit read from the heads; only heads signed by a trusted key count."""

    topic: str | None  # the ledger's topic in the heads; None without heads
    heads: int
    partitions: int
    oldest: Head | None  # the oldest of the last heads
    entries_signed: int  # entries at or before the last leaf of their series
    witnessed: int  # heads kept by the witness

    def unsigned(self, entries: int) -> int:
        """Return how many of the ledger's `entries` come after the last heads."""
        return max(0, entries - self.entries_signed)

    def document(self, entries: int) -> dict[str, str | int | None]:
        """Return the result as in the `--json` report; `entries` is the number of entries in the ledger."""
        return {
            "topic": self.topic,
            "heads": self.heads,
            "partitions": self.partitions,
            "oldest": None if self.oldest is None else self.oldest.time,
            "unsigned": self.unsigned(entries),
            "witnessed": self.witnessed,
        }


class HeadDigests:
    """The digests of one partition's heads by ascending number, 32 bytes each; gaps take no memory.

    They are stored in runs without gaps, so a forged number costs one run and no memory for the missing numbers.
    """

    def __init__(self) -> None:
        self._starts: list[int] = []  # the first number of each run, ascending
        self._runs: list[bytearray] = []
        self.last = 0  # the highest number; 0 if there is none
        self.count = 0  # number of digests kept

    def add(self, number: int, digest: bytes) -> None:
        """Append a digest under a number higher than the last one."""
        assert number > self.last, "numbers rise"
        if number != self.last + 1 or not self._runs:
            self._starts.append(number)
            self._runs.append(bytearray())
        self._runs[-1] += digest
        self.last = number
        self.count += 1

    def get(self, number: int) -> bytes:
        """Return the digest under a number, or b"" if there is none."""
        run = bisect_right(self._starts, number) - 1
        if run < 0:
            return b""
        start = (number - self._starts[run]) * DIGEST_BYTES
        return bytes(self._runs[run][start : start + DIGEST_BYTES])


@dataclass(slots=True)
class _Partition:
    """The last head of one partition so far, and the leaves of its next head."""

    last: Head | None = None
    digests: HeadDigests = field(default_factory=HeadDigests)  # of the heads' records
    head: int = 0  # the number of the head that the leaves belong to
    leaves: list[Leaf] = field(default_factory=list)  # some 300 bytes each, until a head arrives


class HeadsCheck:
    """Checks the records of the heads topic as they arrive; records kept by a witness come first.

    Only heads signed by one of `keys` count. `tell` is called with each finding. `topic` is the ledger's name, or None
    to take it from the first head. `late` allows heads to arrive after the entries that they name.
    """

    def __init__(
        self, keys: PublicKeys, tell: Callable[[Finding], None], topic: str | None = None, *, late: bool = False
    ) -> None:
        self._keys, self._tell, self._topic = keys, tell, topic
        self.expected = ExpectedEntries(tell, late=late)  # compares entries with the signed leaves
        self._count: int | None = None  # of partitions
        self._partitions: dict[int, _Partition] = {}
        self._witnessed: dict[tuple[int, int], bytes] = {}

    def record(self, data: bytes, place: int | None = None) -> None:
        """Check the next record; `place` is its partition, or None if it comes from a file."""
        found = read_head_record(data)
        if isinstance(found, Finding):
            self._tell(found)
            return
        if place is not None and found.partition != place:
            self._add("head-place", f"a record of partition {found.partition} is on partition {place}")
            return
        partition = self._partitions.setdefault(found.partition, _Partition())
        if isinstance(found, Leaves):
            self._leaves(partition, found)
        else:
            self._head(partition, found, data)

    def witness(self, data: bytes) -> None:
        """Add a record that a witness kept; leaves are ignored."""
        found = read_head_record(data)
        if isinstance(found, Finding):
            self._tell(found._replace(message=f"in the witness: {found.message}"))
        elif isinstance(found, Head):
            self._check_signature(found, data)
            digest = _digest(data)
            if self._witnessed.setdefault((found.partition, found.number), digest) != digest:
                self._add("head-conflict", f"the witness has two different heads {_name(found)}")

    def finish(self) -> HeadsRead:
        """Report what is missing at the end, and return a summary of the heads."""
        self.expected.finish()
        for number, partition in sorted(self._partitions.items()):
            self._drop(number, partition)
        for (number, head), digest in sorted(self._witnessed.items()):
            self._compare(number, head, digest)
        ends = [partition.last for partition in self._partitions.values() if partition.last is not None]
        # Heads may state different numbers of partitions, so a head's partition may be beyond those counted.
        beyond = max(self._count or 1, *(end.partition for end in ends), 0)
        for before, after in pairwise([-1, *sorted(end.partition for end in ends), beyond]):
            if after - before > 1:
                some = f"partition {before + 1}" if after - before == 2 else f"partitions {before + 1}..{after - 1}"
                self._add("head-missing", f"no head of {some}: nothing vouches for its entries")
        return HeadsRead(
            topic=None if not ends else self._topic,
            heads=sum(partition.digests.count for partition in self._partitions.values()),
            partitions=len(ends),
            oldest=min(ends, key=lambda end: end.time, default=None),
            entries_signed=self.expected.entries_signed,
            witnessed=len(self._witnessed),
        )

    def _leaves(self, partition: _Partition, found: Leaves) -> None:
        if found.head <= partition.digests.last:
            return  # a copy of a head that was checked with its leaves
        if found.head != partition.head:
            self._drop(found.partition, partition)
            partition.head = found.head
        last = partition.leaves[-1].series if partition.leaves else ""
        if found.first != len(partition.leaves) or not last < found.leaves[0].series:
            name = f"head {found.head} of partition {found.partition}"
            self._add(
                "head-leaves", f"leaves of {name} from number {len(partition.leaves)} on are missing or out of order"
            )
        partition.leaves += found.leaves

    def _head(self, partition: _Partition, head: Head, data: bytes) -> None:
        digest = _digest(data)
        if head.number <= partition.digests.last:
            if partition.digests.get(head.number) != digest:
                self._add(
                    "head-conflict",
                    f"head {_name(head)} appears after later heads, or appears twice with different bytes",
                )
            return
        if partition.head != head.number:
            self._drop(head.partition, partition)
        leaves, partition.leaves = partition.leaves, []
        if not self._check_signature(head, data):
            return
        self._check_place(head)
        self._check_link(partition, head)
        self._cover(head, leaves)
        partition.digests.add(head.number, digest)
        partition.last = head

    def _drop(self, number: int, partition: _Partition) -> None:
        """Report leaves without a head and discard them, because nobody signed them."""
        if partition.leaves:
            self._add(
                "head-leaves", f"leaves of head {partition.head} of partition {number} are present without the head"
            )
            partition.leaves = []

    def _cover(self, head: Head, leaves: list[Leaf]) -> None:
        """Expect the entries that the leaves name, if the signed head covers these leaves."""
        texts = [leaf_bytes(leaf) for leaf in leaves]
        if len(leaves) != head.leaves or root_of([leaf_hash(text) for text in texts]).hex() != head.root:
            message = f"the {len(leaves)} leaves of head {_name(head)} do not match its root over {head.leaves} leaves"
            self._add("head-leaves", message)
            return
        for leaf, text in zip(leaves, texts, strict=True):
            self.expected.leaf(leaf, text)

    def _check_signature(self, head: Head, data: bytes) -> bool:
        body, _, _ = data.partition(SIGNATURE_MEMBER)
        signed = self._keys.signed(head.key, body, bytes.fromhex(head.signature))
        if signed is None:
            message = f"head {_name(head)} is signed by key {head.key}; trusted keys: {self._keys.fingerprints}"
            self._add("head-signature", message)
        elif not signed:
            self._add("head-signature", f"head {_name(head)} has no valid signature by key {head.key}")
        return signed is True

    def _check_place(self, head: Head) -> None:
        self._topic = self._topic or head.topic
        self._count = self._count or head.partitions
        if (head.topic, head.partitions) != (self._topic, self._count):
            found = f"{head.topic} with {head.partitions} partitions"
            self._add(
                "head-place", f"head {_name(head)} is for {found}, not for {self._topic} with {self._count} partitions"
            )

    def _check_link(self, partition: _Partition, head: Head) -> None:
        due = partition.digests.last + 1
        if head.number != due:
            self._add("head-missing", f"heads {due}..{head.number - 1} of partition {head.partition} are missing")
        elif head.previous != (partition.digests.get(due - 1).hex() if due > 1 else ZEROS):
            self._add("head-chain", f"head {_name(head)} does not name the previous head")
        last = partition.last
        if last is not None and (head.time < last.time or head.ledger_offset < last.ledger_offset):
            self._add("head-order", f"head {_name(head)} has an earlier time or ledger offset than the previous head")

    def _compare(self, number: int, head: int, digest: bytes) -> None:
        digests = self._partitions.get(number, _Partition()).digests
        if head > digests.last:
            self._add(
                "witness", f"the witness has head {head} of partition {number}, but the heads end at {digests.last}"
            )
        elif digests.get(head) != digest:
            self._add("witness", f"the witness has a different head {head} of partition {number}")

    def _add(self, code: Code, message: str) -> None:
        self._tell(Finding(code, "", 0, message))


def _digest(data: bytes) -> bytes:
    return blake2b(data, digest_size=DIGEST_BYTES).digest()


def _name(head: Head) -> str:
    return f"{head.number} of partition {head.partition}"
