"""The filter ``level``: a running level of each series, estimated from its noisy values alone.

This is free post-processing (Dwork and Roth 2014, proposition 2.1): the filter reads releases, never raw values.
Several models run side by side and differ in how fast the level may move (``q``). The estimate of the model with the
smallest running cost is published. Bounded numbers use scalar Kalman updates with a heavy-tailed gain; categories use a
Bayesian belief. The code of the kinds uses only + - * / and sqrt in a fixed order, so that all machines get the same
result: do not reorder or factor.
"""

from stream_app.privacy.amounts import least
from stream_app.privacy.kinds import Kind, Unfiltered
from stream_app.privacy.values import LevelState, ReleasedCells

MOST_STEPS = 64
"""The number of steps without a noisy value after which the level's uncertainty stops growing."""


def measured(
    kind: Kind, state: LevelState, cells: ReleasedCells, spend_nano: int, elapsed: int
) -> tuple[LevelState, ReleasedCells]:
    """Return the state after a noisy value, and the estimate in cells, not clamped.

    ``elapsed`` is the number of steps since the last processed step of the period (0 for its first step).
    """
    assert not isinstance(kind, Unfiltered), "a policy of this kind has no filter"
    return kind.filtered(state, cells, spend_nano, least(elapsed, MOST_STEPS) * 1.0)


def drifted(kind: Kind, state: LevelState, elapsed: int) -> LevelState:
    """Return the state after a step without a noisy value, in which the level may have moved."""
    if not state:
        return state
    assert not isinstance(kind, Unfiltered), "a policy of this kind has no filter"
    return kind.drifted(state, least(elapsed, MOST_STEPS) * 1.0)
