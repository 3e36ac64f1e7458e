"""Several named numbers that are measured at one moment."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Final, Self, final

from stream_app.audit.form.domains import DOUBLE, Domain, fault_in, is_text, needed
from stream_app.audit.form.grid import decimal_of, grid_fault
from stream_app.audit.kinds.kind import COMMON, ValueKind
from stream_app.audit.kinds.number import RANGE, width_of
from stream_app.audit.kinds.space import Count, Line, Measured, Space, all_moved, line_of, part_of

MOST_PARTS: Final = 64  # per vector


@dataclass(frozen=True, slots=True)
class Parts(Space):
    """Several numbers in the order of their names, each on its own grid."""

    lines: Mapping[str, Line]

    def estimate(self, published: object, _count: Count, *, clamps: bool) -> dict[str, float] | None:
        """Return the parts, each clamped if required."""
        return all_moved(self.lines, published, clamps=clamps)

    def still(self, former: Measured, latter: Measured, scale: Fraction) -> bool:
        """Return whether the scales of all parts together exceed the changes, each relative to its part's range."""
        moved = sum(
            Fraction(line.cells_between(part_of(former[0], name), part_of(latter[0], name)), line.high - line.low)
            for name, line in self.lines.items()
        )
        return len(self.lines) ** 2 * scale > moved


@final
class Vector(ValueKind):
    """The kind vector."""

    __slots__ = ()

    members: ClassVar = {
        "parts": needed(
            Domain(
                lambda found: isinstance(found, dict) and 1 <= len(found) <= MOST_PARTS and all(map(is_text, found)),
                f"an object of 1 to {MOST_PARTS} parts, whose names are strings of 1 to 200 characters",
            )
        ),
        **COMMON,
    }
    has_filter: ClassVar = True
    are_all_neighbours: ClassVar = True

    def fault(self) -> str:
        """Return a fault in one of the parts."""
        for name, part in self.value["parts"].items():
            where = f"value.parts.{name}"
            fault = fault_in(where, part, RANGE) if isinstance(part, dict) else f"{where} is not an object"
            fault = fault or grid_fault(part)
            if fault:
                return fault
        return ""

    def holds(self, found: object) -> bool:
        """Return whether this is an object with a number for each part."""
        return (
            isinstance(found, dict)
            and found.keys() == self.value["parts"].keys()
            and all(map(DOUBLE.fits, found.values()))
        )

    def narrower(self, _former: Self) -> list[str]:
        """Return nothing: any two vectors are neighbours, and other names would make all former vectors invalid."""
        return []

    @property
    def scale(self) -> Fraction:
        """1: each part has a scale of its own."""
        return Fraction(1)

    @property
    def scales(self) -> Mapping[str, Fraction]:
        """The noise scale of each part; all parts have the same share of the spend."""
        parts = self.value["parts"]
        return {
            name: len(parts) * width_of(parts[name]) * decimal_of(parts[name]["resolution"]) for name in sorted(parts)
        }

    @property
    def space(self) -> Space:
        """The grids of the parts."""
        return Parts({name: line_of(self.value["parts"][name]) for name in sorted(self.value["parts"])})

    def effect(self, scale: float, _spend_nano: int) -> str:
        """Raise an error: a release names the scale of each part."""
        raise AssertionError(f"a vector has no single scale, such as {scale}")
