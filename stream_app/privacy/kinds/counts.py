"""Counts by key under discrete Laplace noise per cell (Dwork et al., Calibrating noise, TCC 2006, histograms)."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import fsum
from statistics import median
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, StrictBool, StrictInt

from stream_app.privacy.kinds.axis import Axis
from stream_app.privacy.kinds.default import AnyKind, Count, ItemKind, Model
from stream_app.privacy.kinds.form import MOST_KEYS, Form, KindFault, Text, twice
from stream_app.privacy.noise.law import mean_noise
from stream_app.privacy.noise.mechanisms import discrete_laplace
from stream_app.privacy.noise.moments import Noise, noise_of
from stream_app.privacy.noise.randomness import BitStream
from stream_app.privacy.values import NANO, LevelState, Raw, RawCells, ReleasedCells

LARGEST_COUNT = 2**53 - 1
"""The largest integer that every JSON reader preserves; measurements beyond it saturate."""

COUNTS_POWERS = (4, 3, 2, 1, 0)
"""Powers of 1/64 that distinguish the filter's models: they set how fast the level may move."""
INTEGERS = Axis(Fraction(1), 0, 0)


class CountsForm(Form):
    """The form of the value kind counts."""

    kind: Literal["counts"]
    keys: Annotated[tuple[Text, ...], Field(min_length=1, max_length=MOST_KEYS)]
    sensitivity: Annotated[StrictInt, Field(ge=1, le=2**53 - 1)] = 1
    clamp: StrictBool = True
    invalid: dict[str, StrictInt] | Literal["reject"] = "reject"

    def declared(self) -> "Counts | KindFault":
        """Return the kind, or a fault if a key is listed twice."""
        if len(set(self.keys)) != len(self.keys):
            return twice("keys")
        return Counts(self.keys, self.sensitivity, self.clamp)


@dataclass(frozen=True, slots=True)
class Counts(ItemKind):
    """Non-negative integers under fixed, public keys; neighbours differ by at most ``sensitivity`` in L1."""

    keys: tuple[str, ...]
    sensitivity: int
    clamped: bool = True
    substitute: RawCells | None = None
    error_unit: ClassVar[str] = "items a cell"
    takes_substitute: ClassVar[bool] = False  # not any two tables are neighbours

    def quantise(self, raw: Raw) -> RawCells | None:
        """Return the counts in key order, with 0 for missing keys; for an invalid value, the substitute or None."""
        table = isinstance(raw, dict) and len(raw) <= len(self.keys)
        found = raw if isinstance(raw, dict) and table else {}
        counts = tuple([found.get(key, 0) for key in self.keys])
        # PRIVACY: all keys are read, whatever the first ones contained.
        known = sum([key in found for key in self.keys])
        fit = sum([type(count) is int and 0 <= count <= LARGEST_COUNT for count in counts])
        return RawCells(counts) if table and known == len(found) and fit == len(counts) else self.substitute

    def perturb(self, stream: BitStream, cells: RawCells, spend_nano: int) -> ReleasedCells:
        """Return each count plus discrete Laplace noise of rate ``e / sensitivity``; loss at most ``spend_nano``."""
        denominator = self.sensitivity * NANO
        # PRIVACY: each cell has noise of rate e/sensitivity; neighbours differ by at most `sensitivity`, summed over
        # the cells.
        noisy = (cell + discrete_laplace(stream, spend_nano, denominator) for cell in list(cells))
        return ReleasedCells(tuple(max(-LARGEST_COUNT, min(cell, LARGEST_COUNT)) for cell in noisy))

    def scale(self, spend_nano: int) -> float:
        """Return the noise scale of one cell, ``sensitivity / e``."""
        return self.sensitivity * NANO / spend_nano

    def still(self, previous: ReleasedCells, current: ReleasedCells, spend_nano: int) -> bool:
        """Return whether ``keys * sensitivity / e`` exceeds the L1 distance between two measurements."""
        change = sum(abs(new - old) for new, old in zip(list(current), list(previous), strict=True))
        return len(self.keys) * self.sensitivity * NANO > change * spend_nano

    def clamp(self, cells: ReleasedCells) -> ReleasedCells:
        """Return an estimate without negative counts (unless ``clamp`` is false)."""
        return ReleasedCells(tuple(max(0, cell) for cell in list(cells))) if self.clamped else cells

    def publish(self, cells: ReleasedCells) -> dict[str, int]:
        """Return the counts by key."""
        return dict(zip(self.keys, cells, strict=True))

    def read(self, published: object, _count: object = None) -> ReleasedCells:
        """Read counts from a release; return their cells."""
        if not isinstance(published, dict):
            raise TypeError(f"a counts release must contain an object, but found {type(published).__name__}")
        return ReleasedCells(tuple(int(published[key]) for key in self.keys))

    # The filter's state: p of each model (equal for all cells), then x, c for each cell and model.

    def filtered(
        self, state: LevelState, cells: ReleasedCells, spend_nano: int, k: float
    ) -> tuple[LevelState, ReleasedCells]:
        """Return the filter's state and the estimate after a noisy value, ``k`` steps after the previous state."""
        models = len(COUNTS_POWERS)
        b = self.scale(spend_nano)
        r = 2 * b * b
        if not state:
            levels = (part for z in list(cells) for part in (float(z), 0.0) * models)
            return (r,) * models + tuple(levels), cells
        gains: list[float] = []
        new: list[float] = []
        for p in self.drifted(state, k)[:models]:
            gain = p / (p + r)
            gains.append(gain)
            new.append(p * (1 - gain))
        estimates: list[int] = []
        for cell, z in enumerate(list(cells)):
            best = chosen = 0.0
            for n, gain in enumerate(gains):
                at = models + 2 * (cell * models + n)
                x, c = state[at : at + 2]
                h = 1 - gain
                d = z - x
                x = x + gain * d
                c = c + (h * h * d * d / r + 2 * gain - 1)
                if n == 0 or c < best:
                    best, chosen = c, x
                new += (x, c)
            estimates.append(INTEGERS.nearest(chosen))
        return tuple(new), ReleasedCells(tuple(estimates))

    def drifted(self, state: LevelState, k: float) -> LevelState:
        """Return the filter's state ``k`` steps after the previous one, without a noisy value."""
        spread = tuple(state[n] + drift * k for n, drift in enumerate(self._drifts))
        return spread + state[len(COUNTS_POWERS) :]

    @property
    def _drifts(self) -> tuple[float, ...]:
        return tuple([2**22 * self.sensitivity**2 / 64**j for j in COUNTS_POWERS])

    @property
    def models(self) -> dict[str, Model]:
        """Return the smoothing model of each count, by key."""
        return dict.fromkeys(self.keys, Model(self._drifts, None))

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the keys."""
        return self.keys

    @property
    def identity(self) -> tuple[str, ...]:
        """Return every parameter of the mechanism."""
        return ("counts", str(self.sensitivity), *self.keys)

    @property
    def width(self) -> int:
        """Return the number of cells in a value."""
        return len(self.keys)

    @property
    def largest_change(self) -> int:
        """Return the largest L1 distance between neighbours."""
        return self.sensitivity

    @property
    def guess(self) -> dict[str, int]:
        """Return the value to assume for suppressed steps: no items, as known from the policy alone."""
        return dict.fromkeys(self.keys, 0)

    def best_constant(self, raws: Sequence[Any]) -> dict[str, float]:
        """Return the medians, the counts with the smallest mean error over ``raws``, known only in hindsight."""
        return {key: median(raw.get(key, 0) for raw in raws) for key in self.keys}

    def error(self, raw: Any, published: Any) -> float:
        """Return the mean absolute difference over the keys."""
        return fsum(abs(raw.get(key, 0) - published[key]) for key in self.keys) / len(self.keys)

    def expected_error(self, spend_nano: int, intrusion_nano: int | None = None) -> float:
        """Return the mean absolute error of a noisy count, in a step without an announced intrusion."""
        return mean_noise(self.sensitivity, spend_nano, intrusion_nano)

    def noises(
        self, spend_nano: int, _count: Count = None, intrusion_nano: int | None = None, looks: int = 0
    ) -> dict[str, Noise]:
        """Return the law of the noise in each count, by key."""
        return dict.fromkeys(self.keys, noise_of(self.sensitivity, spend_nano, intrusion_nano, looks))

    def keeps(self, former: object) -> bool:
        """Return whether all values that were neighbours under ``former`` still are."""
        # A removed key makes its tables invalid, which is visible, because counts take no substitute.
        if not isinstance(former, Counts):
            return False
        return self.sensitivity >= former.sensitivity and set(former.keys) <= set(self.keys)

    @property
    def extremes(self) -> tuple[Any, Any]:
        """Return two raw neighbours that are as far apart as the guarantee covers."""
        return {self.keys[0]: 0}, {self.keys[0]: self.sensitivity}

    distances = AnyKind.distances

    @property
    def adjacent(self) -> tuple[Any, Any]:
        """Return two raw values that differ by one item."""
        return {self.keys[0]: 0}, {self.keys[0]: 1}
