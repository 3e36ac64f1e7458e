"""Which forms of values and collected items are weaker than others: by hand, and by enumerating neighbours."""

from itertools import product
from typing import Any

import pytest

from stream_app.privacy.policy import policy_of, stored_policy_of
from stream_app.privacy.values import Raw
from stream_app.privacy.weaker import less_protected
from tests.privacy.test_weaker import state_of
from tests.run import CATEGORY, COUNTS, LOCATION, NUMBER


def kept(value: dict[str, Any], former: dict[str, Any], **members: Any) -> bool:
    """Return whether a version with one value form is not weaker than one with another, at event level."""
    common = {"epsilon": 1.0, "protection": {"level": "event"}, "scheme": {"name": "uniform"}, "filter": "none"}
    before = stored_policy_of({**common, "value": former, **members.get("before", {})}, 1)
    after = stored_policy_of({**common, "value": value, **members.get("after", {})}, 2)
    found = less_protected(after, before, state_of(before, ()))
    assert found in {(), ("neighbours",)}
    return not found


EVENT = {"epsilon": 1.0, "protection": {"level": "event"}, "scheme": {"name": "uniform"}}
NARROW = {**NUMBER, "sensitivity": 2}
BOUNDS = {"south": -11.1, "west": -37.2, "north": -10.8, "east": -37.0}


@pytest.mark.parametrize(
    ("value", "former", "same"),
    [
        (NUMBER, NUMBER, True),
        (NUMBER, NARROW, True),
        (NARROW, NUMBER, False),
        (NARROW, NARROW, True),
        ({**NARROW, "sensitivity": 3}, NARROW, True),
        ({**NARROW, "sensitivity": 1}, NARROW, False),
        ({**NARROW, "upper": 11}, NARROW, False),
        ({**NARROW, "resolution": 0.01}, NARROW, False),
        ({**NUMBER, "upper": 5}, NUMBER, True),
        ({**NUMBER, "sensitivity": 10}, NUMBER, True),
        (NUMBER, COUNTS, False),
        (COUNTS, {**COUNTS, "sensitivity": 1}, True),
        ({**COUNTS, "sensitivity": 1}, COUNTS, False),
        (LOCATION, LOCATION, True),
        ({**LOCATION, "radius": 499}, LOCATION, False),
        ({**LOCATION, "radius": 501, "resolution": 20}, LOCATION, True),
        *(
            ({**LOCATION, "bounds": {**BOUNDS, side: BOUNDS[side] - 0.01}}, LOCATION, side in {"south", "west"})
            for side in BOUNDS
        ),
        (CATEGORY, {"kind": "category", "categories": ["none", "ill"]}, True),
        # A category or key that is none any more makes its values invalid, which is told unless a substitute hides it.
        ({"kind": "category", "categories": ["none", "ill"]}, CATEGORY, False),
        ({"kind": "category", "categories": ["none", "ill"], "invalid": "ill"}, CATEGORY, True),
        ({**COUNTS, "keys": ["ride", "rest"]}, COUNTS, False),
        ({**COUNTS, "keys": ["more", "rest", "ride", "walk"]}, COUNTS, True),
        # A substitute: kept, or dropped where its kind no longer takes one.
        ({**NUMBER, "invalid": 5}, {**NUMBER, "invalid": 5}, True),
        ({**NUMBER, "invalid": 7}, {**NUMBER, "invalid": 5}, True),
        ({**NUMBER, "invalid": 5}, NUMBER, True),
        (NUMBER, {**NUMBER, "invalid": 5}, False),
        (NARROW, {**NARROW, "invalid": 5}, True),
        (COUNTS, {**COUNTS, "invalid": {"walk": 1}}, True),
        (CATEGORY, {**CATEGORY, "invalid": "none"}, False),
    ],
)
def test_values(value: dict[str, Any], former: dict[str, Any], same: bool) -> None:  # noqa: FBT001
    """Neighbouring values stay neighbours, or the version is weaker."""
    assert kept(value, former) == same


def test_numbers_by_enumeration() -> None:
    """If a version is not weaker, former neighbours stay neighbours; if it keeps the range, only then."""
    forms = [
        {"kind": "number", "lower": lower, "upper": lower + wide, "resolution": resolution, "sensitivity": sensitivity}
        for lower, wide, resolution, sensitivity in product((0, 2), (2, 4), (1, 2), (1, 2, 3, 9))
    ]
    numbers = range(-2, 8)

    def neighbours(form: dict[str, Any]) -> set[tuple[int, int]]:
        kind = policy_of(
            {"epsilon": 1.0, "protection": {"level": "event"}, "scheme": {"name": "uniform"}, "value": form}, 1
        ).kind
        cells = {number: kind.quantise(Raw(number)) for number in numbers}
        wide: int = getattr(kind, "sensitivity")  # noqa: B009 - of a Number
        return {
            (one, other)
            for one, other in product(numbers, numbers)
            if (a := cells[one]) is not None and (b := cells[other]) is not None and abs(a[0] - b[0]) <= wide
        }

    of = [neighbours(form) for form in forms]
    for (nth, value), (mth, former) in product(enumerate(forms), enumerate(forms)):
        if kept(value, former):
            assert of[mth] <= of[nth], (value, former)
        elif all(value[name] == former[name] for name in ("lower", "upper", "resolution")):
            assert not of[mth] <= of[nth], (value, former)


def test_categories_and_keys_by_enumeration() -> None:
    """A version is weaker exactly if two former neighbours no longer are, one of them having become invalid."""
    chosen: list[list[Any]] = [
        ["a", "b"],
        ["b", "a"],
        ["b", "c"],
        ["a", "b", "c"],
        ["a", "b", True],
        ["a", "b", "True"],
    ]
    categories: list[dict[str, Any]] = [
        {"kind": "category", "categories": each, "invalid": invalid} for each in chosen for invalid in ("reject", "b")
    ]
    counts: list[dict[str, Any]] = [
        {"kind": "counts", "keys": keys, "sensitivity": sensitivity}
        for keys in (["a"], ["b"], ["a", "b"], ["b", "a"], ["b", "c"], ["a", "b", "c"])
        for sensitivity in (1, 2)
    ]
    tables = [
        {key: count for key, count in zip("abc", each, strict=True) if count} for each in product(range(3), repeat=3)
    ]
    for forms, values in ((categories, ["a", "b", "c", True, "True"]), (counts, tables)):
        of = [_neighbours(form, values) for form in forms]
        for (nth, value), (mth, former) in product(enumerate(forms), enumerate(forms)):
            assert kept(value, former) == (of[mth] <= of[nth]), (value, former)


def test_vectors_by_enumeration() -> None:
    """Former neighbours are decided or refused alike: only removing a substitute makes a version weaker."""
    forms = [
        {"kind": "vector", "parts": {name: {"lower": 0, "upper": wide, "resolution": 1} for name in names}} | hidden
        for names, wide in product(("ab", "a", "ac", "abc"), (2, 3))
        for hidden in ({}, {"invalid": dict.fromkeys(names, 1)})
    ]
    values = [dict(zip(names, (0, 9, 1), strict=False)) for names in ("ab", "a", "ac", "abc", "x")] + [{"a": 2}, {}]
    of = []
    for form in forms:
        kind = stored_policy_of({**EVENT, "value": form}, 1).kind
        valid = [kind.quantise(Raw(value)) is not None for value in values]
        pairs = list(product(range(len(values)), repeat=2))
        neighbours = {(n, m) for n, m in pairs if valid[n] and valid[m]}
        of.append((neighbours, {(n, m) for n, m in pairs if valid[n] == valid[m]}))
    weaker = 0
    for (nth, value), (mth, former) in product(enumerate(forms), enumerate(forms)):
        assert kept(value, former) == (of[mth][0] <= of[nth][1]), (value, former)
        weaker += not kept(value, former)
    assert weaker == len(forms) ** 2 / 4


def _neighbours(form: dict[str, Any], values: list[Any]) -> set[tuple[int, int]]:
    """Return which two values are neighbours: any two categories, or tables at most the sensitivity apart."""
    members, hides = set(form.get("categories") or form["keys"]), form.get("invalid", "reject") != "reject"

    def valid(value: Any) -> bool:
        return hides or (set(value) <= members if isinstance(value, dict) else value in members)

    def apart(one: Any, other: Any) -> int:
        return sum(abs(one.get(key, 0) - other.get(key, 0)) for key in members) if isinstance(one, dict) else 0

    pairs = product(enumerate(values), enumerate(values))
    most = form.get("sensitivity", 0)
    return {(n, m) for (n, a), (m, b) in pairs if valid(a) and valid(b) and apart(a, b) <= most}


REPLACE = {"neighbours": "replace", "open_steps": 2}
ADD = {"neighbours": "add-remove", "open_steps": 2}


@pytest.mark.parametrize(
    ("collect", "former", "same"),
    [
        (None, REPLACE, False),
        (REPLACE, None, False),
        (REPLACE, REPLACE, True),
        ({**REPLACE, "open_steps": 1}, REPLACE, True),
        (ADD, REPLACE, False),
        (REPLACE, ADD, False),
        ({**REPLACE, "intrusion_nano": 5}, REPLACE, True),
        (REPLACE, {**REPLACE, "intrusion_nano": 5}, False),
        ({**REPLACE, "intrusion_nano": 6}, {**REPLACE, "intrusion_nano": 5}, False),
        ({**REPLACE, "intrusion_nano": 4}, {**REPLACE, "intrusion_nano": 5}, True),
    ],
)
def test_items(collect: dict[str, Any] | None, former: dict[str, Any] | None, same: bool) -> None:  # noqa: FBT001
    """What is collected stays collected, between the same neighbours, and no memory reveals more than before."""
    counts = {"kind": "counts", "keys": ["walk", "ride"]}
    plain = {**counts, "sensitivity": 2}
    values = [plain if each is None else counts for each in (collect, former)]
    assert kept(values[0], values[1], after={"collect": collect}, before={"collect": former}) == same


GRID = {"kind": "number", "lower": 0, "upper": 5, "resolution": 0.5}
DISTRICTS = {"kind": "choice", "items": ["north", "south"]}
SUM, MEAN = ({"statistic": "sum"}, {"statistic": "mean"})


@pytest.mark.parametrize("neighbours", [REPLACE, ADD])
@pytest.mark.parametrize(
    ("value", "statistic", "former", "formerly", "same"),
    [
        (GRID, MEAN, GRID, SUM, True),
        (GRID, SUM, GRID, MEAN, True),
        ({**GRID, "upper": 2}, SUM, GRID, SUM, True),
        ({**GRID, "lower": -9, "resolution": 3}, MEAN, GRID, SUM, True),
        (DISTRICTS, {}, GRID, SUM, False),
        ({"kind": "counts", "keys": ["north", "south"]}, {}, DISTRICTS, {}, False),
        (DISTRICTS, {}, DISTRICTS, {}, True),
        ({**DISTRICTS, "items": ["south", "east", "north"]}, {}, DISTRICTS, {}, True),
        ({**DISTRICTS, "items": ["south", "east"]}, {}, DISTRICTS, {}, False),
    ],
)
def test_what_is_made_of_items(
    value: dict[str, Any],
    statistic: dict[str, str],
    former: dict[str, Any],
    formerly: dict[str, str],
    same: bool,  # noqa: FBT001
    neighbours: dict[str, Any],
) -> None:
    """Any two numbers are neighbours under every sum and mean, whatever the range; a choice's items stay items."""
    after, before = {"collect": neighbours | statistic}, {"collect": neighbours | formerly}
    assert kept(value, former, after=after, before=before) == same
    other = {"collect": (ADD if neighbours is REPLACE else REPLACE) | statistic}
    assert not kept(value, former, after=other, before=before)
