"""Sums, means and choices: the differences of neighbours over all small steps, and the draws' exact laws."""

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations_with_replacement
from math import exp
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import softmax

from stream_app.privacy.kinds import Choice, HiddenMean, Kind, Mean, Sum
from stream_app.privacy.noise.mechanisms import chosen, chosen_fast, chosen_precise
from stream_app.privacy.policy import Policy, policy_of
from stream_app.privacy.values import NANO, Raw, RawCells, ReleasedCells
from tests.collected import collected
from tests.privacy.collected.intrusion_law import geometric
from tests.privacy.noise.bits import GivenBits, stream
from tests.privacy.noise.fit import SURE, fit

RANGES = ((-2, 1), (-1, 1), (0, 2), (1, 3), (-3, -1))
MOST_ITEMS = 3
HALF = Fraction(1, 2)
Items = tuple[Any, ...]


def policy(neighbours: str, statistic: str | None, value: dict[str, object], **collect: object) -> Policy:
    """Return a policy that collects."""
    members: dict[str, object] = {"neighbours": neighbours, "open_steps": 1, **collect}
    if statistic is not None:
        members["statistic"] = statistic
    record = collected(1, members) | {"value": value}
    return policy_of({name: part for name, part in record.items() if name not in {"type", "series", "version"}}, 1)


def over(low: int, high: int) -> dict[str, object]:
    """Return numbers on a grid of halves with these cells."""
    return {"kind": "number", "lower": low / 2, "upper": high / 2, "resolution": 0.5}


def closed(policy: Policy, items: Items) -> RawCells:
    """Return the cells of a step with these items, as the worker computes them."""
    assert policy.collect is not None
    gathers = policy.collect.gathers
    counters = [0] * gathers.counters
    for item in items:
        added = gathers.added(Raw(item))
        assert added is not None
        counters[added[0]] += added[1]
    return gathers.closed(counters, len(items))


def neighbours(found: Policy, domain: Items) -> Iterator[tuple[RawCells, RawCells]]:
    """Yield the cells of every two neighbouring steps of few items."""
    assert found.collect is not None
    for number in range(MOST_ITEMS + 1):
        for items in combinations_with_replacement(domain, number):
            for other in domain:
                if not found.collect.replace:
                    yield closed(found, items), closed(found, (*items, other))
                elif items:
                    yield closed(found, items), closed(found, (*items[1:], other))


def apart(kind: Kind, one: RawCells, other: RawCells) -> Fraction:
    """Return the loss between two steps in shares of the spend.

    It is the exact exponent of the largest likelihood ratio. Two measurements have half of the spend each. Without
    noise nothing may differ.
    """
    sensitivity = kind.item.sensitivity if isinstance(kind, Sum | Mean | HiddenMean) else 0
    moved = Fraction(abs(one[0] - other[0]), sensitivity)
    if isinstance(kind, HiddenMean):
        return moved / 2 + Fraction(abs(one[1] - other[1]), 2)
    assert one[1:] == other[1:], "what has no noise is the same for neighbours"
    return moved


@pytest.mark.parametrize(("low", "high"), RANGES)
@pytest.mark.parametrize("statistic", ["sum", "mean"])
@pytest.mark.parametrize("way", ["replace", "add-remove"])
def test_neighbours_of_sums_and_means_lose_no_more_than_is_spent(way: str, statistic: str, low: int, high: int) -> None:
    """This holds over all steps of few items, including out-of-range ones; some neighbours lose all of it."""
    found = policy(way, statistic, over(low, high))
    domain = (low - 5, *range(low, high + 1), high + 5)
    losses = {apart(found.kind, one, other) for one, other in neighbours(found, tuple(cell / 2 for cell in domain))}
    assert max(losses) == 1


def test_a_loss_is_the_exact_ratio_of_outputs() -> None:
    """`apart` agrees with probabilities of outputs: noise of q^|k| in fractions, with q^D for exp(-e)."""
    found = policy("replace", "sum", over(-2, 1))
    assert isinstance(found.kind, Sum)
    largest = max(
        geometric(HALF, out - one[0]) / geometric(HALF, out - other[0])
        for one, other in neighbours(found, (-1.0, -0.5, 0.0, 0.5))
        for out in range(-20, 20)
    )
    assert largest == HALF**-found.kind.item.sensitivity


@pytest.mark.parametrize("way", ["replace", "add-remove"])
@pytest.mark.parametrize("items", [2, 3])
def test_neighbours_of_choices_lose_no_more_than_is_spent(way: str, items: int) -> None:
    """Every item's exact chances, in fractions: 2 represents exp(e/2), or exp(e) if the weights do so."""
    found = policy(way, None, {"kind": "choice", "items": [f"i{nth}" for nth in range(items)]})
    largest = Fraction(1)
    for one, other in neighbours(found, tuple(f"i{nth}" for nth in range(items))):
        ratios = [mine / theirs for mine, theirs in zip(chances(one), chances(other), strict=True)]
        largest = max(largest, *ratios, *(1 / ratio for ratio in ratios))
    assert largest <= (4 if way == "replace" else 2)
    assert largest > (2 if way == "replace" else 1), "the halving is needed where items are replaced"


def chances(counts: RawCells) -> list[Fraction]:
    """Return the chance of each item at weights ``2**n``."""
    weights = [Fraction(2) ** count for count in counts]
    return [weight / sum(weights) for weight in weights]


def laplace(rate: float, centre: int) -> dict[int, float]:
    """Return the probabilities of discrete Laplace noise around a cell."""
    q = exp(-rate)
    return {centre + k: (1 - q) / (1 + q) * q ** abs(k) for k in range(-400, 401)}


DRAWS = 4000
EPSILON = 2 * NANO


def drawn(kind: Kind, cells: RawCells, purpose: bytes) -> list[ReleasedCells]:
    """Return many measurements of one step."""
    return [kind.perturb(stream(nth, purpose), cells, EPSILON) for nth in range(DRAWS)]


@pytest.mark.parametrize("way", ["replace", "add-remove"])
@pytest.mark.parametrize("statistic", ["sum", "mean"])
def test_draws_have_the_exact_law(way: str, statistic: str) -> None:
    """Measurements fit discrete Laplace noise at the contract's rate e/D, not at that of the other neighbours."""
    found = policy(way, statistic, over(20, 50))
    cells = closed(found, (10.5, 17, 99))
    draws = drawn(found.kind, cells, b"landmark-sums")
    hidden = (way, statistic) == ("add-remove", "mean")
    total = 21 + 34 + 50 - (3 * 35 if hidden else 0)
    d = {"replace": 30, "add-remove": 15 if hidden else 50}[way]
    rate = (1 if hidden else 2) / d
    assert fit([draw[0] for draw in draws], laplace(rate, total)) > SURE
    assert fit([draw[0] for draw in draws], laplace(rate * 1.3, total)) < SURE
    if hidden:
        assert fit([draw[1] for draw in draws], laplace(1.0, 3)) > SURE
        assert fit([draw[1] for draw in draws], laplace(1.3, 3)) < SURE
        correlation = np.corrcoef(np.array(draws).T)[0, 1]
        assert abs(correlation) < 5 / DRAWS**0.5, "both noises are independent"
    else:
        assert {draw[1:] for draw in draws} == {(3,) if statistic == "mean" else ()}


@pytest.mark.parametrize("way", ["replace", "add-remove"])
def test_choices_have_the_exact_law(way: str) -> None:
    """Draws fit scipy's softmax of the counts, with a halved budget only under replace."""
    found = policy(way, None, {"kind": "choice", "items": ["a", "b", "c", "d"]})
    counts = RawCells((3, 0, 2, 3))
    draws = [draw[0] for draw in drawn(found.kind, counts, b"landmark-choice")]

    def law(rate: float) -> dict[int, float]:
        return dict(enumerate(softmax([rate * count for count in counts]).tolist()))

    halved, whole = law(1.0), law(2.0)
    right, wrong = (halved, whole) if way == "replace" else (whole, halved)
    assert fit(draws, right) > SURE
    assert fit(draws, wrong) < SURE


COUNT = st.one_of(st.integers(0, 5), st.integers(0, 1000), st.integers(0, 2**53))


@given(
    st.lists(COUNT, min_size=2, max_size=40),
    st.integers(0, 2**64 - 1),
    st.sampled_from((1, 10**6, 10**9, 3 * 10**9, 10**12, 2 * 10**15)),
)
def test_doubles_choose_as_many_digits_do(counts: list[int], top: int, epsilon_nano: int) -> None:
    """If doubles can tell what the first 64 bits choose, the exact draw agrees and takes no further bits."""
    quick = chosen_fast(top, counts, epsilon_nano)
    bits = GivenBits()
    before = bits.take(64)
    bits = GivenBits()
    if quick is not None:
        assert chosen_precise(bits, top, counts, epsilon_nano) == quick
        assert bits.take(64) == before


def test_where_doubles_cannot_tell_more_digits_do() -> None:
    """In the middle of two equal halves, doubles of the first 64 bits are not enough, but exact digits are."""
    middle = 1 << 63
    for top, expected in ((middle - 1, 0), (middle, 1)):
        assert chosen_fast(top, [7, 7], NANO) is None
        assert chosen(GivenBits(top), [7, 7], NANO) == expected


def test_many_items_of_any_count_are_chosen_exactly() -> None:
    """Of 4,096 items with counts up to 2^53, one far ahead is drawn; among equals all are."""
    counts = [2**53 - 10**6 * nth for nth in range(4096)]
    assert {chosen(stream(nth), counts, NANO) for nth in range(20)} == {0}
    even = [2**53] * 4096
    assert len({chosen(stream(nth), even, NANO) for nth in range(100)}) > 90


def test_no_two_mechanisms_share_noise() -> None:
    """Every parameter is in the identity: statistic, neighbours, range, resolution, start noise, items."""
    value = over(-2, 6)
    ab: dict[str, object] = {"kind": "choice", "items": ["a", "b"]}
    ways: list[Any] = [
        *(policy(way, statistic, value) for way in ("replace", "add-remove") for statistic in ("sum", "mean")),
        *(policy("replace", statistic, value, intrusion_nano=10**9) for statistic in ("sum", "mean")),
        *(policy("replace", "sum", other) for other in (over(-3, 6), over(-2, 7), value | {"resolution": 0.25})),
        *(policy(way, None, ab) for way in ("replace", "add-remove")),
        policy("replace", None, {"kind": "choice", "items": ["b", "a"]}),
        policy("replace", None, {"kind": "counts", "keys": ["a", "b"]}),
    ]
    assert len({found.identity for found in ways}) == len(ways)
    assert isinstance(ways[-2].kind, Choice)


@given(st.integers(-(2**50), 2**50), st.integers(0, 2**31), st.sampled_from((0.001, 0.5, 1, 3, 1e-9)))
def test_means_read_back_exactly(total: int, number: int, resolution: float) -> None:
    """A release of a mean gives its sum to the cell, whatever the grid and the number of items."""
    value = {"kind": "number", "lower": 0, "upper": resolution * 10, "resolution": resolution}
    kind = policy("replace", "mean", value).kind
    assert isinstance(kind, Mean)
    cells = ReleasedCells((total, number))
    assert kind.read(kind.publish(cells), number) == cells
    with pytest.raises(TypeError, match="a number and a count, but found float and NoneType"):
        kind.released({"measurement": kind.publish(cells), "value": kind.publish(cells)})
