"""Checks whether a policy version's joint protection is weaker than that of the previous one.

See docs/policies.md, "Weaker versions". Two histories that differ on the landmarks of a version and within one of its
windows can be distinguished by at most epsilon. A later version that no longer covers some of these histories withdraws
that guarantee for the future. If there are units, landmarks and windows consist of units. Times are in ms. The new
version begins at the end of the last processed step, rounded up to the next start of one of its own steps.
"""

from collections.abc import Iterable
from math import gcd

from stream_app.audit.books.landmarks import Interval, LandmarkSet
from stream_app.audit.books.period import Books
from stream_app.audit.books.terms import Terms
from stream_app.audit.books.window import EarlierSpends


def losses(before: Books, terms: Terms, end_ms: int) -> list[str]:
    """Return phrases that say how a new version's joint protection is weaker; the list is empty if it is no weaker.

    `before` contains the books of the previous version, and `end_ms` is the end of the last processed step.
    """
    ruling = before.terms
    begin = _begin(terms, end_ms)
    own = _spans(terms)
    if terms.level == "user":
        own = [(begin, begin + terms.length * terms.step_ms)]
    found = []
    missing = _outside(coming(before, begin), own)
    if missing:
        found.append(f"future landmarks are dropped, the first at {missing[0]}")
    reach, former = terms.reach.length_ms, ruling.reach.length_ms
    common = gcd(terms.marks.length_ms, ruling.marks.length_ms)
    shift = (ruling.marks.origin_ms - terms.marks.origin_ms) % common
    if reach < former + terms.marks.length_ms - common + shift:
        found.append(f"windows of {former} ms become windows of {reach} ms")
        if reach >= former:
            found[-1] += ", which begin at other times"
    if ruling.level == "user":
        first = begin if before.first_step is None else ruling.steps.start(before.first_step)
        end = first + ruling.length * ruling.step_ms
        if end > begin and _outside([(begin, end)], own):
            found.append(f"level user is dropped before its planned end at {end}")
    found += _narrower(ruling, terms)
    return found


def coming(before: Books, begin_ms: int) -> list[Interval]:
    """Return the part of a version's landmarks at or after `begin_ms`, in ms."""
    return [(max(start, begin_ms), end) for start, end in _spans(before.terms, before.landmarks) if end > begin_ms]


def carried_into(before: Books, terms: Terms, end_ms: int) -> LandmarkSet:
    """Return the previous version's remaining landmarks on the new grid; drawn landmarks may include them."""
    return LandmarkSet().joined(terms.marks.covering(*span) for span in coming(before, _begin(terms, end_ms)))


def renews(before: Books, terms: Terms, end_ms: int) -> bool:
    """Return whether a version renews the previous one: some bounds have passed, and the remaining terms are the same.

    An operator's version with exactly this content is also a renewal.
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


def waiting(left: EarlierSpends, before: Books, terms: Terms) -> tuple[EarlierSpends, int]:
    """Return the spends up to `before` that limit later windows, and the time (in ms) from which `terms` may spend.

    Without units in either version, no window of one version contains spends of the other. If either has units, windows
    of both versions must fit between their spends, and a step counts as a unit. Equal windows of equal units on one
    grid jointly protect the same things, so the spends of both versions count as those of a single version.
    """
    if before.terms.units is None and terms.units is None:
        spends = _earlier_spends(left, before, terms)
        return spends, spends.opens_ms(terms.reach)
    end_ms = _spent_until(left, before)
    reach_ms = end_ms + before.terms.reach.length_ms if end_ms else 0
    spends = EarlierSpends(end_ms or left.end_ms, max(left.reach_ms, reach_ms), units=True)
    return spends, before.opens_ms if terms.reach == before.terms.reach else spends.clears_ms(terms.reach)


def _spent_until(left: EarlierSpends, before: Books) -> int:
    """Return the end of the last step that spent, or may have spent, epsilon, or 0 if there is no such step."""
    if before.window is not None:
        return before.window.leave(EarlierSpends()).end_ms
    if before.source_ms is not None:
        return before.source_ms + before.terms.step_ms
    return 0 if left.end_ms or left.reach_ms or before.terms.units is not None else before.end_ms


def _earlier_spends(left: EarlierSpends, before: Books, terms: Terms) -> EarlierSpends:
    """Return the earlier spends if no version has units.

    If no earlier version had windows or units, spends are not tracked. After a version without a release, its last
    processed step then counts as the last one with a spend.
    """
    if before.window is not None:
        return before.window.leave(left)._replace(units=left.units)
    if terms.frame is None and not left.end_ms:
        return left
    if before.source_ms is not None:
        return left._replace(end_ms=before.source_ms + before.terms.step_ms)
    return left if left.end_ms else left._replace(end_ms=before.end_ms)


def _begin(terms: Terms, end_ms: int) -> int:
    """Return the start of a version's first possible step after `end_ms`, or 0 if nothing was processed."""
    return terms.steps.start(terms.steps.covering(end_ms, end_ms)[1]) if end_ms else 0


def _spans(terms: Terms, landmarks: LandmarkSet | None = None) -> list[Interval]:
    """Return landmarks in ms: the terms' own landmarks, or the given ones on the terms' grid."""
    start, found = terms.marks.start, terms.landmarks if landmarks is None else landmarks
    return [(start(first), start(end)) for first, end in zip(found.starts, found.ends, strict=True)]


def _outside(wanted: Iterable[Interval], own: Iterable[Interval]) -> list[int]:
    """Return the first uncovered position of each wanted span that is not fully covered.

    Both arguments are ascending and disjoint.
    """
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
    old, new = ruling.kind, terms.kind
    if type(old) is not type(new):
        return [f"kind {old.value['kind']} becomes kind {new.value['kind']}"]
    found = new.narrower(old)
    if old.substitutes and not new.substitutes and new.are_all_neighbours:
        found.append("invalid values are revealed")
    if ruling.neighbours != terms.neighbours:
        found.append("collected data are protected differently")
    return found + _told(ruling, terms)


def _told(ruling: Terms, terms: Terms) -> list[str]:
    found = []
    if ruling.hides_absence and not terms.hides_absence:
        found.append("steps without a reading become visible")
    if ruling.intrusion_nano and not 0 < terms.intrusion_nano <= ruling.intrusion_nano:
        found.append("an intrusion reveals more")
    return found
