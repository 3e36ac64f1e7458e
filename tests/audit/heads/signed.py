"""Hand-written signed heads over hand-written ledgers; shares no code with the worker or the audit."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import zip_longest
from typing import Any

import orjson
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from stream_app.audit import Auditor, Report
from stream_app.audit.heads.publickey import PublicKeys
from tests.audit.written import LEDGERS, Written, write
from tests.heads.literal_merkle import literal_root

TOPIC = "landmark.ledger"
PARTITIONS = 2
START_MS = 1_790_000_000_000
CHUNK = 2
"""Leaves per record, as few as give each head several records."""

Ends = Mapping[str, tuple[int, str]]
"""Sequence and hash of the last entry of each series."""


@dataclass
class Signer:
    """The holder of a key, and the heads signed with it so far."""

    secret: bytes = bytes(range(32))
    topic: str = TOPIC
    partitions: int = PARTITIONS
    heads: list[bytes] = field(default_factory=list)
    previous: dict[int, str] = field(default_factory=dict)
    numbers: dict[int, int] = field(default_factory=dict)

    @property
    def private(self) -> Ed25519PrivateKey:
        """The key."""
        return Ed25519PrivateKey.from_private_bytes(self.secret)

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the key."""
        raw = self.private.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
        return blake2b(raw, digest_size=8).hexdigest()

    def sign(self, head: Mapping[str, Any]) -> bytes:
        """Return the record of a head, given its other members."""
        body = orjson.dumps(dict(head))[:-1]
        return body + b',"signature":"' + self.private.sign(body).hex().encode() + b'"}'

    def head(self, partition: int, ends: Ends, offset: int) -> None:
        """Sign these ends as the partition's next head."""
        number = self.numbers[partition] = self.numbers.get(partition, 0) + 1
        leaves = [[series, *ends[series]] for series in sorted(ends)]
        for first in range(0, len(leaves), CHUNK):
            record = {"type": "leaves", "partition": partition, "head": number, "first": first}
            self.heads.append(orjson.dumps(record | {"leaves": leaves[first : first + CHUNK]}))
        head = {
            "type": "head",
            "topic": self.topic,
            "partition": partition,
            "partitions": self.partitions,
            "number": number,
            "time": START_MS + number * 60_000,
            "ledger_offset": offset,
            "leaves": len(leaves),
            "root": literal_root([orjson.dumps(leaf) for leaf in leaves]).hex(),
            "previous": self.previous.get(partition, "0" * 64),
            "key": self.fingerprint,
        }
        self.heads.append(self.sign(head))
        self.previous[partition] = blake2b(self.heads[-1], digest_size=32).hexdigest()


KEYS = PublicKeys([Signer().private.public_key()])
"""Whom the auditor trusts."""


@dataclass
class Story:
    """Series with their ledgers, and heads signed as they grew; the last entries of each are not yet signed."""

    written: dict[str, Written]
    rounds: list[dict[str, int]]  # how many entries of each series were signed in each round, those before included

    @classmethod
    def growing(cls, written: dict[str, Written]) -> "Story":
        """Return a story signed in three rounds, except for the last entry or two of each series."""
        counts = {series: len(each.entries) - 1 for series, each in written.items()}
        return cls(
            written, [{series: max(1, count * part // 3) for series, count in counts.items()} for part in (1, 2, 3)]
        )

    def partition(self, series: str) -> int:
        """Return where a series lies."""
        return list(self.written).index(series) % PARTITIONS

    def ledger(self, changed: Mapping[str, Written] | None = None) -> list[bytes]:
        """Return the lines of all series, mixed; those in ``changed`` replace a series' own."""
        chains = [written.lines() for written in {**self.written, **(changed or {})}.values()]
        return [line for lines in zip_longest(*chains) for line in lines if line is not None]

    def signed(self, series: str) -> int:
        """Return how many of a series' entries are signed."""
        return self.rounds[-1][series]

    def retold(self, series: str, written: Written) -> "Story":
        """Return the story with another ledger for one series, signed as far as it extends."""
        rounds = [{**counts, series: min(counts[series], len(written.entries))} for counts in self.rounds]
        return Story({**self.written, series: written}, rounds)

    def sign(self, signer: Signer, changed: Mapping[int, Mapping[str, Written]] | None = None) -> list[bytes]:
        """Return all heads; ``changed`` holds what the signer saw of a series from a given round on."""
        seen = dict(self.written)
        before = dict.fromkeys(seen, 0)
        for partition in range(PARTITIONS):
            signer.head(partition, {}, 0)
        for number, counts in enumerate(self.rounds):
            seen |= (changed or {}).get(number, {})
            for partition in range(PARTITIONS):
                mine = [series for series in seen if self.partition(series) == partition]
                ends = {
                    series: end_of(seen[series], counts[series]) for series in mine if counts[series] > before[series]
                }
                signer.head(partition, ends, sum(counts[series] for series in mine))
            before = counts
        return signer.heads


def end_of(written: Written, count: int) -> tuple[int, str]:
    """Return the sequence and hash of an entry, given the number of entries up to it."""
    entry = written.entries[count - 1]
    return entry["sequence"], entry["hash"]


def tell_story() -> Story:
    """Return six series on two partitions, signed in three rounds, except for the last entry or two."""
    return Story.growing({f"home-{name}": write(text, f"home-{name}") for name, text in LEDGERS.items()})


def attest(
    ledger: Iterable[bytes],
    heads: Iterable[bytes],
    witness: Iterable[bytes] = (),
    keys: PublicKeys = KEYS,
    lifetime_nano: int | None = None,
    *,
    late: bool = False,
) -> Report:
    """Return the report of a ledger with its heads, which alternate with its lines if they come `late`."""
    auditor = Auditor(keys=keys, lifetime_nano=lifetime_nano, live=(lambda _: None) if late else None)
    assert auditor.heads is not None
    for record in witness:
        auditor.heads.witness(record)
    lines, records = list(ledger), list(heads)
    turns = max(1, len(records)) if late else 1
    if not late:
        for record in records:
            auditor.heads.record(record)
    for turn in range(turns):
        auditor.entries(lines[turn * len(lines) // turns : (turn + 1) * len(lines) // turns])
        if late and turn < len(records):
            auditor.heads.record(records[turn])
    return auditor.finish()


def heads_in(records: Iterable[bytes]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Return the signed heads among records, with their indices."""
    for index, record in enumerate(records):
        document = orjson.loads(record)
        if document["type"] == "head":
            yield index, document
