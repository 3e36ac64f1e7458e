"""One of a few answers: a series' category, or the item that most contributors sent.

Mechanisms: k-ary randomized response (Kairouz et al., JMLR 2016), and the exponential mechanism (McSherry and Talwar,
FOCS 2007).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from stream_app.privacy.noise.mechanisms import chosen, randomized_response
from stream_app.privacy.noise.randomness import BitStream
from stream_app.privacy.values import NANO, Raw, RawCells, ReleasedCells


class _Answer:
    """Base class of answers, which are either equal or different."""

    __slots__ = ()

    def scale(self, spend_nano: int) -> float:
        """Return the scale ``1 / e``, which is compared with a change of 0 or 1."""
        return NANO / spend_nano

    def still(self, previous: ReleasedCells, current: ReleasedCells, spend_nano: int) -> bool:
        """Return whether ``1 / e`` exceeds the change, 0 or 1."""
        return previous == current or spend_nano < NANO

    def clamp(self, cells: ReleasedCells) -> ReleasedCells:
        """Return the estimate unchanged: every answer is valid."""
        return cells


@dataclass(frozen=True, slots=True)
class Category(_Answer):
    """One of ``categories`` (strings or booleans, at least two); cells hold its index."""

    categories: tuple[str | bool, ...]
    clamped: bool = True
    substitute: RawCells | None = None
    width: ClassVar[int] = 1
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
        """Return the index of a category; for anything else, the substitute or None."""
        sought = raw if isinstance(raw, str | bool) else None
        if isinstance(sought, str) and len(sought) > self._longest:
            sought = None  # no category, and slow to look up
        # PRIVACY: there is one look-up, whatever the position of the category in the list, and even for a value that is
        # no category.
        return self._cells.get(sought, self.substitute)

    def perturb(self, stream: BitStream, cells: RawCells, spend_nano: int) -> ReleasedCells:
        """Return the truth with probability ``exp(e) / (exp(e) + k - 1)``; loss at most ``spend_nano``."""
        # PRIVACY: every answer has at least probability 1/(exp(e) + k - 1), and at most exp(e) times that.
        return ReleasedCells((randomized_response(stream, cells[0], len(self.categories), spend_nano),))

    def publish(self, cells: ReleasedCells) -> str | bool:
        """Return the category of an index."""
        return self.categories[cells[0]]

    def read(self, published: object) -> ReleasedCells:
        """Return the index of a category from a release."""
        if not isinstance(published, str | bool):
            raise TypeError(
                f"a category release must contain a string or boolean, but found {type(published).__name__}"
            )
        return ReleasedCells(tuple(self._cells[published]))

    @property
    def identity(self) -> tuple[str, ...]:
        """Return every parameter of the mechanism."""
        return ("category", *(f"{type(category).__name__}:{category}" for category in self.categories))


@dataclass(frozen=True, slots=True)
class Choice(_Answer):
    """One of at least two ``items``; raw cells hold the count of each item, released cells an index.

    With ``replace``, neighbours differ in one contributor's item; otherwise, in whether one contributor takes part.
    """

    items: tuple[str, ...]
    replace: bool = True
    clamped: bool = True
    substitute: RawCells | None = None
    _cells: Mapping[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Number the items."""
        object.__setattr__(self, "_cells", {item: index for index, item in enumerate(self.items)})

    def quantise(self, raw: Raw) -> RawCells | None:
        """Return the index of one contributor's item, or None for anything else."""
        index = self._cells.get(raw) if isinstance(raw, str) else None
        return None if index is None else RawCells((index,))

    def perturb(self, stream: BitStream, cells: RawCells, spend_nano: int) -> ReleasedCells:
        """Return an item, with weight ``exp(e * n / 2)`` under replace, else ``exp(e * n)``; loss at most e."""
        # PRIVACY: replacing an item changes two of the counts by one. So it changes each weight, and therefore their
        # sum, by a factor of at most exp(e/2) (theorem 6). A contributor who takes part raises one weight by a factor
        # of exp(e), and the sum by a factor between 1 and exp(e). So the halving is not needed if scores move in one
        # direction only.
        doubled_nano = spend_nano if self.replace else 2 * spend_nano
        return ReleasedCells((chosen(stream, cells, doubled_nano),))

    def publish(self, cells: ReleasedCells) -> str:
        """Return the item of an index."""
        return self.items[cells[0]]

    def read(self, published: object) -> ReleasedCells:
        """Return the index of an item from a release."""
        if not isinstance(published, str):
            raise TypeError(f"a choice release must contain a string, but found {type(published).__name__}")
        return ReleasedCells((self._cells[published],))

    @property
    def identity(self) -> tuple[str, ...]:
        """Return every parameter of the mechanism."""
        return ("choice", "replace" if self.replace else "add-remove", *self.items)

    @property
    def width(self) -> int:
        """Return the number of cells of a raw value."""
        return len(self.items)
