"""The audit accepts exactly the policies that the worker's own compiler accepts: no more, and no fewer."""

import copy
from collections import Counter
from collections.abc import Iterable, Iterator
from math import inf, nextafter
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stream_app.audit.books.terms import TermsError, read_terms
from stream_app.privacy.parameters import LAST_TIMESTAMP_MS
from stream_app.privacy.policy import PolicyError, stored_policy_of
from tests.run import SAMPLES
from tests.suite.speeds import scaled

BOX = {"south": -10.95, "west": -37.1, "north": -10.9, "east": -37}
VALUES: list[dict[str, Any]] = [
    {"kind": "number", "lower": 0, "upper": 10, "resolution": 0.5, "sensitivity": 3, "clamp": False, "invalid": 2.5},
    {"kind": "counts", "keys": ["x", "y"], "sensitivity": 2, "clamp": True, "invalid": {"x": 1}},
    {
        "kind": "location", "radius": 50, "resolution": 10, "bounds": BOX, "clamp": True,
        "invalid": {"latitude": -10.93, "longitude": -37.05},
    },
    {"kind": "category", "categories": ["in", "out", True], "clamp": True, "invalid": "in"},
    {"kind": "category", "categories": ["in", "reject"], "invalid": "in"},
    {
        "kind": "vector", "clamp": False, "invalid": {"x": 1, "y": 0.5},
        "parts": {"x": {"lower": 0, "upper": 10, "resolution": 0.5}, "y": {"lower": -1, "upper": 1, "resolution": 1}},
    },
]  # fmt: skip
VALUES += [sample.declared for kind, sample in SAMPLES.items() if kind not in {value["kind"] for value in VALUES}]
PROTECTIONS: list[dict[str, Any]] = [
    {"level": "landmark", "landmarks": [3500, [6000, 8001]], "step": 1000, "spare": 2},
    {"level": "event", "landmarks": [], "step": 7, "spare": 0, "length": None},
    {"level": "user", "length": 4},
    {"level": "w-event", "window": 4, "length": None},
    {"level": "landmark", "landmarks": [[6000, 8001]], "step": 1000, "window": 3},
]
READINGS: list[dict[str, Any]] = [
    {"level": "event", "step": 7, "within": "last", "open_steps": 2, "absent": "approximated"},
    {"level": "user", "length": 4, "within": "mean", "open_steps": 1000, "absent": 2.5},
    {"level": "w-event", "window": 4, "within": "last", "open_steps": 1},
]
SCHEMES: list[dict[str, Any]] = [
    {"name": "uniform"},
    {"name": "adaptive", "increase": 0.5, "decrease": 1, "minimum": 0},
    {"name": "skip", "accept_risk": True},
    {"name": "balanced", "regular_share": 0.3},
    {"name": "bd", "increase": 0.5, "decrease": 1, "minimum": 0, "dissimilarity": "released"},
    {"name": "ba", "dissimilarity": "private"},
]
MEANT = {"user": ("uniform", "adaptive"), "w-event": ("uniform", "bd", "ba")}
PAIRS = [
    {("landmark", "adaptive"), ("landmark", "skip"), ("event", "balanced"), ("user", "uniform")}
    | {("w-event", "bd"), ("w-event", "ba"), ("windows", "bd"), ("windows", "ba")}
]
PAIRS += [{("event", "uniform")}] * (len(VALUES) - 1)
"""The levels and schemes for each kind; windows are those that go with landmarks."""
LIMITS = (
    *(0, 1, 2, 4, 5, 85, 180, 4096, 10**6, 10**9, 20_100_000, 2**50, 2**53 - 1, LAST_TIMESTAMP_MS, 2**63, 2**64 - 1),
    *(1e-9, 1e-3, 0.1, 0.5, 1.0, 19.8, 85.0, 180.0, 1e6, 20_100_000.0, 1e14, 1e15, 1e100, 1e-100, 1e308, 5e-324),
)
TEXTS = (
    "",
    "x",
    "in",
    "reject",
    "none",
    "level",
    "skip",
    "uniform",
    "user",
    "event",
    "private",
    "landmark",
    "counts",
    "ü" * 200,
)
ODD: list[Any] = [
    *(sign * limit for limit in LIMITS for sign in (1, -1) if sign * limit >= -(2**63)),
    *(nextafter(limit, way) for limit in LIMITS for way in (inf, -inf)),
    *(limit + way for limit in LIMITS if isinstance(limit, int) and 0 < limit < 2**63 for way in (1, -1)),
    *(None, True, False, *TEXTS, "ü" * 201),
    *([], {}, [[]], [True], [1], [1, 2], [2, 1], [[1, 2]], [[2, 2]], [[1, 2, 3]], [[1, True]], [1.0], [[0, 2**48]]),
    *([LAST_TIMESTAMP_MS], [LAST_TIMESTAMP_MS + 1], [[1, LAST_TIMESTAMP_MS]], [[1, LAST_TIMESTAMP_MS + 1]], [-1]),
    *(["in"], ["in", "in"], ["in", "out"], [True, False], [True, True], [True, "in"], ["in", ""], ["in", 1], [None]),
    *(["in", "ü" * 201], [str(n) for n in range(4096)], [str(n) for n in range(4097)], ["reject", "x", "in"]),
    *({"x": 1}, {"x": -1}, {"x": True}, {"x": 1.0}, {"z": 1}, {"x": 2**53}, {"x": 2**53 - 1, "y": 0}, {"name": "skip"}),
    *({"latitude": 1, "longitude": 2}, {"latitude": 1}, {"latitude": "1", "longitude": 2}, {"latitude": 1e308}),
    *({"x": 1, "y": 2}, {"y": 1.5, "x": 0}, {"x": 1, "y": True}, {"x": 1, "y": 1e309}, {"x": {}}, {"x": None}),
    *({str(n): {"lower": 0, "upper": 1, "resolution": 1} for n in range(most)} for most in (63, 64, 65)),
    *("sum", "mean", "last", "max", "approximated", "replace", "add-remove", ["in", "approximated"]),
    *({"south": -80, "west": -170, "north": 80, "east": 170}, {"south": 0, "west": 0, "north": 1, "east": 19.9}),
]  # fmt: skip


def true_policies() -> Iterator[dict[str, Any]]:
    """Yield policies of every level, scheme and kind, with every member."""
    for value in VALUES:
        for protection in PROTECTIONS:
            for scheme in SCHEMES:
                members = {"protection": protection, "scheme": scheme, "value": value}
                # Levels whose budget is never used up have none to renew.
                more = {"renew": [5, 9]} if protection["level"] in {"landmark", "user"} else {}
                yield {"epsilon": 0.25, **copy.deepcopy(members | more), "filter": "none", "correlation": "household"}


def places(found: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every member and item of a document, as its container and its key."""
    for key in list(found) if isinstance(found, dict) else range(len(found)):
        yield found, key
        if isinstance(found[key], dict | list):
            yield from places(found[key])


def odd_answers(policy: dict[str, Any], held: Iterable[tuple[Any, Any]], odds: Iterable[Any]) -> Counter[bool]:
    """Count the answers of `agreed` with each of the held places in turn replaced by each odd value.

    Each place is also omitted once. In the end, the policy is as before.
    """
    found: Counter[bool] = Counter()
    for holder, key in list(held):
        true = holder[key]
        for odd in odds:
            holder[key] = odd
            found[agreed(policy)] += 1
        del holder[key]
        agreed(policy)
        if isinstance(holder, dict):
            holder[key] = true
        else:
            holder.insert(key, true)
    return found


def agreed(parameters: dict[str, Any]) -> bool:
    """Return whether the worker accepts a policy; check that the audit accepts the same, with the same budget."""
    read = orjson.loads(orjson.dumps(parameters))
    try:
        nano = stored_policy_of(read, 1).epsilon_nano
    except PolicyError:
        nano = 0
    try:
        known = read_terms(1, read).budget_nano
    except TermsError:
        known = 0
    assert known == nano, parameters
    return nano > 0


def test_every_true_policy() -> None:
    """All are accepted, except schemes without meaning at their level; with an unknown member, none is."""
    for policy in true_policies():
        name, kind = policy["scheme"]["name"], policy["value"]["kind"]
        level, window = policy["protection"]["level"], policy["protection"].get("window")
        sensible = name in MEANT.get(level, ("uniform", "adaptive", "skip", "balanced"))
        sensible = sensible or (level == "landmark" and name == "bd" and window == 3)
        assert agreed(policy) is (sensible and (name != "ba" or kind in ("number", "counts")))
        for name in ("protection", "scheme", "value"):
            assert not agreed(policy | {name: policy[name] | {"unknown": 1}})
        assert not agreed(policy | {"dummies": {}})


def test_no_ledger_holds_a_request_for_dummies() -> None:
    """The worker accepts a policy with dummies; the audit does not, because a ledger holds the drawn landmarks."""
    dummies = {"method": "padding", "probability": 0.5, "start": 0, "end": 9000}
    protection = {"level": "landmark", "landmarks": [3500], "step": 1000}
    parameters = {"epsilon": 1, "protection": protection, "scheme": SCHEMES[0], "value": VALUES[0], "dummies": dummies}
    assert stored_policy_of(parameters, 1).dummies is not None
    with pytest.raises(TermsError, match="dummies"):
        read_terms(1, parameters)


@pytest.mark.parametrize("number", range(len(VALUES)))
def test_every_member_with_every_odd_value(number: int) -> None:
    """Each member and item in turn is omitted, and replaced by each of about two hundred values."""
    found: Counter[bool] = Counter()
    for policy in true_policies():
        level = "windows" if policy["protection"].get("window") == 3 else policy["protection"]["level"]
        pair = (level, policy["scheme"]["name"])
        if policy["value"] != VALUES[number] or pair not in PAIRS[number]:
            continue
        # What is beside the value has the same domain beside all kinds, so beside the first it is enough.
        found += odd_answers(policy, places(policy if number == 0 else policy["value"]), ODD)
    assert found[True] > 10
    assert found[False] > 100


@pytest.mark.parametrize("protection", READINGS)
def test_steps_of_readings(protection: dict[str, Any]) -> None:
    """They agree with every kind and scheme, and with each member in turn omitted or odd."""
    taken = 0
    whole = {"kind": "number", "lower": 0, "upper": 10, "resolution": 0.5}
    answers = ("approximated", 2.5, None, "in", "reject", True)
    absents = (*answers, {"x": 1, "y": 2}, {"x": 1}, {"latitude": 1, "longitude": 2})
    for value in (
        *VALUES,
        whole,
        whole | {"sensitivity": 10},
        {"kind": "category", "categories": ["in", "approximated"]},
    ):
        for scheme in SCHEMES:
            policy = copy.deepcopy({"epsilon": 0.25, "protection": protection, "scheme": scheme, "value": value})
            taken += agreed(policy)
            for absent in absents:
                taken += agreed(policy | {"protection": protection | {"absent": absent}})
            for within in ("last", "sum", "mean", "max"):
                taken += agreed(policy | {"protection": protection | {"within": within}})
        for name in ("within", "open_steps", "absent"):
            left = {other: part for other, part in protection.items() if other != name}
            policy = {"epsilon": 0.25, "protection": left, "scheme": SCHEMES[0], "value": value}
            taken += agreed(policy)
            for odd in ODD if value == whole else ():
                taken += agreed(policy | {"protection": left | {name: odd}})
    assert taken > 20


def decimals(least: float, most: float) -> st.SearchStrategy[float]:
    """Return doubles in a range, many of them with few digits, which are on grid points."""
    numbers = st.floats(least, most)
    return st.one_of(numbers, numbers.map(round).map(float), st.builds(round, numbers, st.just(1)))


@settings(max_examples=scaled(500))
@given(decimals(-86, 86), decimals(-181, 181), decimals(0, 21), decimals(0, 21), decimals(0.05, 3e6))
def test_bounds(south: float, west: float, height: float, width: float, resolution: float) -> None:
    """A box is accepted if the plane keeps its guarantee and the lattice has two points per side."""
    bounds = {"south": south, "west": west, "north": south + height, "east": west + width}
    value = {"kind": "location", "radius": 100, "resolution": resolution, "bounds": bounds}
    agreed({"epsilon": 1, "protection": PROTECTIONS[1], "scheme": SCHEMES[0], "value": value})


@settings(max_examples=scaled(500))
@given(decimals(-30, 30), decimals(0, 30), st.one_of(decimals(1e-14, 20), st.sampled_from((1e-15, 0.1, 0.3, 2**-47))))
def test_grids(lower: float, width: float, resolution: float) -> None:
    """A range is accepted if it has two grid points, and no more than have doubles of their own."""
    value = {"kind": "number", "lower": lower, "upper": lower + width, "resolution": resolution}
    agreed({"epsilon": 1, "protection": PROTECTIONS[1], "scheme": SCHEMES[0], "value": value})


def test_the_widest_box() -> None:
    """Both accept the same largest degree, to the last digit of a double."""
    for degrees in (19.813209025980368, nextafter(19.813209025980368, inf), nextafter(19.813209025980368, -inf)):
        value = VALUES[2] | {"bounds": {"south": 0, "west": 0, "north": 1, "east": degrees}, "invalid": "reject"}
        policy = {"epsilon": 1, "protection": PROTECTIONS[1], "scheme": SCHEMES[0], "value": value}
        assert agreed(policy) is (degrees <= 19.813209025980368)


ITEMS: list[dict[str, Any]] = [
    {"kind": "number", "lower": 0, "upper": 10, "resolution": 0.5, "sensitivity": None, "clamp": False},
    {"kind": "number", "lower": -(2**31), "upper": 2**31, "resolution": 1, "invalid": "reject"},
    {"kind": "choice", "items": ["in", "out", "x"]},
    VALUES[1] | {"invalid": "reject"},
    VALUES[3],
    VALUES[5],
]
COLLECTS: list[dict[str, Any]] = [
    {"neighbours": neighbours, "open_steps": 2, "intrusion_nano": look, "statistic": statistic}
    for neighbours in ("replace", "add-remove")
    for look in (None, 2**20)
    for statistic in (None, "sum", "mean")
]


@pytest.mark.parametrize("value", ITEMS, ids=lambda value: value["kind"])
def test_what_is_collected(value: dict[str, Any]) -> None:
    """They agree with every scheme and statistic, and with each member in turn omitted or odd."""
    taken = 0
    for collect in COLLECTS:
        for scheme in SCHEMES:
            for filtered in (None, "none", "level"):
                members = {"protection": PROTECTIONS[3 if scheme["name"] in MEANT["w-event"] else 1], "scheme": scheme}
                taken += agreed({"epsilon": 0.25, **members, "value": value, "collect": collect, "filter": filtered})
        policy = {"epsilon": 0.25, "protection": PROTECTIONS[1], "scheme": SCHEMES[0], "value": value}
        if not agreed(copy.deepcopy(policy) | {"collect": collect}):
            continue
        policy = copy.deepcopy(policy) | {"collect": dict(collect)}
        taken += odd_answers(policy, (*places(policy["collect"]), *places(policy["value"])), ODD)[True]
    assert (taken > 10) is (value["kind"] in {"number", "choice", "counts"})


@settings(max_examples=scaled(250))
@given(decimals(-(2.0**32), 2.0**32), decimals(0, 2.0**33), st.sampled_from((0.5, 1, 3)), st.integers(1, 10**5))
def test_items(lower: float, width: float, resolution: float, look: int) -> None:
    """A range of items is accepted if the counters can hold the items and the noise of a look."""
    value = {"kind": "number", "lower": lower, "upper": lower + width, "resolution": resolution}
    collect = {"neighbours": "replace", "open_steps": 1, "intrusion_nano": look, "statistic": "sum"}
    members = {"protection": PROTECTIONS[1], "scheme": SCHEMES[0], "value": value}
    agreed({"epsilon": 1, **members, "collect": collect})
    agreed({"epsilon": 1, **members, "collect": {**collect, "intrusion_nano": None}})
