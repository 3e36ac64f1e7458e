"""Where landmarks lie: drawn from a share of a series' steps, by the distributions of the source thesis.

Katsomallos 2022 (thesis, section 4.2) samples landmarks without replacement from truncated normal distributions:
skewed ones about the centre of a half, bimodal ones about the centres of both; their scale is a part of the length.
"""

from math import exp, log
from typing import Literal, NamedTuple, assert_never

from stream_app.privacy.noise.randomness import BitStream

Distribution = Literal["uniform", "skewed", "bimodal"]
DISTRIBUTIONS: tuple[Distribution, ...] = ("uniform", "skewed", "bimodal")
SPREAD = 10  # the length of a series over the standard deviation of a mode
DRAW_BITS = 53


class Placement(NamedTuple):
    """How landmarks are drawn from the steps of a series."""

    share_percent: int
    distribution: Distribution = "uniform"

    def of(self, series: str, steps: int, seed: int) -> list[int]:
        """Return the places (from 0) of the landmarks among ``steps`` steps, in order; their number rounds half up.

        Sampling without replacement by weight: the steps with the largest ``log(u) / weight`` (Efraimidis and
        Spirakis 2006). Draws do not depend on the share: the landmarks of a smaller one are among those of a larger.
        """
        wanted = (2 * steps * self.share_percent + 100) // 200
        stream = BitStream(seed.to_bytes(8, "big"), b"evaluation-marks", f"{self.distribution}\0{series}".encode())
        draws = [stream.take(DRAW_BITS) + 0.5 for _ in range(steps)]
        keys = [log(draw * 2.0**-DRAW_BITS) / self._weight(place, steps) for place, draw in enumerate(draws)]
        return sorted(sorted(range(steps), key=keys.__getitem__, reverse=True)[:wanted])

    def _weight(self, place: int, steps: int) -> float:
        at = (place + 0.5) / steps
        match self.distribution:
            case "uniform":
                return 1.0
            case "skewed":
                return _bell(at - 0.75)
            case "bimodal":
                return _bell(at - 0.25) + _bell(at - 0.75)
            case _:
                assert_never(self.distribution)


def _bell(distance: float) -> float:
    """Return the density of the normal distribution, up to a factor; ``distance`` in lengths of the series."""
    return exp(-((distance * SPREAD) ** 2) / 2)
