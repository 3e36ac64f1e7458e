"""A site: the topics, settings and key of one run on a separate broker, removed after the run."""

import asyncio
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import KafkaError

from benchmarks.rig.machine import Cores, pinned
from benchmarks.rig.workload import Sizes
from stream_app.formats import wire
from stream_app.kafka.client.cluster import Cluster
from stream_app.kafka.client.security import client_arguments
from stream_app.kafka.client.sending import Event, send_events
from stream_app.kafka.client.topics import TopicNames, wanted_topics
from stream_app.kafka.provision import make_and_check
from stream_app.localbroker.broker import LocalBroker
from stream_app.localbroker.machine import free_ports
from stream_app.setup import keyfile
from stream_app.setup.settings import Settings

_BROKER = {"log.segment.delete.delay.ms": "1000", "log.initial.task.delay.ms": "1000"}
"""Settings that make the broker delete finished runs' topics from disk immediately."""
_FULL_SPEED = ("-XX:TieredStopAtLevel=4",)
"""Java's default; a local broker is otherwise tuned to start quickly."""


@dataclass(frozen=True, slots=True)
class Ground:
    """The folder, broker and cores shared by all runs."""

    folder: Path
    broker: LocalBroker
    cores: Cores

    @classmethod
    @contextmanager
    def prepared(cls, folder: Path, overrides: Mapping[str, str] | None = None) -> "Iterator[Ground]":
        """Start a broker on its own cores, with ``overrides`` as further settings; stop it at the end."""
        cores = Cores.split()
        settings = {**_BROKER, **(overrides or {})}
        # The observer stays off the client's core too.
        with (
            pinned(cores.others),
            LocalBroker.start(folder / "kafka", overrides=settings, jvm_flags=_FULL_SPEED) as broker,
        ):
            yield cls(folder, broker, cores)


@dataclass(frozen=True, slots=True)
class Seat:
    """Configuration, port, state folder and log of one of a site's workers."""

    config: Path
    http_port: int
    data_folder: Path
    log: Path


class Site:
    """Topics, settings and key under one name."""

    def __init__(self, ground: Ground, name: str, sizes: Sizes, **more: object) -> None:
        """Create the folder, key, configuration file and topics; ``more`` holds further settings."""
        self.ground, self.name, self.sizes = ground, name, sizes
        self.folder = ground.folder / name
        self.folder.mkdir(parents=True)
        self.config = self.folder / "landmark-stream.toml"
        keyfile.create(self.folder / "key")
        (self.folder / "policies.jsonl").write_bytes(wire.dump(sizes.policy()))
        (self.http_port,) = free_ports(1)
        self._lines: Mapping[str, object] = {
            "bootstrap_servers": ground.broker.bootstrap_servers,
            "application": name,
            "prefix": name,
            "partitions": sizes.partitions,
            "key_file": str(self.folder / "key"),
            "policies_file": str(self.folder / "policies.jsonl"),
            "data_folder": str(self.folder / "state"),
            "http_port": self.http_port,
            **more,
        }
        self._write(self.config, self._lines)
        self.settings = Settings.load(self.config)
        self.names = TopicNames.of(name, name)
        asyncio.run(make_and_check(self.settings))

    @classmethod
    @contextmanager
    def made(cls, ground: Ground, name: str, sizes: Sizes, **more: object) -> "Iterator[Site]":
        """Create a site and remove all of it at the end."""
        site = cls(ground, name, sizes, **more)
        try:
            yield site
        finally:
            with suppress(KafkaError):  # without a broker nothing remains, and its error matters more
                asyncio.run(site._delete())
            shutil.rmtree(site.folder)

    def seat(self, worker: str, **more: object) -> Seat:
        """Write one worker's configuration and return its seat; ``more`` holds further settings."""
        (port,) = free_ports(1)
        seat = Seat(
            self.folder / f"{worker}.toml", port, self.folder / f"state-{worker}", self.folder / f"{worker}.log"
        )
        own = {"http_port": seat.http_port, "data_folder": str(seat.data_folder)}
        self._write(seat.config, {**self._lines, **own, **more})
        return seat

    def send(self, events: Iterable[Event]) -> int:
        """Append events to the events topic, each on its series' partition; return how many there were."""
        return asyncio.run(send_events(self.settings, events))

    def other_outputs(self) -> TopicNames:
        """Create a second set of output topics for another client of the same events; return the names."""
        names = TopicNames.of(f"{self.name}-other", f"{self.name}-other")._replace(events=self.names.events)
        asyncio.run(self._make(names))
        return names

    @staticmethod
    def _write(file: Path, settings: Mapping[str, object]) -> None:
        file.write_text("".join(f"{field} = {wire.dump(value).decode()}\n" for field, value in settings.items()))

    async def _make(self, names: TopicNames) -> None:
        async with Cluster.connected(client_arguments(self.settings)) as cluster:
            topics = wanted_topics(names, self.sizes.partitions, 1)
            await cluster.make([topic for topic in topics if topic.name != self.names.events])

    async def _delete(self) -> None:
        admin = AIOKafkaAdminClient(**client_arguments(self.settings))
        await admin.start()
        try:
            await admin.delete_topics([name for name in await admin.list_topics() if self.name in name])
        finally:
            await admin.close()
