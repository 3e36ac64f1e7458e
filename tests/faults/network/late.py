"""Runs of a fleet whose requests a proxy loses, holds or delivers late, and a table of the events' fates."""

import asyncio
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import orjson
from aiokafka.errors import for_code

from tests.faults.fleet import Fleet, Site
from tests.faults.network.brokers import Brokers
from tests.faults.network.proxy import Proxy, Rule
from tests.faults.network.scenarios import SCENARIOS, Run
from tests.faults.topics import Sent, Topics
from tests.faults.verdict import Verdict, weigh
from tests.faults.workload import DEFAULTS, LIFETIME_EPSILON, START_MS, STEP_MS

AFTERWARDS: Final = 400
"""The number of events sent once the network works again: each partition must keep working."""
PARTITIONS: Final = 2
_STANDSTILL_SECONDS: Final = 100.0
"""Above the 40 s until a client gives up a request, and the 60 s until brokers abort a transaction."""
_STOPPED: Final = re.compile(r"stopped \(([a-z-]+)\)")


@dataclass(frozen=True)
class Cluster:
    """Brokers behind a proxy, and how they treat transactions."""

    brokers: Brokers
    count: int
    transactions: int
    """The level of the feature `transaction.version`."""
    verified: bool
    """Whether brokers verify that a partition belongs to a transaction: `transaction.partition.verification.enable`."""


@dataclass(frozen=True)
class Row:
    """A line of the table."""

    scenario: str
    cluster: Cluster
    rules: Sequence[Rule]
    verdict: Verdict
    stops: Counter[str]
    """Why partitions stopped; each was recovered."""
    allowed: frozenset[str]
    """The reasons why partitions may stop on this cluster."""

    HEAD: Final = (
        "| scenario | brokers | transaction.version | verified | events | requests hit | late copies (answers) "
        "| lost | doubled | differing | waiting | audit | stopped |\n" + "|---" * 13 + "|\n"
    )

    def __str__(self) -> str:
        """Return the line."""
        cluster, verdict = self.cluster, self.verdict
        answers = Counter(for_code(code).__name__ for rule in self.rules for code in rule.answers)
        copies = ", ".join(f"{name} {count}" for name, count in answers.items())
        cells = (
            self.scenario,
            cluster.count,
            cluster.transactions,
            "yes" if cluster.verified else "no",
            verdict.inputs,
            sum(rule.done for rule in self.rules),
            f"{sum(rule.delivered for rule in self.rules)}{f' ({copies})' if copies else ''}",
            verdict.lost,
            verdict.doubled,
            verdict.differing,
            verdict.waiting,
            verdict.audit,
            ", ".join(f"{reason} {count}" for reason, count in self.stops.items()) or "-",
        )
        return f"| {' | '.join(map(str, cells))} |\n"


async def run(cluster: Cluster, name: str, folder: Path, seed: int, events: int) -> Row:
    """Send events through a scenario's faults, then some through an intact network; return the outcome."""
    scenario, brokers = SCENARIOS[name], cluster.brokers
    more = {"lifetime_epsilon": LIFETIME_EPSILON, "batch_records": 60, **scenario.more}
    slug = re.sub("[^a-z0-9]+", "-", name.lower())
    site = Site(brokers.bootstrap_servers, folder, slug, PARTITIONS, DEFAULTS, more).prepare()
    topics, rules = Topics(site), scenario.rules()
    stuck = ""
    with Fleet(replace(site, bootstrap=brokers.fronted_servers)) as fleet:
        async with Proxy(brokers.routes, rules) as proxy:
            within = Run(fleet, proxy)
            if scenario.kills:
                for rule in rules:
                    rule.after = within.kill
            await topics.send(
                scenario.events(seed, events)
            )  # all of it waits, so that batches are as large as they may be
            fleet.start("one")
            act = asyncio.create_task(scenario.act(within))
            try:
                await topics.until_decided(fleet, _STANDSTILL_SECONDS)
                proxy.rules.clear()
                await proxy.deliver_kept()
                await asyncio.sleep(scenario.idle_seconds)
                await topics.send(_afterwards())
                await topics.until_decided(fleet, _STANDSTILL_SECONDS)
            except AssertionError as failure:
                stuck = str(failure)
            act.cancel()
            with suppress(asyncio.CancelledError):
                await act
            if not stuck:
                await asyncio.to_thread(fleet.stop)
        stops = _stops(fleet)
    allowed = scenario.stops if cluster.count > 1 or not cluster.verified else frozenset()
    if stuck and stops and stops.keys() <= allowed:
        stuck = await _recover(topics, events + AFTERWARDS)
    verdict = await weigh(site)
    if stuck:
        verdict.broken.insert(0, stuck)
    return Row(name, cluster, rules, verdict, stops, allowed)


def _stops(fleet: Fleet) -> Counter[str]:
    """Return why partitions stopped, and how often."""
    logs = [worker.log.read_text(errors="replace") for worker in fleet.workers.values()]
    return Counter(reason for log in logs for reason in _STOPPED.findall(log))


async def _recover(topics: Topics, total: int) -> str:
    """Follow the page on stopped partitions, and continue; return what prevents that."""
    site = topics.site
    await asyncio.to_thread(site.command, "recover", "--config", str(site.config()))
    with Fleet(site) as fleet:
        fleet.start("recovered")
        try:
            if sum(await topics.ends("events")) < total:
                await topics.send(_afterwards())
            await topics.until_decided(fleet, _STANDSTILL_SECONDS)
        except AssertionError as failure:
            return str(failure)
        await asyncio.to_thread(fleet.stop)
    return ""


def _afterwards() -> Iterator[Sent]:
    """Yield events of new series, on every partition."""
    for nth in range(AFTERWARDS):
        name = f"meter-afterwards-{nth // 2}"
        timestamp = START_MS + nth % 2 * STEP_MS
        yield Sent(name.encode(), orjson.dumps({"series": name, "timestamp": timestamp, "value": nth % 97}))
