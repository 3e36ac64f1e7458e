"""Parses entries, releases and heads in their exact form; no other audit module parses JSON.

All formats are closed and canonical: each kind has its members in a fixed order, without spaces or duplicate members.
Anything else is a finding, so no two readers can read a record differently.
"""

import json
import re
from typing import Any, Final

import orjson

from stream_app.audit.finding import Code, Finding
from stream_app.audit.form.entry import MAX_SEQUENCE, Entry, OpaqueEntry, ReleaseRecord
from stream_app.audit.form.exact import ENTRY_FORMS, ENTRY_KINDS, misfit, release_of
from stream_app.audit.form.head import Head, Leaf, Leaves, Proof, head_record_of, proof_of

SERIES_AT: Final = len(b'{"series":')  # position of an entry's series, before its sequence
SEQUENCE: Final = b',"sequence":'
CLAIM: Final = b'{"entry":"claim"'  # start of a claim; entries start with their series
SPELLING = (
    "not written in the exact form: it has extra spaces, duplicate members, or numbers or strings in another notation"
)
_PLACE: Final = {"series": str, "sequence": int, "key": str, "epoch": int, "previous": str, "hash": str}
"""The members that determine an entry's position in a chain."""
_NOT_ASCII: Final = re.compile("[^\n -~]")


def is_claim(data: bytes) -> bool:
    """Return whether a line is a claim in exact form; a claim names a partition's owner and belongs to no chain."""
    members = _members(data)
    return (
        not isinstance(members, str)
        and tuple(members) == ("entry", "application", "prefix")
        and members["entry"] == "claim"
        and all(type(value) is str for value in members.values())
        and _is_canonical(members, data)
    )


def read_entry(data: bytes) -> Entry | Finding:
    """Return the entry in one line of the ledger, or a finding if there is none.

    An unknown entry that still has a position in its chain is returned as an `OpaqueEntry`.
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
    """Return the release in one line, or a finding if there is none."""
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
    """Return the head or leaves in one record of the heads topic, or a finding if there are none."""
    members = _members(data)
    if isinstance(members, str):
        return Finding("malformed-head", "", 0, members)
    record = head_record_of(members)
    if not isinstance(record, str) and not _is_canonical(members, data):
        record = SPELLING
    return Finding("malformed-head", "", 0, record) if isinstance(record, str) else record


def read_proof(data: bytes) -> Proof | str:
    """Return the proof in a file, or a sentence that says why the file contains no proof."""
    members = _members(data, "not a JSON object with a head")
    if isinstance(members, str):
        return members
    if type(members.get("head")) is not dict:
        return "not a JSON object with a head"
    try:
        record = orjson.dumps(members["head"])
    except orjson.JSONEncodeError:  # nested too deeply for any record
        return "`head` is not a signed head"
    return proof_of(members, record)


def proof_bytes(proof: Proof) -> bytes:
    """Return the contents of a proof file."""
    head = {"type": "head", **proof.head._asdict()}
    document = {"type": "proof", "leaf": list(proof.leaf), "index": proof.place, "path": proof.path, "head": head}
    return orjson.dumps(document, option=orjson.OPT_APPEND_NEWLINE)


def leaf_bytes(leaf: Leaf) -> bytes:
    """Return the bytes of a leaf as they appear in its record; the leaf's hash covers them."""
    return orjson.dumps(list(leaf))


def dump(document: object) -> str:
    """Return a report's document as JSON text in printable ASCII; other characters are escaped."""
    text = orjson.dumps(document, option=orjson.OPT_INDENT_2).decode()
    return _NOT_ASCII.sub(lambda found: json.dumps(found[0])[1:-1], text)


def spelt(document: object) -> str:
    """Return the JSON text of a value that was read from JSON."""
    return orjson.dumps(document).decode()


def read_spelling(spelling: bytes) -> str | None:
    """Return the series id in a JSON text, or None if the text contains no id."""
    try:
        name = orjson.loads(spelling)
    except orjson.JSONDecodeError:
        return None
    return name if isinstance(name, str) else None


def _members(data: bytes, other: str = "not a JSON object") -> dict[str, Any] | str:
    """Return the members of a JSON object, or a sentence that says why there are none.

    The sentence is `other` for JSON that is not an object.
    """
    try:
        members = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        line = f"line {error.lineno}, " if error.lineno > 1 else ""
        return f"invalid JSON starting at {line}character {error.colno}"
    return members if type(members) is dict else other


def _is_canonical(members: dict[str, Any], data: bytes) -> bool:
    try:
        return orjson.dumps(members) == data
    except orjson.JSONEncodeError:  # nested too deeply for any record
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
