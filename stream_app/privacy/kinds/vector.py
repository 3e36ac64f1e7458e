"""Several bounded numbers measured at once, each under the discrete Laplace mechanism (Ghosh et al., STOC 2009).

Neighbours may differ in all parts of a vector. Each of the d parts is published with loss e/d, so the whole vector has
loss e (sequential composition: Dwork and Roth 2014, theorem 3.16).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import fsum
from statistics import median
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field, StrictBool

from stream_app.privacy.kinds.default import Columns, ItemKind, Model
from stream_app.privacy.kinds.form import Double, Form, KindFault, RangeForm, Text, grid_of
from stream_app.privacy.kinds.number import NUMBER_WIDTH, Number
from stream_app.privacy.noise.law import mean_noise
from stream_app.privacy.noise.moments import Noise
from stream_app.privacy.noise.randomness import BitStream
from stream_app.privacy.values import NANO, LevelState, Raw, RawCells, ReleasedCells

MOST_PARTS = 64
"""The maximum number of parts in a vector; each part then gets a 64th of the budget."""


class VectorForm(Form):
    """The form of the value kind vector."""

    kind: Literal["vector"]
    parts: Annotated[dict[Text, RangeForm], Field(min_length=1, max_length=MOST_PARTS)]
    clamp: StrictBool = True
    invalid: dict[str, Double] | Literal["reject"] = "reject"

    def declared(self) -> "Vector | KindFault":
        """Return the kind, or the fault of a part's grid."""
        # Sorted by name: members of a JSON object have no order, and rewriting a record may move them.
        names = tuple(sorted(self.parts))
        parts: list[Number] = []
        for name in names:
            part = self.parts[name]
            axis = grid_of(part)
            if isinstance(axis, KindFault):
                return KindFault(f"parts.{name}.{axis.member}", axis.message)
            sensitivity = len(names) * (axis.high - axis.low)
            parts.append(Number(axis, sensitivity, float(part.lower), float(part.upper), self.clamp))
        return Vector(names, tuple(parts), self.clamp)


@dataclass(frozen=True, slots=True)
class Vector(ItemKind):
    """Named numbers in the order of their names; cells, noise and published values follow that order.

    Each of d parts is a number whose sensitivity is d times its range, so it gets the noise of e/d if the vector costs
    e.
    """

    names: tuple[str, ...]
    parts: tuple[Number, ...]
    clamped: bool = True
    substitute: RawCells | None = None
    error_unit: ClassVar[str] = "as a share of a part's range"
    excess: ClassVar[str] = "{scale} times the range of each part"
    span: ClassVar[float] = 1.0  # errors are shares of the range
    takes_substitute: ClassVar[bool] = True  # any two vectors are neighbours

    def quantise(self, raw: Raw) -> RawCells | None:
        """Return the cells of all parts, each clamped to its range; if the value is invalid, the substitute or None."""
        table = isinstance(raw, dict) and len(raw) == len(self.names)
        found = raw if isinstance(raw, dict) and table else {}
        # PRIVACY: all parts are read, whatever the first ones contained, and a value that is not a number takes as long
        # as a number.
        read = [part.quantise(Raw(found.get(name))) for name, part in zip(self.names, self.parts, strict=True)]
        fit = sum([cell is not None for cell in read])
        cells = RawCells(tuple([0 if cell is None else cell[0] for cell in read]))
        return cells if fit == len(read) else self.substitute

    def perturb(self, stream: BitStream, cells: RawCells, spend_nano: int) -> ReleasedCells:
        """Return every part plus discrete Laplace noise of rate ``e / (d * D)``; the loss is at most ``spend_nano``."""
        # PRIVACY: neighbours differ by at most D cells in each of d parts. Each part is published with loss at most
        # e/d, with its own noise from the shared stream, so all parts together lose at most e.
        noisy = [part.perturb(stream, RawCells((cell,)), spend_nano) for part, cell in self._each(cells)]
        return ReleasedCells(tuple(cell for (cell,) in noisy))

    def scale(self, spend_nano: int) -> dict[str, float]:
        """Return the noise scale of each part, ``d * D * resolution / e`` in the part's unit."""
        return {name: part.scale(spend_nano) for name, part in zip(self.names, self.parts, strict=True)}

    def still(self, previous: ReleasedCells, current: ReleasedCells, spend_nano: int) -> bool:
        """Return whether ``d * d / e`` exceeds the sum of the parts' distances, each divided by the part's range."""
        changes = zip(self.parts, previous, current, strict=True)
        change = sum((Fraction(abs(new - old), part.sensitivity) for part, old, new in changes), Fraction(0))
        return change * spend_nano < len(self.parts) * NANO  # both divided by d: a sensitivity is d ranges

    def clamp(self, cells: ReleasedCells) -> ReleasedCells:
        """Return an estimate with each part within its range (unless ``clamp`` is false)."""
        return ReleasedCells(tuple(part.clamp(ReleasedCells((cell,)))[0] for part, cell in self._each(cells)))

    def publish(self, cells: ReleasedCells) -> dict[str, float]:
        """Return the numbers by name."""
        return {name: part.axis.double(cell) for name, (part, cell) in zip(self.names, self._each(cells), strict=True)}

    def read(self, published: object, _count: object = None) -> ReleasedCells:
        """Read a vector from a release and return its cells."""
        if not isinstance(published, Mapping):
            raise TypeError(f"a vector release must contain an object, but found {type(published).__name__}")
        parts = zip(self.names, self.parts, strict=True)
        return ReleasedCells(tuple(part.read(published[name])[0] for name, part in parts))

    def _each(self, cells: tuple[int, ...]) -> list[tuple[Number, int]]:
        return list(zip(self.parts, cells, strict=True))

    # The filter's state: that of each part, laid out as for a number.

    def filtered(
        self, state: LevelState, cells: ReleasedCells, spend_nano: int, k: float
    ) -> tuple[LevelState, ReleasedCells]:
        """Return the filter's state and the estimate after a noisy value, ``k`` steps after the previous state."""
        states: list[float] = []
        estimates: list[int] = []
        for nth, (part, cell) in enumerate(self._each(cells)):
            of = state[nth * NUMBER_WIDTH : (nth + 1) * NUMBER_WIDTH]
            new, (estimate,) = part.filtered(of, ReleasedCells((cell,)), spend_nano, k)
            states += new
            estimates.append(estimate)
        return tuple(states), ReleasedCells(tuple(estimates))

    def drifted(self, state: LevelState, k: float) -> LevelState:
        """Return the filter's state ``k`` steps after the previous one, without a noisy value."""
        places = zip(self.parts, range(0, len(state), NUMBER_WIDTH), strict=True)
        return tuple(m for part, at in places for m in part.drifted(state[at : at + NUMBER_WIDTH], k))

    @property
    def models(self) -> dict[str, Model]:
        """Return the smoothing model of each part, by name."""
        return {name: part.models[""] for name, part in zip(self.names, self.parts, strict=True)}

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the names."""
        return self.names

    def expected_scale(self, spend_nano: int) -> float:
        """Return the noise scale as a share of a part's range, which is equal for all parts."""
        return len(self.parts) * NANO / spend_nano

    def distances(self, differences: Columns) -> Columns:
        """Return, for each row, the sum of the differences, each divided by its part's sensitivity."""
        found: Columns = np.sum(np.abs(differences) / [part.sensitivity for part in self.parts], axis=1)
        return found

    @property
    def identity(self) -> tuple[str, ...]:
        """Return every parameter of the mechanism."""
        parts = zip(self.names, self.parts, strict=True)
        return ("vector", str(len(self.parts)), *(text for name, part in parts for text in (name, *part.identity)))

    @property
    def width(self) -> int:
        """Return the number of cells in a value."""
        return len(self.parts)

    @property
    def largest_change(self) -> dict[str, float]:
        """Return the range of each part by name: the largest distance between neighbours in that part."""
        return dict(zip(self.names, self._ranges, strict=True))

    @property
    def guess(self) -> dict[str, float]:
        """Return the value to assume for suppressed steps: the middle of each range, known from the policy alone."""
        return {name: part.guess for name, part in zip(self.names, self.parts, strict=True)}

    def best_constant(self, raws: Sequence[Any]) -> dict[str, float]:
        """Return the vector with the smallest mean error over ``raws``, known only in hindsight."""
        return {name: median(float(raw[name]) for raw in raws) for name in self.names}

    def error(self, raw: Any, published: Any) -> float:
        """Return the absolute error as a share of the range, averaged over the parts."""
        apart = [abs(raw[name] - published[name]) for name in self.names]
        return fsum(change / span for change, span in zip(apart, self._ranges, strict=True)) / len(self.parts)

    def expected_error(self, spend_nano: int, *_: object) -> float:
        """Return the mean absolute error of a noisy part as a share of its range, averaged over the parts."""
        # A part's sensitivity is its range times the number of parts, so the sum is the mean in shares of ranges.
        return fsum(mean_noise(part.sensitivity, spend_nano) / part.sensitivity for part in self.parts)

    def noises(self, spend_nano: int, *_: object) -> dict[str, Noise]:
        """Return the law of the noise in each part, by name."""
        parts = zip(self.names, self.parts, strict=True)
        return {name: noise for name, part in parts for noise in part.noises(spend_nano).values()}

    def keeps(self, former: object) -> bool:
        """Return whether all values that were neighbours under ``former`` still are."""
        # Any two valid vectors are neighbours; if names change, all old vectors become invalid.
        return isinstance(former, Vector)

    @property
    def extremes(self) -> tuple[Any, Any]:
        """Return two raw neighbours that are as far apart in every part as the guarantee covers."""
        return self._named([part.extremes for part in self.parts])

    @property
    def adjacent(self) -> tuple[Any, Any]:
        """Return two raw values whose cells are adjacent in all parts."""
        return self._named([part.adjacent for part in self.parts])

    def _named(self, ends: Sequence[tuple[float, float]]) -> tuple[Any, Any]:
        near, far = (dict(zip(self.names, side, strict=True)) for side in zip(*ends, strict=True))
        return near, far

    def is_outside(self, value: object) -> bool:
        """Return whether any part of a raw value is clamped to the part's range."""
        # PRIVACY: this branches on a raw value. Only whoever holds the input may ask (`replaying/ranges.py`).
        parts = value if isinstance(value, dict) else {}
        return any(part.is_outside(parts.get(name)) for name, part in zip(self.names, self.parts, strict=True))

    @property
    def _ranges(self) -> list[float]:
        return [part.axis.double(part.axis.high - part.axis.low) for part in self.parts]
