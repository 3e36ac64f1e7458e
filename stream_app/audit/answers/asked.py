"""The answers, from the books of all series when the ledger ends; of many series those that matter most."""

from collections import Counter
from collections.abc import Iterable, Mapping
from heapq import nlargest
from typing import Any, Final, NamedTuple

from stream_app.audit.books.members import Members
from stream_app.audit.form.entry import MAX_TIMESTAMP
from stream_app.audit.series import Series
from stream_app.audit.standing.standing import VersionStanding
from stream_app.audit.standing.text import ending
from stream_app.audit.standing.version import version_of
from stream_app.calendar.words import moment_in_words
from stream_app.words.amount import Used, amount, promised, quoted
from stream_app.words.person import for_the_person, later
from stream_app.words.promise import DRAWN, Circumstances, changes, epsilon_nano_of, in_words

MOST_PROMISES: Final = 20
MOST_SERIES: Final = 20
MOST_MEMBERS: Final = 20
NAMED: Final = 10
"""Series that are named of a member."""


class UsedUp(NamedTuple):
    """How the policy version stands that a series is under when the ledger ends."""

    series: str
    policy: int
    used: str  # of what was promised
    earlier: int  # versions before it
    state: str
    end: str  # when it ends, and what then


class Person(NamedTuple):
    """The series that one member has, as far as the ledger names them."""

    member: str
    series: tuple[str, ...]  # the first of them
    many: int
    claimed: str  # of its cap


class Answers(NamedTuple):
    """What is answered beside the verdict; texts may hold anything that a ledger holds as a name, and are escaped."""

    promises: tuple[tuple[str, int], ...]  # in words, with how many series are under each now, most first
    further: int  # promises that are not listed
    unknown: int  # series under terms that this audit does not know
    closed: int  # series
    used: tuple[UsedUp, ...]  # the largest share of a promise first
    separator: str  # of members; "" where the ledger names none
    people: tuple[Person, ...]
    members: int
    alone: int  # series of no member, where the ledger names members


def answers_of(followed: Iterable[Series], members: Members, lifetime_nano: int | None) -> Answers:
    """Return the answers about all series; ``lifetime_nano`` is the bound over versions that was named, if any."""
    promises: Counter[str] = Counter()
    words: dict[tuple[object, ...], str] = {}
    shares: list[tuple[Used, Series]] = []
    unknown = closed = alone = 0
    people: dict[str, list[str]] = {}
    for series in followed:
        if series.member:
            continue
        closed += series.closed
        if members.separator and members.separator in series.name:
            people.setdefault(members.member_of(series.name), []).append(series.name)
        else:
            alone += 1
        if series.books is None:
            unknown += 1
            continue
        known = circumstances(series, members, lifetime_nano)
        alike = (id(series.books.terms), known)
        if alike not in words:
            words[alike] = in_words(parameters(series), "", known)
        promises[words[alike]] += 1
        spent = series.guarantee
        shares.append((Used(series.name, series.version, spent.period_nano, spent.budget_nano), series))
    worst = nlargest(MOST_SERIES, shares, key=lambda each: each[0].used_nano / max(1, each[0].epsilon_nano))
    most = sorted(people, key=lambda name: (-len(people[name]), name))
    return Answers(
        promises=tuple(promises.most_common(MOST_PROMISES)),
        further=max(0, len(promises) - MOST_PROMISES),
        unknown=unknown,
        closed=closed,
        used=tuple(_used(series) for _, series in worst),
        separator=members.separator,
        people=tuple(_person(name, people[name], members) for name in most[:MOST_MEMBERS]),
        members=len(people),
        alone=alone if members.separator else 0,
    )


def for_a_person(series: Series, members: Members, lifetime_nano: int | None) -> str:
    """Return what may be told to the person whose series it is; "" under terms that this audit does not know."""
    if series.books is None:
        return ""
    known = circumstances(series, members, lifetime_nano)
    rules, end = parameters(series), _end(series, _standing(series))
    together_nano = series.guarantee.closed_nano + epsilon_nano_of(rules)
    versions = [_before(series, changes(rules) * together_nano)]
    if not series.closed:
        versions.append(later(together_nano, known, rules))
    told = " ".join(filter(None, versions))
    return for_the_person(rules, quoted(series.name), known, series.guarantee.period_nano, end, told)


def parameters(series: Series) -> Mapping[str, Any]:
    """Return the parameters of the policy that a series is under, but for its landmarks."""
    assert series.books is not None, "asked for a version whose terms are known"
    terms = series.books.terms
    return {**terms.lasting, "renew": terms.renew}


def circumstances(series: Series, members: Members, lifetime_nano: int | None) -> Circumstances:
    """Return what besides its parameters a policy's paragraph says: bounds, and its landmarks by now."""
    spent, books = series.guarantee, series.books
    assert books is not None, "asked for a version whose terms are known"
    bounds = [nano for nano in (spent.claim_nano, lifetime_nano) if nano is not None]
    member = members.known.get(members.member_of(series.name))
    return Circumstances(
        lifetime_nano=min(bounds) if bounds else None,
        first_nano=spent.first_budget_nano,
        cap_nano=None if member is None else member.cap_nano,
        landmarks=books.landmarks.total,
        dummies=DRAWN if books.fixed else "",
    )


def _standing(series: Series) -> VersionStanding:
    return version_of(series, series.version, 0, rules=not series.closed)


def _before(series: Series, together_nano: int) -> str:
    """Return what accounts tell that differ under earlier versions, too; "" where these published nothing."""
    closed_nano, books = series.guarantee.closed_nano, series.books
    if not closed_nano or books is None:
        return ""
    began = moment_in_words(min(books.floor_ms, MAX_TIMESTAMP))  # a step may end in the year 10000
    return (
        f"That is about what they differ in from {began} on. Before, other promises held, of which epsilon "
        f"{amount(closed_nano)} is used. For accounts that differ before only as those promises say, and from then on "
        f"only as this one says, all of them together cost epsilon {amount(together_nano)} at most; what else they "
        "differ in costs more."
    )


def _used(series: Series) -> UsedUp:
    found = _standing(series)
    used = promised(found.used_nano, found.promised_nano)
    earlier = 1 if series.guarantee.closed_nano else 0
    state = "closed" if series.closed else "in force"
    return UsedUp(series.name, found.version, used, earlier, state, _end(series, found))


def _end(series: Series, found: VersionStanding) -> str:
    if series.closed:
        return "It was closed: nothing more is published."
    said = ending(found)
    if found.level == "user" and found.ends_ms is not None:
        return f"Its length ends {said}."
    return f"{said[0].upper()}{said[1:]}."


def _person(name: str, series: list[str], members: Members) -> Person:
    member = members.known.get(name)
    claimed = "no cap"
    if member is not None and member.cap_nano is not None:
        claimed = promised(member.claims_nano, member.cap_nano).replace("promised", "claimed")
    return Person(name, tuple(sorted(series)[:NAMED]), len(series), claimed)
