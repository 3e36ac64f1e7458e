"""The private dissimilarity: its distribution against scipy's, its loss between neighbours, its bits."""

from math import exp

import pytest
from scipy.stats import binomtest, dlaplace

from stream_app.privacy.guard import WindowLevel
from stream_app.privacy.noise.draws import coin_stream, dissimilarity_stream, noise_stream
from stream_app.privacy.noise.mechanisms import differs
from stream_app.privacy.policy import Policy, policy_of
from stream_app.privacy.values import NANO, RawCells, ReleasedCells
from tests.privacy.moved import window_of
from tests.privacy.noise.fit import SURE
from tests.run import COUNTS, NUMBER

SECRET = bytes(range(32))
DRAWS = 2_000
RELEASED = ReleasedCells((2, 7, 4))


def policy(epsilon: float = 4.0, window: int = 2, value: dict[str, object] = COUNTS) -> Policy:
    """Return a policy of BD with the private dissimilarity."""
    scheme = {"name": "bd", "dissimilarity": "private"}
    parameters = {"epsilon": epsilon, "protection": {"level": "w-event", "window": window}, "scheme": scheme}
    return policy_of({**parameters, "value": value}, 1)


def publishes(made: Policy, cells: RawCells, released: ReleasedCells, spend_nano: int) -> list[bool]:
    """Return the decision at each of many steps."""
    level = window_of(made)
    streams = (dissimilarity_stream(SECRET, 0, made, "s", step, level, cells, released) for step in range(DRAWS))
    return [differs(stream, level, cells, released, spend_nano) for stream in streams]


def chance(distance: int, level: WindowLevel, cells: int, spend_nano: int) -> float:
    """Return the exact chance that distance + noise exceeds d * D / x, by scipy's discrete Laplace distribution."""
    threshold = cells * level.sensitivity * NANO // spend_nano  # the largest whole number that is not above it
    return float(dlaplace.sf(threshold - distance, level.charge_nano / NANO / level.sensitivity))


@pytest.mark.parametrize("cells", [(2, 7, 4), (3, 7, 4), (3, 9, 4), (9, 7, 6)])
def test_its_chance_is_the_formulas(cells: tuple[int, ...]) -> None:
    """It publishes as often as (sum|c - o| + discrete Laplace(e1/D)) * x > d*D says, but not at half the noise."""
    made = policy()
    level, spend_nano = window_of(made), NANO
    assert (level.charge_nano, level.sensitivity) == (NANO, 2)
    distance = sum(abs(one - other) for one, other in zip(cells, RELEASED, strict=True))
    found = publishes(made, RawCells(cells), RELEASED, spend_nano)
    true = chance(distance, level, len(cells), spend_nano)
    assert binomtest(sum(found), DRAWS, true).pvalue > SURE
    halved = chance(distance, level._replace(charge_nano=2 * level.charge_nano), len(cells), spend_nano)
    assert binomtest(sum(found), DRAWS, halved).pvalue < SURE


def test_neighbours_lose_at_most_e1() -> None:
    """Between cells that are D apart neither answer is more than exp(e1) times likelier; some pair comes close."""
    worst = 0.0
    for value, width in ((COUNTS, 3), ({**NUMBER, "resolution": 1, "sensitivity": 3}, 1)):
        made = policy(value=value)
        level = window_of(made)
        for spend_nano in (NANO // 3, NANO, 5 * NANO):
            for distance in range(40):
                for other in range(max(0, distance - level.sensitivity), distance + level.sensitivity + 1):
                    one, two = (chance(each, level, width, spend_nano) for each in (distance, other))
                    worst = max(worst, one / two, (1 - one) / (1 - two) if two < 1 - 1e-9 else 0.0)
    assert worst <= exp(1.0) * (1 + 1e-6)
    assert worst > 0.99 * exp(1.0)


def test_a_sure_change_is_published_and_none_is_not() -> None:
    """Far beyond the noise the answer is yes, and far below the threshold no."""
    made = policy(epsilon=400.0)
    assert all(publishes(made, RawCells((900, 7, 4)), RELEASED, NANO))
    assert not any(publishes(made, RawCells((2, 7, 4)), RELEASED, NANO))


def test_every_part_changes_its_bits() -> None:
    """The draw changes with each of cells, released cells, e1, step, series, epoch, version and key."""
    made = policy()
    level, cells = window_of(made), RawCells((5, 9, 1))
    other = policy_of(made.parameters, 2)
    drawn = [
        dissimilarity_stream(SECRET, 0, made, "s", 5, level, cells, RELEASED).take(128),
        dissimilarity_stream(SECRET[::-1], 0, made, "s", 5, level, cells, RELEASED).take(128),
        dissimilarity_stream(SECRET, 1, made, "s", 5, level, cells, RELEASED).take(128),
        dissimilarity_stream(SECRET, 0, other, "s", 5, level, cells, RELEASED).take(128),
        dissimilarity_stream(SECRET, 0, made, "t", 5, level, cells, RELEASED).take(128),
        dissimilarity_stream(SECRET, 0, made, "s", 6, level, cells, RELEASED).take(128),
        dissimilarity_stream(SECRET, 0, made, "s", 5, level._replace(charge_nano=7), cells, RELEASED).take(128),
        dissimilarity_stream(SECRET, 0, made, "s", 5, level, RawCells((5, 9, 2)), RELEASED).take(128),
        dissimilarity_stream(SECRET, 0, made, "s", 5, level, cells, ReleasedCells((2, 7, 5))).take(128),
        noise_stream(SECRET, 0, made, "s", 5, level.charge_nano, RawCells((*cells, *RELEASED))).take(128),
        coin_stream(SECRET, 0, made, "s", 5).take(128),
    ]
    assert len(set(drawn)) == len(drawn)


def test_a_replay_draws_the_same() -> None:
    """The same event in the same state gives the same bits."""
    made = policy()
    level, cells = window_of(made), RawCells((5, 9, 1))
    one, two = (dissimilarity_stream(SECRET, 3, made, "s", 5, level, cells, RELEASED).take(512) for _ in range(2))
    assert one == two
