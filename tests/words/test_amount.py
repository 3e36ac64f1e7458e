"""Amounts of budget as people read them."""

from decimal import Decimal
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from stream_app.words.amount import UsedBudget, amount, largest_loss, of_limit, summed

nanos = st.integers(0, 10**15)


@given(nanos)
def test_an_amount_is_exact(nano: int) -> None:
    """The printed amount is exact to the last nano-epsilon; after the first decimal it has no trailing zeros."""
    text = amount(nano)
    assert Decimal(text) * 10**9 == nano
    assert "." in text
    assert text.endswith(".0") or not text.endswith("0")


def test_a_loss_stands_before_its_limit() -> None:
    """The words are in this order, also for amounts that are not whole numbers."""
    assert of_limit(4 * 10**9, 4 * 10**9) == "4.0 of 4.0"
    assert largest_loss(0, 1) == "largest loss so far: 0.0 (limit 0.000000001)"
    assert largest_loss(1_399_999_992, 10**9, "at least ") == "largest loss so far: at least 1.399999992 (limit 1.0)"


@given(nanos, st.integers(1, 10**15), nanos, st.integers(1, 10**15))
def test_the_worse_of_two_has_the_larger_share_used(used: int, epsilon: int, other: int, bound: int) -> None:
    """It agrees with fractions; of equal shares the larger amount, of equal amounts the first name wins."""
    mine, others = (Fraction(used, epsilon), used, epsilon), (Fraction(other, bound), other, bound)
    assert UsedBudget("a", 1, used, epsilon).worse(UsedBudget("b", 2, other, bound)) == (mine >= others)
    assert UsedBudget("b", 2, used, epsilon).worse(UsedBudget("a", 1, other, bound)) == (mine > others)
    assert not UsedBudget("a", 1, used, epsilon).worse(UsedBudget("a", 1, used, epsilon))


def test_whose_promise_it_was() -> None:
    """The version is named if some series had several, and so is the number of series."""
    used = UsedBudget("home-7", 2, 700_000_000, 10**9)
    assert used.sentence(1, versions=False) == "largest loss so far: 0.7 (limit 1.0; home-7)"
    assert used.sentence(1, versions=True) == "largest loss so far: 0.7 (limit 1.0; home-7, policy 2)"
    several = used.sentence(1200, versions=False, least="at least ")
    assert several == "largest loss so far: at least 0.7 (limit 1.0; home-7; the largest share of 1,200 series)"


def test_a_name_cannot_drive_the_terminal() -> None:
    """Nor can it write its own verdict into a line below."""
    used = UsedBudget("a\x1b[2J\nHOLDS: no findings", 1, 10**9, 10**9)
    assert used.sentence(1, versions=False) == "largest loss so far: 1.0 (limit 1.0; 'a\\x1b[2J\\nHOLDS: no findings')"


def test_a_sum_is_named_for_what_it_is() -> None:
    """No guarantee limits it."""
    assert summed(12_300_000_000, 1440) == "sum over all 1,440 steps: 12.3 (no guarantee limits this sum)"
    assert summed(41_666_666, 1) == "sum over 1 step: 0.041666666 (no guarantee limits this sum)"
