"""The answers as sections of the report, with which noise key since when."""

from collections.abc import Sequence
from html import escape
from typing import Final

from stream_app.audit.answers.asked import Answers
from stream_app.audit.report.page import Section, table
from stream_app.audit.report.report import AT_LEAST
from stream_app.calendar.words import moment_in_words

_RELEASE: Final = b',"entry":"release","timestamp":'
_KEY: Final = b',"key":"'
_KEY_DIGITS: Final = 16


class KeyTimes:
    """Collects the times of each key from a ledger's lines; whether these are true is for the audit to say."""

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
        """Return each key's fingerprint with its first and last step in ms, in order of the first."""
        found = [(key.decode("ascii", "replace"), *times) for key, times in self._times.items()]
        return sorted(found, key=lambda each: each[1:])


NO_FAULT: Final = (
    "That all of it is used is no fault: other steps still publish, each up to the dearest so far; new landmarks "
    "cannot, nor can anything at level user."
)
TO_HAND: Final = "A paragraph of each series that was looked at closely (--series names others), to hand to the person."
WRONG_BOOKS: Final = "As this ledger says, which does not hold."
ALONE: Final = (
    "The ledger names no members, so it does not tell which series are one person's. The promises of several series of "
    "one person add up."
)


def sections_of(
    answers: Answers, keys: Sequence[tuple[str, int, int]], people: Sequence[str], *, holds: bool
) -> list[Section]:
    """Return the sections; ``people`` are paragraphs that may be handed to persons if the ledger ``holds``."""
    return [
        _promises(answers, holds=holds),
        _used(answers, holds=holds),
        _members(answers),
        _keys(keys),
        _told(people, holds=holds),
    ]


def _promises(answers: Answers, *, holds: bool) -> Section:
    rows = [(text, f"{count:,}") for text, count in answers.promises]
    rows += [("further promises, each to fewer series", f"{answers.further:,}")] if answers.further else []
    rows += [("terms that this audit does not know", f"{answers.unknown:,}")] if answers.unknown else []
    note = f"{'' if holds else WRONG_BOOKS + ' '}Under the policies in force when the ledger ends."
    return Section("What was promised, and to how many", note, table(("the promise", "series"), rows, 1))


def _used(answers: Answers, *, holds: bool) -> Section:
    least = "" if holds else AT_LEAST
    rows = [
        (
            one.series,
            f"{one.policy}{' (and earlier ones)' if one.earlier else ''}",
            least + one.used,
            one.state,
            one.end,
        )
        for one in answers.used
    ]
    closed = f" {answers.closed:,} series are closed." if answers.closed else ""
    note = f"The series that used the largest shares of their promises. {NO_FAULT}{closed}"
    heads = ("series", "policy", "used", "state", "when it ends, and what then")
    return Section("Used against promised", note, table(heads, rows))


def _members(answers: Answers) -> Section:
    if not answers.separator:
        return Section("Which series are one person's", ALONE, "")
    rows = [
        (
            one.member,
            ", ".join(one.series) + (", ..." if one.many > len(one.series) else ""),
            str(one.many),
            one.claimed,
        )
        for one in answers.people
    ]
    which = (
        f"The part of a name before {answers.separator!r} names the person or household; {answers.members:,} of them."
    )
    note = " ".join((which, *unlisted(answers)))
    return Section("Which series are one person's", note, table(("member", "series", "how many", "of its cap"), rows))


def unlisted(answers: Answers) -> list[str]:
    """Return sentences on the members and series that the list of members does not have."""
    said, further = [], answers.members - len(answers.people)
    if further > 0:
        said.append(f"{further:,} further {'member is' if further == 1 else 'members are'} not listed.")
    if answers.alone:
        belong = "belongs to no member: the ledger does not tell whose it is."
        several = "belong to no member: the ledger does not tell whose they are."
        said.append(f"{answers.alone:,} series {belong if answers.alone == 1 else several}")
    return said


def _keys(keys: Sequence[tuple[str, int, int]]) -> Section:
    rows = [(key, moment_in_words(first), moment_in_words(last)) for key, first, last in keys]
    note = (
        "By the times of the steps that were decided. Who has a key can take the noise off what was published under it."
    )
    return Section("Which key since when", note, table(("key", "first step", "last step"), rows))


def _told(people: Sequence[str], *, holds: bool) -> Section:
    title = "What to tell the person"
    if not holds:
        note = "The audit found faults: nothing here may be handed to anybody before they are explained."
        return Section(title, note, "")
    return Section(title, TO_HAND, "\n".join(f"<p>{escape(text)}</p>" for text in people))
