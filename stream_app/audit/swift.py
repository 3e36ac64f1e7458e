"""The short way for the entry that nearly all are: the release entry that is exactly what must come next.

It spells the entry that must come next and compares texts, so it accepts nothing that the long way (chain.py, books.py)
would object to; whatever differs in the least goes there, and is named there. Tests audit every ledger by both ways.
One flat function, because at a hundred thousand entries a second each call would show.
"""

from hashlib import blake2b
from typing import Final, NamedTuple

from stream_app.audit.chain import DIGEST_BYTES, MOST_BYTES, TAIL_BYTES
from stream_app.audit.entry import APPROXIMATED, MAX_SEQUENCE, MAX_TIMESTAMP, PERTURBED, WITHHELD, ReleaseEntry
from stream_app.audit.form import HASH_DIGITS, is_hash
from stream_app.audit.series import Series
from stream_app.audit.share import must_publish, share

QUOTES: Final = 16
"""At how many quotation marks an entry's text is split, which gives the parts below."""
SERIES: Final = 3
_TIMESTAMP: Final = 12
_DECISION: Final = 15


class Stepped(NamedTuple):
    """The release entry that a series was moved past."""

    decision: str
    landmark: bool
    epsilon_nano: int
    timestamp: int
    release: str


def advance(series: Series, text: str, parts: list[str]) -> Stepped | None:  # noqa: C901 - see above
    """Move a series past a release entry if it is what must come next; else return None and change nothing."""
    chain, books = series.chain, series.books
    if books is None or not books.sure or series.closed or chain.old_repeat is not None or len(parts) <= _DECISION:
        return None
    terms = books.terms
    try:
        timestamp = int(parts[_TIMESTAMP][1:-1])
    except ValueError:
        return None
    step, rest = divmod(timestamp, terms.step_ms)
    if rest or not books.end_ms <= timestamp <= MAX_TIMESTAMP or chain.sequence >= MAX_SEQUENCE:
        return None
    landmark, left = books.standing(step)
    spent, peak = books.spent_nano, books.peak_nano
    spend = share(terms, spent, peak, left, landmark=landmark)
    decision = parts[_DECISION]
    if decision == PERTURBED:
        if spend <= 0:
            return None
        spent, peak = (spent + spend, peak) if landmark else (spent, max(spend, peak))
        spending = f'"epsilon_nano":{spend},'
    else:
        before = books.source_ms is not None
        must = spend > 0 and must_publish(terms, released_before=before)
        if must or decision != (APPROXIMATED if before else WITHHELD):
            return None
        spend = 0
        spending = ""
    sequence, left = chain.sequence + 1, left - landmark if left > 0 else 0
    link = f'","key":"{chain.key}","epoch":{chain.epoch},"previous":"{chain.hash}"'  # what follows the release's hash
    end = len(text) - TAIL_BYTES - len(link)
    release = text[end - HASH_DIGITS : end]
    body = (
        f'{{"series":"{parts[SERIES]}","sequence":{sequence},"entry":"release","timestamp":{timestamp},'
        f'"decision":"{decision}","landmark":{"true" if landmark else "false"},"policy":{terms.version},'
        f'"budget_nano":{terms.budget_nano},{spending}"landmark_spent_nano":{spent},"landmarks_left":{left},'
        f'"regular_peak_nano":{peak},"release":"{release}{link}'
    )
    digest = blake2b(body.encode(), digest_size=DIGEST_BYTES).digest()
    own_hash = digest.hex()
    if text != f'{body},"hash":"{own_hash}"}}' or not is_hash(release):
        return None
    chain.sequence = sequence
    chain.hash = own_hash
    chain.digests += digest
    if len(chain.digests) > MOST_BYTES:
        chain.forget()
    books.spent_nano = spent
    books.peak_nano = peak
    books.last_step = step
    books.end_ms = timestamp + terms.step_ms
    if books.first_step is None:
        books.first_step = step
    if spend:
        books.source_ms = timestamp
    return Stepped(decision, landmark, spend, timestamp, release)


def entry_of(series: Series, stepped: Stepped, previous: str) -> ReleaseEntry:
    """Return the entry that a series has just been moved past."""
    chain, books = series.chain, series.books
    assert books is not None, "there was a policy, or it would not have moved"
    left = books.standing(books.next_step)[1]
    return ReleaseEntry(
        series.name,
        chain.sequence,
        stepped.timestamp,
        stepped.decision,
        stepped.landmark,
        books.terms.version,
        books.terms.budget_nano,
        stepped.epsilon_nano,
        books.spent_nano,
        left,
        books.peak_nano,
        stepped.release,
        chain.key,
        chain.epoch,
        previous,
        chain.hash,
    )
