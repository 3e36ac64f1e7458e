"""The largest loss of neighbours over both ledgers, with and without the fence of `left`, by enumeration."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import pytest

from tests.cli.ledger.test_left import Record, left_of
from tests.run import NUMBER, Run

FENCE = (1, 2)
"""The versions of a fence, in the new installation."""
STEPS = 3
"""The number of steps in each of the two installations."""
EPSILON = 1_000_000_000
LEVELS: dict[str, tuple[Record, tuple[Record, ...]]] = {
    "event": ({"level": "event"}, ({"name": "uniform"}, {"name": "adaptive"})),
    "user": ({"level": "user", "length": 2 * STEPS - 2}, ({"name": "uniform"},)),
    "landmark": ({"level": "landmark", "landmarks": [1, 4]}, ({"name": "uniform"}, {"name": "balanced"})),
    **{
        f"w-event-{window}": (
            {"level": "w-event", "window": window},
            (
                {"name": "uniform"},
                {"name": "bd"},
                {"name": "ba"},
                {"name": "bd", "dissimilarity": "private"},
            ),
        )
        for window in (1, 2, 3)
    },
    **{
        f"landmark-{window}": (
            {"level": "landmark", "landmarks": [1, 4], "window": window},
            ({"name": "uniform"}, {"name": "balanced"}, {"name": "bd"}, {"name": "ba"}),
        )
        for window in (2, 3)
    },
}


def neighbours(protection: Record) -> Iterator[set[int]]:
    """Yield every set of steps in which two neighbours differ; a step lasts 1 ms, and one follows the last."""
    every = range(2 * STEPS + 1)
    match protection["level"]:
        case "event":
            yield from ({step} for step in every)
        case "user":
            yield set(every)
        case "landmark":
            window = protection.get("window", 1)
            yield from ({*protection["landmarks"], *range(step, step + window)} for step in every)
        case "w-event":
            yield from (set(range(step, step + protection["window"])) for step in every)


def costs(ledger: list[Record], parameters: Record) -> Counter[int]:
    """Return the cost of each step: its spends and the charge for its private dissimilarity."""
    private = parameters["scheme"].get("dissimilarity") == "private"
    charge = EPSILON // (2 * parameters["protection"]["window"]) if private else 0
    found: Counter[int] = Counter()
    for entry in ledger:
        if entry["entry"] == "release" and entry["policy"] not in FENCE:
            found[entry["timestamp"]] += entry.get("epsilon_nano", 0) + (charge if entry["regular_peak_nano"] else 0)
    return found


@pytest.mark.parametrize("level", LEVELS)
def test_no_neighbours_lose_more_than_one_budget(level: str, tmp_path: Path) -> None:
    """Every choice of steps decided before and after loses at most one budget, for every pair of neighbours."""
    assert EPSILON // 2 < most_lost(level, tmp_path, fenced=True) <= EPSILON


@pytest.mark.parametrize("level", ["event", "landmark", "landmark-3", "w-event-3"])
def test_without_the_fence_more_is_lost(level: str, tmp_path: Path) -> None:
    """As a control, without the fence the loss exceeds one budget, except at level user.

    Level user has only the sum to keep, and keeps it with or without the fence.
    """
    assert most_lost(level, tmp_path, fenced=False) > EPSILON


def most_lost(level: str, folder: Path, *, fenced: bool) -> int:
    """Return the largest loss of any neighbours over both installations, for every choice of decided steps."""
    protection, schemes = LEVELS[level]
    ways = [steps for count in range(STEPS + 1) for steps in combinations(range(STEPS), count)]
    parameters = {
        f"{nth}-{before}-{after}": {"epsilon": 1.0, "protection": protection, "scheme": scheme, "value": NUMBER}
        for nth, scheme in enumerate(schemes)
        for before in range(len(ways))
        for after in range(len(ways))
    }
    old, new = Run(), Run()
    for series, members in parameters.items():
        before = ways[int(series.split("-")[1])]
        # Its own versions begin at 3, so that the fence's are numbers of its own.
        old.feed_all([{"type": "policy", "series": series, "version": 3, **members}])
        old.feed_all([{"series": series, "timestamp": step, "value": 1.5} for step in before])
    ledger = folder / "ledger.jsonl"
    ledger.write_bytes(b"\n".join(old.ledger))
    begun, _ = left_of(ledger)
    new.feed_all(record for record in begun if fenced or record.get("version", FENCE[0]) not in FENCE)
    for series in parameters:
        after = ways[int(series.split("-")[2])]
        steps = [*range(STEPS), *(STEPS + step for step in after), 2 * STEPS]  # the old ones, too
        new.feed_all([{"series": series, "timestamp": step, "value": 1.5} for step in steps])
    spent: defaultdict[str, Counter[int]] = defaultdict(Counter)
    for entry in (json.loads(line) for line in (*old.ledger, *new.ledger)):
        spent[entry["series"]] += costs([entry], parameters[entry["series"]])
    return max(sum(spent[series][step] for step in steps) for series in parameters for steps in neighbours(protection))
