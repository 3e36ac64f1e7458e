"""Releases of steps of units: their bytes for each statistic, and what is read back from them."""

import json

import pytest

from stream_app.formats.encoding import NO_HASH, written_one
from stream_app.privacy.fold import StepResult, advance
from stream_app.privacy.kinds import UnitStatistic
from stream_app.privacy.noise.draws import Draw
from stream_app.privacy.place import place, unspent
from stream_app.privacy.policy import Policy
from stream_app.privacy.state import State
from stream_app.privacy.units.steps import decide_units, tallied
from stream_app.privacy.values import NANO
from tests.privacy.moved import begun
from tests.privacy.units.made import STATISTICS, policy, units
from tests.run import KEYS

CELLS = (1, 2, None)
WITHOUT_NOISE = 10**6
"""An epsilon at which noise is 0, except for one draw in e to the 100,000."""

RELEASES = {
    "mean": '"value":1.5,"decision":"perturbed","measurement":1.5,%s"scale":%s,"policy":1,"statistic":"mean","count":2',
    "sum": '"value":3.0,"decision":"perturbed","measurement":3.0,%s"scale":%s,"policy":1,"statistic":"sum","count":2',
    "share": (
        '"value":0.5,"decision":"perturbed","measurement":0.5,%s"scale":%s,"policy":1,"statistic":"share","count":2'
    ),
    "histogram": (
        '"value":[0,1,1],"decision":"perturbed","measurement":[0,1,1],%s"scale":%s,"policy":1,"statistic":"histogram",'
        '"count":2'
    ),
    "categories": (
        '"value":{"home":0,"work":1,"true":1},"decision":"perturbed","measurement":{"home":0,"work":1,"true":1},%s'
        '"scale":%s,"policy":1,"statistic":"histogram","count":2'
    ),
    "mean by hour": (
        '"value":{"0":1.5},"decision":"perturbed","measurement":{"0":1.5},%s"scale":%s,"policy":1,"statistic":"mean",'
        '"count":{"0":2}'
    ),
    "sum by weekday": (
        '"value":{"4":3.0},"decision":"perturbed","measurement":{"4":3.0},%s"scale":%s,"policy":1,"statistic":"sum",'
        '"count":{"4":2}'
    ),
}
SCALES = {
    "mean": "3e-6", "sum": "6e-6", "share": "1.5e-6", "histogram": "6e-6", "categories": "6e-6",
    "mean by hour": '{"0":3e-6}', "sum by weekday": "6e-6",
}  # fmt: skip
"""The scales for w = 3, D = 2 and n = 2."""


def release(found: Policy, stepped: StepResult) -> bytes:
    """Return the bytes of a step's release."""
    return written_one("a", b"a", found, stepped, stepped.decision, 2, 0, "0" * 16, NO_HASH)[0][3]


@pytest.mark.parametrize("statistic", STATISTICS)
def test_releases_are_written_so(statistic: str) -> None:
    """`statistic` and `count` come last; by local time `count` is an object, as is the `scale` of a mean."""
    found = policy(statistic, per_step=3, window=3, epsilon=float(WITHOUT_NOISE))
    stepped = decide_units(KEYS, found, begun(found), "a", 0, units(CELLS))
    assert stepped is not None
    spent = f'"epsilon_nano":{WITHOUT_NOISE * NANO},'
    meant = '{"series":"a","timestamp":0,' + RELEASES[statistic] % (spent, SCALES[statistic]) + "}"
    assert release(found, stepped).decode() == meant


@pytest.mark.parametrize("statistic", STATISTICS)
def test_a_release_is_read_back(statistic: str) -> None:
    """Measurement and estimate are read back, also with the filter; a repeat has `statistic` but no `count`."""
    found = policy(statistic, per_step=3, scheme={"name": "balanced"}, offset_ms=1000)
    state, step, record = begun(found), 0, {}
    for cells in (CELLS, (0, 0, 2), (None, None, 1)):
        stepped = decide_units(KEYS, found, state, "a", step, units(cells))
        assert stepped is not None
        record = json.loads(release(found, stepped))
        state, step = stepped.state, step + 1
        assert found.kind.released(record) == (state.latest.measurement, state.latest.estimate)
        assert record["timestamp"] == 1000 + stepped.state.clock.last_step * found.step_ms
    repeated = json.loads(release(found, unspent_step(found, state, step)))
    assert (repeated["decision"], repeated["value"], repeated["source"]) == (
        "approximated",
        record["value"],
        record["timestamp"],
    )
    assert repeated["statistic"] == record["statistic"]
    assert "count" not in repeated
    withheld = json.loads(release(found, unspent_step(found, begun(found), 0)))
    assert list(withheld) == ["series", "timestamp", "decision", "policy", "statistic"]


def unspent_step(found: Policy, state: State, step: int) -> StepResult:
    """Return the result of a step on which no budget is spent."""
    return advance(found, state, step, place(found, state, step), unspent(found, state, step), None, 0)


def test_what_a_step_holds_is_in_no_release_without_noise() -> None:
    """The noise of a step is drawn from its cells: a different total has different noise."""
    found = policy(per_step=3)
    kind = found.kind
    assert isinstance(kind, UnitStatistic)
    noises = set()
    for cells in ((1, 1, 1), (1, 1, 2), (2, 2, 2)):
        whole = tallied(found, begun(found).promise.landmarks, 0, units(cells))
        assert whole is not None
        drawn = Draw(bytes(32), 0, "a").noise(found, 0, NANO // 100, whole)
        noises.add(drawn[0] - whole[0])
    assert len(noises) == 3
