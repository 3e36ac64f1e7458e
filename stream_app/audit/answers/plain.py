"""A series in plain words: what it is promised, how much of that is used, and what may be told to its person."""

from stream_app.audit.answers.asked import circumstances, for_a_person, parameters
from stream_app.audit.answers.sections import WRONG_BOOKS
from stream_app.audit.standing.inquiry import StandingInquiry
from stream_app.words.amount import quoted
from stream_app.words.promise import in_words

_UNKNOWN = "This version does not know the terms that it is under."


def plain_of(inquiry: StandingInquiry) -> list[tuple[str, str]]:
    """Return titles and paragraphs, of all series that were asked for; call it after the ledger was read.

    Nothing may be told where anything that was read has a fault: a paragraph is about all series of the person.

    Raises:
        UnknownNameError: for a name that the ledger does not have.
    """
    found, faults = [], len(inquiry.answer().findings)
    few = "1 fault" if faults == 1 else f"{faults:,} faults"
    members, lifetime_nano = inquiry.rules.members, inquiry.rules.lifetime_nano
    for series in inquiry.followed():
        name = quoted(series.name)
        if series.books is None:
            found.append((f"{name}: the promise", _UNKNOWN))
            continue
        promise = in_words(parameters(series), name, circumstances(series, members, lifetime_nano))
        found.append((f"{name}: the promise", f"{WRONG_BOOKS} {promise}" if faults else promise))
        told = for_a_person(series, members, lifetime_nano)
        if faults:
            told = f"Nothing may be told yet: the ledger has {few} here, which `audit` names."
        found.append((f"{name}: what to tell the person", told))
    return found
