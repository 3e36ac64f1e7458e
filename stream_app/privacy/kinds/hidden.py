"""The mean of contributors' items if the number of items is also secret, with discrete Laplace noise (`sums`)."""

from dataclasses import dataclass
from typing import ClassVar, Final

import numpy as np

from stream_app.privacy.kinds.default import Columns
from stream_app.privacy.kinds.sums import OfItems, clamped_mean, identity_of, middle
from stream_app.privacy.noise.law import mean_sum
from stream_app.privacy.noise.mechanisms import discrete_laplace
from stream_app.privacy.noise.moments import Noise, laplace
from stream_app.privacy.noise.randomness import BitStream
from stream_app.privacy.values import NANO, RawCells, ReleasedCells

MOST_ITEMS: Final = 2**31
"""The limit at which a noisy number of items saturates; no memory could hold that many items."""


@dataclass(frozen=True, slots=True)
class HiddenMean(OfItems):
    """The mean of a step's items if the number of items is also secret.

    The cells hold the sum of k - c and the number of items. D is max(hi - c, c - lo).
    """

    clamped: bool = True
    substitute: RawCells | None = None
    replace: ClassVar[bool] = False
    statistic: ClassVar[str] = "mean"
    width: ClassVar[int] = 2

    @property
    def centre(self) -> int:
        """Return c, which is subtracted from each item."""
        return middle(self.item)

    def gathered(self, total: int, number: int) -> RawCells:
        """Return the cells of a step; ``total`` is the sum of its ``number`` items, each minus the centre."""
        return RawCells((total, number))

    def perturb(self, stream: BitStream, cells: RawCells, spend_nano: int) -> ReleasedCells:
        """Return the sum and the number, each with discrete Laplace noise for half of ``spend_nano``.

        ``spend_nano`` is at least 2.
        """
        # PRIVACY: one more contributor changes the sum of k - c by at most D and the number by one. The sum loses half
        # of `spend_nano`, rounded down, and the number loses the rest (sequential composition).
        half_nano = spend_nano // 2
        total, number = cells
        noisy = self.item.perturb(stream, RawCells((total,)), half_nano)
        number += discrete_laplace(stream, spend_nano - half_nano, NANO)
        return ReleasedCells((*noisy, max(-MOST_ITEMS, min(number, MOST_ITEMS))))

    def scale(self, spend_nano: int) -> dict[str, float]:
        """Return the noise scale of the sum, in the value's unit, and the noise scale of the number."""
        half_nano = spend_nano // 2
        return {"sum": self.item.scale(half_nano), "count": NANO / (spend_nano - half_nano)}

    def still(self, _previous: ReleasedCells, _current: ReleasedCells, _spend_nano: int) -> bool:
        """Raise an error: no scheme with a sampling rate uses this mean."""
        raise AssertionError("a mean of a hidden number has no sampling rate")

    def clamp(self, cells: ReleasedCells) -> ReleasedCells:
        """Return a sum and a number whose mean is within the declared range (unless ``clamp`` is false)."""
        low, high = (end - self.centre for end in (self.item.axis.low, self.item.axis.high))
        return clamped_mean(cells, low, high) if self.clamped else cells

    def publish(self, cells: ReleasedCells) -> float:
        """Return the mean ``c + sum / max(1, number)``, rounded once to a double."""
        total, number = cells
        return self.item.axis.width(self.centre * max(1, number) + total, max(1, number))

    def measured(self, cells: ReleasedCells) -> dict[str, float]:
        """Return the noisy sum of the items' differences from c, in the value's unit, and the noisy number."""
        total, number = cells
        return {"sum": self.item.axis.double(total), "count": number}

    def read(self, published: object, _count: object = None) -> ReleasedCells:
        """Read a noisy value from a release and return its cells."""
        if not isinstance(published, dict):
            raise TypeError(f"a mean's measurement must be an object, but found {type(published).__name__}")
        return ReleasedCells((*self.item.read(published["sum"]), int(published["count"])))

    def read_value(self, value: object, _count: object = None) -> ReleasedCells:
        """Return the cell of a published mean, and 0 in place of the number, which the mean does not reveal."""
        return ReleasedCells((*self.item.read(value), 0))

    def expected_scale(self, spend_nano: int) -> float:
        """Return the noise scale of the sum, in the value's unit."""
        return self.scale(spend_nano)["sum"]

    def distances(self, differences: Columns) -> Columns:
        """Return, for each row, the difference of the sum, divided by D, plus that of the number."""
        found: Columns = np.sum(np.abs(differences) / [self.item.sensitivity, 1], axis=1)
        return found

    @property
    def identity(self) -> tuple[str, ...]:
        """Return every parameter of the mechanism."""
        return identity_of(self)

    @property
    def largest_change(self) -> dict[str, float]:
        """Return the largest distance between neighbours for the sum, in the value's unit, and for the number."""
        return {"sum": self.item.largest_change, "count": 1}

    def rates(self, spend_nano: int) -> tuple[float, float]:
        """Return the rates of the noise in the sum and in the count, for a cost of at least 2 nano-epsilon."""
        half_nano = spend_nano // 2
        return half_nano / (self.item.sensitivity * NANO), (spend_nano - half_nano) / NANO

    def expected_error(self, spend_nano: int, *_: object) -> float:
        """Return the mean absolute error of a mean, multiplied by the number of items.

        The result holds to first order in the reciprocal of that number, for a mean at an end of the range.
        """
        # (x - m * y) / n: x and y are the noises of the sum and the number, m is the distance of the mean from c.
        sum_rate, number_rate = self.rates(spend_nano)
        return mean_sum(number_rate, sum_rate, self.item.sensitivity) / float(self.item.axis.cells_per_unit)

    def noises(self, spend_nano: int, *_: object) -> dict[str, Noise]:
        """Return the law of the noise in the sum, in the value's unit, and in the number."""
        sum_rate, number_rate = self.rates(spend_nano)
        return {"sum": self.item.axis.noise(laplace(sum_rate)), "count": laplace(number_rate)}
