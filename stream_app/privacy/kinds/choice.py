"""The item that most contributors sent, drawn by the exponential mechanism (McSherry and Talwar, FOCS 2007)."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from stream_app.privacy.noise.choice import chosen
from stream_app.privacy.noise.randomness import BitStream
from stream_app.privacy.values import NANO, Raw, RawCells, ReleasedCells


@dataclass(frozen=True, slots=True)
class Choice:
    """One of ``items``, at least two; raw cells count how often each was sent, released ones hold an index.

    ``replace``: neighbours differ in one contributor's item; else in whether one takes part.
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
        """Return the index of one contributor's item; None when it is none."""
        index = self._cells.get(raw) if isinstance(raw, str) else None
        return None if index is None else RawCells((index,))

    def perturb(self, stream: BitStream, cells: RawCells, spend_nano: int) -> ReleasedCells:
        """Return an item, with weight ``exp(e * n / 2)`` under replace, else ``exp(e * n)``; loss at most e."""
        # PRIVACY: an item that is replaced moves two of the counts by one, each weight by at most exp(e/2), and so does
        # their sum (theorem 6). A contributor who takes part raises one weight by exp(e), and the sum by no less than
        # nothing and no more than that: the halving is not needed where scores move one way.
        doubled_nano = spend_nano if self.replace else 2 * spend_nano
        return ReleasedCells((chosen(stream, cells, doubled_nano),))

    def scale(self, spend_nano: int) -> float:
        """Return ``1 / e``, what a change of 0 or 1 is compared with."""
        return NANO / spend_nano

    def still(self, previous: ReleasedCells, current: ReleasedCells, spend_nano: int) -> bool:
        """Return whether ``1 / e`` exceeds the change, 0 or 1."""
        return previous == current or spend_nano < NANO

    def clamp(self, cells: ReleasedCells) -> ReleasedCells:
        """Return the estimate: every answer is an item."""
        return cells

    def publish(self, cells: ReleasedCells) -> str:
        """Return the item of an index."""
        return self.items[cells[0]]

    def read(self, published: object) -> ReleasedCells:
        """Return the index of an item from a release."""
        if not isinstance(published, str):
            raise TypeError(f"a choice release holds a string, found {type(published).__name__}")
        return ReleasedCells((self._cells[published],))

    @property
    def identity(self) -> tuple[str, ...]:
        """Return every parameter of the mechanism."""
        return ("choice", "replace" if self.replace else "add-remove", *self.items)

    @property
    def width(self) -> int:
        """Return the number of cells of a raw value."""
        return len(self.items)
