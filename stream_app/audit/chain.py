"""The hash chain of one series: each entry contains its own hash and the hash of the previous entry.

The digests of the latest entries distinguish a repeated entry from a conflicting one. In a longer run of repeats (a
batch that was written twice), the links distinguish them: an entry is known if a known entry names its hash.
"""

from dataclasses import dataclass, field
from enum import Enum
from hashlib import blake2b
from sys import intern
from typing import Final

from stream_app.audit.finding import Code, Finding
from stream_app.audit.form.entry import ZEROS, Entry, finding_of

HASH_MEMBER: Final = b',"hash":"'
TAIL_BYTES: Final = len(HASH_MEMBER) + 64 + len(b'"}')
DIGEST_BYTES: Final = 32
WINDOW: Final = 64
"""How far back a copy of an entry can be compared; up to twice as many digests are remembered."""
MOST_BYTES: Final = 2 * WINDOW * DIGEST_BYTES
_MISSING: Final = bytes(DIGEST_BYTES)
NO_FINDINGS: Final[tuple[Finding, ...]] = ()


class Place(Enum):
    """The position of an entry in its chain."""

    NEXT = "the next entry"
    JUMP = "an entry after the next one"
    REPEAT = "a copy of an earlier entry"
    STRAY = "any other entry: it cannot be counted"


@dataclass(slots=True)
class Chain:
    """The end of a series' chain so far. It is mutable because an audit follows a million series at once."""

    sequence: int = 0
    hash: str = ZEROS
    key: str = ""
    epoch: int = 0
    former: dict[str, int] | None = None  # the latest epoch of each earlier key, if any
    link: str = ""  # key and epoch as written in every release entry, from the release's hash to `previous`
    digests: bytearray = field(default_factory=bytearray)  # of the latest entries; zeros for a missing one
    old_repeat: tuple[int, str] | None = None  # sequence and hash of an unproven repeat

    def forget(self) -> None:
        """Drop the digests of all but the latest entries."""
        del self.digests[: -WINDOW * DIGEST_BYTES]

    def epoch_of(self, key: str) -> int:
        """Return the latest epoch of a key, or 0 if the key has not been seen yet."""
        if key == self.key:
            return self.epoch
        return self.former.get(key, 0) if self.former is not None else 0

    def remembered(self, sequence: int) -> bytes | None:
        """Return the digest of an entry, zeros if the entry was missing, or None if it was forgotten."""
        start = len(self.digests) - (self.sequence - sequence + 1) * DIGEST_BYTES
        return bytes(self.digests[start : start + DIGEST_BYTES]) if start >= 0 else None


def digest_of(data: bytes) -> bytes:
    """Return the BLAKE2b-256 digest of an entry's bytes before `hash`, which is its last member."""
    return blake2b(data[:-TAIL_BYTES], digest_size=DIGEST_BYTES).digest()


def follow(chain: Chain, entry: Entry, digest: bytes) -> tuple[Place, tuple[Finding, ...]]:
    """Locate an entry in its chain, advance the end of the chain, and return any faults in the link."""
    expected = chain.sequence + 1
    if (
        entry.sequence == expected
        and entry.previous == chain.hash
        and entry.key == chain.key
        and entry.epoch >= chain.epoch
        and chain.old_repeat is None
        and digest.hex() == entry.hash
    ):
        _advance(chain, entry, digest)
        return Place.NEXT, NO_FINDINGS
    findings: list[Finding] = []
    if digest.hex() != entry.hash:
        message = f"its bytes hash to {digest.hex()[:16]}.., but the entry says {entry.hash[:16]}.."
        findings.append(finding_of("bad-hash", entry, message))
    if entry.sequence <= chain.sequence:
        place, more = _repeat(chain, entry, digest)
        return place, (*findings, *more)
    findings += unproven(chain, entry.series)
    place = Place.NEXT
    if entry.sequence > expected:
        place = Place.JUMP
        missing = f"{expected}..{entry.sequence - 1}" if entry.sequence - 1 > expected else f"{expected}"
        if chain.sequence:
            findings.append(finding_of("gap", entry, f"sequence {missing} is missing before this entry"))
        else:
            findings.append(
                finding_of("truncated", entry, f"the series begins here, but sequence {missing} is missing")
            )
    elif entry.previous != chain.hash:
        message = f"gives {entry.previous[:16]}.. as the hash of the previous entry, but expected {chain.hash[:16]}.."
        findings.append(finding_of("broken-chain", entry, message))
    latest = chain.epoch_of(entry.key)
    if entry.epoch < latest:
        findings.append(finding_of("epoch-backwards", entry, f"key epoch {entry.epoch} follows epoch {latest}"))
    _advance(chain, entry, digest)
    return place, tuple(findings)


def unproven(chain: Chain, series: str) -> tuple[Finding, ...]:
    """Return a finding if a run of repeats of forgotten entries ended before any of them could be compared."""
    if chain.old_repeat is None:
        return NO_FINDINGS
    sequence, _ = chain.old_repeat
    chain.old_repeat = None
    message = f"appears again after sequence {chain.sequence}, too late to be compared with its first copy"
    return (Finding("stale-duplicate", series, sequence, message),)


def _advance(chain: Chain, entry: Entry, digest: bytes) -> None:
    skipped = entry.sequence - chain.sequence - 1
    if skipped:
        chain.digests += _MISSING * min(skipped, WINDOW)
    chain.digests += digest
    if len(chain.digests) > MOST_BYTES:
        chain.forget()
    chain.sequence = entry.sequence
    # Use the hash stated by the entry, not the computed one, so that a changed entry is not reported again at its
    # successor.
    chain.hash = entry.hash
    if entry.key != chain.key and chain.key:
        if chain.former is None:
            chain.former = {}
        chain.former[chain.key] = chain.epoch
    if entry.key != chain.key or entry.epoch != chain.epoch:
        chain.key = entry.key
        chain.epoch = entry.epoch
        chain.link = intern(f'","key":"{entry.key}","epoch":{entry.epoch},"previous":"')


def _repeat(chain: Chain, entry: Entry, digest: bytes) -> tuple[Place, tuple[Finding, ...]]:
    linked = chain.old_repeat == (entry.sequence - 1, entry.previous)
    if linked:
        chain.old_repeat = None
    findings = unproven(chain, entry.series)
    known = chain.remembered(entry.sequence)
    if known is None:
        chain.old_repeat = (entry.sequence, entry.hash)
        return Place.REPEAT, findings
    if known == digest:
        return Place.REPEAT, findings
    if known == _MISSING:
        message = f"appears after sequence {chain.sequence}, where it was missing"
        return Place.STRAY, (*findings, finding_of("out-of-order", entry, message))
    parent = chain.remembered(entry.sequence - 1) if entry.sequence > 1 else bytes.fromhex(ZEROS)
    code: Code = "fork" if parent is not None and parent.hex() == entry.previous else "conflicting-duplicate"
    return Place.STRAY, (*findings, finding_of(code, entry, "appears twice, with different bytes"))
