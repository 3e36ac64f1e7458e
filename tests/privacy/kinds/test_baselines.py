"""Errors compared with those worked out by hand, and the guess used for withheld steps."""

from math import asin, cos, radians, sin, sqrt
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

from stream_app.privacy.kinds import Item, kind_of
from stream_app.privacy.kinds.form import KindFault
from stream_app.privacy.parameters import ParametersForm
from tests.run import KINDS, VECTOR


@pytest.mark.parametrize(
    ("kind", "raw", "published", "expected"),
    [
        ("number", 3, 5.5, 2.5),
        ("number", -1.25, -2.0, 0.75),
        ("category", "none", "none", 0.0),
        ("category", "none", "ill", 1.0),
        ("category", True, False, 1.0),
        ("counts", {"walk": 3, "ride": 1}, {"walk": 1, "ride": 5, "rest": 3}, 3.0),
        ("counts", {"walk": 3}, {"walk": 1, "ride": 5, "rest": 2}, 3.0),
    ],
)
def test_by_hand(kind: str, raw: object, published: object, expected: float) -> None:
    """Errors are absolute differences, 0 or 1 for categories, the mean over keys of counts; missing ones are 0."""
    assert declared(KINDS[kind]).error(raw, published) == expected


def test_parts_of_a_vector_count_by_their_ranges() -> None:
    """If pulse is wrong by 19 of 190 and oxygen by 0.09 of 0.3, the error is a fifth on average."""
    raw, published = {"pulse": 71, "oxygen": 0.97}, {"pulse": 90.0, "oxygen": 0.88}
    assert declared(VECTOR).error(raw, published) == pytest.approx((0.1 + 0.3) / 2)


def test_metres_are_those_of_the_great_circle() -> None:
    """The haversine formula agrees to within a thousandth over city distances."""
    generator = np.random.default_rng(1)
    kind = declared(KINDS["location"])
    for _ in range(200):
        south, west = generator.uniform(-60, 60), generator.uniform(-170, 170)
        north, east = south + generator.uniform(-0.05, 0.05), west + generator.uniform(-0.05, 0.05)
        half = sin(radians(north - south) / 2) ** 2
        half += cos(radians(south)) * cos(radians(north)) * sin(radians(east - west) / 2) ** 2
        wanted = 2 * 6_371_008.8 * asin(sqrt(half))
        places = [{"latitude": south, "longitude": west}, {"latitude": north, "longitude": east}]
        assert kind.error(places[0], places[1]) == pytest.approx(wanted, rel=2e-3)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"kind": "number", "lower": 40, "upper": 400, "resolution": 1}, 220.0),
        ({"kind": "counts", "keys": ["walk", "ride"]}, {"walk": 0, "ride": 0}),
        ({"kind": "category", "categories": [False, True]}, False),
        (VECTOR, {"pulse": 125.0, "oxygen": 0.85}),
    ],
)
def test_a_guess_needs_the_policy_alone(value: dict[str, Any], expected: object) -> None:
    """The guess is the middle of the range, no items, or the first category."""
    assert declared(value).guess == expected


def declared(value: dict[str, Any]) -> Item:
    """Return the kind that a policy's value declares."""
    form = ParametersForm.model_validate(
        {"epsilon": 1.0, "protection": {"level": "event"}, "scheme": {"name": "uniform"}, "value": value}
    )
    kind = kind_of(form.value)
    assert not isinstance(kind, KindFault)
    return kind.item


def mean_error(kind: Item, raws: list[Any], constant: object) -> float:
    """Return the mean error of a constant."""
    return sum(kind.error(raw, constant) for raw in raws) / len(raws)


@pytest.mark.parametrize("count", [1, 2, 7, 40])
def test_no_constant_is_better_in_hindsight(count: int) -> None:
    """Of numbers, counts, vectors and categories no data value is better; one is the best (Boscovich 1757)."""
    generator = np.random.default_rng(count)
    samples: dict[str, list[Any]] = {
        "number": generator.normal(5, 4, count).tolist(),
        "counts": [{"walk": walk, "ride": ride} for walk, ride in generator.poisson(3, (count, 2)).tolist()],
        "category": generator.choice(["none", "contact", "ill"], count, p=[0.2, 0.5, 0.3]).tolist(),
        "vector": [{"pulse": pulse, "oxygen": part} for pulse, part in generator.normal(70, 9, (count, 2)).tolist()],
    }
    samples["counts"][0].pop("ride")
    for name, raws in samples.items():
        candidates = [{"walk": 0, "ride": 0, "rest": 0} | raw if name == "counts" else raw for raw in raws]
        if name == "counts":
            candidates = [one | {"ride": other["ride"]} for one in candidates for other in candidates]
        if name == "vector":
            candidates = [one | {"pulse": other["pulse"]} for one in candidates for other in candidates]
        kind = declared(KINDS[name])
        least = min(mean_error(kind, raws, candidate) for candidate in candidates)
        assert mean_error(kind, raws, kind.best_constant(raws)) == pytest.approx(least, abs=1e-12)


@pytest.mark.parametrize("count", [1, 2, 3, 4, 12, 100])
def test_no_position_is_better_in_hindsight(count: int) -> None:
    """Even scipy, from the found position and from the first, finds none better; some places come often."""
    generator = np.random.default_rng(count)
    raws = [
        {"latitude": north, "longitude": east}
        for north, east in generator.normal((-11, -37), 0.01, (count, 2)).tolist()
    ]
    for sample in (raws, raws + raws[:1] * (count // 3)):
        kind = declared(KINDS["location"])
        found = kind.best_constant(sample)
        assert isinstance(found, dict)

        def mean_at(place: Any, kind: Item = kind, sample: list[Any] = sample) -> float:
            return mean_error(kind, sample, {"latitude": place[0], "longitude": place[1]})

        begins = [list(begin.values()) for begin in (found, sample[0])]
        options = {"xatol": 1e-10, "fatol": 1e-9}
        searched = [minimize(mean_at, begin, method="Nelder-Mead", options=options).fun for begin in begins]
        assert mean_error(kind, sample, found) <= 1.001 * min(searched) + 0.01
