"""Ledgers decided by the worker's own fold, as a basis for frauds: drawn, always the same, all different."""

from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from multiprocessing import get_context

import orjson
from hypothesis import HealthCheck, Phase, given, settings

from tests.audit.heads.signed import Story
from tests.audit.histories import History, histories
from tests.audit.written import Written

LEAST_ENTRIES = 12
"""Minimum entries of a story, as few as give every series' heads something to sign."""


@cache
def draw(count: int) -> tuple[History, ...]:
    """Return, of this many histories, those with a feature that none before them has.

    A separate process draws them. Otherwise the ledgers would depend on the tests that ran before, because Hypothesis
    also draws constants of the imported code.
    """
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        return pool.submit(_drawn, count).result()


def _drawn(count: int) -> tuple[History, ...]:
    found: list[History] = []
    met: set[object] = set()

    @settings(
        max_examples=count,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(histories())
    def collect(history: History) -> None:
        new = features(history) - met
        if new:
            met.update(new)
            found.append(history)

    collect()
    return tuple(found)


def features(history: History) -> set[object]:
    """Return a history's features: policies by level, scheme and kind, successions, charges, late epochs."""
    found: set[object] = set()
    for written in by_series(history).values():
        before = None
        for entry in written.entries:
            if entry["entry"] == "policy":
                terms = entry["parameters"]
                found.add((terms["protection"]["level"], terms["scheme"]["name"], terms["value"]["kind"]))
                found.add((terms["protection"]["level"], terms["scheme"].get("dissimilarity"), before is None))
            found.add((before, entry["entry"]))
            found.add(("charged", entry.get("charged_nano", 0) > 0, entry["epoch"] > 0))
            before = entry["entry"]
    return found


def by_series(history: History) -> dict[str, Written]:
    """Return entries and releases of each series as records."""
    found: dict[str, Written] = defaultdict(lambda: Written([], [], history.lifetime_nano))
    for line in history.ledger:
        entry = orjson.loads(line)
        found[entry["series"]].entries.append(entry)
    for line in history.releases:
        release = orjson.loads(line)
        found[release["series"]].releases.append(release)
    return dict(found)


def chains(count: int) -> list[Written]:
    """Return every series in the histories from this many draws."""
    return [written for history in draw(count) for written in by_series(history).values()]


def stories(count: int) -> list[Story]:
    """Return the histories from this many draws that are long enough to be signed in rounds."""
    return [
        Story.growing(by_series(history))
        for history in draw(count)
        if history.lifetime_nano is None and len(history.ledger) >= LEAST_ENTRIES
    ]
