"""The answers as report sections, in text and JSON, with the period of each noise key."""

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any, Final

from stream_app.audit.answers.asked import Answers, circumstances, for_a_person, parameters
from stream_app.audit.report.page import Section, table
from stream_app.audit.report.report import AT_LEAST
from stream_app.audit.standing.inquiry import StandingInquiry
from stream_app.calendar.words import moment_in_words
from stream_app.words.amount import quoted
from stream_app.words.promise import in_words, wrapped

_RELEASE: Final = b',"entry":"release","timestamp":'
_KEY: Final = b',"key":"'
_KEY_DIGITS: Final = 16


class KeyTimes:
    """Collects the period of each key as stated in a ledger's lines; the audit checks these times."""

    def __init__(self) -> None:
        self._times: dict[bytes, tuple[int, int]] = {}

    def entries(self, lines: Sequence[bytes]) -> None:
        """Read the next lines of the ledger."""
        for data in lines:
            at = data.find(_RELEASE)
            place = data.rfind(_KEY)
            if at < 0 or place < 0:
                continue
            start = at + len(_RELEASE)
            digits = data[start : data.find(b",", start)]
            if not digits.isdigit():
                continue
            time_ms, key = int(digits), data[place + len(_KEY) : place + len(_KEY) + _KEY_DIGITS]
            first, last = self._times.get(key, (time_ms, time_ms))
            self._times[key] = (min(first, time_ms), max(last, time_ms))

    def listed(self) -> list[tuple[str, int, int]]:
        """Return each key's fingerprint with its first and last step in ms, ordered by the first step."""
        found = [(key.decode("ascii", "replace"), *times) for key, times in self._times.items()]
        return sorted(found, key=lambda each: each[1:])


NO_FAULT: Final = (
    "A fully used limit is not a fault. Other steps are still published if none costs more than the costliest step so "
    "far. New landmarks are not published, and neither is anything at level user."
)
TO_HAND: Final = (
    "One paragraph for the person, for each series that was examined closely (use --series to choose other series)."
)
WRONG_BOOKS: Final = "This is what the ledger says, but its audit failed."
ALONE: Final = (
    "The ledger names no people, so it does not say which series belong to one person. The losses of several series "
    "of one person add up."
)


def sections_of(
    answers: Answers, keys: Sequence[tuple[str, int, int]], people: Sequence[str], *, holds: bool
) -> list[Section]:
    """Return the sections; ``people`` are paragraphs to hand to people if the audit passed (``holds``)."""
    own = [_promises(answers, holds=holds), _used(answers, holds=holds), _members(answers)]
    return [*own, _keys(keys), _told(people, holds=holds)]


def _promises(answers: Answers, *, holds: bool) -> Section:
    rows = [(text, f"{count:,}") for text, count in answers.promises]
    rows += [("further guarantees, each for fewer series", f"{answers.further:,}")] if answers.further else []
    rows += [("policy terms that this audit does not know", f"{answers.unknown:,}")] if answers.unknown else []
    note = f"{'' if holds else WRONG_BOOKS + ' '}These are the policies in force when the ledger ends."
    return Section("What is guaranteed, and for how many series", note, table(("guarantee", "series"), rows, 1))


def _used(answers: Answers, *, holds: bool) -> Section:
    least = "" if holds else AT_LEAST
    rows = [
        (one.series, f"{one.policy}{' (and earlier ones)' * one.earlier}", least + one.used, one.state, one.end)
        for one in answers.used
    ]
    closed = f" {answers.closed:,} series are closed." if answers.closed else ""
    note = f"The series that used the largest shares of their limits. {NO_FAULT}{closed}"
    heads = ("series", "policy", "used", "state", "when it ends, and what follows")
    return Section("Epsilon used, and the limit", note, table(heads, rows))


def _members(answers: Answers) -> Section:
    if not answers.separator:
        return Section("Which series belong to one person", ALONE, "")
    rows = [(one.member, ", ".join(one.series) + one.more, str(one.many), one.claimed) for one in answers.people]
    names = f"The part of a series name before {answers.separator!r} names the person or household"
    note = " ".join((f"{names}; there are {answers.members:,} of them.", *unlisted(answers)))
    return Section(
        "Which series belong to one person", note, table(("person", "series", "number of series", "limit"), rows)
    )


def unlisted(answers: Answers) -> list[str]:
    """Return sentences on the persons and series that the list of persons omits."""
    said, further = [], answers.members - len(answers.people)
    if further > 0:
        said.append(f"{further:,} more {'person is' if further == 1 else 'people are'} not listed.")
    if answers.alone:
        belong = "belongs to no person: the ledger does not say whose it is."
        several = "belong to no person: the ledger does not say whose they are."
        said.append(f"{answers.alone:,} series {belong if answers.alone == 1 else several}")
    return said


def _keys(keys: Sequence[tuple[str, int, int]]) -> Section:
    rows = [(key, moment_in_words(first), moment_in_words(last)) for key, first, last in keys]
    note = (
        "The times are those of the published steps. Anyone who has a key can remove the noise of values published "
        "under it."
    )
    return Section("Which noise key was used when", note, table(("key", "first step", "last step"), rows))


def _told(people: Sequence[str], *, holds: bool) -> Section:
    note = "The audit found faults. Do not give any of this to anyone until they are explained."
    told = "\n".join(f"<p>{escape(text)}</p>" for text in people)
    return Section("What to tell the person", TO_HAND if holds else note, told if holds else "")


_UNKNOWN = "This version of the program does not know the terms of this policy."


def plain_of(inquiry: StandingInquiry) -> list[tuple[str, str]]:
    """Return titles and paragraphs for all requested series; call it after reading the ledger.

    If any line read has a fault, no paragraph may be handed out, because each paragraph covers all series of a person.
    Raises `UnknownNameError` for a name that is not in the ledger.
    """
    found, faults = [], len(inquiry.answer().findings)
    few = "1 fault" if faults == 1 else f"{faults:,} faults"
    members, lifetime_nano = inquiry.rules.members, inquiry.rules.lifetime_nano
    for series in inquiry.followed():
        name = quoted(series.name)
        if series.books is None:
            found.append((f"{name}: the guarantee", _UNKNOWN))
            continue
        promise = in_words(parameters(series), name, circumstances(series, members, lifetime_nano))
        found.append((f"{name}: the guarantee", f"{WRONG_BOOKS} {promise}" if faults else promise))
        told = for_a_person(series, members, lifetime_nano)
        if faults:
            told = f"Do not tell the person anything yet: the ledger has {few} here; run `audit` for details."
        found.append((f"{name}: what to tell the person", told))
    return found


KeyTime = tuple[str, int, int]  # key fingerprint with first and last step in ms


def text_of(answers: Answers, keys: Sequence[KeyTime], people: Iterable[str], *, holds: bool) -> str:
    """Return the answers as titled paragraphs, including those for ``people`` if the audit passed (``holds``)."""
    lines = ["", "What is guaranteed, and for how many series"]
    lines += [] if holds else [wrapped(WRONG_BOOKS)]
    for promise, count in answers.promises:
        lines += [f"  {count:,} series:", wrapped(promise, "    ")]
    lines += [f"  {answers.further:,} further guarantees, each for fewer series"] * bool(answers.further)
    lines += [f"  {answers.unknown:,} series under policy terms that this audit does not know"] * bool(answers.unknown)
    lines += ["", "Epsilon used, and the limit; the largest shares first"]
    least = "" if holds else AT_LEAST
    for one in answers.used:
        lines.append(
            wrapped(f"{quoted(one.series)}, policy {one.policy}, {one.state}: {least}{one.used} used. {one.end}")
        )
    lines += [wrapped(NO_FAULT), "", "Which series belong to one person"]
    lines += [] if answers.separator else [wrapped(ALONE)]
    for person in answers.people:
        names = ", ".join(map(quoted, person.series)) + person.more
        lines.append(wrapped(f"{quoted(person.member)}, {person.claimed}: {names}"))
    lines += [wrapped(" ".join(unlisted(answers)))] if unlisted(answers) else []
    lines += ["", "Which noise key was used when"]
    lines += [f"  {key}: {moment_in_words(first)} to {moment_in_words(last)}" for key, first, last in keys]
    lines += ["", "What to tell the person"]
    if holds:
        lines.append("\n\n".join(map(wrapped, (TO_HAND, *people))))
    else:
        lines.append("  Nothing, until the faults that were found are explained.")
    return "\n".join(lines)


def document_of(answers: Answers, keys: Sequence[KeyTime], people: Iterable[str], *, holds: bool) -> dict[str, Any]:
    """Return the same content as `text_of` for JSON; times are in ms."""
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
