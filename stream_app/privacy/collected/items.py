"""Items of contributors: what each adds to which counter of an open step, and what the counters come to at its close.

A `Tally` counts how often each of the declared names was sent, a `Total` adds numbers up. How many items there are is
the number of the contributors' digests.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, assert_never

from stream_app.privacy.kinds import (
    Category,
    Choice,
    Counts,
    HiddenMean,
    Kind,
    Location,
    Mean,
    Number,
    Statistic,
    Sum,
    Vector,
)
from stream_app.privacy.kinds.counts import LARGEST_COUNT
from stream_app.privacy.values import Raw, RawCells

Addition = tuple[int, int]
"""A counter, and what is added to it."""
_NUMBER_BYTES: Final = len(f'"":{-LARGEST_COUNT},')


@dataclass(frozen=True, slots=True)
class Tally:
    """Each item is one of the ``names``, and counts one there; their counters are the step's cells.

    ``sensitivity`` is the L1 distance of the counters of neighbours, ``published_bytes`` the most bytes of measurement
    and value in a release.
    """

    names: tuple[str, ...]
    sensitivity: int
    published_bytes: int
    _additions: Mapping[object, Addition] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Number the counters."""
        object.__setattr__(self, "_additions", {name: (nth, 1) for nth, name in enumerate(self.names)})

    @property
    def counters(self) -> int:
        """Return how many counters an open step has."""
        return len(self.names)

    def added(self, item: Raw) -> Addition | None:
        """Return what a raw item adds; None: it is none."""
        # PRIVACY: this branch shows whether the item was one of the public names, nothing else of it.
        return self._additions.get(item) if isinstance(item, str) else None

    def closed(self, counters: Sequence[int], number: int) -> RawCells:
        """Return what a step came to; the ``number`` of its items says nothing more."""
        del number
        return RawCells(tuple(counters))


@dataclass(frozen=True, slots=True)
class Total:
    """Each item is a number, of which the one counter takes up its cell less the kind's centre."""

    kind: Statistic

    @property
    def counters(self) -> int:
        """Return how many counters an open step has."""
        return 1

    @property
    def sensitivity(self) -> int:
        """Return how far the counter of neighbours lies apart, in cells."""
        return self.kind.item.sensitivity

    @property
    def published_bytes(self) -> int:
        """Return the most bytes of measurement and value in a release."""
        return 4 * _NUMBER_BYTES

    def added(self, item: Raw) -> Addition | None:
        """Return what a raw item adds; None: it is no finite number."""
        # PRIVACY: this branch shows whether the item was a number, nothing else of it. It is brought to the range
        # before it is added, so that none moves the sum by more than the range allows.
        cells = self.kind.quantise(item)
        return None if cells is None else (0, cells[0] - self.kind.centre)

    def closed(self, counters: Sequence[int], number: int) -> RawCells:
        """Return what a step of ``number`` items came to."""
        return self.kind.gathered(counters[0], number)


Gathered = Tally | Total
"""What a collected step gathers: a closed union."""


def gathered_of(kind: Kind) -> Gathered:
    """Return what steps of a kind gather that is collected; the other kinds are refused with `collect`."""
    match kind:
        case Counts(keys=keys):
            object_bytes = 1 + sum([_NUMBER_BYTES + escaped_bytes(key) for key in keys])
            return Tally(keys, kind.sensitivity, 2 * object_bytes)
        case Choice(items=items):
            return Tally(items, 2, 2 * max(map(escaped_bytes, items)))
        case Sum() | Mean() | HiddenMean():
            return Total(kind)
        case Number() | Location() | Category() | Vector():
            raise AssertionError("this kind is not collected")
        case _:
            assert_never(kind)


def escaped_bytes(text: str) -> int:
    """Return the most bytes of a text within JSON, without its quotes."""
    return len(text.encode()) + sum([5 if letter < " " else letter in '"\\' for letter in text])
