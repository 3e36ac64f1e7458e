"""One of a few categories under k-ary randomized response (Kairouz et al., JMLR 2016)."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from stream_app.privacy.noise.mechanisms import randomized_response
from stream_app.privacy.noise.randomness import BitStream
from stream_app.privacy.values import NANO, Raw, RawCells, ReleasedCells


@dataclass(frozen=True, slots=True)
class Category:
    """One of ``categories`` (strings or booleans, at least two); cells hold its index."""

    categories: tuple[str | bool, ...]
    clamped: bool = True
    substitute: RawCells | None = None
    _cells: Mapping[str | bool | None, RawCells] = field(init=False, repr=False, compare=False)
    _longest: int = field(init=False, repr=False, compare=False)  # characters

    def __post_init__(self) -> None:
        """Derive the index of each category."""
        cells: dict[str | bool | None, RawCells] = {
            category: RawCells((index,)) for index, category in enumerate(self.categories)
        }
        longest = max((len(category) for category in self.categories if isinstance(category, str)), default=0)
        object.__setattr__(self, "_cells", cells)
        object.__setattr__(self, "_longest", longest)

    def quantise(self, raw: Raw) -> RawCells | None:
        """Return the index of a category; the substitute or None when it is not one."""
        sought = raw if isinstance(raw, str | bool) else None
        if isinstance(sought, str) and len(sought) > self._longest:
            sought = None  # it is none of them, and would be long to look up
        # PRIVACY: one look-up, wherever the category stands in the list, and whether it is one.
        return self._cells.get(sought, self.substitute)

    def perturb(self, stream: BitStream, cells: RawCells, spend_nano: int) -> ReleasedCells:
        """Return the truth with probability ``exp(e) / (exp(e) + k - 1)``; loss at most ``spend_nano``."""
        # PRIVACY: every answer has at least probability 1/(exp(e) + k - 1) and at most exp(e) times that.
        return ReleasedCells((randomized_response(stream, cells[0], len(self.categories), spend_nano),))

    def scale(self, spend_nano: int) -> float:
        """Return ``1 / e``, what a change of 0 or 1 is compared with."""
        return NANO / spend_nano

    def still(self, previous: ReleasedCells, current: ReleasedCells, spend_nano: int) -> bool:
        """Return whether ``1 / e`` exceeds the change, 0 or 1."""
        return previous == current or spend_nano < NANO

    def clamp(self, cells: ReleasedCells) -> ReleasedCells:
        """Return the estimate: every answer is a category."""
        return cells

    def publish(self, cells: ReleasedCells) -> str | bool:
        """Return the category of an index."""
        return self.categories[cells[0]]

    def read(self, published: object) -> ReleasedCells:
        """Return the index of a category from a release."""
        if not isinstance(published, str | bool):
            raise TypeError(f"a category release holds a string or boolean, found {type(published).__name__}")
        return ReleasedCells(tuple(self._cells[published]))

    @property
    def identity(self) -> tuple[str, ...]:
        """Return every parameter of the mechanism."""
        return ("category", *(f"{type(category).__name__}:{category}" for category in self.categories))

    @property
    def width(self) -> int:
        """Return the number of cells of a value."""
        return 1
