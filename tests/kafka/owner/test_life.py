"""The states of a partition's life: the table lists all steps, and allows no others."""

from itertools import product
from typing import Any, get_args

import pytest

from stream_app.kafka.owner.life import LIFE, Away, Held, Recalling, State, Stopped, TakingOver, Working, followed

TENURE: Any = None
STATES: dict[type, State] = {
    Away: Away(),
    TakingOver: TakingOver(),
    Recalling: Recalling(),
    Working: Working(TENURE),
    Held: Held(TENURE),
    Stopped: Stopped("input-lost"),
}


def test_the_table_knows_every_state() -> None:
    """Each state is reachable from the first, and every state but the last has a next one."""
    assert set(get_args(State)) == set(STATES)
    reached: set[type] = {Away}
    for _ in STATES:
        reached |= {after for before, after in LIFE if before in reached}
    assert reached == set(STATES)
    assert {before for before, _ in LIFE} == set(STATES) - {Stopped}


@pytest.mark.parametrize(("before", "after"), list(product(STATES, STATES)))
def test_no_other_step_is_possible(before: type, after: type) -> None:
    """A step that is not in the table raises an error, whoever requests it."""
    steps: Any = LIFE
    if (before, after) in steps:
        assert followed(STATES[before], STATES[after]) is STATES[after]
    else:
        with pytest.raises(AssertionError, match="cannot follow"):
            followed(STATES[before], STATES[after])
