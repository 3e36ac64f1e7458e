"""Runs processed by a worker with this installation's settings, on its own topics and under its own key.

Each run is one series. One record of every run is sent and processed before the next one, so the worker handles many
series at once. It processes as columns whatever it processes as columns in production.
"""

import asyncio
import http.client
import subprocess
import tempfile
import time
import uuid
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from stream_app.deciding.decider import input_of
from stream_app.formats import wire
from stream_app.kafka.client.cluster import Cluster
from stream_app.kafka.client.log import LogReader
from stream_app.kafka.client.security import client_arguments
from stream_app.kafka.client.sending import Event, send_events
from stream_app.kafka.client.topics import TopicNames, told, verified_prefix
from stream_app.kafka.provision import MOST_REPLICAS, make_and_check
from stream_app.localbroker.machine import HOST, free_ports
from stream_app.monitoring.metrics import WorkerMetric
from stream_app.monitoring.scrape import scrape_of
from stream_app.privacy.parameters import LAST_TIMESTAMP_MS
from stream_app.privacy.policy import Policy
from stream_app.processes import running
from stream_app.setup import keyfile
from stream_app.setup.settings import Settings
from stream_app.verify.experiment import Experiment, Part, Results
from stream_app.verify.neighbours import Pair
from stream_app.verify.trial import RecordOutcome, Seen, UnusableError, derived, row_of, series_of, sown

PARTS = 40
"""The number of parts whose runs are processed at once."""
PATIENCE_SECONDS = 120.0
_POLL_SECONDS = 0.05
_LAST_LINES = 5


class WorkerError(Exception):
    """Raised if the worker did not process what it was sent; the message says why, and what to do."""


class DecidedCounts(NamedTuple):
    """How many records the worker processed, and how many of them together as columns."""

    records: int
    together: int

    def since(self, before: "DecidedCounts") -> "DecidedCounts":
        """Return how many of these records came after ``before``."""
        return DecidedCounts(self.records - before.records, self.together - before.together)


class _Run(NamedTuple):
    """A run: the history it belongs to, and its records as they are sent, with the policy first."""

    policy: Policy
    pair: Pair
    side: int
    key: bytes
    values: tuple[bytes, ...]
    offsets: list[int]
    """The records' offsets in the events topic."""


class OwnWorker:
    """A running worker, created by ``started``."""

    def __init__(self, settings: Settings, process: "subprocess.Popen[bytes]", log: Path) -> None:
        self.decided = DecidedCounts(0, 0)
        self._settings, self._process, self._log = settings, process, log
        self._names = TopicNames.of(settings.prefix, settings.application)
        self._sent = self._runs = 0
        self._read = {self._names.releases: 0, self._names.rejects: 0}

    def results(self, tried: Experiment, parts: Iterable[Part]) -> Results:
        """Have the worker process parts of an experiment in order; may raise `UnusableError` or `WorkerError`."""
        remaining = iter(parts)
        while block := list(islice(remaining, PARTS)):
            yield from zip(block, asyncio.run(self._seen(tried, block)), strict=True)

    async def _seen(self, tried: Experiment, block: Sequence[Part]) -> list[Seen]:
        of_parts = [
            [self._run(tried, part, nth) for nth in range(part.start, part.start + part.runs)] for part in block
        ]
        runs = [run for each in of_parts for run in each]
        for place in range(max(len(run.values) for run in runs)):
            await self._send([run for run in runs if place < len(run.values)], place)
        releases: dict[int, list[bytes]] = {}
        async for record in self._records(self._names.releases):
            releases.setdefault(input_of(record.headers), []).append(record.value)
        rejects = {input_of(record.headers): record.value async for record in self._records(self._names.rejects)}
        return [np.array([_row(run, releases, rejects) for run in each], dtype=np.int64) for each in of_parts]

    def _run(self, tried: Experiment, part: Part, nth: int) -> _Run:
        ruling, pair = tried.subject_of(part).policy, tried.pairs[part.pair]
        self._runs += 1
        series = series_of(self._runs)
        policy = {"type": "policy", "series": series, "version": 1, **ruling.parameters}
        secret = derived(tried.secret, part.pair, part.control, part.side, nth)  # for its records' seeds
        history = [sown(sent, series, secret, place) for place, sent in enumerate(pair.histories[part.side])]
        return _Run(ruling, pair, part.side, series.encode(), (wire.dump(policy), *history), [])

    async def _send(self, runs: Sequence[_Run], place: int) -> None:
        """Send a record of each run, and wait until the worker has committed its answers."""
        await send_events(self._settings, (Event(run.key, run.values[place]) for run in runs))
        for offset, run in enumerate(runs, self._sent):  # one partition, and no other sender
            run.offsets.append(offset)
        self._sent += len(runs)
        await self._until(self._count, self._sent)

    async def _records(self, topic: str) -> AsyncIterator[Any]:
        """Yield the committed records of a topic that were not read before."""
        async with (
            LogReader.opened(self._settings, "read_uncommitted") as logged,
            LogReader.opened(self._settings, "read_committed") as reader,
        ):
            _, end = await logged.bounds(topic, 0)

            async def readable() -> int:
                return (await reader.bounds(topic, 0))[1]

            # Markers of a transaction reach its topics one after the other.
            await self._until(readable, end)
            async for records in reader.records(topic, 0, self._read[topic]):
                for record in records:
                    yield record
        self._read[topic] = end

    async def _count(self) -> int:
        """Return how many records the worker has processed and committed.

        The group's offset is not used because it would wait for open steps.
        """
        try:
            scrape = scrape_of(await asyncio.to_thread(self._metrics), 0.0)
        except ConnectionRefusedError:  # starting, or ended
            return 0
        found = (scrape.total(f"{each.name}_total") for each in (WorkerMetric.EVENTS, WorkerMetric.TOGETHER))
        self.decided = DecidedCounts(*map(int, found))
        return self.decided.records

    def _metrics(self) -> str:
        connection = http.client.HTTPConnection(HOST, self._settings.http_port, timeout=PATIENCE_SECONDS)
        try:
            connection.request("GET", "/metrics")
            return connection.getresponse().read().decode()
        finally:
            connection.close()

    async def _until(self, reached: Callable[[], Any], wanted: int) -> None:
        """Wait until a count reaches ``wanted``, as long as the count grows and the worker is alive."""
        last, grew = -1, time.monotonic()
        while (now := await reached()) < wanted:
            if self._process.poll() is not None:
                raise WorkerError(f"the worker ended with exit code {self._process.returncode}{self._last_words()}")
            if now > last:
                last, grew = now, time.monotonic()
            elif time.monotonic() - grew > PATIENCE_SECONDS:
                waited = f"the worker made no progress for {PATIENCE_SECONDS:.0f} s"
                raise WorkerError(f"{waited}; check that its brokers answer{self._last_words()}")
            await asyncio.sleep(_POLL_SECONDS)

    def _last_words(self) -> str:
        lines = self._log.read_text(errors="replace").splitlines()[-_LAST_LINES:]
        return "; the end of its log:\n" + "\n".join(lines) if lines else ""


def _row(run: _Run, releases: dict[int, list[bytes]], rejects: dict[int, bytes]) -> list[int]:
    policy, *rest = run.offsets
    if policy in rejects:
        refused: Any = wire.load(rejects[policy])
        raise UnusableError(refused["reason"])
    answers = (RecordOutcome(offset not in rejects, releases.get(offset, ())) for offset in rest)
    return row_of(run.policy, run.pair, run.side, answers)


def without_looks(tried: Experiment) -> Experiment:
    """Return the experiment without pairs in which counters are looked at: a worker's counters are in memory."""
    pairs = (pair for pair in tried.pairs if not any(sent.looked for history in pair.histories for sent in history))
    return tried._replace(pairs=tuple(pairs))


@contextmanager
def started(settings: Settings) -> Iterator[OwnWorker]:
    """Run a worker with these settings on its own topics, and remove everything at the end.

    Raises `WorkerError` if the brokers do not create the worker's topics as required. Also raises `ClusterError` and
    `aiokafka.errors.KafkaError`.
    """
    with tempfile.TemporaryDirectory(prefix="landmark-verify-") as made:
        folder = Path(made)
        own, empty, log = _own(settings, folder), folder / "empty.toml", folder / "worker.log"
        # PRIVACY: under the installation's key, a made-up series could draw the noise of a real one. This key is
        # deleted with the folder.
        keyfile.create(own.key_file)
        empty.touch()
        replicas = asyncio.run(_replicas(own))  # asked first: if nobody answers there is nothing to remove
        try:
            report = asyncio.run(make_and_check(own, replicas))
            if report.differences:
                raise WorkerError("\n".join(told(report.differences)))
            with running(("worker", "--config", str(empty)), log, own.environment()) as process:
                yield OwnWorker(own, process, log)
        finally:
            asyncio.run(_remove(own))


def _own(settings: Settings, folder: Path) -> Settings:
    """Return the worker's settings: those of the installation, except for names, keys, limits and policies."""
    name = verified_prefix(settings.prefix) + uuid.uuid4().hex[:8]
    (port,) = free_ports(1)
    return settings.model_copy(
        update={
            **dict.fromkeys(("signing_key_file", "policies_file", "lifetime_epsilon", "max_epsilon")),
            **dict.fromkeys(("member_separator", "member_epsilon")),
            "max_future_ms": LAST_TIMESTAMP_MS,
            "prefix": name,
            "application": name,
            "partitions": 1,
            "standby_replicas": 0,
            "key_file": folder / "key",
            "data_folder": folder / "data",
            "policies": (),
            "accept_policies": True,
            "exit_when_stopped": "any",
            "exit_delay_ms": 0,
            "http_host": HOST,
            "http_port": port,
        }
    )


async def _replicas(settings: Settings) -> int:
    async with Cluster.connected(client_arguments(settings)) as cluster:
        return min(MOST_REPLICAS, await cluster.brokers())


async def _remove(settings: Settings) -> None:
    async with Cluster.connected(client_arguments(settings)) as cluster:
        await cluster.delete(TopicNames.of(settings.prefix, settings.application))
