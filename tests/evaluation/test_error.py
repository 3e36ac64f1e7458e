"""Errors against those worked by hand, and the guess that stands for withheld steps."""

from math import asin, cos, radians, sin, sqrt
from typing import Any

import numpy as np
import pytest

from stream_app.evaluation.error import error, guess
from stream_app.privacy.kind_form import KindFault, kind_of
from stream_app.privacy.parameters import ParametersForm


@pytest.mark.parametrize(
    ("raw", "published", "expected"),
    [
        (3, 5.5, 2.5),
        (-1.25, -2.0, 0.75),
        ("home", "home", 0.0),
        ("home", "work", 1.0),
        (True, False, 1.0),
        ({"walk": 3, "ride": 1}, {"walk": 1, "ride": 5}, 3.0),
        ({"walk": 3}, {"walk": 1, "ride": 5}, 3.5),
    ],
)
def test_by_hand(raw: object, published: object, expected: float) -> None:
    """Absolute differences; 0 or 1 for categories; the mean over keys of counts, missing ones 0."""
    assert error(raw, published) == expected


def test_metres_are_those_of_the_great_circle() -> None:
    """The haversine formula agrees within a thousandth over city distances."""
    generator = np.random.default_rng(1)
    for _ in range(200):
        south, west = generator.uniform(-60, 60), generator.uniform(-170, 170)
        north, east = south + generator.uniform(-0.05, 0.05), west + generator.uniform(-0.05, 0.05)
        half = sin(radians(north - south) / 2) ** 2
        half += cos(radians(south)) * cos(radians(north)) * sin(radians(east - west) / 2) ** 2
        wanted = 2 * 6_371_008.8 * asin(sqrt(half))
        places = [{"latitude": south, "longitude": west}, {"latitude": north, "longitude": east}]
        assert error(*places) == pytest.approx(wanted, rel=2e-3)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"kind": "number", "lower": 40, "upper": 400, "resolution": 1}, 220.0),
        ({"kind": "counts", "keys": ["walk", "ride"]}, {"walk": 0, "ride": 0}),
        ({"kind": "category", "categories": [False, True]}, False),
    ],
)
def test_a_guess_needs_the_policy_alone(value: dict[str, Any], expected: object) -> None:
    """The middle of the range, no items, the first category."""
    form = ParametersForm.model_validate(
        {"epsilon": 1.0, "protection": {"level": "event"}, "scheme": {"name": "uniform"}, "value": value}
    )
    kind = kind_of(form.value)
    assert not isinstance(kind, KindFault)
    assert guess(kind) == expected
