"""BD and BA of the fold equal a literal implementation of Kellaris et al. 2014 on random streams."""

import json

import numpy as np
import pytest

from stream_app.privacy import fold
from stream_app.privacy.kinds import Counts, Number
from stream_app.privacy.noise.draws import coin_stream, dissimilarity_stream
from stream_app.privacy.noise.mechanisms import discrete_laplace
from stream_app.privacy.noise.randomness import happens_rational
from stream_app.privacy.policy import Policy, policy_of
from stream_app.privacy.state import State
from stream_app.privacy.values import NANO, Raw, ReleasedCells
from tests.privacy.moved import begun, window_of
from tests.privacy.window.literal_kellaris import Published, budget_absorption, budget_distribution
from tests.run import COUNTS, KEYS, NUMBER

STREAMS = 250
"""The number per scheme and dissimilarity: 1,000 in total."""
MECHANISMS = {"bd": budget_distribution, "ba": budget_absorption}
SERIES = "s"


def drawn(seed: int, scheme: dict[str, object]) -> tuple[Policy, list[int], list[object]]:
    """Return a policy, timestamps with gaps and values that sometimes change."""
    random = np.random.default_rng(seed)
    window = int(random.integers(1, 10))
    value = NUMBER if random.random() < 0.5 else COUNTS
    small = (2 * window + int(random.integers(40))) / NANO
    epsilon = small if random.random() < 0.5 else float(10.0 ** random.uniform(-1, 2))
    level = {"level": "w-event", "window": window}
    policy = policy_of({"epsilon": epsilon, "protection": level, "scheme": scheme, "value": value}, 1)
    timestamps: list[int] = []
    values: list[object] = []
    at, now = int(random.integers(6)), 1.0
    for _ in range(int(random.integers(1, 61))):
        at += int(random.choice([1, 1, 1, 2, window, 3 * window]))
        now = float(random.uniform(0, 10)) if random.random() < 0.3 else now
        timestamps.append(at)
        values.append(now if value is NUMBER else {"walk": round(now * 100), "ride": 3})
    return policy, timestamps, values


def decided(policy: Policy, timestamps: list[int], values: list[object]) -> tuple[list[Published], list[State]]:
    """Return what the fold spent at each timestamp, and the state before it."""
    state = begun(policy)
    spends, states = [], []
    for timestamp, value in zip(timestamps, values, strict=True):
        stepped = fold.step(KEYS, policy, state, SERIES, timestamp, Raw(value))
        assert isinstance(stepped, fold.StepResult)
        spends.append(Published(timestamp, stepped.spend_nano))
        states.append(state)
        state = stepped.state
    return spends, states


@pytest.mark.parametrize("name", MECHANISMS)
def test_private_dissimilarity(name: str) -> None:
    """With it every spend is the paper's, including the comparison: mean distance against scale."""
    outcomes = set()
    for seed in range(STREAMS):
        policy, timestamps, values = drawn(seed, {"name": name, "dissimilarity": "private"})
        level, kind = window_of(policy), policy.kind
        assert isinstance(kind, Number | Counts)
        spends, states = decided(policy, timestamps, values)
        before = dict(zip(timestamps, zip(states, values, strict=True), strict=True))

        def dissimilar(i: int, offered: int) -> bool:
            """Compare as lines 1 to 4 and 7 of algorithm 2: dis + Lap(lambda_1) > lambda_{i,2}, both times d."""
            state, value = before[i]  # noqa: B023 (called within the turn)
            c, o = kind.quantise(Raw(value)), state.latest.estimate  # noqa: B023
            assert c is not None
            stream = dissimilarity_stream(KEYS.secret, 0, policy, SERIES, i, level, c, o)  # noqa: B023
            noise = discrete_laplace(stream, level.charge_nano, kind.sensitivity * NANO)  # noqa: B023
            distance = sum(abs(c[j] - o[j]) for j in range(len(c)))
            scale = kind.sensitivity * NANO * len(c)  # noqa: B023
            outcomes.add((distance + noise) * offered > scale)
            return (distance + noise) * offered > scale

        epsilon_1 = policy.epsilon_nano // (2 * level.steps)
        literal = MECHANISMS[name](policy.epsilon_nano, level.steps, epsilon_1, timestamps, dissimilar)
        assert spends == literal, f"seed {seed}: {json.dumps(policy.parameters)}"
    assert outcomes == {True, False}


@pytest.mark.parametrize("name", MECHANISMS)
def test_released_dissimilarity(name: str) -> None:
    """With released values every spend is the paper's budget, if the coin at the fold's rate publishes."""
    rates = set()
    for seed in range(STREAMS):
        policy, timestamps, values = drawn(10_000 + seed, {"name": name})
        spends, states = decided(policy, timestamps, values)
        before = dict(zip(timestamps, states, strict=True))

        def tossed(i: int, offered: int) -> bool:
            """Toss the coin of timestamp i at the rate that the releases before it gave."""
            assert offered > 0
            rate = before[i].latest.rate_nano  # noqa: B023 (called within the turn)
            rates.add(rate)
            return happens_rational(coin_stream(KEYS.secret, 0, policy, SERIES, i), rate, NANO)  # noqa: B023

        literal = MECHANISMS[name](policy.epsilon_nano, window_of(policy).steps, 0, timestamps, tossed)
        assert spends == literal, f"seed {seed}: {json.dumps(policy.parameters)}"
    assert {NANO, NANO // 2, NANO // 10} < rates


def test_uniform_spends_a_share_of_the_window() -> None:
    """Uniform publishes every event with E // w, like the paper's baseline."""
    policy, timestamps, values = drawn(7, {"name": "uniform"})
    spends, _ = decided(policy, timestamps, values)
    assert {spend.epsilon_2 for spend in spends} == {policy.epsilon_nano // window_of(policy).steps}


def test_absorbing_and_paying_back() -> None:
    """The paper's figure in numbers: three skipped units are absorbed, and the next three steps are nullified."""
    offers: list[int] = []

    def dissimilar(i: int, offered: int) -> bool:
        offers.append(offered)
        return i in {1, 5, 9}

    published = budget_absorption(50, 5, 5, list(range(1, 11)), dissimilar)
    assert [spend.epsilon_2 for spend in published] == [5, 0, 0, 0, 20, 0, 0, 0, 5, 0]
    assert offers == [5, 10, 15, 20, 5, 5]


def test_the_last_release_is_what_was_published() -> None:
    """A private dissimilarity compares with the estimate, which would be repeated, not with the measurement."""
    parameters = {
        "epsilon": 4.0,
        "protection": {"level": "w-event", "window": 2},
        "scheme": {"name": "bd", "dissimilarity": "private"},
        "value": NUMBER,
    }
    policy = policy_of(parameters, 1)
    level = window_of(policy)
    cells = policy.kind.quantise(Raw(3.0))
    assert cells is not None
    estimate, measurement = ReleasedCells((10_000,)), ReleasedCells((17_000,))
    draws = [
        dissimilarity_stream(KEYS.secret, 0, policy, SERIES, 5, level, cells, released).take(64)
        for released in (estimate, measurement)
    ]
    assert draws[0] != draws[1]
