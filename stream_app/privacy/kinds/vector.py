"""Several bounded numbers of one moment, each under discrete Laplace noise of its share of the spend.

Neighbours may differ in all parts of a step. Each of d parts is told with loss e/d, so all of them with e (sequential
composition: Dwork and Roth 2014, theorem 3.16).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from stream_app.privacy.kinds.number import Number
from stream_app.privacy.noise.randomness import BitStream
from stream_app.privacy.values import NANO, Raw, RawCells, ReleasedCells


@dataclass(frozen=True, slots=True)
class Vector:
    """Numbers by name, in the order of the names; cells, noise and what is published follow that order.

    A part of d is a number whose sensitivity is d times its range, so that a spend e adds noise of e/d to it.
    """

    names: tuple[str, ...]
    parts: tuple[Number, ...]
    clamped: bool = True
    substitute: RawCells | None = None

    def quantise(self, raw: Raw) -> RawCells | None:
        """Return the cells of all parts, each clamped to its range; the substitute or None for anything else."""
        table = isinstance(raw, dict) and len(raw) == len(self.names)
        found = raw if isinstance(raw, dict) and table else {}
        # PRIVACY: all parts are read, whatever was found in the first ones, and what is no number takes as long as one.
        read = [part.quantise(Raw(found.get(name))) for name, part in zip(self.names, self.parts, strict=True)]
        fit = sum([cell is not None for cell in read])
        cells = RawCells(tuple([0 if cell is None else cell[0] for cell in read]))
        return cells if fit == len(read) else self.substitute

    def perturb(self, stream: BitStream, cells: RawCells, spend_nano: int) -> ReleasedCells:
        """Return every part plus discrete Laplace noise of rate ``e / (d * D)``; loss at most ``spend_nano``."""
        # PRIVACY: neighbours differ by at most D cells in each of d parts; each is told with loss at most e/d, with
        # noise of its own from the one stream, so all of them together with e.
        noisy = [part.perturb(stream, RawCells((cell,)), spend_nano) for part, cell in self._each(cells)]
        return ReleasedCells(tuple(cell for (cell,) in noisy))

    def scale(self, spend_nano: int) -> dict[str, float]:
        """Return the noise scale of each part, ``d * D * resolution / e`` in its unit."""
        return {name: part.scale(spend_nano) for name, part in zip(self.names, self.parts, strict=True)}

    def still(self, previous: ReleasedCells, current: ReleasedCells, spend_nano: int) -> bool:
        """Return whether ``d * d / e`` exceeds the distances of two measurements, each over its range, in all."""
        changes = zip(self.parts, previous, current, strict=True)
        change = sum((Fraction(abs(new - old), part.sensitivity) for part, old, new in changes), Fraction(0))
        return change * spend_nano < len(self.parts) * NANO  # both d times less: a sensitivity is d ranges

    def clamp(self, cells: ReleasedCells) -> ReleasedCells:
        """Return an estimate with each part within its range (unless ``clamp`` is false)."""
        return ReleasedCells(tuple(part.clamp(ReleasedCells((cell,)))[0] for part, cell in self._each(cells)))

    def publish(self, cells: ReleasedCells) -> dict[str, float]:
        """Return the numbers by name."""
        return {name: part.axis.double(cell) for name, (part, cell) in zip(self.names, self._each(cells), strict=True)}

    def read(self, published: object) -> ReleasedCells:
        """Return the cells of a vector from a release."""
        if not isinstance(published, Mapping):
            raise TypeError(f"a vector release holds an object, found {type(published).__name__}")
        parts = zip(self.names, self.parts, strict=True)
        return ReleasedCells(tuple(part.read(published[name])[0] for name, part in parts))

    def _each(self, cells: tuple[int, ...]) -> list[tuple[Number, int]]:
        return list(zip(self.parts, cells, strict=True))

    @property
    def identity(self) -> tuple[str, ...]:
        """Return every parameter of the mechanism."""
        parts = zip(self.names, self.parts, strict=True)
        return ("vector", str(len(self.parts)), *(text for name, part in parts for text in (name, *part.identity)))

    @property
    def width(self) -> int:
        """Return the number of cells of a value."""
        return len(self.parts)
