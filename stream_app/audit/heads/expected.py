"""Compares the entries that signed heads name with those in the ledger.

chain.py checks that a chain is complete up to an entry. This module compares the hash that an entry claims with the
hash that was signed for its position. In an audit of a whole ledger, all leaves arrive before the entries, and each is
kept until its entry arrives. This takes 40 bytes per leaf and about 400 per series. If the audit runs alongside a live
worker, an entry arrives before its leaf. Each entry is then kept, in 40 bytes, until a leaf covers it.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final

from stream_app.audit.finding import Code, Finding
from stream_app.audit.form.exact import HASH_DIGITS
from stream_app.audit.form.head import Leaf
from stream_app.audit.form.reader import SEQUENCE, SERIES_AT, read_spelling

_SEQUENCE_BYTES: Final = 8
_LEAF_BYTES: Final = _SEQUENCE_BYTES + HASH_DIGITS // 2
_MOST_DIGITS: Final = 16  # in a sequence
_HASH: Final = slice(-HASH_DIGITS - len(b'"}'), -len(b'"}'))


@dataclass(slots=True)
class _SignedEntries:
    """A series' signed entries that have not arrived: ascending sequences and hashes, 40 bytes each."""

    name: str
    due: bytearray = field(default_factory=bytearray)
    last: int = 0  # the highest signed sequence
    last_hash: bytes = b""
    unsigned: bytearray = field(default_factory=bytearray)  # entries that no leaf covers yet, as in `due`
    met: int = 0  # the highest sequence of an entry so far


class ExpectedEntries:
    """Compares entries with signed leaves; `tell` is called with findings.

    If `late` is set, entries are kept for leaves that arrive later.
    """

    def __init__(self, tell: Callable[[Finding], None], *, late: bool = False) -> None:
        self._tell = tell
        self._late = late
        self._series: dict[bytes, _SignedEntries] = {}  # by the series' JSON text, with quotation marks

    @property
    def entries_signed(self) -> int:
        """The number of entries at or before the last leaf of their series."""
        return sum(signed.last for signed in self._series.values())

    def leaf(self, leaf: Leaf, text: bytes) -> None:
        """Expect the entry that a leaf names; `text` is the leaf as JSON."""
        spelling = text[1 : -len(f',{leaf.sequence},"{leaf.hash}"]')]
        signed = self._series.get(spelling)
        if signed is None:
            signed = self._series[spelling] = _SignedEntries(leaf.series)
        digest = bytes.fromhex(leaf.hash)
        if leaf.sequence <= signed.last:
            # A worker that read its ledger again after a crash may sign the same end twice.
            if (leaf.sequence, digest) != (signed.last, signed.last_hash):
                message = f"signed with hash {leaf.hash[:16]}.. after sequence {signed.last} was signed"
                self._tell(Finding("signed-twice", leaf.series, leaf.sequence, message))
            return
        signed.last, signed.last_hash = leaf.sequence, digest
        if signed.met < leaf.sequence:
            signed.due += _place(leaf.sequence, digest)
            signed.unsigned.clear()
        else:
            self._look_back(signed, digest)

    def entries(self, lines: Iterable[bytes]) -> None:
        """Compare ledger lines with the leaves; lines that are not exact entries are left to other checks."""
        for data in lines:
            end = data.find(SEQUENCE, SERIES_AT)
            signed = self._series.get(data[SERIES_AT:end])
            if signed is None and self._late and (name := read_spelling(data[SERIES_AT:end])) is not None:
                signed = self._series.setdefault(data[SERIES_AT:end], _SignedEntries(name))  # no leaf names it yet
            if signed is not None and (signed.due or self._late):
                start = end + len(SEQUENCE)
                digits = data[start : data.find(b",", start)]
                if digits.isdigit() and len(digits) <= _MOST_DIGITS:
                    self._meet(signed, int(digits), data[_HASH])
                    if self._late:
                        self._keep(signed, int(digits), data[_HASH])

    def finish(self) -> None:
        """Report the signed entries that never arrived, with one finding per series."""
        for signed in self._series.values():
            if signed.due:
                sequence, digest = _first(signed.due)
                self._missing(signed, sequence, digest, len(signed.due) // _LEAF_BYTES)

    def _keep(self, signed: _SignedEntries, sequence: int, found: bytes) -> None:
        """Keep an entry until a leaf covers it, unless it is a copy of an earlier one."""
        if sequence > signed.met:
            signed.met = sequence
            if sequence > signed.last:
                signed.unsigned += _place(sequence, _digest(found))

    def _look_back(self, signed: _SignedEntries, digest: bytes) -> None:
        """Compare the last leaf with the entry that arrived before it, and discard the entries that the leaf covers."""
        came = b""
        while signed.unsigned and _first(signed.unsigned)[0] <= signed.last:
            sequence, found = _first(signed.unsigned)
            del signed.unsigned[:_LEAF_BYTES]
            came = found if sequence == signed.last else b""
        if not came:
            self._missing(signed, signed.last, digest, 1)
        elif came != digest:
            self._differs(signed, signed.last, digest, came.hex())

    def _meet(self, signed: _SignedEntries, sequence: int, found: bytes) -> None:
        while signed.due:
            due, digest = _first(signed.due)
            if due > sequence:
                return
            del signed.due[:_LEAF_BYTES]
            if due < sequence:
                self._missing(signed, due, digest, 1)
            elif digest.hex().encode() != found:
                self._differs(signed, due, digest, found.decode(errors="replace"))

    def _missing(self, signed: _SignedEntries, sequence: int, digest: bytes, count: int) -> None:
        more = f", nor are {count - 1} later entries" if count > 1 else ""
        self._add(
            "signed-missing",
            signed,
            sequence,
            f"signed with hash {digest.hex()[:16]}.., but the entry is not in the ledger{more}",
        )

    def _differs(self, signed: _SignedEntries, sequence: int, digest: bytes, found: str) -> None:
        message = f"its hash was signed as {digest.hex()[:16]}.., but the entry says {found[:16]}.."
        self._add("signed-differs", signed, sequence, message)

    def _add(self, code: Code, signed: _SignedEntries, sequence: int, message: str) -> None:
        self._tell(Finding(code, signed.name, sequence, message))


def _first(places: bytearray) -> tuple[int, bytes]:
    return int.from_bytes(places[:_SEQUENCE_BYTES], "big"), bytes(places[_SEQUENCE_BYTES:_LEAF_BYTES])


def _place(sequence: int, digest: bytes) -> bytes:
    return sequence.to_bytes(_SEQUENCE_BYTES, "big") + digest


def _digest(claimed: bytes) -> bytes:
    """Return the hash that an entry claims, or zeros, which nobody signed, if the claim is not a hash."""
    try:
        return bytes.fromhex(claimed.decode()) if len(claimed) == HASH_DIGITS else bytes(HASH_DIGITS // 2)
    except ValueError:
        return bytes(HASH_DIGITS // 2)
