"""Random scripts of writers and readers, compared with a model as simple as possible: one list per topic.

The cluster in memory finds the last stable offset and aborted records like a broker, from open transactions and
markers; the model inspects the whole list each time.
"""

import asyncio
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import hypothesis.strategies as st
import pytest
from aiokafka.errors import IllegalOperation, ProducerFenced
from hypothesis import HealthCheck, given, settings

from stream_app.kafka.brokers import Extent, Writer
from stream_app.localbroker.broker import LocalBroker
from stream_app.setup import keyfile
from tests.contract.acts import commit, ends, seen, send, soon
from tests.contract.clusters import Cluster
from tests.contract.inmemory import InMemory
from tests.contract.onbroker import OnBroker
from tests.patience import ANSWER_SECONDS
from tests.suite.speeds import scaled

Act = Literal["fence", "begin", "send", "commit", "abort"]
Step = tuple[str, Act, int]
"""An actor's step: an application, an act, and the topic for `send`."""

SCRIPTS = st.lists(
    st.tuples(
        st.sampled_from(["a", "b"]),
        st.sampled_from(["fence", "begin", "begin", "send", "send", "send", "commit", "abort"]),
        st.integers(0, 1),
    ),
    max_size=30,
)


@dataclass
class Line:
    """One offset of a log: a record, or a marker, which has no value."""

    value: bytes | None
    life: tuple[str, int]
    """The application, and the numbers of its writer and of that writer's transaction."""


@dataclass
class Model:
    """The expected state after each step: one list per topic and the fate of each transaction."""

    logs: tuple[list[Line], list[Line]] = field(default_factory=lambda: ([], []))
    fate: dict[tuple[str, int], Literal["open", "committed", "aborted"]] = field(default_factory=dict)
    count: int = 0

    def committed(self, topic: int) -> list[tuple[int, bytes | None]]:
        """Return what readers of committed records are given."""
        return [
            (offset, line.value)
            for offset, line in enumerate(self.logs[topic][: self.stable(topic)])
            if line.value is not None and self.fate[line.life] == "committed"
        ]

    def uncommitted(self, topic: int) -> list[tuple[int, bytes | None]]:
        """Return what all other readers receive."""
        return [(offset, line.value) for offset, line in enumerate(self.logs[topic]) if line.value is not None]

    def stable(self, topic: int) -> int:
        """Return the first offset of a transaction still open, or the end."""
        log = self.logs[topic]
        return next((offset for offset, line in enumerate(log) if self.fate[line.life] == "open"), len(log))

    def begin(self, application: str) -> tuple[str, int]:
        """Begin a transaction."""
        self.count += 1
        life = application, self.count
        self.fate[life] = "open"
        return life

    def end(self, life: tuple[str, int], fate: Literal["committed", "aborted"]) -> None:
        """End a transaction: each log with records from it gets a marker."""
        self.fate[life] = fate
        for log in self.logs:
            if any(line.life == life for line in log):
                log.append(Line(None, life))


class Play:
    """A player of a script on a cluster and on the model, which compares both."""

    def __init__(self, cluster: Cluster, topics: tuple[str, str], patience: float) -> None:
        """Begin without writers; ``patience`` is how many seconds markers may take."""
        self._cluster, self._topics, self._patience = cluster, topics, patience
        self._model = Model()
        self._writers: dict[str, Writer] = {}
        self._lives: dict[str, tuple[str, int]] = {}
        self._zombies: list[tuple[Writer, bool]] = []
        self._ids: dict[str, int] = {}

    async def step(self, application: str, act: Act, topic: int) -> None:
        """Perform one step; skip a step that the order of calls forbids."""
        model, writer, life = self._model, self._writers.get(application), self._lives.get(application)
        if act == "fence":
            if writer is not None:
                self._zombies.append((writer, life is not None))
            if life is not None:
                model.end(self._lives.pop(application), "aborted")
            fenced = self._writers[application] = await self._cluster.brokers(application).fence(0)
            assert self._ids.setdefault(application, fenced.id) == fenced.id
        elif writer is None:
            return
        elif act == "begin" and life is None:
            await writer.begin()
            self._lives[application] = model.begin(application)
        elif act == "send" and life is not None:
            log = model.logs[topic]
            values = [b"%d-%d" % (len(log), number) for number in range(1 + len(log) % 3)]
            extent = await send(writer, self._topics[topic], *values)
            assert extent == Extent(len(log), len(log) + len(values))
            log += [Line(value, life) for value in values]
        elif act == "commit" and life is not None:
            await writer.commit()
            model.end(self._lives.pop(application), "committed")
        elif act == "abort" and life is not None:
            await writer.abort()
            model.end(self._lives.pop(application), "aborted")

    async def compare(self) -> None:
        """Compare what both kinds of readers see, and let every zombie try once more."""
        brokers = self._cluster.brokers("looks")
        for zombie, open_still in self._zombies:
            with pytest.raises((ProducerFenced, IllegalOperation, AssertionError)):
                await (
                    send(zombie, self._topics[0], b"more") if open_still else commit(zombie, self._topics[0], b"more")
                )
        for number, topic in enumerate(self._topics):
            expected = self._model.stable(number), len(self._model.logs[number])
            await soon(lambda topic=topic: ends(brokers, topic), expected, self._patience)  # type: ignore[misc]
            assert await seen(brokers, topic, "read_committed") == self._model.committed(number)
            assert await seen(brokers, topic, "read_uncommitted") == self._model.uncommitted(number)


async def _play(cluster: Cluster, script: list[Any], patience: float) -> None:
    play = Play(cluster, (await cluster.make("t"), await cluster.make("u")), patience)
    for step in script:
        await play.step(*step)
        if not patience:
            await play.compare()
    await play.compare()


@settings(max_examples=scaled(100))
@given(SCRIPTS)
def test_scripts_in_memory(script: list[Any]) -> None:
    """Cluster and model are the same after each step."""
    asyncio.run(_play(InMemory(), script, 0.0))


@settings(max_examples=8, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(script=SCRIPTS)
def test_scripts_on_a_broker(broker: LocalBroker, tmp_path: Path, script: list[Any]) -> None:
    """Cluster and model are the same at the end."""
    if not (tmp_path / "key").exists():
        keyfile.create(tmp_path / "key")

    async def play() -> None:
        """Play the script on its own topics."""
        cluster = OnBroker(broker.bootstrap_servers, tmp_path, f"scripts-{uuid.uuid4().hex[:8]}")
        await cluster.open()
        await _play(cluster, script, ANSWER_SECONDS)
        await cluster.close()

    asyncio.run(play())
