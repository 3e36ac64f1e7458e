"""A location under planar Laplace noise on a lattice (Andres et al., Geo-indistinguishability, CCS 2013)."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, cos, hypot, isfinite, nan, radians
from typing import Annotated, Any, ClassVar, Final, Literal

import numpy as np
from pydantic import Field, StrictBool

from stream_app.privacy.kinds.axis import Axis, saturated
from stream_app.privacy.kinds.default import Columns, ItemKind, Model
from stream_app.privacy.kinds.form import Double, Form, KindFault
from stream_app.privacy.kinds.sphere import (
    DEGREES,
    EARTH_RADIUS_METRES,
    PI,
    PROJECTION,
    cosine,
    geometric_median,
    projects,
)
from stream_app.privacy.noise.mechanisms import planar_laplace
from stream_app.privacy.noise.moments import Noise, mean_norm, planar
from stream_app.privacy.noise.randomness import BitStream
from stream_app.privacy.values import NANO, LevelState, Raw, RawCells, ReleasedCells, exact, is_number

DEGREE_DECIMALS = 10**7
"""Degrees are published with 7 decimals, about 1 cm."""
ROOT_TWO = Fraction(141421356237309504881, 10**20)
"""sqrt(2) rounded up, so that the rate is rounded down."""
LOCATION_POWERS: Final = (3, 2, 1, 0)
"""Powers of 1/64 that distinguish the filter's models: they set how fast the level may move."""
INWARD: Final = 1 - 1e-9
"""Keeps a displacement within the radius despite any rounding of doubles."""


class BoundsForm(Form):
    """A bounding box in degrees."""

    south: Annotated[Double, Field(ge=-85, le=85)]
    west: Annotated[Double, Field(ge=-180, le=180)]
    north: Annotated[Double, Field(ge=-85, le=85)]
    east: Annotated[Double, Field(ge=-180, le=180)]


class LocationForm(Form):
    """The form of the value kind location."""

    kind: Literal["location"]
    # At least a millimetre: the filter squares it, and a square that underflows would cause a division by zero.
    radius: Annotated[Double, Field(ge=0.001, le=20_100_000)]
    # Below 0.1 m, the 7 decimals of a published degree could not identify the lattice point.
    resolution: Annotated[Double, Field(ge=0.1, le=20_100_000)]
    bounds: BoundsForm
    clamp: StrictBool = True
    invalid: dict[str, Double] | Literal["reject"] = "reject"

    def declared(self) -> "Location | KindFault":
        """Return the kind, or the fault of its bounds or its lattice."""
        bounds = self.bounds
        if bounds.south >= bounds.north:
            return KindFault("bounds", "south must be below north")
        if bounds.west >= bounds.east:
            return KindFault("bounds", "west must be below east; a box across the date line needs two series")
        south, north, west, east = (exact(edge) for edge in (bounds.south, bounds.north, bounds.west, bounds.east))
        if not projects(max(north - south, east - west)):
            message = (
                "the planar projection would stretch distances by more than 0.5 %; use bounds of at most 19 degrees "
                "per side"
            )
            return KindFault("bounds", message)
        resolution, radius = exact(self.resolution), exact(self.radius)
        # cos and pi are rounded once to doubles: libm's results differ between machines, and the lattice must not.
        metres = EARTH_RADIUS_METRES * Fraction(float(PI)) / DEGREES
        shrink = Fraction(float(cosine(max(abs(north), abs(south)))))
        latitude = _axis(south, north, metres / resolution)
        longitude = _axis(west, east, metres * shrink / resolution)
        if latitude.high <= latitude.low or longitude.high <= longitude.low:
            return KindFault(
                "resolution", "the bounds must contain at least two lattice points per side; use a finer resolution"
            )
        return Location(
            longitude=longitude,
            latitude=latitude,
            plane=Axis(1 / resolution, 0, 0),
            east=(float(bounds.west), float(bounds.east)),
            north=(float(bounds.south), float(bounds.north)),
            radius=radius,
            rate_per_nano=resolution / (NANO * (PROJECTION * radius + ROOT_TWO * resolution)),
            clamped=self.clamp,
        )


def _axis(low: Fraction, high: Fraction, cells_per_degree: Fraction) -> Axis:
    return Axis(cells_per_degree, ceil(low * cells_per_degree), high * cells_per_degree // 1)


@dataclass(frozen=True, slots=True)
class Location(ItemKind):
    """Positions on a square lattice over declared bounds; cells are ``(x, y)``.

    ``longitude`` and ``latitude`` map degrees to cells, and ``plane`` maps metres. Neighbours are positions up to
    ``radius`` metres apart: the guarantee covers the exact position within that radius, not the town.
    """

    longitude: Axis
    latitude: Axis
    plane: Axis
    east: tuple[float, float]  # bounds west, east in degrees
    north: tuple[float, float]  # bounds south, north in degrees
    radius: Fraction
    rate_per_nano: Fraction  # rate of the noise per lattice step and nano-epsilon
    clamped: bool = True
    substitute: RawCells | None = None
    width: ClassVar[int] = 2
    error_unit: ClassVar[str] = "metres"
    adjacent: ClassVar[None] = None  # only the extremes are tried
    excess: ClassVar[str] = "{scale} m, which exceeds the {span} m across the bounds"
    takes_substitute: ClassVar[bool] = False  # not any two positions are neighbours
    columns: ClassVar[tuple[str, ...]] = ("latitude", "longitude")

    def quantise(self, raw: Raw) -> RawCells | None:
        """Return the lattice point of a position, clamped to the bounds; for an invalid one, the substitute or None."""
        found = raw if isinstance(raw, dict) and len(raw) == 2 else {}
        latitude, longitude = found.get("latitude"), found.get("longitude")
        north = float(latitude) if is_number(latitude) else nan
        east = float(longitude) if is_number(longitude) else nan
        valid = isfinite(north) and isfinite(east)
        # PRIVACY: a value that is not a position takes as long as a position, so that the time does not reveal whether
        # it was one.
        x = self.longitude.within(east if valid else self.east[1])
        y = self.latitude.within(north if valid else self.north[1])
        return RawCells((x, y)) if valid else self.substitute

    def perturb(self, stream: BitStream, cells: RawCells, spend_nano: int) -> ReleasedCells:
        """Return the lattice point plus planar Laplace noise; the loss within the radius is at most ``spend_nano``."""
        # PRIVACY: points up to `radius` apart are at most 1.005*radius + sqrt(2)*resolution apart on the lattice. Over
        # that distance, noise of this rate loses at most e.
        x, y = planar_laplace(stream, self.rate_per_nano * spend_nano)
        return ReleasedCells((saturated(cells[0] + x), saturated(cells[1] + y)))

    def scale(self, spend_nano: int) -> float:
        """Return the noise scale ``radius / e`` in metres."""
        return self.radius.numerator * NANO / (self.radius.denominator * spend_nano)

    def still(self, previous: ReleasedCells, current: ReleasedCells, spend_nano: int) -> bool:
        """Return whether ``radius / e`` exceeds the distance between two measurements, using exact squares."""
        per_metre = self.plane.cells_per_unit
        square = (current[0] - previous[0]) ** 2 + (current[1] - previous[1]) ** 2
        reach = self.radius.numerator * NANO * per_metre.numerator
        return reach**2 > square * (spend_nano * self.radius.denominator * per_metre.denominator) ** 2

    def clamp(self, cells: ReleasedCells) -> ReleasedCells:
        """Return an estimate within the bounds (unless ``clamp`` is false)."""
        if not self.clamped:
            return cells
        return ReleasedCells((self.longitude.clamp(cells[0]), self.latitude.clamp(cells[1])))

    def publish(self, cells: ReleasedCells) -> dict[str, float]:
        """Return the position of a lattice point in degrees."""
        return {"latitude": _degrees(self.latitude, cells[1]), "longitude": _degrees(self.longitude, cells[0])}

    def read(self, published: object, _count: object = None) -> ReleasedCells:
        """Return the lattice point of a position read from a release.

        The point is unique, because a lattice step is wider than the last decimal.
        """
        if not isinstance(published, dict):
            raise TypeError(f"a location release must contain an object, but found {type(published).__name__}")
        east, north = float(published["longitude"]), float(published["latitude"])
        return ReleasedCells((self.longitude.nearest(east), self.latitude.nearest(north)))

    # The filter's state: x, y, p, c for each model, in metres on the plane.

    def filtered(
        self, state: LevelState, cells: ReleasedCells, spend_nano: int, k: float
    ) -> tuple[LevelState, ReleasedCells]:
        """Return the filter's state and the estimate after a noisy value, ``k`` steps after the previous state."""
        zx, zy = self.plane.double(cells[0]), self.plane.double(cells[1])
        b = self.scale(spend_nano)
        r = 3 * b * b
        if not state:
            return (zx, zy, r, 0.0) * len(LOCATION_POWERS), cells
        new: list[float] = []
        best = chosen_x = chosen_y = 0.0
        for n, drift in enumerate(self._drifts):
            x, y, p, c = state[4 * n : 4 * n + 4]
            p = p + drift * k
            gain = p / (p + r)
            h = 1 - gain
            dx, dy = zx - x, zy - y
            x = x + gain * dx
            y = y + gain * dy
            p = p * h
            c = c + (h * h * (dx * dx + dy * dy) / (2 * r) + 2 * gain - 1)
            if n == 0 or c < best:
                best, chosen_x, chosen_y = c, x, y
            new += (x, y, p, c)
        return tuple(new), ReleasedCells((self.plane.nearest(chosen_x), self.plane.nearest(chosen_y)))

    def drifted(self, state: LevelState, k: float) -> LevelState:
        """Return the filter's state ``k`` steps after the previous one, without a noisy value."""
        wide = [state[4 * n + 2] + drift * k for n, drift in enumerate(self._drifts)]
        return tuple(wide[n // 4] if n % 4 == 2 else part for n, part in enumerate(state))

    @property
    def _drifts(self) -> list[float]:
        radius = self.radius.numerator / self.radius.denominator
        return [256 * radius * radius / 64**j for j in LOCATION_POWERS]

    @property
    def models(self) -> dict[str, Model]:
        """Return the smoothing models of latitude and longitude, in degrees."""
        lengths = [float(self.plane.cells_per_unit / axis.cells_per_unit) for axis in (self.latitude, self.longitude)]
        drifts = [tuple([drift * degrees**2 for drift in self._drifts]) for degrees in lengths]
        return dict(zip(self.columns, map(Model, drifts, (self.north, self.east)), strict=True))

    @property
    def identity(self) -> tuple[str, ...]:
        """Return every parameter of the mechanism."""
        axes = (self.longitude, self.latitude)
        grid = tuple(str(part) for axis in axes for part in (axis.cells_per_unit, axis.low, axis.high))
        return ("location", *grid, str(self.radius), str(self.rate_per_nano))

    @property
    def span(self) -> float:
        """Return the distance across the bounds, in metres."""
        low, high = ({"latitude": self.north[nth], "longitude": self.east[nth]} for nth in (0, 1))
        return self.error(low, high)

    def distances(self, differences: Columns) -> Columns:
        """Return the lattice distance of each row of differences."""
        found: Columns = np.sqrt(np.sum(differences**2, axis=1))
        return found

    @property
    def largest_change(self) -> float:
        """Return the largest distance between neighbours, in metres."""
        return float(self.radius)

    @property
    def guess(self) -> dict[str, float]:
        """Return the value to assume for suppressed steps: the middle of the bounds, known from the policy alone."""
        return {"latitude": sum(self.north) / 2, "longitude": sum(self.east) / 2}

    def best_constant(self, raws: Sequence[Any]) -> dict[str, float]:
        """Return the position with the smallest mean distance, known only in hindsight and accurate to a thousandth."""
        return geometric_median(raws)

    def error(self, raw: Any, published: Any) -> float:
        """Return the distance in metres between two positions, on the plane tangent to the sphere at the raw one."""
        north = radians(raw["latitude"] - published["latitude"])
        east = radians(raw["longitude"] - published["longitude"]) * cos(radians(raw["latitude"]))
        return float(EARTH_RADIUS_METRES) * hypot(north, east)

    def expected_error(self, spend_nano: int, *_: object) -> float:
        """Return the mean distance of a noisy position, in metres."""
        return mean_norm(float(self.rate_per_nano * spend_nano)) / float(self.plane.cells_per_unit)

    def noises(self, spend_nano: int, *_: object) -> dict[str, Noise]:
        """Return the law of the noise in latitude and longitude, in degrees."""
        noise = planar(float(self.rate_per_nano * spend_nano))
        return {"latitude": self.latitude.noise(noise), "longitude": self.longitude.noise(noise)}

    def keeps(self, former: object) -> bool:
        """Return whether all values that were neighbours under ``former`` still are."""
        if not isinstance(former, Location):
            return False
        edges = zip((self.east, self.north), (former.east, former.north), strict=True)
        wide = all(low <= former_low and high >= former_high for (low, high), (former_low, former_high) in edges)
        return wide and self.radius >= former.radius

    @property
    def extremes(self) -> tuple[Any, Any]:
        """Return the south-west corner of the bounds and a point due north or east of it, within the radius."""
        (west, east), (south, north) = self.east, self.north
        arc = float(self.radius / EARTH_RADIUS_METRES) * DEGREES / float(PI) * INWARD  # degrees of a great circle
        shrink = float(cosine(exact(south)))
        up, right = min(arc, north - south), min(arc / shrink, east - west)
        corner = {"latitude": south, "longitude": west}
        if up >= right * shrink:
            return corner, {"latitude": south + up, "longitude": west}
        return corner, {"latitude": south, "longitude": west + right}

    def is_outside(self, value: object) -> bool:
        """Return whether a raw value is clamped to the bounds."""
        # PRIVACY: this branches on a raw value. Only whoever holds the input may ask (`replaying/ranges.py`).
        found = value if isinstance(value, dict) else {}
        degrees = ((found.get("longitude"), self.east), (found.get("latitude"), self.north))
        return any(is_number(one) and not low <= one <= high for one, (low, high) in degrees)


def _degrees(axis: Axis, cell: int) -> float:
    """Return the degrees of a cell, rounded half up to 7 decimals."""
    per_degree = axis.cells_per_unit
    twice = 2 * cell * per_degree.denominator * DEGREE_DECIMALS + per_degree.numerator
    return (twice // (2 * per_degree.numerator)) / DEGREE_DECIMALS
