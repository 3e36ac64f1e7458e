"""First entries of series, policies that opened other series before: what they came to is known, but for the name.

Most series are under one of few policies, and to check a policy in full takes as long as to check several releases.
Only an entry without any finding or remark is kept; its series then stands by its text alone.
"""

import re
from typing import Final, NamedTuple

from stream_app.audit.books.guarantee import Guarantee
from stream_app.audit.books.period import Books
from stream_app.audit.books.terms import Terms
from stream_app.audit.chain import Chain, digest_of
from stream_app.audit.form.exact import HASH_DIGITS
from stream_app.audit.series import Series

MOST: Final = 1_000
MOST_BYTES: Final = 4_096  # of one text; a longer one is not kept
_OPENING: Final = re.compile(rb'(\{"series":"([ !#-\[\]-~]+))","sequence":1,"entry":"policy",')
"""A first entry up to its policy; the name holds no character that JSON spells otherwise."""
_HASH_AT: Final = -HASH_DIGITS - len(b'"}')


class Opened(NamedTuple):
    """A series after its first entry."""

    beginning: bytes  # of its entries, up to the end of its name
    series: Series


class _Opening(NamedTuple):
    version: int
    terms: Terms
    until_ms: int
    claim_nano: int | None
    key: str
    epoch: int
    link: str


class Openings:
    """What first entries came to, by their text from the policy's version to the name of the hash."""

    def __init__(self) -> None:
        self._known: dict[bytes, _Opening] = {}

    def keep(self, data: bytes, series: Series) -> None:
        """Keep what an entry came to that opened `series` and of which nothing was told."""
        found, books, chain = _OPENING.match(data), series.books, series.chain
        if found is None or len(data) > MOST_BYTES or chain.sequence != 1 or books is None or books.window is not None:
            return
        if books.terms.neighbours:
            return  # such a series is looked for among those of members (books/members.py)
        if len(self._known) >= MOST:
            self._known.clear()
        self._known[data[found.end() : _HASH_AT]] = _Opening(
            series.version, books.terms, books.until_ms, series.guarantee.claim_nano, chain.key, chain.epoch, chain.link
        )

    def open(self, data: bytes) -> Opened | None:
        """Return the series that an entry opens, if one with the same text opened another and its hash is right."""
        found = _OPENING.match(data)
        known = None if found is None else self._known.get(data[found.end() : _HASH_AT])
        if found is None or known is None:
            return None
        digest = digest_of(data)
        own_hash = digest.hex()
        if data[_HASH_AT:] != f'{own_hash}"}}'.encode():
            return None
        terms = known.terms
        chain = Chain(1, own_hash, known.key, known.epoch, None, known.link, bytearray(digest))
        guarantee = Guarantee(terms.budget_nano, first_budget_nano=terms.budget_nano, claim_nano=known.claim_nano)
        books = Books(terms, terms.landmarks, terms.spare, 0, 0, until_ms=known.until_ms)
        return Opened(found[1], Series(found[2].decode(), chain, guarantee, books, known.version))
