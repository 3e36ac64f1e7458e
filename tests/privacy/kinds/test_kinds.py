"""Values on their grids, and the loss of every mechanism: never above the spend, for any two neighbours."""

from collections.abc import Mapping
from decimal import Context
from fractions import Fraction
from functools import partial
from itertools import pairwise
from math import asin, cos, isqrt, radians, sin, sqrt
from typing import TypeVar

import numpy as np
import pytest

from stream_app.privacy.kinds import Category, Counts, Kind, Location, Number
from stream_app.privacy.policy import Policy, PolicyError, stored_policy_of
from stream_app.privacy.values import Raw, RawCells, ReleasedCells
from tests.privacy.noise.bits import stream
from tests.run import CATEGORY, COUNTS, LOCATION, NUMBER

NANO = 10**9
DIGITS = Context(prec=60)


def kind_of(value: Mapping[str, object]) -> Kind:
    """Return the kind of a policy's value."""
    return _policy(value).kind


def _policy(value: Mapping[str, object]) -> Policy:
    parameters = {"epsilon": 1.0, "protection": {"level": "event"}, "scheme": {"name": "uniform"}, "value": value}
    return stored_policy_of(parameters, 1)


K = TypeVar("K", Number, Location, Counts)


def _made(of: type[K], value: Mapping[str, object], **members: object) -> K:
    kind = kind_of({**value, **members})
    assert isinstance(kind, of)
    return kind


number = partial(_made, Number, NUMBER)
location = partial(_made, Location, LOCATION)
counts = partial(_made, Counts, COUNTS)


@pytest.mark.parametrize(
    ("value", "cell"),
    [(0, 0), (10, 10_000), (1.0115, 1012), (1.0114999, 1011), (-3.2, 0), (1e300, 10_000), (-0.0, 0), (2**60, 10_000)],
)
def test_a_number_falls_on_its_cell(value: float, cell: int) -> None:
    """Numbers are rounded half up from the decimal as written, and clamped to the range."""
    assert number().quantise(Raw(value)) == (cell,)


def test_a_range_off_the_grid_is_cut_to_the_grid_points_within() -> None:
    """The cells are those whose points are within lower .. upper."""
    kind = number(lower=-0.0015, upper=0.0025)
    assert (kind.axis.low, kind.axis.high, kind.sensitivity) == (-1, 2, 3)


INVALID: list[tuple[dict[str, object], list[object]]] = [
    (NUMBER, ["1", None, True, [1], {"a": 1}, float("nan"), float("inf"), -float("inf")]),
    (COUNTS, [1, [], None, {"walk": -1}, {"walk": 1.5}, {"walk": True}, {"swim": 1}, {"walk": 2**53}]),
    (COUNTS, [{"walk": 1, "swim": 0}, {"walk": "1"}, "walk"]),
    (LOCATION, [1, None, [1, 2], {"latitude": 1}, {"latitude": 1, "longitude": "2"}]),
    (LOCATION, [{"latitude": 1, "longitude": 2, "height": 3}, {"latitude": True, "longitude": 2}]),
    (LOCATION, [{"latitude": float("nan"), "longitude": 2}]),
    (CATEGORY, ["None", 1, None, False, 1.0, ["none"], {"none": 1}]),
]


@pytest.mark.parametrize(("kind", "raw"), [(kind, raw) for kind, values in INVALID for raw in values])
def test_what_is_no_value_of_the_kind(kind: Mapping[str, object], raw: object) -> None:
    """Wrong types, unknown members and non-finite numbers are invalid, or the public substitute if it exists."""
    assert kind_of(kind).quantise(Raw(raw)) is None
    substitutes: dict[object, object] = {
        "number": 3,
        "counts": {"ride": 5},
        "location": {"latitude": -11.0, "longitude": -37.1},
        "category": "ill",
    }
    substituted = kind_of({**kind, "invalid": substitutes[kind["kind"]]})
    assert substituted.quantise(Raw(raw)) == kind_of(kind).quantise(Raw(substitutes[kind["kind"]])) is not None


def test_counts_lie_in_the_order_of_the_keys() -> None:
    """Counts follow the policy's order whatever the record's, and missing ones are 0."""
    assert counts().quantise(Raw({"rest": 3, "walk": 1})) == (1, 0, 3)
    assert counts().quantise(Raw({})) == (0, 0, 0)


def test_categories_are_told_by_type() -> None:
    """True is a category of its own, neither the number 1 nor the text."""
    kind = kind_of({"kind": "category", "categories": ["True", True, "1"]})
    assert [kind.quantise(Raw(raw)) for raw in ("True", True, "1", 1)] == [(0,), (1,), (2,), None]


@pytest.mark.parametrize(("span", "fits"), [(19.0, True), (19.8, True), (19.9, False), (25.0, False)])
def test_a_box_that_the_plane_stretches_too_far_is_refused(span: float, fits: bool) -> None:  # noqa: FBT001
    """A box is accepted if the plane stretches distances by at most 0.5 %, which its corners show."""
    bounds = {"south": -span / 2, "west": 0.0, "north": span / 2, "east": span}
    if fits:
        location(radius=1000, resolution=100, bounds=bounds)
    else:
        with pytest.raises(PolicyError, match="bounds"):
            location(radius=1000, resolution=100, bounds=bounds)
    # Across the equator from corner to corner, with the plane's own east (cosine of the edge's latitude).
    wide, high = radians(span) * cos(radians(span / 2)), radians(span)
    sphere = 2 * asin(sqrt(sin(high / 2) ** 2 + cos(high / 2) ** 2 * sin(radians(span) / 2) ** 2))
    assert (sqrt(wide**2 + high**2) / sphere <= 1.005) or not fits


def test_the_noise_scale_of_the_design() -> None:
    """The worked example: range 10, 142857148 nano-epsilon, scale 69.99999748000009."""
    assert number().scale(142_857_148) == 69.99999748000009
    assert counts().scale(NANO) == 2.0
    assert location().scale(NANO // 4) == 2000.0
    assert kind_of(CATEGORY).scale(NANO // 4) == 4.0


@pytest.mark.parametrize("value", [NUMBER, LOCATION, COUNTS], ids=["number", "location", "counts"])
def test_still_compares_exactly(value: Mapping[str, object]) -> None:
    """Whether the noise scale exceeded the change is decided by exact fractions, even at equality."""
    kind = kind_of(value)
    generator = np.random.default_rng(5)
    seen = set()
    for _ in range(3000):
        spend = int(10 ** generator.uniform(0, 10))
        scale = _exact_scale(kind, spend)
        one = [int(cell) for cell in generator.integers(-1000, 1000, kind.width)]
        reach = int(scale / _unit(kind)) + 2
        other = [cell + int(generator.integers(-2 * reach, 2 * reach)) for cell in one]
        change = _change(kind, one, other)
        expected = scale**2 > change if isinstance(kind, Location) else scale > change
        assert kind.still(ReleasedCells(tuple(one)), ReleasedCells(tuple(other)), spend) == expected
        seen.add(expected)
    assert seen == {True, False}
    if isinstance(kind, Number):
        assert not kind.still(ReleasedCells((0,)), ReleasedCells((10_000,)), NANO), "equal is not larger"
        assert kind.still(ReleasedCells((0,)), ReleasedCells((9_999,)), NANO)


def _unit(kind: Kind) -> Fraction:
    return (
        Fraction(1, 1000) if isinstance(kind, Number) else Fraction(10) if isinstance(kind, Location) else Fraction(1)
    )


def _exact_scale(kind: Kind, spend_nano: int) -> Fraction:
    """Return D*res/e, radius/e or keys*sensitivity/e."""
    whole = {Number: 10, Location: 500, Counts: 3 * 2, Category: 1}[type(kind)]
    return Fraction(whole * NANO, spend_nano)


def _change(kind: Kind, one: list[int], other: list[int]) -> Fraction:
    """Return the distance of two measurements in the value's unit; squared for a location."""
    apart = [(a - b) * _unit(kind) for a, b in zip(one, other, strict=True)]
    return sum((d * d for d in apart), Fraction(0)) if isinstance(kind, Location) else sum(map(abs, apart), Fraction(0))


def test_still_for_categories() -> None:
    """A change counts as 1 and is compared with 1/e."""
    kind = kind_of(CATEGORY)
    same, other = ReleasedCells((1,)), ReleasedCells((2,))
    assert kind.still(same, same, 10 * NANO)
    assert kind.still(same, other, NANO - 1)
    assert not kind.still(same, other, NANO)


@pytest.mark.parametrize(
    ("kind", "cells", "clamped"),
    [
        (number(), (-5,), (0,)),
        (number(), (10_001,), (10_000,)),
        (number(clamp=False), (10_001,), (10_001,)),
        (counts(), (-3, 0, 4), (0, 0, 4)),
        (counts(clamp=False), (-3, 0, 4), (-3, 0, 4)),
        (location(clamp=False), (10**9, 0), (10**9, 0)),
        (kind_of(CATEGORY), (3,), (3,)),
    ],
)
def test_estimates_are_clamped(kind: Kind, cells: tuple[int, ...], clamped: tuple[int, ...]) -> None:
    """Estimates stay within the declared range unless the policy says otherwise."""
    assert kind.clamp(ReleasedCells(cells)) == clamped


def test_a_clamped_location_lies_within_the_bounds() -> None:
    """Whatever the noise, a clamped estimate is published within the bounds."""
    kind = location()
    for x, y in [(10**12, -(10**12)), (-(10**12), 10**12), (0, 0)]:
        shown = kind.publish(kind.clamp(ReleasedCells((x, y))))
        assert isinstance(shown, dict)
        assert -11.1 - 1e-7 <= shown["latitude"] <= -10.8 + 1e-7
        assert -37.2 - 1e-7 <= shown["longitude"] <= -37.0 + 1e-7


@pytest.mark.parametrize(
    "value", [NUMBER, COUNTS, LOCATION, CATEGORY], ids=["number", "counts", "location", "category"]
)
def test_a_release_reads_back(value: Mapping[str, object]) -> None:
    """The cells of a measurement follow from its published form, up to the largest one published."""
    kind = kind_of(value)
    generator = np.random.default_rng(6)
    most = 3 if isinstance(kind, Category) else 2**50
    for _ in range(2000):
        low = 0 if isinstance(kind, Category) else -most
        whole = [int(cell) for cell in generator.integers(low, most, kind.width, endpoint=True)]
        cells = ReleasedCells(tuple(cell // isqrt(1 + int(generator.integers(0, 2**40))) for cell in whole))
        assert kind.read(kind.publish(cells)) == cells
    for edge in (most, 0 if isinstance(kind, Category) else -most):
        cells = ReleasedCells((edge,) * kind.width)
        assert kind.read(kind.publish(cells)) == cells


@pytest.mark.parametrize("latitude", [84.9, 60.0, 0.0, -45.0])
@pytest.mark.parametrize("resolution", [0.1, 1, 333.3, 3_000])
def test_the_finest_lattice_reads_back_from_seven_decimals(latitude: float, resolution: float) -> None:
    """At every latitude and resolution, neighbouring lattice points have different degrees."""
    bounds = {"south": latitude - 1, "west": 100.0, "north": latitude + 0.1, "east": 101.0}
    kind = location(radius=1000, resolution=resolution, bounds=bounds)
    for x, y in pairwise(range(kind.longitude.low, kind.longitude.low + 400)):
        cells = ReleasedCells((x, y))
        assert kind.read(kind.publish(cells)) == cells
    far = ReleasedCells((2**50, -(2**50)))
    assert kind.read(kind.publish(far)) == far


def test_absurd_noise_saturates() -> None:
    """Noise beyond what JSON readers preserve ends at the last cell, so records stay readable."""
    kind = counts(sensitivity=2**53 - 1)
    drawn = [cell for draw in range(50) for cell in kind.perturb(stream(draw), RawCells((1, 2, 3)), 1)]
    assert set(drawn) == {-(2**53) + 1, 2**53 - 1}
    wide = number(lower=0, upper=1e15, resolution=1)
    assert {wide.perturb(stream(draw), RawCells((7,)), 1)[0] for draw in range(50)} == {-(2**50), 2**50}
