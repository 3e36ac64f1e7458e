"""Vectors: exact losses over all neighbours; each part is as a number with a share of the spend would be."""

from fractions import Fraction
from itertools import product
from math import exp, isqrt
from typing import Any

import numpy as np
import pytest
from scipy.stats import chisquare

from stream_app.privacy.kinds import Number, Vector
from stream_app.privacy.level import drifted, measured
from stream_app.privacy.noise.mechanisms import discrete_laplace
from stream_app.privacy.policy import PolicyError, policy_of
from stream_app.privacy.values import Raw, RawCells, ReleasedCells
from tests.privacy.kinds.test_kinds import NANO, kind_of, number
from tests.privacy.noise.bits import stream
from tests.run import VECTOR

SMALL: dict[str, Any] = {
    "kind": "vector",
    "parts": {
        "b": {"lower": 0, "upper": 3, "resolution": 1},
        "a": {"lower": -0.5, "upper": 0.5, "resolution": 0.5},
    },
}
"""Two parts, of 3 and of 4 cells; a comes first."""
RANGES = (2, 3)


def vector(value: dict[str, Any] = VECTOR, **members: object) -> Vector:
    """Return a vector kind."""
    kind = kind_of({**value, **members})
    assert isinstance(kind, Vector)
    return kind


def _loss(output: tuple[int, ...], one: tuple[int, ...], other: tuple[int, ...], rates: list[Fraction]) -> Fraction:
    """Return the exact logarithm of how much likelier an output is under one value, in spends."""
    parts = zip(output, one, other, rates, strict=True)
    return sum(((abs(out - b) - abs(out - a)) * rate for out, a, b, rate in parts), Fraction(0))


def test_the_loss_over_all_neighbours_is_at_most_the_spend() -> None:
    """Neighbours may differ in all parts; the joint ratio is at most exp(e), which the furthest ones reach."""
    kind = vector(SMALL)
    values = list(product(*(range(part.axis.low, part.axis.high + 1) for part in kind.parts)))
    outputs = list(product(range(-5, 6), range(-4, 8)))
    rates = [Fraction(1, 2 * cells) for cells in RANGES]
    losses = {
        _loss(output, one, other, rates) for output, one, other in product(outputs, values, values) if one != other
    }
    assert max(losses) == 1
    assert min(losses) == -1
    # The controls: each part with all of the spend, and one part with it.
    for careless in ([2 * rate for rate in rates], [2 * rates[0], rates[1]]):
        assert max(_loss(output, values[0], values[-1], careless) for output in outputs) > 1


def test_noise_is_added_part_by_part_and_is_of_the_share() -> None:
    """A measurement is the value plus draws at rate e / (d * D) from one stream, in the order of the names."""
    kind = vector(SMALL)
    assert kind.names == ("a", "b")
    for draw in range(300):
        spend = 10 ** (4 + draw % 6)
        bits = stream(draw)
        noise = [discrete_laplace(bits, spend, 2 * cells * NANO) for cells in RANGES]
        assert kind.perturb(stream(draw), RawCells((1, 2)), spend) == (1 + noise[0], 2 + noise[1])


def test_a_part_is_what_a_number_of_the_share_would_be() -> None:
    """The same bits give the same measurement and scale: a vector is neither better nor worse than numbers."""
    kind = vector(SMALL)
    alone = (number(lower=-0.5, upper=0.5, resolution=0.5), number(lower=0, upper=3, resolution=1))
    for draw in range(300):
        share = 10 ** (4 + draw % 6)
        bits = stream(draw)
        apart = [part.perturb(bits, RawCells((cell,)), share)[0] for part, cell in zip(alone, (1, 2), strict=True)]
        assert kind.perturb(stream(draw), RawCells((1, 2)), 2 * share) == tuple(apart)
        assert list(kind.scale(2 * share).values()) == [part.scale(share) for part in alone]


def test_draws_follow_the_joint_law(draws: int) -> None:
    """Outputs are as frequent as the product of the parts' laws says, but not as at twice the spend."""
    kind, number_of, spend = vector(SMALL), draws, 3 * NANO
    cells = range(-4, 5)
    found = dict.fromkeys(product((*cells, None), (*cells, None)), 0)
    for draw in range(number_of):
        one, other = kind.perturb(stream(draw), RawCells((0, 1)), spend)
        found[one if one in cells else None, other - 1 if other - 1 in cells else None] += 1

    def expected(spend_nano: int) -> list[float]:
        sides = []
        for width in RANGES:
            q = exp(-spend_nano / NANO / (2 * width))
            chances = [(1 - q) / (1 + q) * q ** abs(cell) for cell in cells]
            sides.append([*chances, 1 - sum(chances)])
        return [one * other * number_of for one, other in product(*sides)]

    assert chisquare(list(found.values()), expected(spend)).pvalue > 1e-6
    assert chisquare(list(found.values()), expected(2 * spend)).pvalue < 1e-6


@pytest.mark.parametrize(
    "raw",
    [
        *(1, None, "text", True, [], [70, 0.9], {}, {"pulse": 70}, {"pulse": 70, "oxygen": 0.9, "other": 1}),
        *({"pulse": 70, "oxygen": found} for found in (None, "0.9", True, [0.9], float("nan"), float("inf"))),
        *({"pulse": 70, "other": 0.9}, {"pulse": float("nan"), "oxygen": 0.9}),
    ],
)
def test_one_invalid_part_makes_the_value_invalid(raw: object) -> None:
    """This holds for missing, unknown, non-finite and mistyped parts; a public substitute covers all parts."""
    assert vector().quantise(Raw(raw)) is None
    substitute = {"pulse": 60, "oxygen": 0.95}
    assert vector(invalid=substitute).quantise(Raw(raw)) == (95, 60)


def test_a_vector_is_clamped_and_rounded_part_by_part() -> None:
    """Each part is on its own grid, within its own range."""
    assert vector().quantise(Raw({"oxygen": 0.985, "pulse": 71.4})) == (99, 71)
    assert vector().quantise(Raw({"pulse": 1e300, "oxygen": -3})) == (70, 220)
    assert vector().clamp(ReleasedCells((5, 999))) == (70, 220)
    assert vector(clamp=False).clamp(ReleasedCells((5, 999))) == (5, 999)


def test_the_order_of_the_record_changes_nothing() -> None:
    """Members of a JSON object have no order: cells, noise and what is published follow the names."""
    parts = VECTOR["parts"]
    assert isinstance(parts, dict)
    turned = vector({**VECTOR, "parts": dict(reversed(parts.items()))})
    assert (turned, turned.identity) == (vector(), vector().identity)
    assert list(turned.publish(ReleasedCells((97, 70)))) == list(turned.scale(NANO)) == ["oxygen", "pulse"]


@pytest.mark.parametrize(
    "change",
    [
        {"pulse": {"lower": 31, "upper": 221, "resolution": 1}},
        {"pulse": {"lower": 30, "upper": 220, "resolution": 2}},
        {"pulse": None, "beat": {"lower": 30, "upper": 220, "resolution": 1}},
        {"other": {"lower": 0, "upper": 1, "resolution": 1}},
    ],
)
def test_the_identity_holds_every_parameter(change: dict[str, object]) -> None:
    """Noise of another vector is different: equal noise on other values would reveal their difference."""
    parts = VECTOR["parts"]
    assert isinstance(parts, dict)
    changed = {name: part for name, part in {**parts, **change}.items() if part is not None}
    assert vector(parts=changed).identity != vector().identity


def test_a_release_reads_back() -> None:
    """The cells of a measurement follow from its published form, up to the largest one published."""
    kind = vector()
    generator = np.random.default_rng(6)
    for _ in range(1000):
        whole = [int(cell) for cell in generator.integers(-(2**50), 2**50, 2, endpoint=True)]
        cells = ReleasedCells(tuple(cell // isqrt(1 + int(generator.integers(0, 2**40))) for cell in whole))
        assert kind.read(kind.publish(cells)) == cells
    with pytest.raises(TypeError, match="a vector release must contain an object, but found float"):
        kind.read(1.0)


def test_the_scale_is_that_of_each_part() -> None:
    """It is ``d * D * resolution / e`` in the part's unit."""
    assert vector().scale(NANO // 2) == {"oxygen": 1.2, "pulse": 760.0}


def test_still_compares_exactly() -> None:
    """The change is the sum of |difference| / (D * resolution), against d * d / e; at equality it is not larger."""
    kind, generator, seen = vector(SMALL), np.random.default_rng(5), set()
    for _ in range(3000):
        spend = int(10 ** generator.uniform(7, 10))
        one, other = ([int(cell) for cell in generator.integers(-60, 60, 2)] for _ in range(2))
        change = sum((Fraction(abs(a - b), cells) for a, b, cells in zip(one, other, RANGES, strict=True)), Fraction(0))
        expected = Fraction(4 * NANO, spend) > change
        assert kind.still(ReleasedCells(tuple(one)), ReleasedCells(tuple(other)), spend) == expected
        seen.add(expected)
    assert seen == {True, False}
    assert not kind.still(ReleasedCells((0, 0)), ReleasedCells((4, 6)), NANO), "equal is not larger"
    assert kind.still(ReleasedCells((0, 0)), ReleasedCells((4, 5)), NANO)


def test_the_filter_is_that_of_numbers_of_the_share() -> None:
    """Levels and estimates are those of two numbers that each get half of every spend."""
    kind = vector()
    alone = (number(lower=0.7, upper=1, resolution=0.01), number(lower=30, upper=220, resolution=1))
    assert all(isinstance(part, Number) for part in alone)
    generator = np.random.default_rng(8)
    state: tuple[float, ...] = ()
    states: list[tuple[float, ...]] = [(), ()]
    for nth in range(300):
        spend, elapsed = 2 * int(10 ** generator.uniform(7, 10)), int(generator.integers(0, 70)) if nth else 0
        if nth % 5 == 4:
            state = drifted(kind, state, elapsed)
            states = [drifted(part, own, elapsed) for part, own in zip(alone, states, strict=True)]
        else:
            cells = [int(cell) for cell in generator.integers(-300, 500, 2)]
            state, estimate = measured(kind, state, ReleasedCells(tuple(cells)), spend, elapsed)
            both = [
                measured(part, own, ReleasedCells((cell,)), spend // 2, elapsed)
                for part, own, cell in zip(alone, states, cells, strict=True)
            ]
            states = [own for own, _ in both]
            assert estimate == tuple(cell for _, (cell,) in both)
        assert state == tuple(figure for own in states for figure in own)


@pytest.mark.parametrize(
    ("value", "member"),
    [
        ({"parts": {}}, "value.parts"),
        ({"parts": {f"p{nth}": {"lower": 0, "upper": 1, "resolution": 1} for nth in range(65)}}, "value.parts"),
        ({"parts": {"a": {"lower": 0, "upper": 1, "resolution": 2}}}, "value.parts.a.resolution"),
        ({"parts": {"a": {"lower": 0, "upper": 1, "resolution": 1e-16}}}, "value.parts.a.resolution"),
        (
            {"parts": {"a": {"lower": 0, "upper": 1, "resolution": 1, "sensitivity": 1}}},
            "value.parts.a.sensitivity",
        ),
        ({"sensitivity": 1}, "value.sensitivity"),
        ({"invalid": {"pulse": 60}}, "value.invalid"),
        ({"invalid": 60}, "value.invalid"),
    ],
)
def test_what_is_no_vector_policy(value: dict[str, object], member: str) -> None:
    """Faults name the part."""
    parameters = {"epsilon": 1.0, "protection": {"level": "event"}, "scheme": {"name": "uniform"}}
    with pytest.raises(PolicyError) as caught:
        policy_of({**parameters, "value": {**VECTOR, **value}}, 1)
    assert member in {fault.member for fault in caught.value.faults}


def test_sixty_four_parts_are_a_vector_and_are_decided_one_by_one() -> None:
    """This is the maximum number of parts; no vector has a rule by which columns could decide it."""
    parts = {f"p{nth}": {"lower": 0, "upper": 1, "resolution": 1e-15} for nth in range(64)}
    parameters = {"epsilon": 1.0, "protection": {"level": "event"}, "scheme": {"name": "uniform"}}
    for value in ({**VECTOR, "parts": parts}, VECTOR, {**VECTOR, "parts": {"p": parts["p0"]}}):
        policy = policy_of({**parameters, "value": value}, 1)
        assert policy.rule is None
        assert len(policy.kind.perturb(stream(1), RawCells((3,) * policy.kind.width), 1)) == policy.kind.width
