"""Merkle roots and inclusion proofs (RFC 6962, section 2.1, over BLAKE2b-256): the audit's own code.

A proof (RFC 6962, section 2.1.1) shows that the signer named this entry, and so all earlier ones in its chain, when the
head was signed. It does not show that the series has not continued since then.
"""

from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import Final

from stream_app.audit.chain import digest_of
from stream_app.audit.finding import Finding
from stream_app.audit.form.head import SIGNATURE_MEMBER, Head, Leaf, Leaves, Proof
from stream_app.audit.form.reader import leaf_bytes, read_entry, read_head_record
from stream_app.audit.heads.publickey import PublicKeys

_BYTES: Final = 32


def leaf_hash(leaf: bytes) -> bytes:
    """Return the hash of a leaf's bytes."""
    return blake2b(b"\x00" + leaf, digest_size=_BYTES).digest()


def root_of(hashes: Sequence[bytes]) -> bytes:
    """Return the root over leaf hashes: neighbours are joined level by level; an unpaired hash moves up a level."""
    if not hashes:
        return blake2b(b"", digest_size=_BYTES).digest()
    level = list(hashes)
    while len(level) > 1:
        level = _above(level)
    return level[0]


def path_of(hashes: Sequence[bytes], index: int) -> list[bytes]:
    """Return the hashes to join with leaf `index`, from the bottom up, to get the root."""
    level, path = list(hashes), []
    while len(level) > 1:
        beside = index ^ 1
        if beside < len(level):
            path.append(level[beside])
        level, index = _above(level), index >> 1
    return path


def rooted(leaf: bytes, index: int, count: int, path: Sequence[bytes]) -> bytes | None:
    """Return the root of `count` leaves from the leaf at `index` and its path, or None if the path is invalid."""
    if not 0 <= index < count:
        return None
    node, last, rest = leaf, count - 1, list(path)
    while last:
        # A node without a neighbour is the last one on its level, at an even index.
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


class Prover:
    """Finds the newest leaf of one series in the records of the heads; `proof` is None until a leaf is found."""

    def __init__(self, series: str) -> None:
        self._series = series
        self._open: dict[int, tuple[int, list[bytes]]] = {}  # by partition: the next, unfinished head and its leaves
        self._found: dict[int, tuple[Leaf, int]] = {}
        self.proof: Proof | None = None

    def record(self, data: bytes, _: int | None = None) -> None:
        """Read the next record of the heads topic; ignore records that are neither heads nor leaves."""
        found = read_head_record(data)
        if isinstance(found, Leaves):
            self._leaves(found)
        elif isinstance(found, Head):
            self._head(found, data)

    def _leaves(self, found: Leaves) -> None:
        number, hashes = self._open.get(found.partition, (None, []))
        if number != found.head:
            hashes = []
            self._open[found.partition] = found.head, hashes
            self._found.pop(found.partition, None)
        for leaf in found.leaves:
            if leaf.series == self._series:
                self._found[found.partition] = leaf, len(hashes)
            hashes.append(leaf_hash(leaf_bytes(leaf)))

    def _head(self, head: Head, data: bytes) -> None:
        number, hashes = self._open.pop(head.partition, (None, []))
        found = self._found.pop(head.partition, None)
        if found is None or number != head.number:
            return
        leaf, place = found
        if self.proof is None or leaf.sequence >= self.proof.leaf.sequence:
            path = tuple(node.hex() for node in path_of(hashes, place))
            self.proof = Proof(leaf, place, path, head, data)


def check_proof(proof: Proof, keys: PublicKeys, entries: Iterable[bytes]) -> list[Finding]:
    """Return the faults found in a proof, given ledger lines that include its entry."""
    leaf, place, path, head, record = proof
    findings = []
    body, _, _ = record.partition(SIGNATURE_MEMBER)
    if not keys.signed(head.key, body, bytes.fromhex(head.signature)):
        message = f"the head is not signed by a trusted key ({keys.fingerprints}); it names key {head.key}"
        findings.append(Finding("head-signature", *leaf[:2], message))
    root = rooted(leaf_hash(leaf_bytes(leaf)), place, head.leaves, [bytes.fromhex(node) for node in path])
    if root is None or root.hex() != head.root:
        findings.append(Finding("head-leaves", *leaf[:2], "the path does not lead from the leaf to the signed root"))
    return findings + _entry_findings(leaf, entries)


def _entry_findings(leaf: Leaf, entries: Iterable[bytes]) -> list[Finding]:
    for data in entries:
        entry = read_entry(data)
        if not isinstance(entry, Finding) and (entry.series, entry.sequence) == leaf[:2]:
            digest = digest_of(data).hex()
            if entry.hash == digest == leaf.hash:
                return []
            message = f"its bytes hash to {digest[:16]}.., but {leaf.hash[:16]}.. was signed"
            return [Finding("signed-differs", *leaf[:2], message)]
    return [Finding("signed-missing", *leaf[:2], "the given ledger does not contain the signed entry")]
