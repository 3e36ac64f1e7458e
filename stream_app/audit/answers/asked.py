"""Answers from the books of all series at the ledger's end, limited to the most important if there are many.

A paragraph is handed to a person without explanation, so it says no more than the books can show.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from heapq import nlargest
from math import ceil
from typing import Any, Final, NamedTuple

from stream_app.audit.books.members import Members
from stream_app.audit.form.entry import MAX_TIMESTAMP
from stream_app.audit.series import Series
from stream_app.audit.standing.standing import VersionStanding, version_of
from stream_app.audit.standing.text import ending
from stream_app.calendar.words import moment_in_words
from stream_app.words import promise
from stream_app.words.amount import UsedBudget, amount, of_limit, quoted
from stream_app.words.odds import PRIOR, most_likely
from stream_app.words.unit import Parameters, Unit, protected, resemblance, statistic_of

_MARKED: Final = (
    "Some moments in your data, such as the hours of a visit, were marked for protection together: these are landmarks."
)
_BOOKS: Final = (
    "Anyone who has the secret key of the noise can remove it: ask the publisher who has the key. Anyone can use the "
    "ledger to check that the budget was kept; this needs neither the key nor your data. No ledger can show that the "
    "noise is what the ledger says it is; the publisher is responsible for that."
)


def for_the_person(
    parameters: Parameters, series: str, known: promise.Circumstances, used_nano: int, end: str, versions: str = ""
) -> str:
    """Return a paragraph for the person the series belongs to: the guarantee, and how much budget is used.

    ``end`` is a sentence on when publishing ends, and ``versions`` are sentences on earlier and later guarantees.
    """
    unit, collect = protected(parameters), parameters.get("collect")
    step = Unit.of(parameters["protection"].get("step", 1))
    epsilon_nano = promise.epsilon_nano_of(parameters)
    published = f"Values about you ({series}) are published for each {unit.name}, with noise added to each value"
    if parameters["protection"].get("unit"):
        what = statistic_of(parameters["value"], unit)
        published = f"For each {step.name}, {what} is published about you ({series}), with noise added"
    if collect:
        published = (
            f"What you send to {series} is combined with what others send, and the result is published for each "
            f"{unit.name}, with noise added"
        )
    differing = promise.where(parameters, unit, known).replace("its first event", "the first event")
    if not collect:
        differing = differing.replace("at its ", "at your ").replace("landmark", "marked moment")
    yours = promise.how_far(parameters, unit).replace("the item of one contributor", "the item that you sent")
    yours = yours.replace("whether one contributor takes part", "whether you took part and what you sent")
    times = promise.changes(parameters)
    differ = (
        f"Take two accounts of what happened that differ only {differing}{yours}. What is published about {series} "
        "changes anyone's odds of one account against the other by a factor of at most "
        f"{promise.factor(times * epsilon_nano)}.{_chance(times * epsilon_nano)}"
    )
    capped = known.cap_nano is not None and not collect
    together = (
        "For accounts that differ in each of your series as its guarantee describes, all your series together change "
        f"the odds by a factor of at most {promise.factor(known.cap_nano or 0)}."
    )
    marked = _MARKED * (parameters["protection"]["level"] == "landmark" and not collect)
    hidden = [*promise.blurred(parameters, known), promise.not_hidden(parameters, unit, known)]
    elsewhere = "outside these series" if capped else "in any other way"
    uncounted = (
        f"Not covered: what neighbouring {unit.plural} reveal about each other, and what is published about you "
        f"{elsewhere} or about people near you."
    )
    twice = "" if times == 1 else ", which counts a change to what you sent as two changes"
    used = f"The part of your budget used so far is {of_limit(used_nano, epsilon_nano)}{twice}."
    stays = "What was published stays public, and its guarantee does not expire."
    ends = f"When publishing ends: {end[0].lower()}{end[1:]} {stays}"
    further = [*promise.beyond(parameters, unit), together * capped, versions]
    if parameters["protection"].get("unit"):
        further.append(resemblance(unit))
    said = [f"{published}.", marked, differ, *further, *hidden, uncounted, used, ends, _BOOKS]
    return " ".join(sentence for sentence in said if sentence)


def later(epsilon_nano: int, known: promise.Circumstances, parameters: Parameters) -> str:
    """Return a sentence on later versions, or "" if they cannot add to what this and earlier versions may cost."""
    bound_nano = known.lifetime_nano or known.first_nano
    if bound_nano is None or (known.lifetime_nano is not None and bound_nano <= epsilon_nano):
        return ""
    unless = ", unless the publisher allows more, which the ledger does not show" * (known.lifetime_nano is None)
    anew = promise.factor(promise.changes(parameters) * bound_nano)
    return (
        "Later rules may give this guarantee again. For accounts that differ under each of them only as its guarantee "
        f"describes, all of them together change the odds by a factor of at most {anew}{unless}."
    )


def _chance(epsilon_nano: int) -> str:
    """Return a sentence on how likely a 10 % guess can become, rounded up, or "" if that is nearly certain."""
    if epsilon_nano > promise.LARGEST_FACTOR:
        return ""
    likely = ceil(1000 * most_likely(PRIOR, epsilon_nano)) / 10
    return (
        " Someone who thought that one account was 10 % likely and the other 90 % then thinks that the first is at "
        f"most {likely:g} % likely."
    )


MOST_PROMISES: Final = 20
MOST_SERIES: Final = 20
MOST_MEMBERS: Final = 20
NAMED: Final = 10  # series listed for each person


class UsedUp(NamedTuple):
    """The budget used by a series' current policy version at the end of the ledger."""

    series: str
    policy: int
    used: str  # of the limit
    earlier: int  # earlier versions
    state: str
    end: str  # when and how it ends


class Person(NamedTuple):
    """One person's series, as named by the ledger."""

    member: str
    series: tuple[str, ...]  # first of them
    many: int
    claimed: str  # of the person's limit

    @property
    def more(self) -> str:
        """The text that follows the listed series if there are more."""
        return ", ..." if self.many > len(self.series) else ""


class Answers(NamedTuple):
    """The answers other than the verdict; texts may contain any name in the ledger, so a page must escape them."""

    promises: tuple[tuple[str, int], ...]  # guarantees in words and how many series have each now, most first
    further: int  # guarantees that are not listed
    unknown: int  # series with terms unknown to this audit
    closed: int  # series
    used: tuple[UsedUp, ...]  # largest used share first
    separator: str  # ends person names; "" if none named
    people: tuple[Person, ...]
    members: int
    alone: int  # series of no person, if the ledger has persons


def answers_of(followed: Iterable[Series], members: Members, lifetime_nano: int | None) -> Answers:
    """Return the answers about all series; ``lifetime_nano`` is the bound over all versions, if given."""
    promises: Counter[str] = Counter()
    words: dict[tuple[object, ...], str] = {}
    shares: list[tuple[UsedBudget, Series]] = []
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
            words[alike] = promise.in_words(parameters(series), "", known)
        promises[words[alike]] += 1
        spent = series.guarantee
        shares.append((UsedBudget(series.name, series.version, spent.period_nano, spent.budget_nano), series))
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
    """Return the text for the person the series belongs to, or "" if this audit does not know the terms."""
    if series.books is None:
        return ""
    known = circumstances(series, members, lifetime_nano)
    rules, end = parameters(series), _end(series, _standing(series))
    together_nano = series.guarantee.closed_nano + promise.epsilon_nano_of(rules)
    versions = [_before(series, promise.changes(rules) * together_nano)]
    if not series.closed:
        versions.append(later(together_nano, known, rules))
    told = " ".join(filter(None, versions))
    return for_the_person(rules, quoted(series.name), known, series.guarantee.period_nano, end, told)


def parameters(series: Series) -> Mapping[str, Any]:
    """Return the parameters of the series' current policy, except its landmarks."""
    assert series.books is not None, "the terms of the version must be known"
    terms = series.books.terms
    return {**terms.lasting, "renew": terms.renew}


def circumstances(series: Series, members: Members, lifetime_nano: int | None) -> promise.Circumstances:
    """Return what a policy's paragraph needs besides its parameters: the bounds and current landmarks."""
    spent, books = series.guarantee, series.books
    assert books is not None, "the terms of the version must be known"
    bounds = [nano for nano in (spent.claim_nano, lifetime_nano) if nano is not None]
    member = members.known.get(members.member_of(series.name))
    return promise.Circumstances(
        lifetime_nano=min(bounds) if bounds else None,
        first_nano=spent.first_budget_nano,
        cap_nano=None if member is None else member.cap_nano,
        landmarks=books.landmarks.total,
        dummies=promise.DRAWN if books.fixed else "",
    )


def _standing(series: Series) -> VersionStanding:
    return version_of(series, series.version, 0, rules=not series.closed)


def _before(series: Series, together_nano: int) -> str:
    """Return a sentence on the loss if accounts also differ under earlier versions, or "" if they published nothing."""
    closed_nano, books = series.guarantee.closed_nano, series.books
    if not closed_nano or books is None:
        return ""
    began = moment_in_words(min(books.floor_ms, MAX_TIMESTAMP))  # a step may end in the year 10000
    return (
        f"This covers differences from {began} on. Earlier differences fall under earlier guarantees, which used "
        f"epsilon {amount(closed_nano)}. For accounts that differ under each guarantee only as it describes, all "
        f"guarantees together cost at most epsilon {amount(together_nano)}. Other differences cost more."
    )


def _used(series: Series) -> UsedUp:
    found = _standing(series)
    used, earlier = of_limit(found.used_nano, found.promised_nano), 1 if series.guarantee.closed_nano else 0
    state = "closed" if series.closed else "in force"
    return UsedUp(series.name, found.version, used, earlier, state, _end(series, found))


def _end(series: Series, found: VersionStanding) -> str:
    if series.closed:
        return "It was closed: nothing more is published."
    said = ending(found)
    if found.level == "user" and found.ends_ms is not None:
        return f"The period of its guarantee ends {said}."
    return f"{said[0].upper()}{said[1:]}."


def _person(name: str, series: list[str], members: Members) -> Person:
    member = members.known.get(name)
    claimed = "no limit"
    if member is not None and member.cap_nano is not None:
        claimed = f"{of_limit(member.claims_nano, member.cap_nano)} reserved"
    return Person(name, tuple(sorted(series)[:NAMED]), len(series), claimed)
