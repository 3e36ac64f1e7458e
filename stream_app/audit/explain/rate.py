"""The rate at which Adaptive publishes, in whole billionths; it is a function of released noisy values.

After each publication except a period's first, the distance between its noisy value and the previous one is compared
with the scale of the noise just used. If the scale exceeds the distance, the rate falls; otherwise it rises. Distances
are whole numbers of grid cells, so no comparison is rounded.
"""

from collections.abc import Iterable, Mapping
from fractions import Fraction
from math import floor
from typing import Any, assert_never

from stream_app.audit.books.terms import NANO, Terms
from stream_app.audit.form import points
from stream_app.audit.form.lattice import decimal_of
from stream_app.audit.releases import points_under


class RateError(ValueError):
    """Raised for a noisy value that is outside the policy's grid or determines no rate."""


Measured = tuple[object, int]  # a noisy value and the number of its items


def rate_of(terms: Terms, scheme: Mapping[str, Any], published: Iterable[tuple[object, int, points.Count]]) -> int:
    """Return the rate to use after a period's publications, each given with its noisy value, spend and count.

    The count is the number of items that a mean covers or the number of units, if that number is public. `scheme`
    contains the policy's parameters for Adaptive. Raises `RateError`.
    """
    increase, decrease, minimum = (
        floor(decimal_of(scheme.get(name, default)) * NANO)
        for name, default in (("increase", 0.5), ("decrease", 0.5), ("minimum", 0.1))
    )
    rate, before, space = NANO, None, points_under(terms).space
    for measurement, epsilon_nano, count in published:
        now = measurement, max(1, count) if isinstance(count, int) and terms.divides else 1
        if before is not None:
            still = _still(space, terms, before, now, epsilon_nano)
            moved = rate * (NANO - decrease) // NANO if still else rate + (NANO - rate) * increase // NANO
            rate = max(moved, minimum)
        before = now
    return rate


def _still(space: points.Space, terms: Terms, former: Measured, latter: Measured, epsilon_nano: int) -> bool:
    """Return whether the noise scale exceeds the distance between two noisy values."""
    (before, once), (measurement, items) = former, latter
    scale = terms.scale_nano / (epsilon_nano * items)
    match space:
        case points.Numbers(line):
            return scale > abs(_cell(line, measurement) - _cell(line, before)) / line.per_unit
        case points.Means() | points.UnitShares():
            change = _place(space.of(items), measurement) - _place(space.of(once), before)
            return scale > abs(change)
        case points.Parts(lines):
            # The change of each part relative to its range; the scales of all parts together are d*d/e.
            moved = sum(
                abs(_cell(line, _part(measurement, name)) - _cell(line, _part(before, name)))
                / Fraction(line.high - line.low)
                for name, line in lines.items()
            )
            return Fraction(len(lines) ** 2 * NANO, epsilon_nano) > moved
        case points.Quotients() | points.Profile():
            raise RateError("a mean with two measurements has no publishing rate")
        case points.Bars(bins):
            pairs = zip(_bars(measurement, bins), _bars(before, bins), strict=True)
            bars: int = sum(abs(bar - former) for bar, former in pairs)
            return bins * scale > bars
        case points.Counts(keys):
            counted: int = sum(abs(_part(measurement, key) - _part(before, key)) for key in keys)
            return len(keys) * scale > counted
        case points.Positions(lines):
            cells = [
                _cell(line, _part(measurement, name)) - _cell(line, _part(before, name))
                for line, name in zip(lines, ("latitude", "longitude"), strict=True)
            ]
            resolution = decimal_of(terms.value["resolution"])
            return scale**2 > sum(cell * cell for cell in cells) * resolution**2
        case points.Categories():
            # Compare the texts, because 1 and true are equal in Python.
            return scale > int(repr(before) != repr(measurement))
        case _:
            assert_never(space)


def _cell(line: points.Line, published: object) -> Fraction:
    cell = line.cell(published) if type(published) is float else None
    if cell is None:
        raise RateError("a measurement is not on this policy's value grid")
    return Fraction(cell)


def _place(line: points.Line, published: object) -> Fraction:
    return _cell(line, published) / line.per_unit


def _bars(published: object, bins: int) -> list[Any]:
    if not isinstance(published, list) or len(published) != bins:
        raise RateError("a measurement is not a histogram with this policy's edges")
    return published


def _part(published: object, name: str) -> Any:
    if not isinstance(published, dict) or name not in published:
        raise RateError("a measurement is not on this policy's value grid")
    return published[name]
