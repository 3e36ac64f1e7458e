"""A whole installation for one test: its own topics, settings, key, real workers, and their output."""

import asyncio
import json
import signal
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, RecordsToDelete
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import PolicyViolationError

from stream_app.cli import main
from stream_app.cli.shared.eventfile import record_key
from stream_app.kafka.brokers import Isolation
from stream_app.kafka.client.log import LogReader
from stream_app.kafka.client.routing import router
from stream_app.kafka.client.topics import TopicNames, wanted_topics
from stream_app.kafka.provision import make_and_check
from stream_app.localbroker.broker import LocalBroker
from stream_app.setup import keyfile
from stream_app.setup.settings import Settings
from tests.admin import administration, committed
from tests.kafka.forked import Forked
from tests.kafka.workerprocess import WorkerProcess
from tests.patience import PATIENCE_SECONDS

HOUR_MS = 3_600_000
START_MS = 1_338_534_000_000

POLICY: dict[str, Any] = {
    "series": "home-*",
    "epsilon": 1.0,
    "protection": {"level": "landmark", "landmarks": [START_MS + 5 * HOUR_MS], "step": HOUR_MS},
    "scheme": {"name": "adaptive"},
    "value": {"kind": "number", "lower": 0, "upper": 10, "resolution": 0.001},
}


_BEGUN = Counter[str]()  # how often this process began an installation of a name


@dataclass
class Installation:
    """Topics, settings and key under one name."""

    broker: LocalBroker
    folder: Path
    name: str
    partitions: int = 2
    policy: dict[str, Any] = field(default_factory=lambda: dict(POLICY))
    more: dict[str, Any] = field(default_factory=dict)
    others: tuple[dict[str, Any], ...] = ()  # default policies after the first one
    application: str = ""
    """The application; if empty, the same as the name."""
    prepare: Callable[[], None] | None = None
    """Called in a worker's process before the worker starts."""

    def __post_init__(self) -> None:
        """Create key and topics; a test's second try has its own topics, as it has its own folder and key."""
        self.folder.mkdir(parents=True, exist_ok=True)
        if is_new := not (self.folder / "key").exists():
            keyfile.create(self.folder / "key")
        if is_new and not self.application:  # another application may write to the same topics
            _BEGUN[self.name] += 1
            self.name += f"-{_BEGUN[self.name]}" if _BEGUN[self.name] > 1 else ""
        self.application = self.application or self.name
        self.names = TopicNames.of(self.name, self.application)
        asyncio.run(make_and_check(self.settings()))

    def settings(self, worker: str = "a") -> Settings:
        """Return the settings of a worker."""
        return Settings(
            **{
                "bootstrap_servers": self.broker.bootstrap_servers,
                "application": self.application,
                "prefix": self.name,
                "partitions": self.partitions,
                "key_file": self.folder / "key",
                "data_folder": self.folder / f"data-{worker}",
                "session_timeout_ms": 6_000,
                "http_port": 0,
                "exit_delay_ms": 0,  # nobody scrapes it
                "policies": (self.policy, *self.others),
                **self.more,
            }
        )

    @contextmanager
    def worker(self, name: str = "a", *options: str, **changed: str) -> Iterator["WorkerProcess"]:
        """Run a worker with options of its command; leaving the block ends it."""
        log = self.folder / f"worker-{name}.log"
        own = {f"LANDMARK_STREAM_{field.upper()}": value for field, value in changed.items()}
        process = Forked(("worker", *options), log, self.folder, self.settings(name).environment() | own, self.prepare)
        try:
            yield WorkerProcess(process, log, self.committed)
        finally:
            process.kill()
            process.wait()

    def decide(self, total: int, name: str = "a", **changed: str) -> str:
        """Run a worker until ``total`` inputs have ever been decided, check that it ends well, and return its log."""
        with self.worker(name, **changed) as worker:
            worker.await_committed(total)
            assert worker.stop() == 0
            return worker.log.read_text()

    def sleep_past_session(self, sleeper: "WorkerProcess", other: "WorkerProcess", total: int) -> int:
        """Let a worker sleep until another has decided what it owned, and wake it; return how much was sent."""
        for signalled, count in ((signal.SIGSTOP, 1000), (signal.SIGCONT, 500)):
            sleeper.process.send_signal(signalled)
            total += self.send(readings(count, start=total))
            other.await_committed(total)
        return total

    def send(self, events: Iterable[Mapping[str, Any]], codec: str | None = None) -> int:
        """Send events to the partitions of their series, compressed if a codec is named; return their number."""
        return asyncio.run(self._send(list(events), codec))

    async def _send(self, events: list[Mapping[str, Any]], codec: str | None = None) -> int:
        producer = AIOKafkaProducer(
            bootstrap_servers=self.broker.bootstrap_servers, linger_ms=2, compression_type=codec
        )
        await producer.start()
        partition_of = router(self.partitions)
        answers = []
        for event in events:
            key = record_key(json.dumps(event).encode(), self.more.get("member_separator")) or b""
            value = json.dumps(event).encode()
            answers.append(await producer.send(self.names.events, key=key, value=value, partition=partition_of(key)))
        await asyncio.gather(*answers)
        await producer.stop()
        return len(events)

    def configure(self, topic: str, **changed: str) -> None:
        """Change settings of a topic; underscores replace the dots in their names."""
        asyncio.run(self._configure(topic, {name.replace("_", "."): value for name, value in changed.items()}))

    async def _configure(self, topic: str, changed: Mapping[str, str]) -> None:
        # The client can only set all of them at once.
        wanted = {known.name: known.settings for known in wanted_topics(self.names, self.partitions, 1)}[topic]
        async with administration(bootstrap_servers=self.broker.bootstrap_servers) as admin:
            resource = ConfigResource(ConfigResourceType.TOPIC, topic, {**wanted, **changed})
            (answer,) = await admin.alter_configs([resource])
            assert [code for code, *_ in answer.resources] == [0], answer

    def read(self, topic: str, isolation: Isolation = "read_committed") -> list[Any]:
        """Return every record of a topic; for the ledger, all entries but no claims."""
        return [record for record in self.read_all(topic, isolation) if record.key != b""]

    def read_all(self, topic: str, isolation: Isolation = "read_committed") -> list[Any]:
        """Return every record of a topic."""
        return asyncio.run(self._read(topic, isolation))

    async def _read(self, topic: str, isolation: Isolation) -> list[Any]:
        found: list[Any] = []
        async with LogReader.opened(self.settings(), isolation) as reader:
            for partition in range(self.partitions):
                async for records in reader.records(topic, partition, 0):
                    found += records
        return found

    def committed(self) -> int:
        """Return the sum of the group's offsets."""
        found = committed(self.broker.bootstrap_servers, self.application, self.names.events)
        return sum(offset for offset, _ in found.values())

    def committed_of(self, partition: int) -> int:
        """Return the group's offset of one partition; 0 before its first."""
        return committed(self.broker.bootstrap_servers, self.application, self.names.events).get(partition, (0, ""))[0]

    def set_offset(self, offset: int) -> None:
        """Set the group's offset of partition 0, as kafka-consumer-groups --reset-offsets does."""
        asyncio.run(self._set_offset(offset))

    async def _set_offset(self, offset: int) -> None:
        place = TopicPartition(self.names.events, 0)
        consumer = AIOKafkaConsumer(
            bootstrap_servers=self.broker.bootstrap_servers, group_id=self.name, enable_auto_commit=False
        )
        await consumer.start()
        try:
            consumer.assign([place])
            await consumer.commit({place: offset})
        finally:
            await consumer.stop()

    def delete(self, topic: str) -> None:
        """Delete a topic and make it again, empty."""
        self.drop(topic)
        assert asyncio.run(make_and_check(self.settings())).differences == ()

    def grow(self, topic: str, partitions: int) -> None:
        """Give a topic more partitions."""

        async def grow(admin: AIOKafkaAdminClient) -> None:
            """Ask the broker for the partitions."""
            answer = await admin.create_partitions({topic: NewPartitions(partitions)})
            assert [error for _, error, _ in answer.topic_errors] == [0], answer

        asyncio.run(self._administer(grow))

    def drop(self, topic: str) -> None:
        """Delete a topic."""
        asyncio.run(self._delete(topic))

    async def _delete(self, topic: str) -> None:
        async with administration(bootstrap_servers=self.broker.bootstrap_servers) as admin:
            await admin.delete_topics([topic])
            # The controller deletes it, the broker learns that later: until then the topic would pass for one in order.
            deadline = time.monotonic() + PATIENCE_SECONDS
            while topic in await admin.list_topics():
                assert time.monotonic() < deadline, f"{topic} stays"
                await asyncio.sleep(0.1)

    def forget_events(self, before: int, partitions: Sequence[int] = ()) -> None:
        """Delete the events of these partitions (all when none is named) below an offset, as retention does."""
        self.forget(self.names.events, before, partitions)

    def forget(self, topic: str, before: int, partitions: Sequence[int] = ()) -> None:
        """Delete the records below an offset of a topic that is not compacted."""
        places = [TopicPartition(topic, number) for number in partitions or range(self.partitions)]
        deletion = {place: RecordsToDelete(before_offset=before) for place in places}

        async def delete(admin: AIOKafkaAdminClient) -> None:
            """Delete the records, as soon as the broker allows it."""
            while True:
                with suppress(PolicyViolationError):  # a broker heeds a `cleanup.policy` a moment after it was set
                    await admin.delete_records(deletion)
                    return
                await asyncio.sleep(0.1)

        asyncio.run(self._administer(delete))

    async def _administer(self, task: Callable[[AIOKafkaAdminClient], Awaitable[Any]]) -> None:
        async with administration(bootstrap_servers=self.broker.bootstrap_servers) as admin:
            await task(admin)

    def config(self, *more: str) -> str:
        """Write the settings of a user without a key, plus more lines of TOML; return the file."""
        file = self.folder / "command.toml"
        lines = (
            f'bootstrap_servers = "{self.broker.bootstrap_servers}"',
            f'application = "{self.application}"',
            f'prefix = "{self.name}"',
            f"partitions = {self.partitions}",
            *more,
        )
        file.write_text("\n".join(lines) + "\n")
        return str(file)

    def ruled(self) -> tuple[Path, list[str]]:
        """Write the default policies, one per line; return the file, and the settings of members as TOML lines."""
        (file := self.folder / "policies.jsonl").write_text("\n".join(map(json.dumps, (self.policy, *self.others))))
        caps = ("member_separator", "member_epsilon") if self.more.get("member_separator") else ()
        found = {name: self.more[name] for name in (*caps, "lifetime_epsilon") if name in self.more}
        return file, [f"{name} = {json.dumps(value)}" for name, value in found.items()]

    def command(self, name: str, *options: str) -> int:
        """Run a command of the program with the installation's settings; return its exit code."""
        policies, members = self.ruled()
        lines = [f'key_file = "{self.folder / "key"}"', f'policies_file = "{policies}"']
        if "signing_key_file" in self.more:
            lines.append(f'signing_key_file = "{self.more["signing_key_file"]}"')
        config = self.config(*lines, *members)
        return main([name, "--config", config, "--json", *options])

    def answered_once(self) -> None:
        """Check that every input has exactly one answer, and that nothing uncommitted differs from it."""
        answers = [(record.partition, input_of(record)) for record in self.read(self.names.releases)]
        answers += [(record.partition, input_of(record)) for record in self.read(self.names.rejects)]
        inputs = [(record.partition, record.offset) for record in self.read(self.names.events)]
        assert sorted(answers) == sorted(inputs)
        seen: dict[tuple[str, int], set[bytes]] = {}
        for record in self.read(self.names.releases, "read_uncommitted"):
            release = json.loads(record.value)
            seen.setdefault((release["series"], release["timestamp"]), set()).add(record.value)
        assert all(len(values) == 1 for values in seen.values())


def input_of(record: Any) -> int:
    """Return the input offset of an output record."""
    return int(dict(record.headers)["input"])


def readings(count: int, series: int = 20, start: int = 0) -> Iterator[dict[str, Any]]:
    """Yield events of some homes, an hour apart, beginning with number ``start``."""
    for number in range(start, start + count):
        yield {
            "series": f"home-{number % series}",
            "timestamp": START_MS + number // series * HOUR_MS,
            "value": number * 7919 % 9973 / 1000,
        }
