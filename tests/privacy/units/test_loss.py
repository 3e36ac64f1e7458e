"""Over all small histories unit statistics lose at most epsilon, exactly epsilon somewhere.

Each broken form loses more.
"""

from fractions import Fraction

import pytest

from stream_app.privacy.guard import Guard
from stream_app.privacy.kinds import UnitMean, UnitStatistic
from tests.privacy.units.enumeration import Rules, every_presence, farthest, largest_loss, whole_presence
from tests.privacy.units.made import STATISTICS
from tests.suite.combined import combined

WINDOWS = (1, 2, 3)
SPARES = (0, 1, 2)


@pytest.mark.parametrize(("statistic", "window"), combined([*STATISTICS], WINDOWS, every=3))
def test_no_history_of_two_units_a_step_loses_more(statistic: str, window: int) -> None:
    """This covers all landmarks, late ones and units with a reading; without spare, some lose epsilon."""
    losses = [largest_loss(statistic, 2, window, spare, every_presence(2)) for spare in SPARES]
    assert losses[0] == 1
    assert max(losses) == 1


@pytest.mark.slow
@pytest.mark.parametrize(("statistic", "window"), combined(["mean", "histogram", "mean by hour"], WINDOWS, every=3))
def test_no_history_of_three_units_a_step_loses_more(statistic: str, window: int) -> None:
    """The same holds for three units that all have a reading or none: fewer lose no more (next test but one)."""
    losses = [largest_loss(statistic, 3, window, spare, whole_presence(3)) for spare in SPARES]
    assert losses[0] == 1
    assert max(losses) == 1


@pytest.mark.long
@pytest.mark.parametrize("spare", SPARES)
@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("statistic", STATISTICS)
def test_no_history_of_four_units_a_step_loses_more(statistic: str, window: int, spare: int) -> None:
    """The same holds for four units: a window of three fits within a step, and across two."""
    found = largest_loss(statistic, 4, window, spare, whole_presence(4))
    assert found <= 1
    assert spare or found == 1


@pytest.mark.parametrize(("statistic", "per_step"), combined([*STATISTICS], [2, 3, 4], every=3))
def test_a_unit_more_loses_no_less(statistic: str, per_step: int) -> None:
    """The distance of histories grows with the units that have a reading, and falls with landmarks."""
    whole = (1 << per_step) - 1
    for present in range(1 << per_step):
        for left_out in range(1 << per_step):
            fewer = farthest(statistic, per_step, 0, present, left_out)
            more = farthest(statistic, per_step, 0, whole, left_out)
            bare = farthest(statistic, per_step, 0, present, 0)
            assert all(change <= more[bits][0] and change <= bare[bits][0] for bits, (change, _) in fewer.items())


class ChargesOnce(Guard):
    """Charges several units like one."""

    def charge_units(self, window: int, units: int) -> Guard | None:
        """Take one unit of them."""
        return Guard(*self).charge_units(window, min(units, 1))


class DoesNotCharge(Guard):
    """Asks whether units fit, but charges nothing."""

    def charge_units(self, window: int, units: int) -> Guard | None:
        """Return the unchanged guard if the true guard agrees."""
        return Guard(*self) if Guard(*self).charge_units(window, units) else None


class NeverRefuses(Guard):
    """Charges units without asking whether they fit."""

    def charge_units(self, window: int, units: int) -> Guard | None:
        """Charge their shares, whatever the budget holds."""
        budget, spent, peak, before = self
        return Guard(budget, spent - (-units * peak // window), peak, before)


def _without_window(kind: UnitStatistic, _: int) -> Fraction:
    assert isinstance(kind, UnitMean)
    return Fraction(kind.sensitivity, kind.window)


BROKEN = {
    "noise without w": ("mean", 2, Rules(noise=_without_window)),
    "noise divided by the count twice": ("mean", 1, Rules(noise=lambda kind, n: Fraction(kind.sensitivity, n))),
    "1 for 2 in a histogram": ("histogram", 1, Rules(noise=lambda kind, _: Fraction(kind.sensitivity, 2))),
    "1 for 2 over categories": ("categories", 1, Rules(noise=lambda kind, _: Fraction(kind.sensitivity, 2))),
    "a landmark that is not left out": ("share", 1, Rules(omits=False)),
    "a landmark that is not left out, by hour": ("mean by hour", 3, Rules(omits=False)),
    "one charge for several late units": ("sum", 1, Rules(guard=ChargesOnce)),
    "late units that are not charged": ("sum", 2, Rules(guard=DoesNotCharge)),
    "late units that do not fit": ("mean", 3, Rules(guard=NeverRefuses)),
}


@pytest.mark.parametrize("name", BROKEN)
def test_each_broken_form_loses_more(name: str) -> None:
    """Two units per step show it."""
    statistic, window, rules = BROKEN[name]
    assert max(largest_loss(statistic, 2, window, spare, whole_presence(2), rules) for spare in SPARES) > 1
    assert max(largest_loss(statistic, 2, window, spare, whole_presence(2)) for spare in SPARES) == 1
