"""Steps of units: which units count, processing a closed step, and open steps under a new version.

Readings and watermarks open and close these steps as described in `collected.plain`. A step in which no unit counts is
skipped: it has no release and no entry, and it spends nothing.
"""

from collections.abc import Iterable, Iterator, Sequence

from stream_app.privacy.collected.plain import decide_step
from stream_app.privacy.fold import StepResult
from stream_app.privacy.kinds import (
    UnitStatistic,
)
from stream_app.privacy.kinds.units import UnitCell
from stream_app.privacy.landmarks import LandmarkSet
from stream_app.privacy.noise.key import KeyRing
from stream_app.privacy.policy import Policy
from stream_app.privacy.state import State
from stream_app.privacy.units.readings import OpenUnit
from stream_app.privacy.values import RawCells


def tallied(policy: Policy, landmarks: LandmarkSet, index: int, units: Sequence[OpenUnit]) -> RawCells | None:
    """Return the cells of step ``index`` computed from its units, in order, or None if no unit counts.

    A unit counts if it has a reading and is not a landmark.
    """
    kind = policy.kind
    assert isinstance(kind, UnitStatistic), "the policy's steps have units"
    return kind.tallied(_counted(policy, kind, landmarks, index, units))


def _counted(
    policy: Policy, kind: UnitStatistic, landmarks: LandmarkSet, index: int, units: Iterable[OpenUnit]
) -> Iterator[UnitCell]:
    divided = policy.units
    assert divided is not None, "the policy's steps have units"
    grid = divided.grid
    for at, unit in zip(divided.of_step(index), units, strict=True):
        # PRIVACY: landmarks, and which units have a reading, are public: the values do not influence which units count.
        if unit.readings and at not in landmarks:
            yield grid.start_of(at), unit.cell(divided, kind)


def decide_units(
    keys: KeyRing, policy: Policy, state: State, series: str, index: int, units: Sequence[OpenUnit]
) -> StepResult | None:
    """Process a step after the last processed one, given all its units in order.

    Return None if no unit counts or the key of the step's epoch was erased; then nothing is released and no entry is
    written. Guarantee: histories that differ on landmark units and on any w consecutive units lose at most the budget
    over all steps of a period, where the landmarks are those at the period's end (`guard`).
    """
    cells = tallied(policy, state.promise.landmarks, index, units)
    return None if cells is None else decide_step(keys, policy, state, series, index, cells)


def takes_over(policy: Policy, before: Policy) -> bool:
    """Return whether a version not marked weaker continues the open steps of the previous version.

    It does so if both versions interpret readings alike; any other version drops the open steps unread.
    """
    if policy.units is None or (policy.units, policy.step_ms) != (before.units, before.step_ms):
        return False
    kind, former = policy.kind, before.kind
    assert isinstance(kind, UnitStatistic), "the policy's steps have units"
    assert isinstance(former, UnitStatistic), "the former policy's steps have units"
    return kind.reading == former.reading
