"""A local Kafka broker: real Apache Kafka, one node, loopback only, without Docker.

The broker outlives the process that started it (``kafka start`` returns), so its state is kept in its folder.
``broker.json`` identifies the broker's process even if the pid is reused. The file also contains the ports, which a
broker keeps if it is restarted in the same folder.
"""

import base64
import contextlib
import json
import socket
import struct
import subprocess
import time
import uuid
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Self

from stream_app.localbroker import LocalBrokerError
from stream_app.localbroker.machine import HOST, KAFKA_VERSION, Progress, fetch_jars, find_java, locked, ports_of
from stream_app.processes import Process

START_SECONDS = 90.0  # 3 seconds on an idle machine, more under load or to recover a log
STOP_SECONDS = 30.0

LOGS = Path(__file__).parent / "log4j2.properties"
FEATURES = Path(__file__).parent / "bootstrap.checkpoint"
NODE = "1"
_QUICK_START = "-XX:TieredStopAtLevel=1"  # halves the start's processor time; under full load other levels are quicker
_MEMORY = ("-Xms256m", "-Xmx512m", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20")
_JVM_FLAGS = (*_MEMORY, "-Djava.awt.headless=true", _QUICK_START)

# A single node cannot replicate. There are few partitions of the internal topics, and no wait for more group members.
_DEFAULTS = {
    "auto.create.topics.enable": "false",  # a topic made by accident lacks the settings that `topics` gives
    "offsets.topic.num.partitions": "4",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.num.partitions": "4",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "share.coordinator.state.topic.num.partitions": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "group.initial.rebalance.delay.ms": "0",
    # A broker that was killed cannot register again before its last session has ended.
    "broker.session.timeout.ms": "4000",
    "broker.heartbeat.interval.ms": "500",
    "message.max.bytes": str(16 * 1024 * 1024),
}


@dataclass(frozen=True, slots=True)
class BrokerState:
    """The contents of `broker.json` in a broker's folder."""

    process: Process
    port: int
    controller_port: int
    version: str


class LocalBroker:
    """A running broker, returned by ``start`` or ``find``; leaving its ``with`` block stops it."""

    def __init__(self, folder: Path, state: BrokerState) -> None:
        self.folder = folder
        self.state = state

    @property
    def bootstrap_servers(self) -> str:
        """The address for clients, as ``host:port``."""
        return f"{HOST}:{self.state.port}"

    @property
    def pid(self) -> int:
        """The process id, for tests that kill the broker."""
        return self.state.process.pid

    @classmethod
    def start(
        cls,
        folder: Path,
        port: int | None = None,
        *,
        preferred: int | None = None,
        overrides: Mapping[str, str] | None = None,
        jvm_flags: tuple[str, ...] = (),
        jars: Path | None = None,
        progress: Progress = lambda _: None,
    ) -> Self:
        """Start a broker whose data is in ``folder``; return it once it answers.

        Without ``port``, the broker takes the port of the folder's last broker, otherwise ``preferred``, otherwise any
        free port. If ``preferred`` is given, the broker never takes any other free port. ``overrides`` are lines of
        ``server.properties``, and ``jvm_flags`` follow the default flags.
        """
        folder = folder.absolute()
        folder.mkdir(parents=True, exist_ok=True)
        with locked(folder / "start.lock"):
            if (running := cls.find(folder)) is not None:
                found = f"another broker is already running, process {running.pid} at {running.bootstrap_servers}"
                raise LocalBrokerError(f"a broker in {folder}", found, "Use it, or stop it first: kafka stop")
            java, library = find_java(), fetch_jars(jars, progress)
            last = _remembered(folder)
            usual = preferred or 0 if last is None else last.port
            other = port is None and preferred is None
            port, controller_port = ports_of(usual if port is None else port, other=other)
            settings = folder / "server.properties"
            settings.write_text(_properties(folder, port, controller_port, overrides or {}))
            if not (folder / "data" / "meta.properties").exists():
                _format(folder / "data")
            progress(f"starting Apache Kafka {KAFKA_VERSION} at {HOST}:{port}")
            process = _launch(java, library, settings, jvm_flags)
            state = BrokerState(process, port, controller_port, KAFKA_VERSION)
            (folder / "broker.json").write_text(json.dumps(asdict(state)))
            broker = cls(folder, state)
            broker._await_answer()
        return broker

    @classmethod
    def find(cls, folder: Path) -> Self | None:
        """Return the broker running in ``folder``, or None."""
        state = _remembered(folder)
        return None if state is None or not state.process.alive() else cls(folder.absolute(), state)

    def answers(self) -> bool:
        """Return whether the broker answers a metadata request (version 1, no topics) and names a broker to use.

        A broker opens its listener once the controller has registered it, possibly just before the broker has read that
        registration.
        """
        client = b"landmark-stream"
        body = struct.pack(">hhih", 3, 1, 1, len(client)) + client + struct.pack(">i", 0)
        address = (HOST, self.state.port)
        with contextlib.suppress(OSError), socket.create_connection(address, timeout=2.0) as connection:
            connection.sendall(struct.pack(">i", len(body)) + body)
            size_id_brokers = connection.makefile("rb").read(12)
            return len(size_id_brokers) == 12 and size_id_brokers[8:] > bytes(4)
        return False

    def stop(self) -> None:
        """Stop the broker; its data is kept."""
        if not self.state.process.stop(STOP_SECONDS):
            raise LocalBrokerError(
                f"stopping the broker in {self.folder}", f"process {self.pid} is still running", "Check it"
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _await_answer(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        while not self.answers():
            if not self.state.process.alive():
                found = f"it ended: {_last_words(self.folder)}"
                raise LocalBrokerError(f"a broker in {self.folder}", found, f"See {self.folder / 'broker.log'}")
            if time.monotonic() > deadline:
                self.stop()
                found = f"no answer from {self.bootstrap_servers} within {START_SECONDS:.0f} seconds"
                raise LocalBrokerError(f"a broker in {self.folder}", found, f"See {self.folder / 'broker.log'}")
            time.sleep(0.05)


def _remembered(folder: Path) -> BrokerState | None:
    try:
        fields = json.loads((folder / "broker.json").read_text())
        return BrokerState(**(fields | {"process": Process(**fields["process"])}))
    except (FileNotFoundError, ValueError, TypeError, KeyError):
        return None


def _properties(folder: Path, port: int, controller_port: int, overrides: Mapping[str, str]) -> str:
    settings = {
        "process.roles": "broker,controller",
        "node.id": NODE,
        "controller.quorum.voters": f"{NODE}@{HOST}:{controller_port}",
        "controller.listener.names": "CONTROLLER",
        "listeners": f"PLAINTEXT://{HOST}:{port},CONTROLLER://{HOST}:{controller_port}",
        "advertised.listeners": f"PLAINTEXT://{HOST}:{port}",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "log.dirs": str(folder / "data"),
        **_DEFAULTS,
        **overrides,
    }
    return "".join(f"{name}={value}\n" for name, value in settings.items())


def _format(data: Path) -> None:
    """Write what `kafka-storage format` would write; that command would start another JVM and take seconds.

    ``bootstrap.checkpoint`` contains the feature levels with which a new cluster of `KAFKA_VERSION` starts.
    """
    data.mkdir(parents=True, exist_ok=True)
    (data / FEATURES.name).write_bytes(FEATURES.read_bytes())
    lines = {"version": "1", "cluster.id": _new_id(), "directory.id": _new_id(), "node.id": NODE}
    unfinished = data / "meta.properties.tmp"
    unfinished.write_text("".join(f"{name}={value}\n" for name, value in lines.items()))
    unfinished.rename(data / "meta.properties")  # a folder with it counts as formatted


def _new_id() -> str:
    """Return an id in Kafka's form that never begins with a dash, which Kafka's tools would read as an option."""
    return base64.urlsafe_b64encode(b"\0" + uuid.uuid4().bytes[1:])[:22].decode()


def _launch(java: str, library: Path, settings: Path, flags: tuple[str, ...]) -> Process:
    logs = (f"-Dlandmark.log={settings.with_name('broker.log')}", f"-Dlog4j2.configurationFile={LOGS}")
    command = [java, *logs, *_JVM_FLAGS, *flags, "-cp", f"{library}/*", "kafka.Kafka", str(settings)]
    with settings.with_name("broker.out").open("wb") as out:
        # A session of its own, so that Ctrl-C in the terminal that started it does not reach it.
        child = subprocess.Popen(
            command, cwd=settings.parent, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True
        )
    process = Process.of(child.pid)
    if process is None:
        raise LocalBrokerError("a broker", f"it exited at once: {_last_words(settings.parent)}", "Mend that")
    child.returncode = 0  # `Process` watches it from here on; this avoids a ResourceWarning
    return process


def _last_words(folder: Path) -> str:
    """Return the last error in the broker's log along with its exception, or the last line from the JVM."""
    for name, mark in (("broker.log", "ERROR"), ("broker.log", "FATAL"), ("broker.out", "")):
        with contextlib.suppress(FileNotFoundError):
            lines = (folder / name).read_text(errors="replace").splitlines()
            if marked := [number for number, line in enumerate(lines) if mark in line]:
                said, *more = lines[marked[-1] :]
                exception = more[0] if more and more[0][:1].isalpha() else ""  # not the next entry, which has a date
                return f"{said}: {exception}" if exception else said
    return f"see {folder / 'broker.log'}"
