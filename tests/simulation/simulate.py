"""Running a schedule, and making one that fails shorter."""

import gc
import logging
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from stream_app.deciding.columns.batch import BatchDecider
from stream_app.formats.records import Records
from tests.simulation.books import ViolationError
from tests.simulation.loop import NeverEndsError, virtual_loop
from tests.simulation.plans.schedule import Schedule
from tests.simulation.world import World


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run came to."""

    violation: ViolationError | None
    trace: str
    happened: Counter[str]
    transactions: int
    records: int
    """How many records were decided, whatever the outcome."""
    together: int
    """How many of these were decided as columns."""


def simulate(schedule: Schedule) -> Outcome:
    """Run a schedule to its end, or to the first broken guarantee."""
    with _silence(), _counted() as counts, virtual_loop(schedule.seed) as loop:
        world = World(schedule, loop)
        violation: ViolationError | None = None
        try:
            loop.run_until_complete(world.run())
        except ViolationError as error:
            violation = error
        except NeverEndsError as error:
            violation = ViolationError("the run ends", str(error))
        trace, happened = world.trace, world.faults.happened
        loop.dismantle([life.process for life in world.lives_by_name.values()])
        return Outcome(violation, trace, happened, world.witness.transactions, counts["records"], counts["together"])


@contextmanager
def _counted() -> Iterator[Counter[str]]:
    """Count the records that are decided, and how many of them are decided as columns."""
    counts, before = Counter[str](), BatchDecider.decide

    def counting(decider: BatchDecider, records: Records) -> Iterator[None]:
        yield from before(decider, records)
        counts["records"] += decider.end
        counts["together"] += sum(decider.decisions.values()) - sum(decider.alone.decisions.values())

    BatchDecider.decide = counting  # type: ignore[assignment, method-assign]
    try:
        yield counts
    finally:
        BatchDecider.decide = before  # type: ignore[method-assign]


@contextmanager
def _silence() -> Iterator[None]:
    """Silence logging, and pause the garbage collector: it would run in the middle of others' tasks."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        logging.disable(before)


def shrunk(schedule: Schedule, broken: Callable[[Schedule], bool]) -> Schedule:
    """Return a schedule that still fails, without the faults and records that it does not need for that."""
    smaller = True
    while smaller:
        smaller = False
        for shorter in _shorter(schedule):
            if broken(shorter):
                schedule, smaller = shorter, True
                break
    return schedule


def _shorter(schedule: Schedule) -> Iterator[Schedule]:
    for nth in range(len(schedule.faults)):
        yield replace(schedule, faults=schedule.faults[:nth] + schedule.faults[nth + 1 :])
    size = max(1, len(schedule.records) // 2)
    while size:
        for start in range(0, len(schedule.records), size):
            yield replace(schedule, records=schedule.records[:start] + schedule.records[start + size :])
        size //= 2
