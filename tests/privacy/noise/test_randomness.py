"""The bit stream and comparisons with it: the same on every machine, uniform, and exact to the last bit."""

from collections import Counter
from decimal import Context, Decimal
from fractions import Fraction
from hashlib import blake2b

import pytest
from scipy.stats import chisquare

from stream_app.privacy.noise.randomness import (
    BLOCK_BYTES,
    FAST_BITS,
    MORE_BITS,
    BitStream,
    happens,
    happens_fast,
    happens_precise,
    happens_rational,
)
from tests.privacy.noise.bits import SECRET, GivenBits, stream, turning_point
from tests.privacy.noise.fit import SURE

DIGITS = Context(prec=80)


def test_bits_are_those_of_keyed_blake2b() -> None:
    """The bits are the keyed hashes of the message with a block number, least significant first."""
    blocks = [
        blake2b(b"message" + number.to_bytes(8, "big"), key=SECRET, person=b"purpose", digest_size=BLOCK_BYTES).digest()
        for number in range(4)
    ]
    expected = sum(int.from_bytes(block, "big") << (512 * number) for number, block in enumerate(blocks))
    bits = BitStream(SECRET, b"purpose", b"message")
    for width in (1, 54, 64, 53, 512, 200, 7, 512, 300):
        assert bits.take(width) == expected & ((1 << width) - 1)
        expected >>= width


@pytest.mark.parametrize(
    "other",
    [
        BitStream(SECRET, b"purpose", b"messagf"),
        BitStream(SECRET, b"purposf", b"message"),
        BitStream(bytes(32), b"purpose", b"message"),
    ],
)
def test_bits_depend_on_key_purpose_and_message(other: BitStream) -> None:
    """Another key, purpose or message gives other bits, while the same ones give the same bits."""
    first = BitStream(SECRET, b"purpose", b"message").take(512)
    assert BitStream(SECRET, b"purpose", b"message").take(512) == first
    assert other.take(512) != first


def test_bytes_are_uniform() -> None:
    """Every byte value occurs about equally often, within one stream and over the first bytes of many."""
    one = stream(1)
    inside = Counter(one.take(8) for _ in range(25_600))
    across = Counter(stream(number).take(8) for number in range(25_600))
    for counts in (inside, across):
        assert chisquare([counts[value] for value in range(256)]).pvalue > SURE


@pytest.mark.parametrize("bound", [1, 2, 3, 7, 100, 4095])
def test_below_is_uniform(bound: int) -> None:
    """Integers below a bound occur equally often, and none reaches it."""
    bits = stream(bound)
    counts = Counter(bits.below(bound) for _ in range(max(4_000, 10 * bound)))
    assert max(counts) < bound
    assert bound == 1 or chisquare([counts[value] for value in range(bound)]).pvalue > SURE


def test_reducing_bits_by_remainder_would_be_caught() -> None:
    """The same test rejects the remainder of 8 bits by 100, which favours small numbers."""
    bits = stream(0)
    counts = Counter(bits.take(8) % 100 for _ in range(10_000))
    assert chisquare([counts[value] for value in range(100)]).pvalue < SURE


@pytest.mark.parametrize("chance", [Fraction(1, 3), Fraction(1, 2), Fraction(123_456_789, 10**9), Fraction(1, 10**9)])
def test_a_rational_chance_is_exact(chance: Fraction) -> None:
    """An event happens for exactly the draws wholly below the chance; later bits settle the draw containing it."""
    edge = chance * 2**MORE_BITS // 1
    assert happens_rational(GivenBits(edge - 1), chance.numerator, chance.denominator)
    assert not happens_rational(GivenBits(edge + 1), chance.numerator, chance.denominator)
    share = chance * 2**MORE_BITS - edge
    if share:
        later = share * 2**MORE_BITS // 1
        assert happens_rational(GivenBits(edge, later - 1), chance.numerator, chance.denominator)
        assert not happens_rational(GivenBits(edge, later + 1), chance.numerator, chance.denominator)
    else:
        assert not happens_rational(GivenBits(edge), chance.numerator, chance.denominator)


def test_never_and_always() -> None:
    """A chance of 0 never happens and a chance of 1 always does, whatever the bits."""
    for top in (0, 1, 2**63, 2**64 - 1):
        assert not happens_rational(GivenBits(top), 0, 10**9)
        assert happens_rational(GivenBits(top), 10**9, 10**9)


def test_a_rate_of_a_tenth_happens_so_often() -> None:
    """Coins at a rate of 0.1 fit that rate; a rate of 0.11 is rejected."""
    happened = sum(happens_rational(stream(number), 10**8, 10**9) for number in range(40_000))
    for rate, fits in ((0.1, True), (0.11, False)):
        expected = [40_000 * rate, 40_000 * (1 - rate)]
        assert (chisquare([happened, 40_000 - happened], expected).pvalue > SURE) == fits


def _falls(exponent: str) -> Decimal:
    return DIGITS.exp(Decimal(exponent))


@pytest.mark.parametrize("exponent", ["-0.0000001", "-0.1", "-0.693", "-3", "-20", "-36.5", "-36.8", "-50", "-800"])
def test_a_real_chance_is_exact(exponent: str) -> None:
    """Doubles and the high-precision path put the edge between happening and not at the chance, bit for bit."""
    chance = _falls(exponent)
    edge = int(DIGITS.multiply(chance, Decimal(2**FAST_BITS)))

    def precise(digits: int) -> Decimal:
        return Context(prec=digits + 20).exp(Decimal(exponent))

    assert turning_point(lambda top: happens(GivenBits(top), float(chance), 2.0**-50, precise)) in {edge, edge + 1}
    assert turning_point(lambda top: happens_precise(GivenBits(), top, precise)) in {edge, edge + 1}
    decided = [happens_fast(top, float(chance), 2.0**-50) for top in (edge - 10_000, edge, edge + 10_000) if top >= 0]
    assert all(found in {None, True} for found in decided[:-2])
    assert decided[-2] is None
    assert decided[-1] in {None, False}


def test_a_chance_that_53_bits_cannot_tell_goes_by_later_ones() -> None:
    """Within the draw that contains the edge, the next 64 bits are compared with the rest of the chance."""
    chance = _falls("-1")
    scaled = DIGITS.multiply(chance, Decimal(2**FAST_BITS))
    edge, later = int(scaled), int((scaled % 1) * 2**MORE_BITS)

    def precise(digits: int) -> Decimal:
        return Context(prec=digits + 20).exp(Decimal(-1))

    assert happens(GivenBits(edge, later - 1), float(chance), 2.0**-50, precise)
    assert not happens(GivenBits(edge, later + 1), float(chance), 2.0**-50, precise)


def test_a_chance_too_small_for_a_double_still_has_its_edge() -> None:
    """A chance of exp(-800) is 0 as a double: only zero bits can lead to it, and enough of them do."""

    def precise(digits: int) -> Decimal:
        return Context(prec=digits + 20).exp(Decimal(-800))

    assert not happens(GivenBits(1), 0.0, 2.0**-50, precise)
    zeros = [0] * 18  # 53 + 17 * 64 bits: 2^-1141, above exp(-800) = 2^-1154.2
    assert not happens(GivenBits(*zeros[:17], 2**63), 0.0, 2.0**-50, precise)
    assert happens(GivenBits(*zeros, 0), 0.0, 2.0**-50, precise)
