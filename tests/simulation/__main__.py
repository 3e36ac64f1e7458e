"""``python -m tests.simulation``: run many seeds, or repeat one."""

import argparse
import os
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext

from tests.simulation.plans.schedule import Schedule, drawn
from tests.simulation.planted import PLANTED
from tests.simulation.planting import Planted, planted
from tests.simulation.simulate import Outcome, shrunk, simulate

_CHUNK = 25


def outcome_of(schedule: Schedule, fault: Planted | None = None) -> Outcome:
    """Run a schedule, with a planted fault or none."""
    with nullcontext() if fault is None else planted(fault):
        return simulate(schedule)


def _chunk(seeds: range, fault: Planted | None) -> list[tuple[int, Outcome]]:
    return [(seed, outcome_of(drawn(seed), fault)) for seed in seeds]


def outcomes(seeds: range, fault: Planted | None = None) -> Iterator[tuple[int, Outcome]]:
    """Yield the outcome of each seed, in order, computed on all cores."""
    chunks = [seeds[start : start + _CHUNK] for start in range(0, len(seeds), _CHUNK)]
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for found in pool.map(_chunk, chunks, [fault] * len(chunks)):
            yield from found


def _told(schedule: Schedule, outcome: Outcome) -> Iterable[str]:
    yield f"seed {schedule.seed}: {outcome.violation}"
    yield (
        f"  {schedule.partitions} partitions, {schedule.workers} workers, batches of {schedule.batch_records}, "
        f"{schedule.latency} s a request, heads {'signed' if schedule.signed else 'unsigned'}"
    )
    yield from (f"  at {record.at:.3f} {record.key.decode()}: {record.value!r}" for record in schedule.records)
    yield from (f"  at {at:.3f} {kind}: worker {w}, partition {p}, {x:.2f}" for at, kind, w, p, x in schedule.faults)


def _rerun(seed: int, fault: Planted | None) -> int:
    schedule = drawn(seed)
    outcome = outcome_of(schedule, fault)
    violation = outcome.violation
    if violation is None:
        print(f"seed {seed}: no violation; trace {outcome.trace}")
        return 0
    print(f"seed {seed}: {violation}; shrinks", file=sys.stderr)

    def broken(shorter: Schedule) -> bool:
        found = outcome_of(shorter, fault).violation
        return found is not None and found.promise == violation.promise

    shorter = shrunk(schedule, broken)
    print("\n".join(_told(shorter, outcome_of(shorter, fault))))
    return 1


def _many(seeds: range, fault: Planted | None) -> int:
    began, happened, failed = time.monotonic(), Counter[str](), list[int]()
    transactions = records = together = 0
    for done, (seed, outcome) in enumerate(outcomes(seeds, fault), 1):
        happened.update(outcome.happened)
        transactions += outcome.transactions
        records, together = records + outcome.records, together + outcome.together
        if outcome.violation is not None:
            failed.append(seed)
            print(f"seed {seed}: {outcome.violation}")
            if fault is not None:
                break
        if done % 500 == 0:
            print(f"{done} of {len(seeds)}, {time.monotonic() - began:.0f} s", file=sys.stderr)
    print(f"{records} records were decided, {together / records:.0%} of them as columns")
    print(f"{transactions} transactions, {time.monotonic() - began:.0f} s; faults by kind:")
    print("\n".join(f"  {count:7d} {kind}" for kind, count in sorted(happened.items())))
    if failed:
        print(f"run one again: python -m tests.simulation --seed {failed[0]}")
    print(f"{len(seeds)} schedules, {len(failed)} violations")
    return 1 if failed else 0


def main() -> int:
    """Do what the command line asks."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--seeds", type=int, default=500, help="how many schedules")
    parser.add_argument("--first", type=int, default=1, help="the first seed")
    parser.add_argument("--seed", type=int, help="run this one alone, and shrink it if it fails")
    parser.add_argument("--fault", choices=[fault.name for fault in PLANTED], help="with a planted fault in the code")
    given = parser.parse_args()
    fault = next((fault for fault in PLANTED if fault.name == given.fault), None)
    if given.seed is not None:
        return _rerun(given.seed, fault)
    return _many(range(given.first, given.first + given.seeds), fault)


if __name__ == "__main__":
    sys.exit(main())
