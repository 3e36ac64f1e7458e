"""The fast path for most entries: it accepts a release entry that is exactly the expected next one.

It writes the entry that must come next and compares bytes, so it accepts nothing that the full check (chain.py,
series.py) would reject. Every other entry goes to the full check, which names what is wrong. Tests audit every ledger
with and without the fast path. It is one flat function because the cost of function calls is noticeable at hundreds of
thousands of entries a second.

Most series have figures that other series had before, so the expected text is already written (books/written.py).
"""

import re
from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from typing import Final, NamedTuple

from stream_app.audit.books.guarantee import Guarantee
from stream_app.audit.books.period import Books
from stream_app.audit.books.terms import Terms
from stream_app.audit.books.written import WrittenTexts
from stream_app.audit.chain import DIGEST_BYTES, MOST_BYTES, TAIL_BYTES, Chain, digest_of
from stream_app.audit.finding import Finding
from stream_app.audit.form.entry import APPROXIMATED, PERTURBED, WITHHELD, ReleaseEntry
from stream_app.audit.form.exact import HASH_DIGITS
from stream_app.audit.report.report import Tally
from stream_app.audit.series import Series

MOST: Final = 1_000
_MOST_TEXT: Final = 4_096  # bytes; longer texts are not kept
_OPENING: Final = re.compile(rb'(\{"series":"([ !#-\[\]-~]+))","sequence":1,"entry":"policy",')
"""Matches the start of a first entry, up to its policy, if JSON can write the series' name in only one way."""
_HASH_AT: Final = -HASH_DIGITS - len(b'"}')


class _Opening(NamedTuple):
    version: int
    terms: Terms
    until_ms: int
    claim_nano: int | None
    key: str
    epoch: int
    link: str


class Openings:
    """Checked first entries, keyed by their text from the policy version to the hash field's name.

    Most series use one of a few policies, and checking a policy in full takes as long as checking several releases.
    Only entries without findings or remarks are kept, because the text of such an entry alone determines its series.
    """

    def __init__(self) -> None:
        self._known: dict[bytes, _Opening] = {}

    def keep(self, data: bytes, series: Series) -> None:
        """Keep the result of a first entry that opened `series` with no findings or remarks."""
        found, books, chain = _OPENING.match(data), series.books, series.chain
        if found is None or len(data) > _MOST_TEXT or chain.sequence != 1 or books is None or books.window is not None:
            return
        if books.terms.neighbours or series.view:
            return  # these series must be found among those of members (books/members.py, books/views.py)
        if len(self._known) >= MOST:
            self._known.clear()
        self._known[data[found.end() : _HASH_AT]] = _Opening(
            series.version, books.terms, books.until_ms, series.guarantee.claim_nano, chain.key, chain.epoch, chain.link
        )

    def open(self, data: bytes) -> tuple[bytes, Series] | None:
        """Return the prefix of the series' entries and the series itself if an entry with this text was kept."""
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
        return found[1], Series(found[2].decode(), chain, guarantee, books, known.version)


Tell = Callable[[ReleaseEntry, Terms | None, int | None], None]
"""Called with an entry, its policy's terms, and the last perturbed step (ms) before the entry."""

_SERIES_AT: Final = len('{"series":"')
_HASHER: Final = blake2b(digest_size=DIGEST_BYTES)  # a copy takes half the time of a new one
_COVER_BYTES: Final = 2 * HASH_DIGITS + len('"') + TAIL_BYTES
"""Bytes from the release's hash to the entry's end, excluding the link between that hash and `previous`."""
_ZEROS: Final = b"0" * HASH_DIGITS
_TO_ZERO: Final = bytes(_ZEROS[0] if chr(byte) in "0123456789abcdef" else 0 for byte in range(256))
"""Maps hexadecimal digits, and nothing else, to zeros."""


def advance(  # noqa: C901, PLR0912, PLR0915 - see above
    known: Mapping[bytes, Series],
    lines: Sequence[bytes],
    place: int,
    tally: Tally,
    written: WrittenTexts,
    tell: Tell | None = None,
) -> int:
    """Advance series over their expected entries from `lines[place]`; return the index of the first other line.

    That line needs the full check, and it has not changed any state. `known` maps the prefix of a series' entries to
    the series.
    """
    perturbed = approximated = withheld = spent_nano = 0
    heads, times = written.heads, written.times
    for line in range(place, len(lines)):
        data = lines[line]
        end = data.find(b'"', _SERIES_AT)
        series = known.get(data[:end])
        if series is None:
            break
        books = series.ready
        if books is None:
            break
        chain, terms = series.chain, books.terms
        sequence = chain.sequence + 1
        head = heads.get(sequence)
        if head is None:
            head = written.head(sequence)
        at = end + len(head)
        comma = data.find(b",", at)
        timestamp = times.get(data[at:comma])
        if timestamp is None:
            timestamp = written.time(data[at:comma])
        step = timestamp // terms.step_ms
        if data[end:at] != head or not books.end_ms <= timestamp <= books.until_ms or step * terms.step_ms != timestamp:
            break
        start, stop, landmark, base = books.stretch
        if not start <= step < stop:
            start, stop, landmark, base = books.look(step)
        left = base - step if landmark else base
        if left < 0:  # noqa: PLR1730 - a call would show
            left = 0
        link = chain.link
        at = len(data) - _COVER_BYTES - len(link)
        figures = data[comma:at]
        before = books.figures
        if before is None:
            before = books.figures = written.figures(terms, books.spent_nano, books.peak_nano)
        follows = before.follows
        follow = follows.get(figures) if follows else None
        if follow is None or follow[0] != left or follow[1] is not landmark:
            follow = written.follow(before, terms, figures, left, landmark=landmark)
            if follow is None:
                break
        _, _, decision, due, spend, after = follow
        source = books.source_ms
        if not spend and (decision != (WITHHELD if source is None else APPROXIMATED) or (due and not books.tosses)):
            break
        hasher = _HASHER.copy()
        hasher.update(data[:-TAIL_BYTES])
        digest = hasher.digest()
        own_hash = digest.hex()
        cover = data[at : at + HASH_DIGITS]
        if data[at + HASH_DIGITS :] != f'{link}{chain.hash}","hash":"{own_hash}"}}'.encode():
            break
        if cover.translate(_TO_ZERO) != _ZEROS:
            break
        previous = chain.hash
        chain.sequence = sequence
        chain.hash = own_hash
        digests = chain.digests
        digests += digest
        if len(digests) > MOST_BYTES:
            chain.forget()
        books.last_step = step
        books.end_ms = timestamp + terms.step_ms
        if books.first_step is None:
            books.first_step = step
        books.figures = after
        if spend:
            books.spent_nano = after.spent_nano
            books.peak_nano = after.peak_nano
            books.source_ms = timestamp
            if source is not None:
                books.tosses = terms.tosses
            perturbed += 1
            spent_nano += spend
            if landmark or spend > series.guarantee.peak_nano:  # otherwise no change
                sentence = series.guarantee.spend(spend, landmark=landmark)
                if sentence:
                    tally.add(Finding("theorem", series.name, sequence, sentence))
        elif source is None:
            withheld += 1
        else:
            approximated += 1
        if tell is not None:
            left_after = left - 1 if landmark and left else left
            entry = ReleaseEntry(
                series.name, sequence, timestamp, decision, landmark, terms.version, terms.budget_nano, spend,
                books.spent_nano, left_after, books.peak_nano, cover.decode(), chain.key, chain.epoch, previous,
                own_hash,
            )  # fmt: skip
            tell(entry, terms, source)
    else:
        line = len(lines)
    tally.decisions[PERTURBED] += perturbed
    tally.decisions[APPROXIMATED] += approximated
    tally.decisions[WITHHELD] += withheld
    tally.spent_nano += spent_nano
    written.entries += line - place
    return line
