"""A single answer out of a few: a series' category, or the item that most contributors sent.

Mechanisms: k-ary randomized response (Kairouz et al., JMLR 2016), and the exponential mechanism (McSherry and Talwar,
FOCS 2007).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import exp, log1p
from typing import Annotated, Any, ClassVar, Final, Literal

import numpy as np
from pydantic import Field, StrictBool, StrictStr

from stream_app.privacy.kinds.default import Columns, ItemKind
from stream_app.privacy.kinds.form import MOST_KEYS, Form, KindFault, Text, twice
from stream_app.privacy.noise.mechanisms import chosen, randomized_response, truth_probability
from stream_app.privacy.noise.moments import Noise
from stream_app.privacy.noise.randomness import BitStream
from stream_app.privacy.values import NANO, LevelState, Raw, RawCells, ReleasedCells

SMALLEST_BELIEF: Final = 0.001
CLOSE: Final = 1e-12  # relative size of a Newton step below which the root is found
MOST_CATEGORIES: Final = 4096


class CategoryForm(Form):
    """The form of the value kind category."""

    kind: Literal["category"]
    categories: Annotated[tuple[StrictBool | Text, ...], Field(min_length=2, max_length=MOST_CATEGORIES)]
    clamp: StrictBool = True
    invalid: StrictBool | StrictStr = "reject"
    statistic: Literal["histogram"] | None = None

    def declared(self) -> "Category | KindFault":
        """Return the kind, or the fault of its categories or substitute."""
        if len(set(self.categories)) != len(self.categories):
            return twice("categories")
        if "reject" in self.categories and "invalid" in self.model_fields_set and self.invalid == "reject":
            return KindFault("invalid", '"reject" is a category here and would not be substituted; omit `invalid`')
        return Category(self.categories, self.clamp)


class ChoiceForm(Form):
    """The form of the value kind choice."""

    kind: Literal["choice"]
    items: Annotated[tuple[Text, ...], Field(min_length=2, max_length=MOST_KEYS)]

    def declared(self) -> "Choice | KindFault":
        """Return the kind, or a fault if an item is listed twice."""
        return Choice(self.items) if len(set(self.items)) == len(self.items) else twice("items")


class _Answer(ItemKind):
    """Base class of answers; two answers are either equal or different."""

    __slots__ = ()
    adjacent: ClassVar[None] = None

    def scale(self, spend_nano: int) -> float:
        """Return the scale ``1 / e``, which is compared with a change of 0 or 1."""
        return NANO / spend_nano

    def still(self, previous: ReleasedCells, current: ReleasedCells, spend_nano: int) -> bool:
        """Return whether ``1 / e`` exceeds the change, which is 0 or 1."""
        return previous == current or spend_nano < NANO

    def clamp(self, cells: ReleasedCells) -> ReleasedCells:
        """Return the estimate unchanged: every answer is valid."""
        return cells

    def error(self, raw: Any, published: Any) -> float:
        """Return 0 for equal answers and 1 for different ones."""
        return float(raw != published)

    def distances(self, differences: Columns) -> Columns:
        """Return 1 for each row with a difference, and 0 for the others."""
        found: Columns = np.any(differences != 0, axis=1).astype(np.float64)
        return found

    def noises(self, _spend_nano: int, *_: object) -> dict[str, Noise]:
        """Return nothing: the noise of a category depends on the truth, and a choice has no noise of its own."""
        return {}


@dataclass(frozen=True, slots=True)
class Category(_Answer):
    """One of ``categories`` (strings or booleans, at least two); cells hold the category's index."""

    categories: tuple[str | bool, ...]
    clamped: bool = True
    substitute: RawCells | None = None
    width: ClassVar[int] = 1
    error_unit: ClassVar[str] = "probability of a wrong category"
    largest_change: ClassVar[None] = None
    takes_substitute: ClassVar[bool] = True  # any two categories are neighbours
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
        """Return the index of a category; for anything else, return the substitute or None."""
        sought = raw if isinstance(raw, str | bool) else None
        if isinstance(sought, str) and len(sought) > self._longest:
            sought = None  # no category, and slow to look up
        # PRIVACY: there is one look-up, whatever the position of the category in the list, and even for a value that is
        # no category.
        return self._cells.get(sought, self.substitute)

    def perturb(self, stream: BitStream, cells: RawCells, spend_nano: int) -> ReleasedCells:
        """Return the truth with probability ``exp(e) / (exp(e) + k - 1)``; the loss is at most ``spend_nano``."""
        # PRIVACY: every answer has at least probability 1/(exp(e) + k - 1), and at most exp(e) times that.
        return ReleasedCells((randomized_response(stream, cells[0], len(self.categories), spend_nano),))

    def publish(self, cells: ReleasedCells) -> str | bool:
        """Return the category at an index."""
        return self.categories[cells[0]]

    def read(self, published: object, _count: object = None) -> ReleasedCells:
        """Read a category from a release and return its index."""
        if not isinstance(published, str | bool):
            raise TypeError(
                f"a category release must contain a string or boolean, but found {type(published).__name__}"
            )
        return ReleasedCells(tuple(self._cells[published]))

    # The filter's state: the belief in each category, then N of each category, then V.

    def filtered(
        self, state: LevelState, cells: ReleasedCells, spend_nano: int, _k: float
    ) -> tuple[LevelState, ReleasedCells]:
        """Return the filter's state after a noisy value, and the most likely category."""
        k = len(self.categories)
        if not state:
            state = (1 / k,) * k + (0.0,) * (k + 1)
        belief, seen, v = state[:k], state[k : 2 * k], state[2 * k]
        t = truth_probability(spend_nano, k)
        f = (1 - t) / (k - 1)
        prior = [max(SMALLEST_BELIEF, (n + 2 / k) / (v + 2)) for n in seen]
        total = _total(prior)
        posterior = [
            (0.5 * old + 0.5 * (share / total)) * (t if j == cells[0] else f)
            for j, (old, share) in enumerate(zip(belief, prior, strict=True))
        ]
        total = _total(posterior)
        posterior = [part / total for part in posterior]
        chosen = posterior.index(max(posterior))
        seen = tuple(n + (t - f) * ((1.0 if j == cells[0] else 0.0) - f) for j, n in enumerate(seen))
        return (*posterior, *seen, v + (t - f) * (t - f)), ReleasedCells((chosen,))

    def drifted(self, state: LevelState, _k: float) -> LevelState:
        """Return the filter's state unchanged: a category does not drift."""
        return state

    @property
    def reading(self) -> tuple[object, ...]:
        """Return the parameters that affect how readings are interpreted: all but substitute and clamp."""
        return (self.categories,)

    @property
    def identity(self) -> tuple[str, ...]:
        """Return every parameter of the mechanism."""
        return ("category", *(f"{type(category).__name__}:{category}" for category in self.categories))

    @property
    def guess(self) -> str | bool:
        """Return the value to assume for suppressed steps: the first category, known from the policy alone."""
        return self.categories[0]

    def best_constant(self, raws: Sequence[Any]) -> str | bool:
        """Return the most frequent category, known only in hindsight."""
        return max(self.categories, key=list(raws).count)

    def expected_error(self, spend_nano: int, *_: object) -> float:
        """Return the probability of a wrong category."""
        return 1.0 - truth_probability(spend_nano, len(self.categories))

    def keeps(self, former: object) -> bool:
        """Return whether all values that were neighbours under ``former`` still are."""
        if not isinstance(former, Category):
            return False
        return self.substitute is not None or set(former.categories) <= set(self.categories)

    @property
    def extremes(self) -> tuple[Any, Any]:
        """Return two raw neighbours."""
        return self.categories[0], self.categories[1]


@dataclass(frozen=True, slots=True)
class Choice(_Answer):
    """One of at least two ``items``; raw cells hold the count of each item, released cells hold an index.

    With ``replace``, neighbours differ in one contributor's item; without it, they differ in whether one contributor
    takes part.
    """

    items: tuple[str, ...]
    replace: bool = True
    clamped: bool = True
    substitute: RawCells | None = None
    takes_substitute: ClassVar[bool] = False  # the number of contributors is not hidden
    error_unit: ClassVar[str] = "number of items by which the drawn choice may fall short of the most frequent one"
    _cells: Mapping[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Number the items."""
        object.__setattr__(self, "_cells", {item: index for index, item in enumerate(self.items)})

    def quantise(self, raw: Raw) -> RawCells | None:
        """Return the index of one contributor's item, or None for anything else."""
        index = self._cells.get(raw) if isinstance(raw, str) else None
        return None if index is None else RawCells((index,))

    def perturb(self, stream: BitStream, cells: RawCells, spend_nano: int) -> ReleasedCells:
        """Return an item drawn with weight ``exp(e * n / 2)`` under replace, else ``exp(e * n)``; loss at most e."""
        # PRIVACY: replacing an item changes two of the counts by one. So it changes each weight, and therefore their
        # sum, by a factor of at most exp(e/2) (theorem 6). A contributor who takes part raises one weight by a factor
        # of exp(e), and the sum by a factor between 1 and exp(e). So the halving is not needed if scores move in one
        # direction only.
        doubled_nano = spend_nano if self.replace else 2 * spend_nano
        return ReleasedCells((chosen(stream, cells, doubled_nano),))

    def publish(self, cells: ReleasedCells) -> str:
        """Return the item at an index."""
        return self.items[cells[0]]

    def read(self, published: object, _count: object = None) -> ReleasedCells:
        """Read an item from a release and return its index."""
        if not isinstance(published, str):
            raise TypeError(f"a choice release must contain a string, but found {type(published).__name__}")
        return ReleasedCells((self._cells[published],))

    @property
    def identity(self) -> tuple[str, ...]:
        """Return every parameter of the mechanism."""
        return ("choice", "replace" if self.replace else "add-remove", *self.items)

    @property
    def largest_change(self) -> int:
        """Return the largest L1 distance between neighbours' counts."""
        return 2 if self.replace else 1

    @property
    def guess(self) -> str:
        """Return the value to assume for suppressed steps: the first item, known from the policy alone."""
        return self.items[0]

    def best_constant(self, raws: Sequence[Any]) -> str:
        """Return the most frequent item, known only in hindsight."""
        return max(self.items, key=list(raws).count)

    def expected_error(self, spend_nano: int, *_: object) -> float:
        """Return the mean gap between the counts of the most frequent item and the drawn one, for the worst counts.

        With gaps g_i, rate r and weights exp(-r * g_i) the mean is ``f = sum g_i w_i / (1 + sum w_i)``. Where the
        derivatives of f vanish, all gaps are ``1/r + f``, so ``r * f = W((items - 1) / e)`` with Lambert's W. Gaps that
        are whole numbers cannot give a larger mean.
        """
        target = (len(self.items) - 1) / exp(1)
        found = log1p(target)  # above W; x * exp(x) is convex, so Newton's steps fall to W
        while (step := (found - target * exp(-found)) / (found + 1)) > found * CLOSE:
            found -= step
        return found / (spend_nano / NANO / self.largest_change)

    def keeps(self, former: object) -> bool:
        """Return whether all items that were valid under ``former`` still are."""
        # A removed item is visibly invalid.
        return isinstance(former, Choice) and set(former.items) <= set(self.items)

    @property
    def extremes(self) -> tuple[Any, Any]:
        """Return two raw neighbours."""
        return self.items[0], self.items[1]

    @property
    def width(self) -> int:
        """Return the number of cells in a raw value."""
        return len(self.items)


def _total(parts: list[float]) -> float:
    """Return the sum, added from left to right.

    From Python 3.12 on, the built-in ``sum`` compensates for rounding, so its results differ from those of 3.11.
    """
    total = 0.0
    for part in parts:
        total += part
    return total
