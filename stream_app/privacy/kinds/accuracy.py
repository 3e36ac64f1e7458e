"""The noise scale and the expected error of statistics over units, by epsilon and number of units."""

from abc import abstractmethod
from collections.abc import Mapping
from math import asinh, ceil, inf
from typing import ClassVar

from stream_app.privacy.kinds.default import AnyKind, Count
from stream_app.privacy.noise.law import mean_noise
from stream_app.privacy.values import NANO


class UnitAccuracy(AnyKind):
    """The noise scale and the expected error of a statistic over units.

    A total has discrete Laplace noise of rate ``e / sensitivity``. If the total is divided by the public number n of
    units, its noise is also divided by n.
    """

    __slots__ = ()
    is_sum: ClassVar[bool] = False
    error_unit: ClassVar[str] = "in the value's unit"

    @property
    @abstractmethod
    def sensitivity(self) -> int:
        """Return the largest L1 change that w units can make to the cells."""

    @abstractmethod
    def of_a_cell(self, units: float) -> float:
        """Return the effect of one cell of noise on a release over ``units`` units."""

    @abstractmethod
    def scale(self, spend_nano: int, number: int = 1) -> float:
        """Return the noise scale of a total, or of a bin, over ``number`` units."""

    def accepts(self, count: Count) -> bool:
        """Return whether a release may have this count: at least one unit; None stands for one."""
        return count is None or (isinstance(count, int) and count > 0)

    def stated(self, spend_nano: int, count: Count) -> float | dict[str, float]:
        """Return the noise scale that a release over ``count`` units states; means by local time state one per bin."""
        if not isinstance(count, Mapping):
            return self.scale(spend_nano, 1 if count is None else count)
        return self.scale(spend_nano) if self.is_sum else {name: self.scale(spend_nano, count[name]) for name in count}

    def expected_error(self, spend_nano: int, units: float) -> float:
        """Return the mean absolute error of a step with ``units`` units, for a spend of at least 1 nano-epsilon.

        For a sum and a mean, the error is in the value's unit; for a share and a histogram's bin, it is in shares of
        the units. By local time, it is the error of one bin, and ``units`` counts the units of all bins, which have
        equal numbers of units.
        """
        return mean_noise(self.sensitivity, spend_nano) * self.of_a_cell(units)

    def needed_nano(self, error: float, units: float) -> int:
        """Return the least spend, in nano-epsilon, for this mean absolute error in a step with ``units`` units.

        The mean magnitude is ``1 / sinh(rate)``, so the rate is ``asinh(1 / magnitude)``.
        """
        return max(1, ceil(asinh(self.of_a_cell(units) / error) * self.sensitivity * NANO))

    def needed_units(self, spend_nano: int, error: float) -> float:
        """Return how many units a step needs for this mean absolute error, or infinity if a sum is too inaccurate.

        More units do not improve a sum. A sum that is accurate enough needs only one unit.
        """
        of_one = self.expected_error(spend_nano, 1)
        if self.is_sum:
            return 1.0 if of_one <= error else inf
        return max(1.0, of_one / error)
