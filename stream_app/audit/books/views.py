"""Views: further series of one person's readings, with the same landmarks as their base series.

The budgets of a base and its views add up for histories that differ on the landmarks and on one event. So they must
protect the same units, and a base's landmark must be a landmark in every view. All versions up to the end are compared:
a base and a view may register a landmark in either order, and the check does not rely on any order between chains.

The sums of a view's chain apply to the view's own landmarks and events. If a view spent budget on something that
its base protects differently, no sum counts that spend as the base's guarantee requires. So these two findings mean a
violated guarantee, not an integrity error. A landmark that only the view has was not guaranteed to anyone, and extra
landmarks only make the view's sums larger.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

from stream_app.audit.books.landmarks import NO_LANDMARKS, LandmarkSet
from stream_app.audit.books.period import Books
from stream_app.audit.books.terms import Terms
from stream_app.audit.books.units import Grid
from stream_app.audit.finding import Code

Fault = tuple[Code, str]  # a finding's code and its sentence


class EarlierProtection(NamedTuple):
    """What a series' earlier versions protected."""

    landmarks: LandmarkSet = NO_LANDMARKS  # of the ended versions, numbered by `placed`
    alike: bool = True  # whether all versions protect the same units
    weaker: bool = False  # whether a version gave up landmarks

    def after(self, before: Books, terms: Terms, *, weaker: bool, view: bool) -> "EarlierProtection":
        """Return a copy that adds an ended version; `before` has its books, and `terms` are the next version's.

        For a view, and for a base that gave up landmarks, only past landmarks are kept: a later version has to name the
        remaining ones.
        """
        ended = placed(before.landmarks, before.terms)
        if weaker or view:
            end = before.next_mark + _shift(before.terms)
            kept = zip(ended.starts, ended.ends, strict=True)
            ended = LandmarkSet().joined((start, min(stop, end)) for start, stop in kept if start < end)
        alike = self.alike and protected(before.terms) == protected(terms)
        return EarlierProtection(_joined(self.landmarks, ended), alike, self.weaker or weaker)


NOTHING_HELD: Final = EarlierProtection()


def protected(terms: Terms) -> tuple[str, int, int, int, int]:
    """Return what a base and its views must share: level, unit, window, length and the units' origin."""
    marks = terms.marks
    return terms.level, marks.length_ms, terms.reach.window, terms.length, marks.origin_ms % marks.length_ms


def placed(landmarks: LandmarkSet, terms: Terms) -> LandmarkSet:
    """Return landmarks numbered on the `_common` grid, which a base and its views share."""
    shift = _shift(terms)
    starts, ends = (tuple(at + shift for at in bounds) for bounds in (landmarks.starts, landmarks.ends))
    return landmarks._replace(starts=starts, ends=ends)


def _shift(terms: Terms) -> int:
    return terms.marks.origin_ms // terms.marks.length_ms + 1


def _common(terms: Terms) -> Grid:
    """Return the grid of a version's landmarks, counted from the last span that begins before 1970."""
    marks = terms.marks
    return Grid(marks.origin_ms % marks.length_ms - marks.length_ms, marks.length_ms)


class Side(NamedTuple):
    """A base or a view at the end of its ledger."""

    series: str
    books: Books
    held: EarlierProtection

    @property
    def landmarks(self) -> LandmarkSet:
        """All landmarks that the series ever had, numbered by `placed`."""
        return _joined(self.held.landmarks, placed(self.books.landmarks, self.books.terms))


def view_faults(view: Side, base: Side, first_ms: int) -> Iterator[Fault]:
    """Yield the faults of a view compared with its base.

    `first_ms` is the first step that the view spent on, or -1 if there is none.
    """
    terms = view.books.terms
    if not (view.held.alike and base.held.alike and protected(terms) == protected(base.books.terms)):
        what = f"protects differently from {base.series!r}, so their budgets do not add up"
        yield "view" if first_ms < 0 else "view-protection", what
        return
    for side in (view, base):
        if side.books.fixed or side.books.terms.neighbours:
            yield (
                "view",
                (f"{side.series!r} has dummies or contributors, but views and series with views cannot have them"),
            )
    if first_ms < 0:
        return
    first, end = _common(terms).covering(first_ms, view.books.end_ms)
    pairs: list[tuple[Code, Side, Side]] = [("view-landmarks", base, view)]
    pairs += [] if base.held.weaker else [("view", view, base)]
    for code, one, other in pairs:
        lacking = one.landmarks.without(other.landmarks)
        count = lacking.total - lacking.count_before(first)
        if count:
            passed = lacking.count_before(end) - lacking.count_before(first)
            what = f"{count} landmarks of {one.series!r} from {first_ms} on are not landmarks of {other.series!r}"
            yield code if passed else "view", what


def _joined(one: LandmarkSet, other: LandmarkSet) -> LandmarkSet:
    if not one.starts or one == other:
        return other
    return one.joined(zip(other.starts, other.ends, strict=True)) if other.starts else one
