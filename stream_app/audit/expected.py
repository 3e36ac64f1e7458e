"""The entries that signed heads name, until the ledger brings them.

That a chain is whole up to an entry is the chain's own check; here only the hash that an entry claims is compared with
the one that was signed for its place. Leaves come first, in full: 40 bytes each, and some 400 for a series.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final

from stream_app.audit.finding import Code, Finding
from stream_app.audit.form import HASH_DIGITS
from stream_app.audit.head import Leaf

_SEQUENCE_BYTES: Final = 8
_LEAF_BYTES: Final = _SEQUENCE_BYTES + HASH_DIGITS // 2
_SERIES_AT: Final = len(b'{"series":')
_SEQUENCE: Final = b',"sequence":'
_MOST_DIGITS: Final = 16  # of a sequence
_HASH: Final = slice(-HASH_DIGITS - len(b'"}'), -len(b'"}'))


@dataclass(slots=True)
class _Signed:
    """What was signed for a series and has not come yet: sequences and hashes, 40 bytes each, in rising order."""

    name: str
    due: bytearray = field(default_factory=bytearray)
    last: int = 0  # the highest sequence that was signed
    last_hash: bytes = b""

    def first(self) -> tuple[int, bytes]:
        """Return sequence and hash that are due next."""
        return int.from_bytes(self.due[:_SEQUENCE_BYTES], "big"), bytes(self.due[_SEQUENCE_BYTES:_LEAF_BYTES])


class Expected:
    """Joins leaves with entries; `tell` gets the findings."""

    def __init__(self, tell: Callable[[Finding], None]) -> None:
        """Expect nothing."""
        self._tell = tell
        self._series: dict[bytes, _Signed] = {}  # by the series' spelling in JSON, its quotation marks included

    @property
    def entries_signed(self) -> int:
        """How many entries stand at or before the last leaf of their series."""
        return sum(signed.last for signed in self._series.values())

    def leaf(self, leaf: Leaf, text: bytes) -> None:
        """Expect what a leaf names; `text` is the leaf in JSON."""
        spelling = text[1 : -len(f',{leaf.sequence},"{leaf.hash}"]')]
        signed = self._series.get(spelling)
        if signed is None:
            signed = self._series[spelling] = _Signed(leaf.series)
        digest = bytes.fromhex(leaf.hash)
        if leaf.sequence <= signed.last:
            # A worker that read its ledger again after a crash may sign the same end twice.
            if (leaf.sequence, digest) != (signed.last, signed.last_hash):
                message = f"signed with hash {leaf.hash[:16]}.. after sequence {signed.last} was signed"
                self._tell(Finding("signed-twice", leaf.series, leaf.sequence, message))
            return
        signed.due += leaf.sequence.to_bytes(_SEQUENCE_BYTES, "big") + digest
        signed.last, signed.last_hash = leaf.sequence, digest

    def entries(self, lines: Iterable[bytes]) -> None:
        """Meet lines of the ledger; what is no entry in the exact form is left to the other checks."""
        for data in lines:
            end = data.find(_SEQUENCE, _SERIES_AT)
            signed = self._series.get(data[_SERIES_AT:end])
            if signed is not None and signed.due:
                start = end + len(_SEQUENCE)
                digits = data[start : data.find(b",", start)]
                if digits.isdigit() and len(digits) <= _MOST_DIGITS:
                    self._meet(signed, int(digits), data[_HASH])

    def finish(self) -> None:
        """Tell what never came, one finding a series."""
        for signed in self._series.values():
            if signed.due:
                sequence, digest = signed.first()
                self._missing(signed, sequence, digest, len(signed.due) // _LEAF_BYTES)

    def _meet(self, signed: _Signed, sequence: int, found: bytes) -> None:
        while signed.due:
            due, digest = signed.first()
            if due > sequence:
                return
            del signed.due[:_LEAF_BYTES]
            if due < sequence:
                self._missing(signed, due, digest, 1)
            elif digest.hex().encode() != found:
                message = (
                    f"its hash was signed as {digest.hex()[:16]}.., it says {found[:16].decode(errors='replace')}.."
                )
                self._add("signed-differs", signed, due, message)

    def _missing(self, signed: _Signed, sequence: int, digest: bytes, count: int) -> None:
        more = f", nor {count - 1} later ones" if count > 1 else ""
        self._add("signed-missing", signed, sequence, f"signed with hash {digest.hex()[:16]}..; it is not there{more}")

    def _add(self, code: Code, signed: _Signed, sequence: int, message: str) -> None:
        self._tell(Finding(code, signed.name, sequence, message))
