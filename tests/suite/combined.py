"""Combinations of parameters: `make test` takes a part that includes each value of each parameter."""

from collections.abc import Sequence
from itertools import product
from typing import Any

import pytest
from _pytest.mark import ParameterSet


def combined(*axes: Sequence[Any], every: int) -> list[ParameterSet]:
    """Return all combinations of a test's parameters; those whose places do not sum to a multiple are long.

    As in a Latin square, each value of one parameter meets other values of another in turn. No value is omitted,
    because the places of the other parameters reach every remainder.
    """
    for number in range(len(axes)):
        others = [range(len(axis)) for place, axis in enumerate(axes) if place != number]
        reached = {sum(places) % every for places in product(*others)}
        assert reached == {*range(every)}, f"some value of parameter {number} would be met in no combination"
    return [
        pytest.param(
            *(value for _, value in chosen),
            id="-".join(value if isinstance(value, str) else f"{place}" for place, value in chosen),
            marks=[pytest.mark.long] if sum(place for place, _ in chosen) % every else [],
        )
        for chosen in product(*map(enumerate, axes))
    ]
