"""The fast path, for most entries: a release entry that is exactly what must come next.

It writes the entry that must come next and compares texts, so it accepts nothing to which the full check (chain.py,
series.py) would object; every other entry goes there, and what is wrong with it is named there. Tests audit every
ledger with the fast path and without. It is one flat function, because at a hundred thousand entries a second each call
would show.
"""

from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from typing import Final

from stream_app.audit.books.terms import Terms
from stream_app.audit.chain import DIGEST_BYTES, MOST_BYTES, TAIL_BYTES
from stream_app.audit.finding import Finding
from stream_app.audit.form.entry import APPROXIMATED, PERTURBED, WITHHELD, ReleaseEntry
from stream_app.audit.form.exact import HASH_DIGITS
from stream_app.audit.report.report import Tally
from stream_app.audit.series import Series

Tell = Callable[[ReleaseEntry, Terms | None, int | None], None]
"""Told of an entry, the terms it was made under, and the step (ms) that was perturbed last before it."""

_SERIES_AT: Final = len('{"series":"')
_TIMESTAMP_AFTER: Final = len('","sequence":,"entry":"release","timestamp":')
"""Characters between the series and the timestamp, but for the digits of the sequence."""
_DECISION_AFTER: Final = len(',"decision":"')
_DECISIONS: Final = {"p": PERTURBED, "a": APPROXIMATED, "w": WITHHELD}
"""The decisions by their first letter."""
_HASHER: Final = blake2b(digest_size=DIGEST_BYTES)
"""A copy of it is made in half the time of a new one."""
_COVER_BYTES: Final = 2 * HASH_DIGITS + len('"') + TAIL_BYTES
"""From the release's hash to the end of an entry, but for the link between it and `previous`."""
_HEX: Final = b"0123456789abcdef"


def advance(  # noqa: C901, PLR0912, PLR0915 - see above
    known: Mapping[str, Series], lines: Sequence[bytes], place: int, tally: Tally, tell: Tell | None = None
) -> int:
    """Move series past their entries from `lines[place]` on; return the place of the first line for the full check.

    That line has changed nothing. `known` holds the series by their spelling in JSON.
    """
    perturbed = approximated = withheld = spent_nano = 0
    for line in range(place, len(lines)):
        data = lines[line]
        try:
            text = data.decode()
            name = text[_SERIES_AT : text.index('"', _SERIES_AT)]
            series = known[name]
            books = series.ready
            if books is None:
                break
            chain, terms = series.chain, books.terms
            sequence = chain.sequence + 1
            digits = str(sequence)
            at = _SERIES_AT + len(name) + _TIMESTAMP_AFTER + len(digits)
            comma = text.index(",", at)
            timestamp = int(text[at:comma])
            decision = _DECISIONS[text[comma + _DECISION_AFTER]]
        except (ValueError, LookupError):
            break
        step = timestamp // terms.step_ms
        if not books.end_ms <= timestamp <= books.until_ms or step * terms.step_ms != timestamp:
            break
        start, end, landmark, base = books.stretch
        if not start <= step < end:
            start, end, landmark, base = books.look(step)
        left = base - step if landmark else base
        left = max(left, 0)
        spent, peak, source = books.spent_nano, books.peak_nano, books.source_ms
        spend = 0
        spending = ""
        if decision == PERTURBED:
            spend = terms.share(spent, peak, left, landmark)
            if spend <= 0:
                break
            spending = f'"epsilon_nano":{spend},'
            if landmark:
                spent += spend
            elif spend > peak:
                peak = spend
        elif decision == (WITHHELD if source is None else APPROXIMATED):
            if not books.tosses and terms.share(spent, peak, left, landmark):
                break
        else:
            break
        if landmark and left:
            left -= 1
        link = chain.link
        at = len(data) - _COVER_BYTES - len(link)
        cover = data[at : at + HASH_DIGITS]
        release = cover.decode("latin-1")
        hasher = _HASHER.copy()
        hasher.update(data[:-TAIL_BYTES])
        digest = hasher.digest()
        own_hash = digest.hex()
        if text != (
            f'{{"series":"{name}","sequence":{digits},"entry":"release","timestamp":{timestamp},'
            f'"decision":"{decision}","landmark":{"true" if landmark else "false"},{terms.spelling},{spending}'
            f'"landmark_spent_nano":{spent},"landmarks_left":{left},"regular_peak_nano":{peak},"release":"{release}'
            f'{link}{chain.hash}","hash":"{own_hash}"}}'
        ) or cover.translate(None, _HEX):
            break
        previous = chain.hash
        chain.sequence = sequence
        chain.hash = own_hash
        chain.digests += digest
        if len(chain.digests) > MOST_BYTES:
            chain.forget()
        books.last_step = step
        books.end_ms = timestamp + terms.step_ms
        if books.first_step is None:
            books.first_step = step
        if spend:
            books.spent_nano = spent
            books.peak_nano = peak
            books.source_ms = timestamp
            if source is not None:
                books.tosses = terms.tosses
            perturbed += 1
            spent_nano += spend
            sentence = series.guarantee.spend(spend, landmark=landmark)
            if sentence:
                tally.add(Finding("theorem", series.name, sequence, sentence))
        elif source is None:
            withheld += 1
        else:
            approximated += 1
        if tell is not None:
            entry = ReleaseEntry(
                series.name, sequence, timestamp, decision, landmark, terms.version, terms.budget_nano, spend,
                spent, left, peak, release, chain.key, chain.epoch, previous, own_hash,
            )  # fmt: skip
            tell(entry, terms, source)
    else:
        line = len(lines)
    tally.decisions[PERTURBED] += perturbed
    tally.decisions[APPROXIMATED] += approximated
    tally.decisions[WITHHELD] += withheld
    tally.spent_nano += spent_nano
    return line
