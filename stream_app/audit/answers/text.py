"""The answers as text for a terminal, and as members of the JSON report."""

from collections.abc import Iterable, Sequence
from typing import Any

from stream_app.audit.answers.asked import Answers, circumstances, for_a_person, parameters
from stream_app.audit.answers.sections import ALONE, NO_FAULT, TO_HAND, WRONG_BOOKS, unlisted
from stream_app.audit.report.report import AT_LEAST
from stream_app.audit.standing.inquiry import StandingInquiry
from stream_app.calendar.words import moment_in_words
from stream_app.words.amount import quoted
from stream_app.words.promise import in_words, wrapped

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


KeyTime = tuple[str, int, int]  # a key's fingerprint with its first and last step in ms


def text_of(answers: Answers, keys: Sequence[KeyTime], people: Iterable[str], *, holds: bool) -> str:
    """Return the answers as titled paragraphs; ``people`` are told if the ledger ``holds``."""
    lines = ["", "What was promised, and to how many"]
    lines += [] if holds else [wrapped(WRONG_BOOKS)]
    for promise, count in answers.promises:
        lines += [f"  {count:,} series:", wrapped(promise, "    ")]
    lines += [f"  {answers.further:,} further promises, each to fewer series"] * bool(answers.further)
    lines += [f"  {answers.unknown:,} series under terms that this audit does not know"] * bool(answers.unknown)
    lines += ["", "Used against promised, the largest shares first"]
    least = "" if holds else AT_LEAST
    for one in answers.used:
        lines.append(wrapped(f"{quoted(one.series)}, policy {one.policy}, {one.state}: {least}{one.used}. {one.end}"))
    lines += [wrapped(NO_FAULT), "", "Which series are one person's"]
    lines += [] if answers.separator else [wrapped(ALONE)]
    for person in answers.people:
        names = ", ".join(map(quoted, person.series)) + (", ..." if person.many > len(person.series) else "")
        lines.append(wrapped(f"{quoted(person.member)}, {person.claimed}: {names}"))
    lines += [wrapped(" ".join(unlisted(answers)))] if unlisted(answers) else []
    lines += ["", "Which key since when"]
    lines += [f"  {key}: {moment_in_words(first)} to {moment_in_words(last)}" for key, first, last in keys]
    lines += ["", "What to tell the person"]
    if holds:
        lines.append("\n\n".join(map(wrapped, (TO_HAND, *people))))
    else:
        lines.append("  nothing, before the faults that were found are explained")
    return "\n".join(lines)


def document_of(answers: Answers, keys: Sequence[KeyTime], people: Iterable[str], *, holds: bool) -> dict[str, Any]:
    """Return the same for programs; times are in ms."""
    least = "" if holds else AT_LEAST
    return {
        "promises": [{"promise": promise, "series": count} for promise, count in answers.promises],
        "further_promises": answers.further,
        "unknown_terms": answers.unknown,
        "closed": answers.closed,
        "used": [one._replace(used=least + one.used)._asdict() for one in answers.used],
        "members": [one._asdict() for one in answers.people],
        "keys": [{"key": key, "first_ms": first, "last_ms": last} for key, first, last in keys],
        "people": list(people) if holds else [],
    }
