"""Whether a policy version protects less together than the one before it (docs/policies.md, "Weaker versions").

Two histories that differ on the landmarks of a version and within one of its windows are told apart by epsilon at
most. A later version that no longer covers some such histories takes that promise back for what is to come. Times
are in ms; the new version begins at the end of the last decided step, rounded up to a step of its own.
"""

from collections.abc import Iterable, Mapping
from fractions import Fraction
from math import ceil, gcd
from typing import Any, Final

from stream_app.audit.books.landmarks import Interval, LandmarkSet
from stream_app.audit.books.period import Books
from stream_app.audit.books.terms import Terms
from stream_app.audit.form.kinds import cells_of
from stream_app.audit.form.lattice import decimal_of, grid_of

_SIDES: Final = (("south", 1), ("west", 1), ("north", -1), ("east", -1))


def losses(before: Books, terms: Terms, end_ms: int) -> list[str]:
    """Return what a new version protects less together, a phrase each; nothing where it is not weaker.

    `before` are the books of the version that ruled, `end_ms` is the end of the last decided step.
    """
    ruling, step = before.terms, terms.step_ms
    begin = ceil(Fraction(end_ms, step)) * step
    own = _spans(terms.landmarks, step)
    if terms.level == "user":
        own = [(begin, begin + terms.length * step)]
    found = []
    missing = _outside(coming(before, begin), own)
    if missing:
        found.append(f"landmarks to come are given up, the first from {missing[0]} on")
    reach, former = _window(terms) * step, _window(ruling) * ruling.step_ms
    if reach - (step - gcd(step, ruling.step_ms)) < former:
        found.append(f"windows of {former} ms become windows of {reach} ms")
    if ruling.level == "user":
        first = begin if before.first_step is None else before.first_step * ruling.step_ms
        end = first + ruling.length * ruling.step_ms
        if end > begin and _outside([(begin, end)], own):
            found.append(f"the level user, which was to last until {end}, is given up")
    found += _narrower(ruling, terms)
    return found


def coming(before: Books, begin_ms: int) -> list[Interval]:
    """Return the part of a version's landmarks that lies at or after `begin_ms`, in ms."""
    spans = _spans(before.landmarks, before.terms.step_ms)
    return [(max(start, begin_ms), end) for start, end in spans if end > begin_ms]


def carried_into(before: Books, terms: Terms, end_ms: int) -> LandmarkSet:
    """Return the coming landmarks of the version before, in steps of the new one: its drawn landmarks may hold them."""
    step = terms.step_ms
    begin = ceil(Fraction(end_ms, step)) * step
    return LandmarkSet().joined((start // step, -(-end // step)) for start, end in coming(before, begin))


def renews(before: Books, terms: Terms, end_ms: int) -> bool:
    """Tell whether a version is the renewal of the one before: the same over what is to come, after one bound or more.

    One that an operator sent and that says just this is that renewal, too.
    """
    ruling = before.terms
    passed = len(ruling.renew) - len(terms.renew)
    return (
        passed > 0
        and terms.version == ruling.version + 1
        and terms.renew == ruling.renew[passed:]
        and terms.lasting == ruling.lasting
        and terms.landmarks == carried_into(before, terms, end_ms)
    )


def _window(terms: Terms) -> int:
    return terms.frame.steps if terms.frame is not None else 1


def _spans(landmarks: LandmarkSet, step_ms: int) -> list[Interval]:
    return [(start * step_ms, end * step_ms) for start, end in zip(landmarks.starts, landmarks.ends, strict=True)]


def _outside(wanted: Iterable[Interval], own: Iterable[Interval]) -> list[int]:
    """Return the first uncovered place of each wanted span that is not all covered; both ascend and are disjoint."""
    found = []
    covers = iter(own)
    cover = next(covers, None)
    for start, end in wanted:
        at = start
        while cover is not None and at < end:
            if cover[1] <= at:
                cover = next(covers, None)
            elif cover[0] <= at:
                at = cover[1]
            else:
                break
        if at < end:
            found.append(at)
    return found


def _narrower(ruling: Terms, terms: Terms) -> list[str]:
    """Return which values, substitutes or items are neighbours no more, a phrase each."""
    old, new = ruling.value, terms.value
    if old["kind"] != new["kind"]:
        return [f"kind {old['kind']} becomes kind {new['kind']}"]
    found = []
    if new["kind"] == "number" and not _is_whole(new):
        same = all(decimal_of(old[name]) == decimal_of(new[name]) for name in ("lower", "upper", "resolution"))
        if not same or cells_of(new) < cells_of(old):
            found.append("fewer numbers are neighbours")
    if new["kind"] == "counts" and terms.scale_nano < ruling.scale_nano:
        found.append("the sensitivity of counts shrinks")
    found += _dropped(old, new)
    if new["kind"] == "location":
        shrunk = any(sign * (new["bounds"][side] - old["bounds"][side]) > 0 for side, sign in _SIDES)
        if shrunk or terms.scale_nano < ruling.scale_nano:
            found.append("radius or bounds shrink")
    hidden = _substitutes(old) and not _substitutes(new)
    if hidden and (new["kind"] in ("category", "vector") or (new["kind"] == "number" and _is_whole(new))):
        found.append("invalid values are told")
    if ruling.neighbours != terms.neighbours:
        found.append("what is collected is protected otherwise")
    return found + _told(ruling, terms)


def _told(ruling: Terms, terms: Terms) -> list[str]:
    """Return a phrase for what was kept from whoever sees less, or more, than the releases."""
    found = []
    if ruling.hides_absence and not terms.hides_absence:
        found.append("steps without a reading are told")
    if ruling.intrusion_nano and not 0 < terms.intrusion_nano <= ruling.intrusion_nano:
        found.append("a look at the memory tells more")
    return found


def _dropped(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """Return a phrase where keys, items, or categories without a substitute became invalid."""
    name = {"counts": "keys", "choice": "items"}.get(new["kind"], "categories")
    known = set(new.get(name, ()))
    hidden = name == "categories" and _substitutes(new)
    gone = [] if hidden else [each for each in old.get(name, ()) if each not in known]
    return [f"{name} become invalid, which is told, the first of them {gone[0]!r}"] if gone else []


def _is_whole(value: Mapping[str, Any]) -> bool:
    low, high = grid_of(value)
    return cells_of(value) >= high - low


def _substitutes(value: Mapping[str, Any]) -> bool:
    """Tell whether invalid values have a substitute; a category named "reject" cannot be one."""
    return "invalid" in value and value["invalid"] != "reject"
