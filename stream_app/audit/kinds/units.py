"""The statistics of a step's units: what a unit changes, and the values of releases."""

from dataclasses import dataclass
from fractions import Fraction

from stream_app.audit.form.grid import Members, decimal_of
from stream_app.audit.kinds.counts import CountsByKey
from stream_app.audit.kinds.number import Means, Numbers, width_of
from stream_app.audit.kinds.space import (
    Count,
    Line,
    Measured,
    Points,
    RateError,
    Space,
    all_moved,
    counts_moved,
    line_of,
)


@dataclass(frozen=True, slots=True)
class UnitShares(Space):
    """Shares of a public number of units."""

    @staticmethod
    def of(count: int) -> Line:
        """Return the line of shares of `count` units."""
        return Line(Fraction(max(1, count)), 0, max(1, count))

    def estimate(self, published: object, count: Count, *, clamps: bool) -> float | None:
        """Return the share, from 0 to 1 if clamped."""
        return self.of(count).moved(published, clamps=clamps) if isinstance(count, int) else None

    def still(self, former: Measured, latter: Measured, scale: Fraction) -> bool:
        """Return whether the scale exceeds the distance of two shares, whose units may differ in number."""
        (before, once), (now, units) = former, latter
        return scale > abs(self.of(units).place(now) - self.of(once).place(before))


@dataclass(frozen=True, slots=True)
class Bars(Space):
    """A whole number for each of `bins` bins, in order."""

    bins: int

    def estimate(self, published: object, _count: Count, *, clamps: bool) -> list[int] | None:
        """Return the bars, at least 0 if clamped."""
        return counts_moved(self.bins, published, clamps=clamps)

    def still(self, former: Measured, latter: Measured, scale: Fraction) -> bool:
        """Return whether the scales of all bars together exceed the L1 distance of two histograms."""
        before, now = former[0], latter[0]
        if not (isinstance(before, list) and isinstance(now, list) and len(before) == len(now) == self.bins):
            raise RateError("a measurement is not a histogram with this policy's edges")
        bars: int = sum(abs(bar - once) for bar, once in zip(now, before, strict=True))
        return self.bins * scale > bars


@dataclass(frozen=True, slots=True)
class Profile(Space):
    """A sum or a mean for each bin of local time that has a unit."""

    each: Numbers | Means

    def estimate(self, published: object, count: Count, *, clamps: bool) -> dict[str, float] | None:
        """Return the statistic of each bin that the count names, clamped if required."""
        each = self.each
        units = count if isinstance(count, dict) else {}
        lines = {name: each.line if isinstance(each, Numbers) else each.of(units[name]) for name in units}
        return all_moved(lines, published, clamps=clamps)

    def still(self, _former: Measured, _latter: Measured, _scale: Fraction) -> bool:
        """Raise `RateError`."""
        raise RateError("a step with several means has no publishing rate")


def unit_points(value: Members, *, filtered: bool) -> Points:
    """Return the points of a unit statistic, given the checked `value` of its policy."""
    clamped, space = value.get("clamp", True), _space_of(value)
    if isinstance(space, Numbers) or (isinstance(space, Profile) and isinstance(space.each, Numbers)):
        clamped = False  # the range applies to a unit
    return Points(space, clamped, filtered)


def _space_of(value: Members) -> Space:
    match value["statistic"]:
        case "share":
            return UnitShares()
        case "histogram" if value["kind"] == "category":
            names = (str(each).lower() if isinstance(each, bool) else each for each in value["categories"])
            return CountsByKey(tuple(names))
        case "histogram":
            return Bars(len(value["edges"]) + 1)
        case statistic:
            each = Numbers(line_of(value)) if statistic == "sum" else Means(line_of(value))
            return each if value.get("by") is None else Profile(each)


def unit_scale(value: Members) -> Fraction:
    """Return a unit's total effect on a statistic: a unit that moves leaves one bin and enters another."""
    match value["statistic"]:
        case "histogram":
            return Fraction(2)
        case "share":
            return Fraction(1)
        case _:
            return width_of(value) * decimal_of(value["resolution"])
