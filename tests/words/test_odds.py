"""Epsilon as odds: the pages' tables are recomputed here, and the formula in exact fractions of odds."""

import re
from math import exp

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_app.words.odds import in_odds, most_likely, odds_document, percent
from tests.deploy import ROOT

NANO = 10**9
TABLE = {"0.1": "11", "0.5": "15", "1": "23", "2": "45", "4": "86", "10": "99.96"}
PAGES = ("README.md", "docs/how-to/choose-epsilon.md")


@pytest.mark.parametrize(("epsilon", "likely"), TABLE.items())
def test_a_claim_held_a_tenth_likely(epsilon: str, likely: str) -> None:
    """They agree at the epsilons of the table."""
    epsilon_nano = round(float(epsilon) * NANO)
    assert percent(epsilon_nano) == likely
    assert f"thought a claim 10 % likely thinks it at most about {likely} % likely afterwards" in in_odds(epsilon_nano)
    assert odds_document(epsilon_nano) == {"prior": 0.1, "at_most": most_likely(0.1, epsilon_nano)}


@pytest.mark.parametrize("page", PAGES)
def test_the_tables_of_the_pages(page: str) -> None:
    """Both pages agree with the function, for all six."""
    rows = [
        [cell.strip(" *%").removesuffix(" %") for cell in line.strip("|").split("|")[1:]]
        for line in (ROOT / page).read_text().splitlines()
        if re.match(r"\| (epsilon \||becomes at most)", line)
    ]
    epsilons, likely = rows
    assert dict(zip(epsilons, likely, strict=True)) == TABLE
    assert [percent(round(float(epsilon) * NANO)) for epsilon in epsilons] == likely


@given(st.floats(1e-6, 1 - 1e-6), st.integers(0, 50 * NANO))
def test_odds_change_by_the_factor(prior: float, epsilon_nano: int) -> None:
    """The later odds are the earlier ones times e^epsilon; it is a probability, no smaller than the prior."""
    found = most_likely(prior, epsilon_nano)
    assert prior * (1 - 1e-12) <= found <= 1
    power = exp(epsilon_nano / NANO)
    assert found == pytest.approx(prior * power / (1 - prior + prior * power), rel=1e-12)


@given(st.integers(0, 10**15))
def test_no_figure_calls_a_claim_certain(epsilon_nano: int) -> None:
    """However large epsilon is, the figure is below 100 or in words, and whole up to 99."""
    shown = percent(epsilon_nano)
    if shown != "nearly 100":
        assert 10 <= float(shown) < 100
        assert float(shown) >= 99 or shown.isdigit()
