"""Members: whose series one budget bounds together; their names, their rows, and what their series claim.

A member is the person or household that several series belong to: the part of a series id before the first
separator, or the whole id without one. Its cap stands in a chain of its own, named member + separator, which no series
may be called. Table key: ``m`` + that name.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from stream_app.formats import encoding, wire
from stream_app.formats.encoding import Sealed
from stream_app.formats.records import MemberRecord
from stream_app.privacy.noise.key import KeyRing
from stream_app.privacy.published import MemberEntry
from stream_app.privacy.reason import Reason

MOST_SERIES = 1000
"""Series of a member that may make a claim."""


class Member(NamedTuple):
    """One member between two records.

    ``sequence`` is that of the last entry in its chain (0 before the first), ``previous`` the hash of that entry.
    """

    chain: str
    sequence: int = 0
    previous: str = encoding.NO_HASH
    cap_nano: int | None = None  # None: there is no cap
    claimed_nano: int = 0  # the sum of the claims of all series, closed ones too
    series: int = 0  # how many made a claim

    @property
    def key(self) -> bytes:
        """The record key of the chain's entries."""
        return self.chain.encode()

    def dump(self) -> tuple[bytes, bytes]:
        """Return the table row."""
        return b"m" + self.key, wire.dump(self[1:])

    @property
    def exceeding(self) -> bool:
        """Whether its series claim more than its cap, or are too many."""
        return self.series > MOST_SERIES or (self.cap_nano is not None and self.claimed_nano > self.cap_nano)

    def with_claim(self, claim_nano: int) -> "Member":
        """Return the member with the claim of one more series."""
        return self._replace(claimed_nano=self.claimed_nano + claim_nano, series=self.series + 1)


Claims = tuple[Member | None, Member]
"""A member before a batch, None if nothing was known of it, and behind it."""
FindMember = Callable[[str], Member | None]
"""Returns a member by the name of its chain; None if nothing is known of it yet."""


def no_member(_chain: str) -> None:
    """Know of no member."""


def load_member(get: Callable[[bytes], bytes | None], chain: str) -> Member | None:
    """Return the stored member whose chain has that name, or None; ``get`` reads the state table."""
    stored = get(b"m" + chain.encode())
    return None if stored is None else stored_member(stored, chain)


def stored_member(stored: bytes, chain: str = "") -> Member:
    """Return the member of a stored row, which does not hold the name of its chain."""
    fields: Any = wire.load(stored)
    return Member(chain, *fields)


class Joined(NamedTuple):
    """A member after a record, and the entry of its chain that the record brought; None: its cap stays."""

    member: Member
    entry: Sealed | None


def member_of(series: str, separator: str | None) -> str:
    """Return the name of the member that a series belongs to; without a separator each series is its own."""
    return series if separator is None else series.partition(separator)[0]


def misnamed(series: str, separator: str) -> Reason | None:
    """Return why an id names no series of a member."""
    if series.startswith(separator) or series.endswith(separator):
        return "malformed"
    too_long = separator not in series and len(series.encode()) >= wire.LARGEST_SERIES_BYTES
    return "too-large" if too_long else None  # its member's chain has one byte more


def claimed(
    found: Member | None, chain: str, claim_nano: int, cap_nano: int | None, keys: KeyRing, appended_ms: int
) -> Joined | Reason:
    """Return the member after the claim of a new series; ``cap_nano`` is the configured cap of a new member.

    Guarantee: the claims of all series of a member sum to at most its cap.
    """
    known = found or Member(chain, cap_nano=cap_nano)
    member = known.with_claim(claim_nano)
    if member.exceeding:
        return "member-cap"
    if found is not None or member.cap_nano is None:
        return Joined(member, None)
    return _capped(member, member.cap_nano, keys, appended_ms)


def capped(
    found: Member | None, chain: str, record: MemberRecord, most_nano: int | None, keys: KeyRing, appended_ms: int
) -> Joined | Reason:
    """Return the member after a record that gives its cap; ``most_nano`` is the configured one."""
    member, cap_nano = found or Member(chain), record.cap_nano
    if most_nano is not None and cap_nano > most_nano:
        return "budget-cap"
    if cap_nano < member.claimed_nano or (member.cap_nano is not None and cap_nano > member.cap_nano):
        return "member-cap"
    return "duplicate" if cap_nano == member.cap_nano else _capped(member, cap_nano, keys, appended_ms)


def _capped(member: Member, cap_nano: int, keys: KeyRing, appended_ms: int) -> Joined:
    sequence = member.sequence + 1
    text = encoding.control_entry(member.chain, sequence, MemberEntry(cap_nano))
    # Epoch 0: a chain of caps has no event time.
    value, link = encoding.sealed(text, keys.fingerprint, 0, member.previous)
    changed = member._replace(sequence=sequence, previous=link, cap_nano=cap_nano)
    return Joined(changed, Sealed(sequence, appended_ms, value, link))
