"""The noise of each kind, and the exactly computed loss of neighbouring values: at most the spend."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from math import asin, atan2, cos, degrees, radians, sin
from typing import NamedTuple

import numpy as np
import pytest

from stream_app.privacy.kinds import Kind, Location
from stream_app.privacy.noise.mechanisms import discrete_laplace, planar_laplace, randomized_response
from stream_app.privacy.noise.randomness import BitStream
from stream_app.privacy.values import Raw, RawCells
from tests.privacy.kinds.test_kinds import DIGITS, NANO, counts, kind_of, location, number
from tests.privacy.noise.bits import stream
from tests.run import CATEGORY, VECTOR


class Mechanism(NamedTuple):
    """A kind, one of its values, and the noise that it must add to the value when it draws these bits."""

    kind: Kind
    cells: tuple[int, ...]
    noise: Callable[[BitStream, int], tuple[int, ...]]


MECHANISMS = {
    "number": Mechanism(number(), (1234,), lambda bits, spend: (discrete_laplace(bits, spend, 10_000 * NANO),)),
    "narrowed number": Mechanism(
        number(sensitivity=0.0025), (1234,), lambda bits, spend: (discrete_laplace(bits, spend, 3 * NANO),)
    ),
    "counts": Mechanism(
        counts(), (1, 2, 3), lambda bits, spend: tuple(discrete_laplace(bits, spend, 2 * NANO) for _ in range(3))
    ),
    "location": Mechanism(
        location(), (5, 6), lambda bits, spend: planar_laplace(bits, location().rate_per_nano * spend)
    ),
    "vector": Mechanism(
        kind_of(VECTOR),
        (90, 70),
        lambda bits, spend: tuple(discrete_laplace(bits, spend, 2 * w * NANO) for w in (30, 190)),
    ),
}


@pytest.mark.parametrize("name", list(MECHANISMS))
def test_noise_is_added_and_is_of_the_kinds_rate(name: str) -> None:
    """A measurement is the value plus a draw from exactly the distribution for which the loss is computed."""
    kind, cells, noise = MECHANISMS[name]
    for draw in range(300):
        spend = 10 ** (4 + draw % 6)
        measured = kind.perturb(stream(draw), RawCells(cells), spend)
        added = tuple(after - before for after, before in zip(measured, cells, strict=True))
        assert added == noise(stream(draw), spend)


def test_a_category_is_answered_by_randomized_response() -> None:
    """A measurement of a category is a randomized response over all of them."""
    kind = kind_of(CATEGORY)
    for draw in range(300):
        spend = 10 ** (4 + draw % 6)
        assert kind.perturb(stream(draw), RawCells((2,)), spend) == (randomized_response(stream(draw), 2, 4, spend),)


def _chance(draw: int, numerator: int, denominator: int) -> Decimal:
    """Return the exact chance of a discrete Laplace draw: (1 - q)/(1 + q) * q^|draw|."""
    q = DIGITS.exp(DIGITS.divide(Decimal(-numerator), Decimal(denominator)))
    odds = DIGITS.divide(DIGITS.subtract(Decimal(1), q), DIGITS.add(Decimal(1), q))
    return DIGITS.multiply(odds, DIGITS.power(q, abs(draw)))


@pytest.mark.parametrize("spend_nano", [1, 142_857_148, NANO, 7 * NANO])
def test_the_loss_of_a_number_is_at_most_the_spend(spend_nano: int) -> None:
    """At the range's ends, the furthest neighbours, no output is more than exp(e) times likelier under one."""
    kind = number(lower=0, upper=0.02)
    low, high = (kind.quantise(Raw(value)) for value in (0, 0.02))
    assert low is not None
    assert high is not None
    losses = [
        DIGITS.ln(
            DIGITS.divide(*(_chance(out - cells[0], spend_nano, kind.sensitivity * NANO) for cells in (low, high)))
        )
        for out in range(-50, 70)
    ]
    spend = Decimal(spend_nano) / NANO
    assert max(map(abs, losses)) - spend < Decimal("1e-45")
    assert max(losses) - spend > Decimal("-1e-45")
    closer = replace(kind, sensitivity=kind.sensitivity - 1)  # the control: one cell less of sensitivity loses more
    loss = DIGITS.ln(
        DIGITS.divide(*(_chance(0 - cells[0], spend_nano, closer.sensitivity * NANO) for cells in (low, high)))
    )
    assert loss > spend


def test_the_loss_of_counts_is_at_most_the_spend() -> None:
    """Neighbours that differ by `sensitivity` over all cells lose e in total, however the difference is spread."""
    kind = counts(sensitivity=2)
    spend_nano = 300_000_000
    for one, other in [((3, 0, 0), (1, 0, 0)), ((3, 0, 0), (2, 1, 0)), ((0, 5, 1), (0, 4, 0)), ((2, 2, 2), (2, 3, 2))]:
        differ = sum(abs(a - b) for a, b in zip(one, other, strict=True))
        worst = Decimal(0)
        for out in np.ndindex(8, 8, 8):
            loss = Decimal(0)
            for cell, a, b in zip(out, one, other, strict=True):
                chances = (_chance(cell - at, spend_nano, kind.sensitivity * NANO) for at in (a, b))
                loss += DIGITS.ln(DIGITS.divide(*chances))
            worst = max(worst, loss)
        assert abs(worst - Decimal(spend_nano * differ) / (2 * NANO)) < Decimal("1e-40")
        assert differ <= 2


BOXES = {
    "town": {"south": -11.1, "west": -37.2, "north": -10.8, "east": -37.0},
    "equator": {"south": -9.5, "west": 10.0, "north": 9.5, "east": 29.0},
    "far north": {"south": 52.0, "west": 5.0, "north": 71.0, "east": 24.0},
    "date line": {"south": -18.0, "west": 161.0, "north": 1.0, "east": 180.0},
}
EARTH = 6_371_008.8


def _away(latitude: float, longitude: float, metres: float, bearing: float) -> tuple[float, float]:
    """Return the position at that distance in a direction, on the sphere."""
    here, reach = radians(latitude), metres / EARTH
    there = asin(sin(here) * cos(reach) + cos(here) * sin(reach) * cos(bearing))
    turned = atan2(sin(bearing) * sin(reach) * cos(here), cos(reach) - sin(here) * sin(there))
    return degrees(there), longitude + degrees(turned)


def _neighbours(
    box: Mapping[str, float], radius: float, number: int
) -> list[tuple[dict[str, float], dict[str, float]]]:
    """Return pairs of positions within the box that are just under the radius apart, many of them at its edges."""
    generator = np.random.default_rng(int(radius))
    pairs: list[tuple[dict[str, float], dict[str, float]]] = []
    while len(pairs) < number:
        latitude, longitude = generator.uniform(box["south"], box["north"]), generator.uniform(box["west"], box["east"])
        if generator.random() < 0.3:
            latitude = box["south"] if abs(box["south"]) < abs(box["north"]) else box["north"]
        there = _away(latitude, longitude, radius * (1 - 1e-9), generator.uniform(0, 6.3))
        if box["south"] <= there[0] <= box["north"] and box["west"] <= there[1] <= box["east"]:
            here, away = ({"latitude": lat, "longitude": lon} for lat, lon in ((latitude, longitude), there))
            pairs.append((here, away))
    return pairs


def _lattice_loss(kind: Location, one: Mapping[str, float], other: Mapping[str, float], rate: Fraction) -> Fraction:
    """Return an upper bound of the squared loss in epsilon: rate times distance on the lattice, squared."""
    first, second = kind.quantise(Raw(dict(one))), kind.quantise(Raw(dict(other)))
    assert first is not None
    assert second is not None
    return rate**2 * ((first[0] - second[0]) ** 2 + (first[1] - second[1]) ** 2)


@pytest.mark.parametrize(
    ("name", "radius", "resolution"),
    [
        *((name, *sizes) for name in BOXES for sizes in ((500, 10), (100, 50), (3, 0.5), (20_000, 7))),
        *((name, 900_000, 1000) for name in BOXES if name != "town"),
    ],
)
def test_the_loss_of_a_location_is_at_most_the_spend(name: str, radius: float, resolution: float) -> None:
    """Positions up to the radius apart on the sphere lose at most e on the lattice, whatever was published."""
    box = BOXES[name]
    kind = location(radius=radius, resolution=resolution, bounds=box)
    losses = [
        _lattice_loss(kind, one, other, kind.rate_per_nano * NANO) for one, other in _neighbours(box, radius, 700)
    ]
    assert max(losses) <= 1
    # The control: without room for the rounding to the lattice and for the projection, some pair loses more.
    careless = Fraction(resolution) / Fraction(radius)
    over = [_lattice_loss(kind, one, other, careless) for one, other in _neighbours(box, radius, 700)]
    assert max(over) > 1
    if name == "town" and radius >= 50 * resolution:
        assert max(losses) > Fraction(9, 10), "the promise is not kept by wasting budget"
