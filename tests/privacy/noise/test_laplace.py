"""Discrete Laplace noise: both ways of deciding a draw agree, and draws have the exact distribution."""

from decimal import Context, Decimal
from fractions import Fraction
from math import exp, log

import numpy as np
import opendp.prelude as opendp
import pytest

from stream_app.privacy.noise.mechanisms import discrete_laplace, geometric, geometric_precise
from stream_app.privacy.noise.randomness import FAST_BITS
from tests.privacy.noise.bits import GivenBits, stream, turning_point
from tests.privacy.noise.fit import SURE, agree, fit

DIGITS = Context(prec=80)
TOPS = 1 << FAST_BITS


def _scales(number: int) -> list[Fraction]:
    """Return that many rational scales from 1e-6 to 1e6, evenly spaced in their logarithm."""
    generator = np.random.default_rng(1)
    numerators = np.floor(10 ** generator.uniform(-6, 6, number) * 10**9)
    return [Fraction(int(numerator) + 1, 10**9) for numerator in numerators]


def _edge(scale: Fraction, magnitude: int) -> int:
    """Return how many 53-bit draws lie wholly at or below ``exp(-magnitude / scale)``."""
    power = DIGITS.divide(Decimal(-magnitude * scale.denominator), Decimal(scale.numerator))
    return int(DIGITS.multiply(DIGITS.exp(power), Decimal(TOPS)))


def _precise(top: int, scale: Fraction, number: int = 0) -> int:
    return geometric_precise(stream(number), top, scale.denominator, scale.numerator)


def _fast(top: int, scale: float) -> int | None:
    found, sure = geometric(float(top), scale)
    return int(found) if sure else None


def test_both_paths_decide_alike(draws: int) -> None:
    """Doubles never decide a draw differently from the high-precision path, over scales from 1e-6 to 1e6."""
    bits = stream(0)
    undecided = 0
    for number, scale in enumerate(_scales(draws)):
        top = bits.take(FAST_BITS)
        fast = _fast(top, scale.numerator / scale.denominator)
        if fast is None:
            undecided += 1
            continue
        assert fast == _precise(top, scale, number), (top, scale)
    assert undecided <= max(2, draws // 10_000)


def _edges() -> list[tuple[Fraction, int]]:
    """Return the draws around places where the floor changes, at many scales."""
    found = []
    for scale in _scales(60):
        for magnitude in (1, 2, 3, 7, 20, 300, int(scale) + 1, 30 * int(scale) + 1):
            edge = _edge(scale, magnitude)
            found += [(scale, edge + shift) for shift in (-3, -2, -1, 0, 1, 2, 3) if 0 <= edge + shift < TOPS]
    return found


def test_both_paths_decide_alike_where_the_floor_changes() -> None:
    """Around every edge, where rounding would show, doubles agree with the high-precision path or defer to it."""
    edges = _edges()
    assert len(edges) > 1500
    decided = 0
    for number, (scale, top) in enumerate(edges):
        fast = _fast(top, scale.numerator / scale.denominator)
        if fast is not None:
            decided += 1
            assert fast == _precise(top, scale, number), (top, scale)
    assert decided > 300


def test_plain_doubles_would_be_caught_there() -> None:
    """The same draws decided by plain doubles, without a margin, disagree with the high-precision path."""
    wrong = 0
    for number, (scale, top) in enumerate(_edges()):
        if top:
            plain = int(-log(top * 2.0**-FAST_BITS) * (scale.numerator / scale.denominator))
            wrong += plain != _precise(top, scale, number)
    assert wrong > 50


@pytest.mark.parametrize("scale", [Fraction(1, 10**6), Fraction(1, 3), Fraction(1), Fraction(7, 3), Fraction(10**6, 7)])
def test_the_cumulative_distribution_is_exact(scale: Fraction) -> None:
    """A magnitude of g or more comes from exactly the draws below ``exp(-g/scale)``, found by bisection."""

    def magnitude(top: int) -> int:
        fast = _fast(top, scale.numerator / scale.denominator)
        return _precise(top, scale) if fast is None else fast

    for least in (1, 2, 3, 5, 17, 36):
        edge = _edge(scale, least)
        found = turning_point(lambda top, least=least: magnitude(top) >= least)  # type: ignore[misc]
        assert found in {edge, edge + 1}, "the draw that holds the edge goes by later bits"


def test_later_bits_decide_a_draw_that_holds_an_edge() -> None:
    """If 53 bits cannot decide, the next ones do, in the proportion in which the edge divides the draw."""
    scale = Fraction(5, 2)
    power = DIGITS.multiply(DIGITS.exp(Decimal("-1.2")), Decimal(TOPS))  # magnitude 3 begins here
    edge, share = int(power), power % 1
    assert _fast(edge, 2.5) is None
    upper = sum(_precise(edge, scale, number) == 3 for number in range(1500))
    spread = (float(share) * (1 - float(share)) / 1500) ** 0.5
    assert abs(upper / 1500 - float(share)) < 5 * spread
    assert geometric_precise(GivenBits(int(share * 2**64) - 1), edge, 2, 5) == 3
    assert geometric_precise(GivenBits(int(share * 2**64) + 1), edge, 2, 5) == 2


def test_a_draw_of_zero_bits_goes_on() -> None:
    """U in [0, 2^-53) has no bound from 53 bits; more bits settle it."""
    assert _fast(0, 1.0) is None
    assert geometric_precise(GivenBits(1 << 63), 0, 1, 1) == int(54 * log(2))
    assert geometric_precise(GivenBits(0, 1 << 63), 0, 1, 1) == int(118 * log(2))


def _chances(scale: float, tails: int) -> dict[int, float]:
    """Return the exact chances of ``-tails .. tails``: (1 - q)/(1 + q) * q^|k|, q = exp(-1/scale)."""
    q = exp(-1 / scale)
    return {k: (1 - q) / (1 + q) * q ** abs(k) for k in range(-tails, tails + 1)}


def _draw(numerator: int, denominator: int, number: int) -> list[int]:
    bits = stream(number, b"landmark-draws")
    return [discrete_laplace(bits, numerator, denominator) for _ in range(40_000)]


@pytest.mark.parametrize(("numerator", "denominator"), [(7, 2), (1, 1), (3, 7), (1, 10), (1, 40)])
def test_draws_have_the_exact_distribution(numerator: int, denominator: int) -> None:
    """Draws fit the exact chances of every integer, and a scale 10 % larger or smaller is rejected."""
    drawn = _draw(numerator, denominator, 1)
    scale = denominator / numerator
    tails = int(12 * scale) + 3
    assert fit(drawn, _chances(scale, tails)) > SURE
    assert fit(drawn, _chances(scale * 1.1, tails)) < SURE
    assert fit(drawn, _chances(scale / 1.1, tails)) < SURE


def test_noise_at_a_scale_of_a_million_is_spread_right() -> None:
    """Draws at a large scale fit in bins of that scale, and a scale 10 % larger is rejected."""
    scale = 10**6
    drawn = [k // 100_000 for k in _draw(1, scale, 2)]

    def chances(scale: float) -> dict[int, float]:
        def below(k: int) -> float:  # P(draw < k)
            q = exp(-1 / scale)
            return exp(-(1 - k) / scale) / (1 + q) if k <= 0 else 1 - exp(-k / scale) / (1 + q)

        return {cell: below((cell + 1) * 100_000) - below(cell * 100_000) for cell in range(-80, 80)}

    assert fit(drawn, chances(scale)) > SURE
    assert fit(drawn, chances(scale * 1.1)) < SURE


def test_zero_is_not_drawn_twice_as_often() -> None:
    """The same test would reject a sampler that keeps (negative, 0)."""
    bits = stream(3, b"landmark-draws")
    kept = []
    for _ in range(40_000):
        drawn = bits.take(FAST_BITS + 1)
        magnitude = _fast(drawn >> 1, 2.0) or 0
        kept.append(-magnitude if drawn & 1 else magnitude)
    assert fit(kept, _chances(2.0, 30)) < SURE
    assert fit([discrete_laplace(bits, 1, 2) for _ in range(40_000)], _chances(2.0, 30)) > SURE


@pytest.mark.parametrize(("numerator", "denominator"), [(3, 7), (2, 1)])
def test_draws_agree_with_opendp(numerator: int, denominator: int) -> None:
    """Our draws and OpenDP's discrete Laplace draws share a law; OpenDP's at a scale 10 % larger do not."""
    opendp.enable_features("contrib")
    domain, metric = opendp.vector_domain(opendp.atom_domain(T="i64")), opendp.l1_distance(T="i64")
    ours = _draw(numerator, denominator, 4)
    scale = denominator / numerator
    assert agree(ours, opendp.m.make_laplace(domain, metric, scale=scale)([0] * 40_000)) > SURE / 1000
    if scale > 1:
        assert agree(ours, opendp.m.make_laplace(domain, metric, scale=scale * 1.1)([0] * 40_000)) < SURE


def test_opendp_accounts_the_same_loss() -> None:
    """OpenDP's privacy map of the noise that a number with D cells gets at e is e."""
    opendp.enable_features("contrib")
    for sensitivity, spend_nano in ((10_000, 142_857_148), (7, 10**9), (1, 1)):
        scale = sensitivity * 10**9 / spend_nano
        mechanism = opendp.m.make_laplace(opendp.atom_domain(T="i64"), opendp.absolute_distance(T="i64"), scale=scale)
        loss = mechanism.map(sensitivity)  # type: ignore[no-untyped-call]
        assert loss == pytest.approx(spend_nano / 10**9, rel=1e-12)
