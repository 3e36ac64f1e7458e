"""The rate at which Adaptive publishes: a function of released measurements, kept in whole billionths.

After each publication but a period's first, the distance of its measurement from the one before is compared with the
scale of the noise just used: above the distance the rate falls, else it rises. Distances are whole numbers of grid
cells, so no comparison is rounded.
"""

from collections.abc import Mapping
from fractions import Fraction
from math import floor
from typing import Any, Final, assert_never

from stream_app.audit.books.terms import NANO, Terms
from stream_app.audit.form.lattice import decimal_of
from stream_app.audit.form.points import Categories, Counts, Line, Means, Numbers, Parts, Positions, Quotients
from stream_app.audit.releases import points_under


class RateError(ValueError):
    """A measurement that is no value of the policy's grid."""


class Rate:
    """The rate of one period, publication by publication."""

    def __init__(self, terms: Terms, scheme: Mapping[str, Any]) -> None:
        """Begin at 1; `scheme` holds the policy's parameters of Adaptive."""
        self.nano = NANO
        self._terms = terms
        self._space: Final = points_under(terms).space
        self._increase, self._decrease, self._minimum = (
            floor(decimal_of(scheme.get(name, default)) * NANO)
            for name, default in (("increase", 0.5), ("decrease", 0.5), ("minimum", 0.1))
        )
        self._last: tuple[object, int] | None = None

    def publish(self, measurement: object, epsilon_nano: int, count: int | None = None) -> None:
        """Move on past a publication; raises `RateError` for a measurement that the policy cannot have.

        `count` are the items of a mean whose number of items is public.
        """
        items = max(1, count or 1)
        before, self._last = self._last, (measurement, items)
        if before is None:
            return
        if self._still(before, (measurement, items), epsilon_nano):
            moved = self.nano * (NANO - self._decrease) // NANO
        else:
            moved = self.nano + (NANO - self.nano) * self._increase // NANO
        self.nano = max(moved, self._minimum)

    def _still(self, former: tuple[object, int], latter: tuple[object, int], epsilon_nano: int) -> bool:
        """Tell whether the noise scale exceeds the distance of two measurements, each with its number of items."""
        space = self._space
        (before, once), (measurement, items) = former, latter
        scale = self._terms.scale_nano / (epsilon_nano * items)
        match space:
            case Numbers(line):
                return scale > abs(_cell(line, measurement) - _cell(line, before)) / line.per_unit
            case Means(line):
                change = _cell(space.of(items), measurement) / items - _cell(space.of(once), before) / once
                return scale > abs(change) / line.per_unit
            case Parts(lines):
                # Each part moved by its share of its range; the scales of all parts together are d*d/e of them.
                moved = sum(
                    abs(_cell(line, _part(measurement, name)) - _cell(line, _part(before, name)))
                    / Fraction(line.high - line.low)
                    for name, line in lines.items()
                )
                return Fraction(len(lines) ** 2 * NANO, epsilon_nano) > moved
            case Quotients():
                raise RateError("two measurements of a mean have no rate")
            case Counts(keys):
                counted: int = sum(abs(_part(measurement, key) - _part(before, key)) for key in keys)
                return len(keys) * scale > counted
            case Positions(lines):
                cells = [
                    _cell(line, _part(measurement, name)) - _cell(line, _part(before, name))
                    for line, name in zip(lines, ("latitude", "longitude"), strict=True)
                ]
                resolution = decimal_of(self._terms.value["resolution"])
                return scale**2 > sum(cell * cell for cell in cells) * resolution**2
            case Categories():
                # By their text: to Python, 1 and true are equal.
                return scale > int(repr(before) != repr(measurement))
            case _:
                assert_never(space)


def _cell(line: Line, published: object) -> Fraction:
    cell = line.cell(published) if type(published) is float else None
    if cell is None:
        raise RateError("a measurement is no value of this policy's grid")
    return Fraction(cell)


def _part(published: object, name: str) -> Any:
    if not isinstance(published, dict) or name not in published:
        raise RateError("a measurement is no value of this policy's grid")
    return published[name]
