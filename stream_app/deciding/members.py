"""People: their names, rows and reservations, and the single budget that limits all series of a person.

A person (or household) owns several series. A person's name is the part of a series id before the first separator, or
the whole id if it has no separator. The limit is stored in a separate chain, named person + separator; no series may
have that name. Table key: ``m`` + that name.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from stream_app.formats import encoding, wire
from stream_app.formats.encoding import SealedEntry
from stream_app.formats.records import MemberRecord
from stream_app.privacy.noise.key import KeyRing
from stream_app.privacy.published import MemberEntry
from stream_app.privacy.reason import Reason

MOST_SERIES = 1000
"""The maximum number of a person's series that may reserve budget."""


class Member(NamedTuple):
    """One person's state between two records.

    ``sequence`` is the number of the last entry in the person's chain (0 before the first), and ``previous`` is that
    entry's hash.
    """

    chain: str
    sequence: int = 0
    previous: str = encoding.NO_HASH
    cap_nano: int | None = None  # None: no limit
    claimed_nano: int = 0  # sum reserved by all series, including closed ones
    series: int = 0  # that reserved budget

    @property
    def key(self) -> bytes:
        """The record key of the chain's entries."""
        return self.chain.encode()

    def dump(self) -> tuple[bytes, bytes]:
        """Return the table row."""
        return b"m" + self.key, wire.dump(self[1:])

    @property
    def exceeding(self) -> bool:
        """Whether the person's series reserve more than the limit or are too many."""
        return self.series > MOST_SERIES or (self.cap_nano is not None and self.claimed_nano > self.cap_nano)

    def with_claim(self, claim_nano: int) -> "Member":
        """Return the person's state after one more series reserves budget."""
        return self._replace(claimed_nano=self.claimed_nano + claim_nano, series=self.series + 1)


Claims = tuple[Member | None, Member]
"""A person's state before (None if unknown) and after a batch."""
FindMember = Callable[[str], Member | None]
"""Finds a person by the name of their chain; returns None if the person is not known yet."""


def no_member(_chain: str) -> None:
    """Find no person."""


def load_member(get: Callable[[bytes], bytes | None], chain: str) -> Member | None:
    """Return the stored person whose chain has this name, or None if there is none; ``get`` reads the state table."""
    stored = get(b"m" + chain.encode())
    return None if stored is None else stored_member(stored, chain)


def stored_member(stored: bytes, chain: str = "") -> Member:
    """Return the person from a stored row, which does not contain the name of its chain."""
    fields: Any = wire.load(stored)
    return Member(chain, *fields)


class MemberChange(NamedTuple):
    """A person's state after a record, and the chain entry that it caused, or None if the limit is unchanged."""

    member: Member
    entry: SealedEntry | None


def member_of(series: str, separator: str | None) -> str:
    """Return the name of the person a series belongs to, which is the series id if there is no separator."""
    return series if separator is None else series.partition(separator)[0]


def lacks_part(series: str, separator: str) -> bool:
    """Return whether a series' id lacks the person before its separator, or the name after it."""
    return series.startswith(separator) or series.endswith(separator)


def is_too_long(series: str, separator: str) -> bool:
    """Return whether an id is too long for the name of a person's chain, which is a byte longer."""
    return separator not in series and len(series.encode()) >= wire.LARGEST_SERIES_BYTES


def claimed(
    found: Member | None, chain: str, claim_nano: int, cap_nano: int | None, keys: KeyRing, appended_ms: int
) -> MemberChange | Reason:
    """Return the person's state after a new series reserves budget, or the reason for refusing the series.

    ``cap_nano`` is the configured limit for a new person.

    Guarantee: all series of a person together reserve at most the person's limit.
    """
    known = found or Member(chain, cap_nano=cap_nano)
    member = known.with_claim(claim_nano)
    if member.exceeding:
        return "member-cap"
    if found is not None or member.cap_nano is None:
        return MemberChange(member, None)
    return _capped(member, member.cap_nano, keys, appended_ms)


def capped(
    found: Member | None, chain: str, record: MemberRecord, most_nano: int | None, keys: KeyRing, appended_ms: int
) -> MemberChange | Reason:
    """Return the person's state after a record sets the limit; ``most_nano`` is the configured maximum."""
    member, cap_nano = found or Member(chain), record.cap_nano
    if most_nano is not None and cap_nano > most_nano:
        return "budget-cap"
    if cap_nano < member.claimed_nano or (member.cap_nano is not None and cap_nano > member.cap_nano):
        return "member-cap"
    return "duplicate" if cap_nano == member.cap_nano else _capped(member, cap_nano, keys, appended_ms)


def _capped(member: Member, cap_nano: int, keys: KeyRing, appended_ms: int) -> MemberChange:
    sequence = member.sequence + 1
    text = encoding.control_entry(member.chain, sequence, MemberEntry(cap_nano))
    # Epoch 0, because a chain of limits has no event time.
    value, link = encoding.sealed(text, keys.fingerprint, 0, member.previous)
    changed = member._replace(sequence=sequence, previous=link, cap_nano=cap_nano)
    return MemberChange(changed, SealedEntry(sequence, appended_ms, value, link))
