"""The interface that every kind implements, its defaults, and the model of how a part of a value changes over time."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from stream_app.privacy.noise.moments import Noise
from stream_app.privacy.noise.randomness import BitStream
from stream_app.privacy.values import Raw, RawCells, ReleasedCells

Published: TypeAlias = float | int | bool | str | dict[str, float] | dict[str, int] | list[int]
"""The form of a value in a release."""
Count: TypeAlias = int | Mapping[str, int] | None
"""The public count in a release: the number of items or units, or of units by bin; None if the release has none."""
Columns = NDArray[np.float64]


class Model(NamedTuple):
    """How a part of a value may change over time: the drifts q of its models, and its declared range."""

    drifts: tuple[float, ...]  # variance per step, ascending
    bounds: tuple[float, float] | None
    """The true values' range; if None, any value is possible, and nothing is known before the first measurement."""


class AnyKind:
    """Base of all kinds; mypy reports the abstract members that a kind lacks."""

    __slots__ = ()
    excess: ClassVar[str] = ""
    """How a message says that a noise ``{scale}`` exceeds a range of width ``{span}``; empty without a range."""

    @property
    def statistic(self) -> str | None:
        """Return the name that a release gives the statistic; None if a value is a single reading or a contribution."""
        return None

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the names of a raw value's parts; none if a value is a single JSON string, number or boolean."""
        return ()

    @property
    def span(self) -> float | None:
        """Return the width of the range in the unit of `expected_error`, or None if the kind has no range."""
        return None

    @abstractmethod
    def quantise(self, raw: Raw, /) -> RawCells | None:
        """Return the cells of a raw value; if it is invalid, return the substitute or None."""

    @abstractmethod
    def perturb(self, stream: BitStream, cells: RawCells, spend_nano: int, /) -> ReleasedCells:
        """Return the noisy value of raw cells; the loss between neighbours is at most ``spend_nano``."""

    @abstractmethod
    def scale(self, spend_nano: int, /) -> float | dict[str, float]:
        """Return the noise scale for a spend, in the unit of the value."""

    @abstractmethod
    def still(self, previous: ReleasedCells, current: ReleasedCells, spend_nano: int, /) -> bool:
        """Return whether the noise scale exceeds the distance between two noisy values."""

    @abstractmethod
    def clamp(self, cells: ReleasedCells, /) -> ReleasedCells:
        """Return the estimate for a noisy value, without a filter."""

    @abstractmethod
    def publish(self, cells: ReleasedCells, /) -> Published:
        """Return the form of released cells in a release."""

    @abstractmethod
    def read(self, published: object, count: object = None, /) -> ReleasedCells:
        """Return the cells of a release's measurement, whose public count is ``count``."""

    @abstractmethod
    def noises(
        self, spend_nano: int, count: Count = None, intrusion_nano: int | None = None, looks: int = 0, /
    ) -> dict[str, Noise]:
        """Return the law of the noise by part; "" if there is a single part."""

    @property
    @abstractmethod
    def identity(self) -> tuple[str, ...]:
        """Return every parameter of the mechanism, which the noise of a step depends on."""

    @property
    @abstractmethod
    def largest_change(self) -> object:
        """Return the largest distance between neighbours, by part if there are several; None for categories."""

    @property
    @abstractmethod
    def width(self) -> int:
        """Return the number of cells of a value."""

    def count(self, _cells: ReleasedCells) -> Count:
        """Return the count that a release of these cells contains: none."""
        return None

    def accepts(self, count: Count) -> bool:
        """Return whether a release of this kind may have a count, or, for None, may be read without it."""
        return not isinstance(count, Mapping)

    def stated(self, spend_nano: int, _count: Count) -> float | dict[str, float]:
        """Return the noise scale that a release with this spend and count states."""
        return self.scale(spend_nano)

    def measured(self, cells: ReleasedCells) -> Published:
        """Return the measurement of noisy cells in a release."""
        return self.publish(cells)

    def read_value(self, value: object, count: object = None) -> ReleasedCells:
        """Return the cells of a release's value, which is an estimate."""
        return self.read(value, count)

    def released(self, found: Mapping[str, Any]) -> tuple[ReleasedCells, ReleasedCells]:
        """Return the noisy value and the estimate from the JSON of a published (perturbed) release."""
        # Keep the published estimate: today's filter may differ from the one that computed it.
        count = found.get("count")
        return self.read(found["measurement"], count), self.read_value(found["value"], count)

    def expected_scale(self, spend_nano: int) -> float:
        """Return the noise scale to expect of a release; for a mean or a statistic of units, that of one part."""
        scale = self.scale(spend_nano)
        assert not isinstance(scale, dict), "a kind with several scales says which one to expect"
        return scale

    def distances(self, differences: Columns) -> Columns:
        """Return the distance of neighbours for each row of differences between cells: the L1 distance."""
        found: Columns = np.sum(np.abs(differences), axis=1)
        return found

    @property
    def models(self) -> dict[str, Model]:
        """Return the smoothing model of each part, in the measurement's unit; empty if there are no such models."""
        return {}


class ItemKind(AnyKind):
    """Base of the kinds of a single reading or contribution."""

    __slots__ = ()

    @property
    @abstractmethod
    def adjacent(self) -> tuple[Any, Any] | None:
        """Return two raw values with adjacent cells, or None if no two values are closer than any others."""

    @abstractmethod
    def distances(self, differences: Columns, /) -> Columns:
        """Return the distance of neighbours for each row of differences between cells."""

    @property
    def item(self) -> Self:
        """Return the kind itself: a statistic's ``item`` is the kind of what it covers."""
        return self

    @property
    @abstractmethod
    def takes_substitute(self) -> bool:
        """Return whether any two values are neighbours, so that a substitute can hide an invalid one."""

    @property
    @abstractmethod
    def extremes(self) -> tuple[Any, Any]:
        """Return two raw neighbours that are as far apart as the guarantee covers."""

    @property
    @abstractmethod
    def guess(self) -> Any:
        """Return the value to assume for suppressed steps, from the policy alone."""

    @abstractmethod
    def best_constant(self, raws: Sequence[Any], /) -> Any:
        """Return the constant with the smallest mean error over ``raws``, known only in hindsight."""

    @abstractmethod
    def error(self, raw: Any, published: Any, /) -> float:
        """Return the error of a release, in the unit `error_unit`."""

    @abstractmethod
    def expected_error(self, spend_nano: int, intrusion_nano: int | None = None, /) -> float:
        """Return the mean absolute error of a noisy value in the unit `error_unit`."""

    @abstractmethod
    def keeps(self, former: object, /) -> bool:
        """Return whether all values that were neighbours under ``former`` still are."""

    def is_outside(self, _value: object) -> bool:
        """Return False: there is no range."""
        return False
