"""Which bits an event draws: golden bits, and different bits for every difference that must matter."""

import json
from collections.abc import Callable

import pytest

from stream_app.privacy.noise.draws import coin_stream, noise_stream
from stream_app.privacy.policy import policy_of
from stream_app.privacy.values import RawCells
from tests.privacy import golden
from tests.run import ADAPTIVE, BALANCED, COUNTS, LOCATION, NUMBER, UNIFORM

SECRET = bytes(range(32))


def test_noise_is_what_it_always_was() -> None:
    """Noise, coins and measurements of every kind equal the golden ones, bit for bit."""
    assert list(golden.noise()) == json.loads(golden.NOISE_FILE.read_text())


def _draw(  # noqa: PLR0913 - an event is made of them, all by name
    *,
    secret: bytes = SECRET,
    epoch: int = 0,
    series: str = "home-7",
    step_ms: int = 3_600_000,
    spend_nano: int = 10**8,
    cells: tuple[int, ...] = (5,),
    version: int = 1,
    scheme: dict[str, object] = ADAPTIVE,
    step: int = 3_600_000,
    **value: object,
) -> tuple[int, int]:
    """Return 256 bits each of an event's noise and of its coin."""
    parameters = {
        "epsilon": 1.0,
        "protection": {"level": "landmark", "step": step},
        "scheme": scheme,
        "value": {**NUMBER, **value},
    }
    policy = policy_of(parameters, version)
    noise = noise_stream(secret, epoch, policy, series, step_ms, spend_nano, RawCells(cells)).take(256)
    return noise, coin_stream(secret, epoch, policy, series, step_ms).take(256)


Draw = Callable[[], tuple[int, int]]


@pytest.mark.parametrize(
    "other",
    [
        lambda: _draw(secret=bytes(32)),
        lambda: _draw(epoch=1),
        lambda: _draw(series="home-8"),
        lambda: _draw(step_ms=7_200_000),
        lambda: _draw(version=2),
        lambda: _draw(step=1_800_000),
        lambda: _draw(resolution=0.01),
        lambda: _draw(lower=-1),
        lambda: _draw(upper=11),
        lambda: _draw(sensitivity=5),
    ],
)
def test_noise_and_coins_differ_with_every_parameter(other: Draw) -> None:
    """Another key, epoch, series, step, version, grid, range or sensitivity draws other noise and another coin."""
    noise, coin = _draw()
    assert other()[0] != noise
    assert other()[1] != coin


@pytest.mark.parametrize("other", [lambda: _draw(spend_nano=10**8 + 1), lambda: _draw(cells=(6,))])
def test_only_noise_differs_with_spend_and_value(other: Draw) -> None:
    """Another spend or value draws other noise, or both would reveal the value; the coin depends on neither."""
    noise, coin = _draw()
    assert other()[0] != noise
    assert other()[1] == coin


def test_noise_and_coin_are_different_streams() -> None:
    """A coin reveals nothing about the noise of the same event."""
    noise, coin = _draw()
    assert noise != coin


def test_what_changes_no_mechanism_changes_no_noise() -> None:
    """Scheme, filter and clamp are not parameters of the mechanism: the spend represents what they decide."""
    for scheme in (UNIFORM, BALANCED):
        assert _draw(scheme=scheme) == _draw()
    assert _draw(clamp=False) == _draw()


def test_series_and_values_cannot_run_into_each_other() -> None:
    """Neither a longer series nor another split of the message gives the same bits."""
    seen = {_draw(series="a" * length, cells=cells)[0] for length in range(1, 20) for cells in ((5,), (5, 5), ())}
    assert len(seen) == 57


def test_kinds_have_identities_of_their_own() -> None:
    """Each kind names every parameter of its mechanism; equal cells under different kinds draw different noise."""

    def identity(value: dict[str, object]) -> bytes:
        parameters = {"epsilon": 1.0, "protection": {"level": "event"}, "scheme": UNIFORM, "value": value}
        return policy_of(parameters, 1).identity

    bounds = {"south": -11.1, "west": -37.2, "north": -10.8, "east": -37.0}
    values: list[dict[str, object]] = [
        NUMBER,
        COUNTS,
        {**COUNTS, "sensitivity": 1},
        {**COUNTS, "keys": ["walk", "rest", "ride"]},
        {**COUNTS, "keys": ["walkri", "derest"]},
        {**COUNTS, "keys": ["walkride", "rest"]},
        LOCATION,
        {**LOCATION, "radius": 501},
        {**LOCATION, "resolution": 11},
        *({**LOCATION, "bounds": {**bounds, edge: bounds[edge] + 0.01}} for edge in bounds),
        {"kind": "category", "categories": ["a", "b"]},
        {"kind": "category", "categories": ["b", "a"]},
        {"kind": "category", "categories": ["True", "b"]},
        {"kind": "category", "categories": [True, "b"]},
    ]
    assert len({identity(value) for value in values}) == len(values)
