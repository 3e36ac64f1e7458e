"""Bytes to entries, releases and heads, in their exact form or not at all; the only file of the audit that parses JSON.

All formats are closed and canonical: the members of a kind, in their order, without spaces or doubled members.
Anything else is a finding, so that no two readers can read one record differently.
"""

import json
import re
from typing import Any, Final

import orjson

from stream_app.audit.finding import Code, Finding
from stream_app.audit.form.entry import MAX_SEQUENCE, Entry, OpaqueEntry, ReleaseRecord
from stream_app.audit.form.exact import ENTRY_FORMS, ENTRY_KINDS, misfit, release_of
from stream_app.audit.form.head import Head, Leaf, Leaves, Proof, head_record_of, proof_of

SERIES_AT: Final = len(b'{"series":')  # where an entry spells its series, which its sequence follows
SEQUENCE: Final = b',"sequence":'
CLAIM: Final = b'{"entry":"claim"'  # how a claim begins; entries begin with their series
SPELLING = (
    "not spelt in the exact form: it has extra spaces, duplicate members, or numbers or strings in another notation"
)
_PLACE: Final = {"series": str, "sequence": int, "key": str, "epoch": int, "previous": str, "hash": str}
"""The members that give an entry its place in a chain."""
_NOT_ASCII: Final = re.compile("[^\n -~]")


def is_claim(data: bytes) -> bool:
    """Tell whether a line of the ledger is a claim in its exact form: it says whose the partition is, in no chain."""
    members = _members(data)
    return (
        not isinstance(members, str)
        and tuple(members) == ("entry", "application", "prefix")
        and members["entry"] == "claim"
        and all(type(value) is str for value in members.values())
        and _is_canonical(members, data)
    )


def read_entry(data: bytes) -> Entry | Finding:
    """Return the entry that one line of the ledger holds, or the finding that it holds none.

    An entry that cannot be understood but has a place in its chain comes back as an `OpaqueEntry`.
    """
    members = _members(data)
    if isinstance(members, str):
        return Finding("malformed-entry", "", 0, members)
    form = ENTRY_FORMS.get(tuple(members))
    if form is None or form.kind != members["entry"]:
        return _unknown(members)
    values = list(members.values())
    types = tuple(map(type, values))
    if types != form.types:
        wrong = next(each for each in zip(members, values, form.types, strict=True) if type(each[1]) is not each[2])
        return _opaque(members, "malformed-entry", misfit(*wrong))
    if not _is_canonical(members, data):
        return _opaque(members, "malformed-entry", SPELLING)
    entry = form.make(values)
    return _opaque(members, "malformed-entry", entry) if isinstance(entry, str) else entry


def read_release(data: bytes) -> ReleaseRecord | Finding:
    """Return the release that one line holds, or the finding that it holds none."""
    members = _members(data)
    if isinstance(members, str):
        return Finding("malformed-release", "", 0, members)
    release = release_of(members)
    if not isinstance(release, str):
        if _is_canonical(members, data):
            return release
        release = SPELLING
    series = members.get("series")
    return Finding("malformed-release", series if isinstance(series, str) else "", 0, release)


def read_head_record(data: bytes) -> Head | Leaves | Finding:
    """Return the head, or the leaves, that one record of the heads holds, or the finding that it holds neither."""
    members = _members(data)
    if isinstance(members, str):
        return Finding("malformed-head", "", 0, members)
    record = head_record_of(members)
    if not isinstance(record, str) and not _is_canonical(members, data):
        record = SPELLING
    return Finding("malformed-head", "", 0, record) if isinstance(record, str) else record


def read_proof(data: bytes) -> Proof | str:
    """Return the proof that a file holds, or the sentence that says why it holds none."""
    members = _members(data, "not a JSON object with a head")
    if isinstance(members, str):
        return members
    if type(members.get("head")) is not dict:
        return "not a JSON object with a head"
    try:
        record = orjson.dumps(members["head"])
    except orjson.JSONEncodeError:  # nested deeper than any record is
        return "`head` is not a signed head"
    return proof_of(members, record)


def proof_bytes(proof: Proof) -> bytes:
    """Return the bytes of a proof's file."""
    head = {"type": "head", **proof.head._asdict()}
    document = {"type": "proof", "leaf": list(proof.leaf), "index": proof.place, "path": proof.path, "head": head}
    return orjson.dumps(document, option=orjson.OPT_APPEND_NEWLINE)


def leaf_bytes(leaf: Leaf) -> bytes:
    """Return the bytes of a leaf in its record, over which its hash is."""
    return orjson.dumps(list(leaf))


def dump(document: object) -> str:
    """Return the JSON text of a report's document, printable ASCII on any terminal: other characters are escaped."""
    text = orjson.dumps(document, option=orjson.OPT_INDENT_2).decode()
    return _NOT_ASCII.sub(lambda found: json.dumps(found[0])[1:-1], text)


def spelt(document: object) -> str:
    """Return a value that was read from JSON as JSON text again."""
    return orjson.dumps(document).decode()


def read_spelling(spelling: bytes) -> str | None:
    """Return the series id that a JSON text holds, or None where it holds none."""
    try:
        name = orjson.loads(spelling)
    except orjson.JSONDecodeError:
        return None
    return name if isinstance(name, str) else None


def _members(data: bytes, other: str = "not a JSON object") -> dict[str, Any] | str:
    """Return the members of a JSON object, or the sentence that says why bytes hold none, `other` for other JSON."""
    try:
        members = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        line = f"line {error.lineno}, " if error.lineno > 1 else ""
        return f"invalid JSON from {line}character {error.colno} on"
    return members if type(members) is dict else other


def _is_canonical(members: dict[str, Any], data: bytes) -> bool:
    try:
        return orjson.dumps(members) == data
    except orjson.JSONEncodeError:  # nested deeper than any record is
        return False


def _unknown(members: dict[str, Any]) -> Entry | Finding:
    kind = members.get("entry")
    if isinstance(kind, str) and kind in ENTRY_KINDS:
        return _opaque(members, "malformed-entry", f"its members are not those of a {kind} entry in the required order")
    if not isinstance(kind, str):
        return _opaque(members, "unknown-entry", "it has no `entry` member that names its kind")
    return _opaque(members, "unknown-entry", f"unknown entry kind {kind[:40]!r}")


def _opaque(members: dict[str, Any], code: Code, message: str) -> Entry | Finding:
    values = [members.get(name) for name in _PLACE]
    is_placed = [type(value) for value in values] == list(_PLACE.values())
    series, sequence = values[:2]
    finding = Finding(code, series if type(series) is str else "", sequence if type(sequence) is int else 0, message)
    return OpaqueEntry._make([*values, finding]) if is_placed and 1 <= finding.sequence <= MAX_SEQUENCE else finding
