"""The states of a partition's life, and which of them may follow which: one table, which the supervisor keeps to.

The diagram in docs/reference/partition-life.md is written from it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from stream_app.kafka.owner.tenure import Tenure
from stream_app.kafka.stops import StopReason


@dataclass(frozen=True, slots=True)
class Away:
    """Its producer is not open: it was just assigned, or trouble came and it waits to take the partition over anew."""


@dataclass(frozen=True, slots=True)
class TakingOver:
    """It fences earlier owners and reads the state back; no input comes."""


@dataclass(frozen=True, slots=True)
class Recalling:
    """Input comes and waits, while what open steps hold is read again."""


@dataclass(frozen=True, slots=True)
class Working:
    """It decides a batch while the one before commits."""

    tenure: Tenure


@dataclass(frozen=True, slots=True)
class Held:
    """The group rebalances: input comes and waits, and nothing is under way."""

    tenure: Tenure


@dataclass(frozen=True, slots=True)
class Stopped:
    """It cannot go on safely; what comes is left to another worker, or to the operator."""

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
"""Why each state follows another. No other step is possible; a revocation ends the life in any state."""


def followed(before: State, after: State) -> State:
    """Return ``after``; raises `AssertionError` where it may not follow ``before``."""
    if (type(before), type(after)) not in LIFE:
        raise AssertionError(f"{type(after).__name__} cannot follow {type(before).__name__}")
    return after
