"""What goes wrong between a fleet and its brokers."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import orjson

from tests.faults.fleet import Fleet
from tests.faults.network.proxy import (
    ADD_PARTITIONS,
    FETCH,
    FIND_COORDINATOR,
    INIT_PRODUCER_ID,
    METADATA,
    OFFSET_COMMIT,
    PRODUCE,
    Asked,
    Deed,
    Matches,
    Proxy,
    Rule,
)
from tests.faults.topics import Sent
from tests.faults.workload import START_MS, STEP_MS, Workload


@dataclass
class Run:
    """A fleet behind a proxy."""

    fleet: Fleet
    proxy: Proxy

    def kill(self) -> None:
        """Kill the first worker."""
        self.fleet.workers["one"].kill()


Act = Callable[[Run], Coroutine[None, None, None]]


async def _nothing(run: Run) -> None:
    """Let the proxy act alone."""


async def _revive(run: Run) -> None:
    """Restart the first worker whenever it was killed."""
    while True:
        await asyncio.sleep(0.1)
        worker = run.fleet.workers["one"]
        if not worker.runs and worker.process.poll() == -9:
            run.fleet.start("one")


async def _freeze(run: Run) -> None:
    """Freeze the first worker while its commit is in flight, let a second one work, and wake the first."""
    await run.proxy.until_kept(some=True)
    sleeper = run.fleet.workers["one"]
    sleeper.pause()
    await run.fleet.start("two").until_ready()
    await run.proxy.until_kept(some=False)
    await asyncio.sleep(1)
    sleeper.wake()


async def _kill_in_flight(run: Run) -> None:
    """Kill the worker while its commit is in flight, and start it again."""
    await run.proxy.until_kept(some=True)
    run.kill()
    run.fleet.start("one")


def commit(asked: Asked) -> bool:
    """Match a request to commit."""
    return asked.commits is True


def abort(asked: Asked) -> bool:
    """Match a request to abort."""
    return asked.commits is False


def _never(asked: Asked) -> bool:
    del asked
    return False


def of(api: int) -> Matches:
    """Match requests of an API key."""
    return lambda asked: asked.api == api


def written_to(meaning: str) -> Matches:
    """Match those requests of a transaction that write to a topic."""
    return lambda asked: asked.writer is not None and any(topic.endswith(f".{meaning}") for topic in asked.topics)


def _mixed(seed: int, count: int) -> Iterator[Sent]:
    return Workload(seed, 200).events(count)


def _paged(_: int, count: int) -> Iterator[Sent]:
    """Yield events that are decided as columns: batches become large, and so have several pages."""
    for nth in range(count):
        name, step = f"meter-{nth % 500}", nth // 500
        yield Sent(
            name.encode(),
            orjson.dumps({"series": name, "timestamp": START_MS + step * STEP_MS, "value": nth % 97}),
        )


@dataclass(frozen=True)
class Scenario:
    """What goes wrong."""

    rules: Callable[[], Sequence[Rule]]
    act: Act = _nothing
    more: Mapping[str, object] = field(default_factory=dict)
    events: Callable[[int, int], Iterator[Sent]] = _mixed
    kills: bool = False
    """Whether the worker is killed each time a kept request is delivered."""
    idle_seconds: float = 0.0
    """How long nothing is sent after the last kept requests were delivered."""
    stops: frozenset[str] = frozenset()
    """Why a partition may stop if part of a batch may hold rows without outputs: `recover` resolves it.

    This happens if several brokers take a batch, or if brokers verify nothing and thus accept pages after its end.
    """


def _commits(
    deed: Deed, trigger: Matches, skipped: int = 0, first: int = 3, every: int = 6, most: int | None = None
) -> Callable[[], Sequence[Rule]]:
    return lambda: [Rule(commit, deed, first, every, most, trigger=trigger, skipped=skipped)]


_TORN: Final[frozenset[str]] = frozenset({"releases-short", "rejects-short", "changelog-short"})
_PAGES: Final = {"batch_records": 1_000, "output_batch_bytes": 300_000}
_SOON: Final = {"transaction_timeout_ms": 10_000}

COMMITS: Final = {
    "late between ledger and releases": Scenario(_commits(Deed.LATE, written_to("releases"))),
    "late between pages": Scenario(
        _commits(Deed.LATE, written_to("ledger"), 1, first=2, every=2), more=_PAGES, events=_paged
    ),
    "late before the next commit": Scenario(_commits(Deed.LATE, commit, 1)),
    "late before the next ledger entries": Scenario(_commits(Deed.LATE, written_to("ledger"))),
    "late abort": Scenario(
        lambda: [
            Rule(written_to("releases"), Deed.HOLD, every=1_000, seconds=12.0),
            Rule(abort, Deed.LATE, first=1, every=2, trigger=written_to("releases")),
        ],
        more=_SOON,
    ),
    "zombie's commit": Scenario(
        _commits(Deed.SILENT, written_to("releases"), every=1_000, most=1), act=_freeze, more=_SOON
    ),
    "client's time-out": Scenario(_commits(Deed.SILENT, written_to("releases"), every=1_000)),
    "killed with its commit on the way": Scenario(
        _commits(Deed.SILENT, written_to("releases"), every=1_000, most=1), act=_kill_in_flight
    ),
    "late, then killed in the window": Scenario(
        _commits(Deed.LATE, written_to("releases"), every=12), act=_revive, kills=True
    ),
    "copied between ledger and releases": Scenario(_commits(Deed.COPY, written_to("releases")), stops=_TORN),
    "copied, then killed in the window": Scenario(
        _commits(Deed.COPY, written_to("releases"), every=12),
        act=_revive,
        kills=True,
        stops=_TORN,
    ),
    "copied between pages": Scenario(
        _commits(Deed.COPY, written_to("ledger"), 1, first=2, every=2), more=_PAGES, events=_paged, stops=_TORN
    ),
    "answer lost": Scenario(_commits(Deed.LOSE_ANSWER, _never)),
    "reset before delivery": Scenario(_commits(Deed.RESET, _never)),
    "held for 3 s": Scenario(lambda: [Rule(commit, Deed.HOLD, every=20, seconds=3.0)]),
}
"""What goes wrong with the requests that end transactions."""

_APIS: Final = {
    "AddPartitionsToTxn": ADD_PARTITIONS,
    "Produce": PRODUCE,
    "InitProducerId": INIT_PRODUCER_ID,
    "OffsetCommit": OFFSET_COMMIT,
    "FindCoordinator": FIND_COORDINATOR,
    "Metadata": METADATA,
    "Fetch": FETCH,
}


_RARE: Final = {INIT_PRODUCER_ID: (1, 3), FIND_COORDINATOR: (1, 3), METADATA: (2, 7), OFFSET_COMMIT: (1, 3)}
"""The first request that is hit, and the number of requests from one hit to the next.

A worker checks its topics with four `Metadata` requests, and starts over if one has no answer.
"""


def _others(api: int, deed: Deed) -> Scenario:
    # The first request that matches is the repetition; a copy has none.
    trigger = written_to("releases") if api == INIT_PRODUCER_ID else of(api)
    skipped = 1 if deed is Deed.LATE or api == INIT_PRODUCER_ID else 0
    # Of these there are few in a run.
    first, every = _RARE.get(api, (3, 20))
    return Scenario(
        lambda: [Rule(of(api), deed, first=first, every=every, seconds=3.0, trigger=trigger, skipped=skipped)],
        more=_SOON,
    )


OTHERS: Final = {
    f"{name} {deed.value}": _others(api, deed)
    for name, api in _APIS.items()
    for deed in (Deed.HOLD, Deed.RESET, Deed.LOSE_ANSWER, Deed.LATE, Deed.COPY)
}
"""Every other request that a worker repeats by itself, with each fault."""

IDLE: Final = {
    # The copy begins a transaction that nobody ends: the coordinator aborts it after its time and raises the epoch.
    "AddPartitionsToTxn late while idle": Scenario(
        lambda: [Rule(of(ADD_PARTITIONS), Deed.LATE, trigger=_never)], more=_SOON, idle_seconds=25.0
    ),
    "Produce late while idle": Scenario(
        lambda: [Rule(written_to("ledger"), Deed.LATE, trigger=_never)], more=_SOON, idle_seconds=25.0
    ),
}
"""Requests whose copy arrives while nothing else does."""

SCENARIOS: Final = {f"EndTxn {name}": scenario for name, scenario in COMMITS.items()} | OTHERS | IDLE
