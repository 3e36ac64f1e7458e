"""The draws of many events against each event's own: the same coins and noise, whichever are asked for."""

from typing import Final

import numpy as np
import pytest

from stream_app.privacy.amounts import Ints
from stream_app.privacy.noise.draws import COIN, Draw, Draws, coin_message
from stream_app.privacy.noise.randomness import first_words, happens_quickly, keyed_hash
from stream_app.privacy.policy import policy_of
from stream_app.privacy.rule import Rule
from stream_app.privacy.values import NANO, RawCells
from tests.run import ADAPTIVE, NUMBER

SECRET: Final = bytes(range(32))
EPOCH: Final = 3
STEP_MS: Final = 1000
COUNT: Final = 60
NAMES: Final = [f"home-{nth}".encode() for nth in range(COUNT)]
EVENTS: Final = np.arange(COUNT)
STARTS_MS: Final = EVENTS * STEP_MS
LATE: Final = 1_153_935_000
CLOSE: Final = 967_579_111
"""The rate to which the coin of series ``late`` at ``LATE`` is too close for doubles; most coins are not."""


@pytest.fixture
def rule() -> Rule:
    """Return a rule under which the draws of several one-second steps are taken together."""
    protection = {"level": "event", "step": STEP_MS}
    found = policy_of({"epsilon": 1.0, "protection": protection, "scheme": ADAPTIVE, "value": NUMBER}, 1).rule
    assert found is not None
    return found


def one(nth: int) -> Draw:
    """Return the draw of one of the events."""
    return Draw(SECRET, EPOCH, NAMES[nth].decode())


def test_each_coin_is_that_of_its_own_event(rule: Rule) -> None:
    """Every third event is not asked about; the others have their own coins and rates."""
    asked, rates = EVENTS % 3 != 0, np.where(EVENTS % 2 == 0, NANO // 3, NANO * 2 // 3)
    coins = np.asarray(Draws(SECRET, EPOCH, NAMES).coins(rule, STARTS_MS, rates, asked)).tolist()
    assert coins == [
        not asked[nth] or one(nth).coins(rule, int(STARTS_MS[nth]), int(rates[nth]), asked=True) for nth in range(COUNT)
    ]
    assert 0 < coins.count(False) < int(asked.sum())


def test_a_coin_that_doubles_cannot_tell_is_that_of_its_own_event(rule: Rule) -> None:
    """It comes after an event that is not asked about, and before one with another coin."""
    names, starts_ms = [NAMES[0], NAMES[1], b"late", NAMES[2]], np.array([0, 0, LATE, 0])
    rates, asked = np.array([NANO // 2, NANO // 2, CLOSE, NANO // 2]), np.array([False, True, True, True])
    word = first_words(keyed_hash(SECRET, COIN, rule.identity), [coin_message(EPOCH, LATE, b"late")])
    _, sure = happens_quickly(word.astype(np.float64), rates[2:3], NANO)
    assert not np.asarray(sure).any()
    expected = Draw(SECRET, EPOCH, "late").coins(rule, LATE, CLOSE, asked=True)
    assert not expected
    assert bool(np.asarray(Draws(SECRET, EPOCH, names).coins(rule, starts_ms, rates, asked))[2]) is expected


@pytest.mark.parametrize(
    "spends_nano",
    [EVENTS * EVENTS * 10**6, np.where(EVENTS % 3 == 0, 0, (1 + EVENTS % 7) * 4 * 10**12)],
    ids=["wide noise", "noise that is often 0"],
)
def test_each_noise_is_that_of_its_own_event(rule: Rule, spends_nano: Ints) -> None:
    """Spends differ between events, and some are zero; if noise is 0, doubles often do not decide."""
    cells = EVENTS * 7 % 40
    (found,) = Draws(SECRET, EPOCH, NAMES).noise(rule, STARTS_MS, spends_nano, (cells,))
    for nth, (spend_nano, cell) in enumerate(zip(spends_nano.tolist(), cells.tolist(), strict=True)):
        start_ms = int(STARTS_MS[nth])
        expected = one(nth).noise(rule, start_ms, spend_nano, RawCells((cell,)))[0] if spend_nano else 0
        assert found[nth] == expected
