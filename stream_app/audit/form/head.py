"""The records of signed checkpoints (heads): leaves, which name chain ends, and the heads over them."""

import re
from typing import Any, Final, NamedTuple, get_type_hints

from stream_app.audit.form.entry import MAX_SEQUENCE, MAX_TIMESTAMP
from stream_app.audit.form.exact import is_hash, misfit

SIGNATURE_MEMBER: Final = b',"signature":"'
_FINGERPRINT: Final = re.compile("[0-9a-f]{16}")
_SIGNATURE: Final = re.compile("[0-9a-f]{128}")
_MAX_PARTITION: Final = 2**31 - 1


class Leaf(NamedTuple):
    """The end of a series' chain when a head was signed."""

    series: str
    sequence: int
    hash: str


class Leaves(NamedTuple):
    """Some of the leaves of a later head; `first` is the index of the first one among all leaves of that head."""

    partition: int
    head: int  # the head's number
    first: int
    leaves: tuple[Leaf, ...]


class Head(NamedTuple):
    """A signed checkpoint."""

    topic: str  # of the ledger
    partition: int
    partitions: int
    number: int  # from 1 in each partition
    time: int  # ms
    ledger_offset: int  # covers committed entries before it
    leaves: int
    root: str
    previous: str
    key: str
    signature: str


class Proof(NamedTuple):
    """Proof that a head contains a leaf: joining the leaf's hash with `path`, bottom up, gives the head's root."""

    leaf: Leaf
    place: int  # index of the leaf, from 0
    path: tuple[str, ...]
    head: Head
    record: bytes  # the head's


_HEAD: Final[dict[str, type]] = {"type": str, **get_type_hints(Head)}
_LEAVES: Final[dict[str, type]] = {"type": str, "partition": int, "head": int, "first": int, "leaves": list}


def proof_of(members: dict[str, Any], record: bytes) -> Proof | str:
    """Return the proof with these members, or a sentence that says why they form no proof.

    `record` is the record of the proof's head.
    """
    if list(members) != ["type", "leaf", "index", "path", "head"] or members["type"] != "proof":
        return "its members are not the members of a proof in the required order"
    head = head_record_of(members["head"])
    leaves = _leaves(0, 1, 0, [members["leaf"]])
    index, path = members["index"], members["path"]
    if not isinstance(head, Head):
        return "`head` is not a signed head" if isinstance(head, Leaves) else f"`head`: {head}"
    if isinstance(leaves, str):
        return leaves
    if (
        type(index) is not int
        or type(path) is not list
        or not all(type(node) is str and is_hash(node) for node in path)
    ):
        return "`index` is not an integer, or `path` is not a list of hashes"
    return Proof(leaves.leaves[0], index, tuple(path), head, record)


def head_record_of(members: dict[str, Any]) -> Head | Leaves | str:
    """Return the head or leaves with these members, or a sentence that says why they do not form one."""
    form = {"head": _HEAD, "leaves": _LEAVES}.get(str(members.get("type")))
    if form is None or tuple(form) != tuple(members):
        return "its members are not the members of a head or of leaves in the required order"
    for name, kind in form.items():
        if type(members[name]) is not kind:
            return misfit(name, members[name], kind)
    values = list(members.values())[1:]
    return _head(Head(*values)) if form is _HEAD else _leaves(*values)


def _head(head: Head) -> Head | str:
    if not 0 <= head.partition < head.partitions <= _MAX_PARTITION or not 1 <= head.number <= MAX_SEQUENCE:
        return "`partition`, `partitions` or `number` is out of range"
    if not 0 <= head.time <= MAX_TIMESTAMP or head.ledger_offset < 0 or head.leaves < 0:
        return "`time`, `ledger_offset` or `leaves` is out of range"
    if not is_hash(head.root) or not is_hash(head.previous):
        return "`root` or `previous` is not 64 hexadecimal digits"
    if _FINGERPRINT.fullmatch(head.key) is None or _SIGNATURE.fullmatch(head.signature) is None:
        return "`key` is not 16 hexadecimal digits, or `signature` is not 128 hexadecimal digits"
    return head


def _leaves(partition: int, head: int, first: int, found: list[Any]) -> Leaves | str:
    if not 0 <= partition < _MAX_PARTITION or not 1 <= head <= MAX_SEQUENCE or first < 0 or not found:
        return "`partition`, `head` or `first` is out of range, or there are no leaves"
    before = ""
    for leaf in found:
        if type(leaf) is not list or list(map(type, leaf)) != [str, int, str]:
            return "a leaf is not a list of series, sequence and hash"
        series, sequence, digest = leaf
        if not before < series or not 1 <= sequence <= MAX_SEQUENCE or not is_hash(digest):
            return "a leaf's sequence or hash is out of range, or the series are out of order"
        before = series
    return Leaves(partition, head, first, tuple(Leaf(*leaf) for leaf in found))
