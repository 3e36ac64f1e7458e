"""The meaning of a seed: an input, a handful of workers, and what goes wrong at which moment."""

from dataclasses import dataclass
from random import Random  # noqa: TID251 (draws schedules, no noise)
from typing import Final, Literal, NamedTuple, get_args

from tests.simulation.plans.workload import Sent, input_of

BUSY_SECONDS: Final = 40.0
"""The number of seconds within which records come and faults happen."""

Trouble = Literal[
    "kill",
    "kill at a write",
    "wipe",
    "power lost",
    "rows damaged",
    "key",
    "configuration",
    "freeze",
    "cut off",
    "slow",
    "request lost",
    "answer lost",
    "request late",
    "end late",
    "leave",
    "rebalance",
    "producer id expired",
    "clock",
]
"""What a partition has to recover from."""
Loss = Literal[
    "changelog head",
    "changelog tail",
    "changelog remade",
    "ledger head",
    "ledger tail",
    "releases head",
    "releases tail",
    "rejects tail",
    "events head",
    "events tail",
    "events remade",
]
"""Events that take records away: partitions may stop for them."""
Hole = Literal["ledger hole", "releases hole", "rejects hole"]
"""A power loss that leaves an output missing in the middle of a log, without the rows that cover it."""
Kind = Trouble | Loss | Hole
TROUBLES: Final[tuple[Trouble, ...]] = get_args(Trouble)
LOSSES: Final[tuple[Loss, ...]] = get_args(Loss)
HOLES: Final[tuple[Hole, ...]] = get_args(Hole)

_WITH_MEMBERS: Final = (0, 8, 9, 10)
"""Seeds modulo eleven whose series have members; no older seed of a planted fault is among them."""
_WITH_READINGS: Final = (10, 12, 13, 14, 15)
"""Seeds modulo seventeen whose series take several readings per step; no older fault's seed is among them."""
_WITH_NUMBERS: Final = (0, 10, 11, 12, 15, 16, 17)
"""Seeds modulo nineteen in which crowds send numbers and choices; no older fault's seed is among them."""

_WITH_UNITS: Final = (4, 6, 15, 16, 22, 23, 24, 26, 28)
"""Seeds modulo 29 with series whose steps hold units; no other fault's seed is among them."""

_WITH_STANDBYS: Final = (10, 11, 14, 15, 16, 19, 22)
"""Seeds modulo 23 whose workers keep standby copies; no other fault's seed is among them."""
_FOLLOWED: Final[tuple[Trouble, ...]] = ("kill", "kill at a write", "rows damaged", "rebalance", "leave")

_WITH_A_HOLE: Final = (7, 10, 16, 19, 22, 23, 24, 26, 29, 31, 32, 34, 35, 38, 39, 40)
"""Seeds modulo 41 with a hole, if they lose nothing else and keep no standby copies; no older seed is here."""

_WITH_A_STRANGER: Final = 0.2
"""Of seeds that lose nothing."""

_SECONDS: Final[dict[str, tuple[float, float]]] = {
    "freeze": (0.5, 40),
    "cut off": (0.5, 30),
    "slow": (2, 20),
    "request late": (0, 12),
    "end late": (0, 12),
    "clock": (-7200, 7200),
}
"""How long a fault lasts (lateness is in request times); otherwise, how long until a worker is restarted."""


class Fault(NamedTuple):
    """One fault: when, what, where; ``amount`` is seconds, or for a loss the share of the log that is lost."""

    at: float
    kind: Kind
    worker: int
    partition: int
    amount: float


@dataclass(frozen=True, slots=True)
class Schedule:
    """Everything that determines a run."""

    seed: int
    partitions: int
    workers: int
    batch_records: int
    latency: float
    """The average number of seconds that a request takes."""
    signed: bool
    """Whether heads of the ledger are written."""
    records: tuple[Sent, ...]
    faults: tuple[Fault, ...]
    members: bool = False
    """Whether series have members, whose events are keyed by member."""
    stranger: float | None = None
    """When a second application starts to run under the same prefix."""
    standbys: bool = False
    """Whether workers keep copies of the rows of partitions owned by others."""


def drawn(seed: int) -> Schedule:
    """Return the schedule of a seed."""
    draw = Random(f"schedule {seed}")
    members = seed % 11 in _WITH_MEMBERS
    partitions, workers = draw.randint(1, 3), draw.randint(2, 4)
    kinds: list[Kind] = [draw.choice(TROUBLES) for _ in range(draw.randint(2, 10))]
    if draw.random() < 0.4:
        kinds += [draw.choice(LOSSES) for _ in range(draw.choice((1, 1, 2)))]
    standbys = seed % 23 in _WITH_STANDBYS
    batch_records = draw.choice((1, 3, 8, 20))
    return Schedule(
        seed,
        partitions,
        workers,
        batch_records,
        draw.choice((0.005, 0.05, 0.2)),
        draw.random() < 0.2,
        input_of(
            seed,
            BUSY_SECONDS,
            batch_records,
            members=members,
            readings=seed % 17 in _WITH_READINGS,
            numbers=seed % 19 in _WITH_NUMBERS,
            units=seed % 29 in _WITH_UNITS,
        ),
        tuple(
            sorted(
                [_fault(draw, kind, partitions, workers) for kind in kinds]
                + (_followed(seed, partitions, workers) if standbys else _hole(seed, kinds, partitions))
            )
        ),
        members,
        _stranger(seed, kinds),
        standbys,
    )


def _followed(seed: int, partitions: int, workers: int) -> list[Fault]:
    """Return faults after which standby copies become their owners'; some changelogs lose their end first."""
    draw = Random(f"standbys {seed}")  # apart, as that of the second application
    kinds: list[Kind] = [draw.choice(_FOLLOWED) for _ in range(draw.randint(2, 4))]
    if draw.random() < 0.4:
        kinds.append("changelog tail")
    return [_fault(draw, kind, partitions, workers) for kind in kinds]


def _hole(seed: int, kinds: list[Kind], partitions: int) -> list[Fault]:
    """Return the fault that makes a hole, once there is something to lose."""
    if seed % 41 not in _WITH_A_HOLE or not set(kinds).isdisjoint(LOSSES):  # another loss could hide the hole
        return []
    draw = Random(f"hole {seed}")  # apart, as that of the second application
    at = draw.uniform(BUSY_SECONDS / 3, BUSY_SECONDS)
    return [Fault(at, draw.choice(HOLES), 0, draw.randrange(partitions), draw.random())]


def _stranger(seed: int, kinds: list[Kind]) -> float | None:
    draw = Random(f"stranger {seed}")  # apart, so that the rest of the schedule is what it was before
    if draw.random() > _WITH_A_STRANGER or not set(kinds).isdisjoint(LOSSES):  # a claim that is lost is nobody's
        return None
    return draw.uniform(5, BUSY_SECONDS)


def _fault(draw: Random, kind: Kind, partitions: int, workers: int) -> Fault:
    low, high = _SECONDS.get(kind, (0.0, 1.0) if kind in LOSSES else (0.0, 12.0))
    at = draw.random() * BUSY_SECONDS
    return Fault(at, kind, draw.randrange(workers), draw.randrange(partitions), draw.uniform(low, high))
