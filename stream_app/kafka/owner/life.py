"""The states of a partition's life and the transitions that the supervisor may make, in one table.

The diagram in docs/reference/partition-life.md is generated from this table.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from stream_app.kafka.owner.tenure import Tenure
from stream_app.kafka.stops import StopReason


@dataclass(frozen=True, slots=True)
class Away:
    """A partition without an open producer: just assigned, or failed and waiting to be taken over again."""


@dataclass(frozen=True, slots=True)
class TakingOver:
    """A partition that fences earlier owners and restores its state; no input arrives."""


@dataclass(frozen=True, slots=True)
class Recalling:
    """A partition whose input arrives and waits while the input of open steps is read again."""


@dataclass(frozen=True, slots=True)
class Working:
    """A partition that processes a batch while the previous one commits."""

    tenure: Tenure


@dataclass(frozen=True, slots=True)
class Held:
    """A partition during a rebalance of the group: input arrives and waits, and no batch is in progress."""

    tenure: Tenure


@dataclass(frozen=True, slots=True)
class Stopped:
    """A partition that cannot continue safely; its input is left to another worker, or to the operator."""

    reason: StopReason


State = Away | TakingOver | Recalling | Working | Held | Stopped

LIFE: Final[Mapping[tuple[type[State], type[State]], str]] = {
    (Away, TakingOver): "assigned, or still the owner after an error",
    (TakingOver, Recalling): "changelog read back, row checked, ledger's tail read",
    (Recalling, Working): "input of open steps was read again",
    (Working, Held): "the group rebalances",
    (Held, Working): "still the owner",
    (TakingOver, Away): "trouble",
    (Recalling, Away): "trouble",
    (Working, Away): "trouble: producer lost, local copy damaged",
    (Away, Stopped): "a new producer cannot fix it",
}
"""The reasons for the only possible transitions; in addition, a revocation ends the life in any state."""


def followed(before: State, after: State) -> State:
    """Return ``after``; raises `AssertionError` if it may not follow ``before``."""
    if (type(before), type(after)) not in LIFE:
        raise AssertionError(f"{type(after).__name__} cannot follow {type(before).__name__}")
    return after
