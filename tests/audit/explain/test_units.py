"""Explanations and standings of series whose steps contain units."""

import pytest

from stream_app.audit.explain.inquiry import Inquiry
from stream_app.audit.explain.text import plain_of, text_of
from stream_app.audit.standing.inquiry import StandingInquiry
from stream_app.audit.standing.text import text_of as standing_in_words
from tests.audit.units.written import UNITS, write
from tests.audit.written import NANO


def explained(name: str, at_ms: int) -> Inquiry:
    """Return the inquiry about a step in a hand-written ledger."""
    written = write(UNITS[name])
    inquiry = Inquiry("home-7", at_ms)
    inquiry.entries(written.lines())
    inquiry.releases(written.release_lines())
    return inquiry


def test_the_share_with_its_numbers() -> None:
    """A time between two starts finds its step on the offset grid; the share follows from E, S, R and w."""
    found = explained("means", 13_999).answer()
    assert (found.entry.timestamp, found.findings) == (10_000, ())
    (formula,) = found.shares.formulas
    assert (formula.rule, formula.value) == ("w * ((E - S) // (w + R))", 40)
    assert formula.numbers == "2 * ((100 - 20) // (2 + 2))"
    text = text_of(found)
    assert "steps of 4000 ms, units of 1000 ms" in text
    assert "  R    2  spare units left: they may become landmarks after their step" in text
    assert "Units that are landmarks are left out: uniform proposes 40; the guard allows 80." in text
    assert "spare left: 2, with 40 reserved for it; the next step would get 40" in text
    assert found.document()["after"]["reserved_nano"] == 40


def test_the_noise_of_each_statistic() -> None:
    """If the number of units divides it, the scale is that of one unit; for numbers it is in the value's unit."""
    scale = f"{2 * 10 * NANO / 40:.4g}"
    assert f"Before it is divided by the number of units, the noise has a scale of {scale}, in the unit of the" in (
        plain_of(explained("means", 10_000).answer())
    )
    assert f"the noise has a scale of {3 * NANO / 75:.4g}." in plain_of(explained("shares", 2_000).answer())
    assert f"The noise has a scale of {2 * 3 * NANO / 100:.4g}." in plain_of(explained("shares", 10_000).answer())
    assert "probability" not in plain_of(explained("waiting", 14_000).answer())


@pytest.mark.parametrize(("at_ms", "rate"), [(10_000, None), (18_000, NANO // 2)])
def test_the_rate_of_a_histogram(at_ms: int, rate: int | None) -> None:
    """Two equal histograms halve the rate, once there are two."""
    assert explained("shares", at_ms).answer().rate_nano == rate


def test_a_step_that_waits() -> None:
    """It says until when."""
    found = explained("waiting", 6_000).answer()
    assert found.share_nano == found.limit_nano == 0
    assert (
        "Until 9000, windows contain steps on which an earlier version spent epsilon, so this version waits."
        in text_of(found)
    )


def test_the_standing() -> None:
    """It states what is used, what is reserved for units that become landmarks late, and what landmarks are."""
    written = write(UNITS["means"])
    inquiry = StandingInquiry("home-7", None)
    inquiry.entries(written.lines()[:5])
    (version,) = inquiry.answer().series[0].versions
    assert (version.unit_ms, version.window, version.landmarks_left) == (1_000, 2, 2)
    assert (version.used_nano, version.held_back_nano, version.left_nano) == (60, 40, 0)
    text = " ".join(standing_in_words(inquiry.answer()).split())
    assert "steps of 4 s, units of 1 s" in text
    assert "for all landmarks, which are left out, and any 2 units in a row together" in text
    assert "reserved 0.00000004 for 2 units that may become landmarks later" in text
