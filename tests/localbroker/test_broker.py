"""The local broker: real Kafka, started, found, killed, restarted, stopped, with nothing else stopped."""

import asyncio
import os
import shutil
import signal
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import orjson
import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.admin import NewTopic
from aiokafka.record import MemoryRecords

from stream_app.cli import main
from stream_app.localbroker import LocalBrokerError, machine
from stream_app.localbroker.broker import BrokerState, LocalBroker
from stream_app.processes import Process
from tests.admin import administration
from tests.patience import PATIENCE_SECONDS

FIVE_MEGABYTES = 5 * 1024 * 1024


async def send_and_read(bootstrap: str, topic: str, value: bytes) -> bytes | None:
    """Append one record to a topic and read the topic's last record."""
    async with AIOKafkaProducer(bootstrap_servers=bootstrap, max_request_size=2 * FIVE_MEGABYTES) as producer:
        await producer.send_and_wait(topic, value)
    return await read_last(bootstrap, topic)


async def read_last(bootstrap: str, topic: str) -> bytes | None:
    """Read the last record of a topic with one partition."""
    consumer = AIOKafkaConsumer(topic, bootstrap_servers=bootstrap, auto_offset_reset="earliest", group_id=None)
    async with consumer:
        (partition,) = consumer.assignment()
        consumer.seek(partition, (await consumer.end_offsets([partition]))[partition] - 1)
        value: bytes | None = (await consumer.getone()).value
    return value


async def make_topic(bootstrap: str, name: str) -> None:
    """Make a topic with one partition."""
    async with administration(bootstrap_servers=bootstrap) as admin:
        await admin.create_topics([NewTopic(name, num_partitions=1, replication_factor=1)])


async def test_carries_five_megabytes(broker: LocalBroker) -> None:
    """A record far above our own limit can be appended, so that rejecting it can be tested."""
    await make_topic(broker.bootstrap_servers, "broker-large")
    value = os.urandom(FIVE_MEGABYTES)
    assert await send_and_read(broker.bootstrap_servers, "broker-large", value) == value


def test_refuses_a_second_one_in_the_same_folder(broker: LocalBroker) -> None:
    """A folder has one broker, and the refusal names the one that is running."""
    with pytest.raises(LocalBrokerError, match="already running") as caught:
        LocalBroker.start(broker.folder)
    assert broker.bootstrap_servers in caught.value.found
    assert broker.answers()


@pytest.mark.parametrize(("answer", "ready"), [(bytes(4), False), (b"\0\0\0\1", True), (b"", False)])
def test_a_broker_that_knows_of_none_is_not_ready_yet(tmp_path: Path, answer: bytes, ready: bool) -> None:  # noqa: FBT001
    """Its metadata names no broker, not even itself, so every client would fail; or it hangs up."""
    with socket.create_server(("127.0.0.1", 0)) as listener, ThreadPoolExecutor(1) as pool:

        def serve() -> None:
            """Answer one request with so many brokers: size, the request's id, their number."""
            connection, _ = listener.accept()
            with connection:
                connection.recv(1024)
                connection.sendall(b"\0\0\0\x08" + b"\0\0\0\1" + answer)

        served = pool.submit(serve)
        own = Process.of(os.getpid())
        assert own is not None
        state = BrokerState(own, listener.getsockname()[1], 0, machine.KAFKA_VERSION)
        assert LocalBroker(tmp_path, state).answers() == ready
        served.result()


def test_refuses_a_taken_port(broker: LocalBroker, tmp_path: Path) -> None:
    """A port in use by another program is named, with the remedy."""
    with pytest.raises(LocalBrokerError, match=f"port {broker.state.port}: another program") as caught:
        LocalBroker.start(tmp_path, broker.state.port)
    assert "--port" in caught.value.remedy


def test_a_new_folder_is_formatted_as_kafka_s_own_tool_does_it(broker: LocalBroker, tmp_path: Path) -> None:
    """Property names and feature levels are the same: those of the pinned version."""
    settings = tmp_path / "server.properties"
    settings.write_text((broker.folder / settings.name).read_text().replace(str(broker.folder), str(tmp_path)))
    tool = [
        machine.find_java(),
        "-XX:TieredStopAtLevel=1",
        "-cp",
        f"{machine.fetch_jars()}/*",
        "kafka.tools.StorageTool",
    ]
    cluster = _properties_of(broker.folder)["cluster.id"]
    subprocess.run([*tool, "format", "--cluster-id", cluster, "--config", str(settings)], check=True)
    ours, theirs = _properties_of(broker.folder), _properties_of(tmp_path)
    assert ours.keys() == theirs.keys()
    assert [ours[name] for name in ("version", "node.id")] == [theirs[name] for name in ("version", "node.id")]
    assert len(ours["directory.id"]) == len(theirs["directory.id"])
    assert _features_of(broker.folder) == _features_of(tmp_path) != []


def _properties_of(folder: Path) -> dict[str, str]:
    lines = (folder / "data" / "meta.properties").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines if not line.startswith("#"))


def _features_of(folder: Path) -> list[bytes | None]:
    """Return the records of a new cluster's first checkpoint, without the records that frame them."""
    found, batches = [], MemoryRecords((folder / "data" / "bootstrap.checkpoint").read_bytes())
    while batches.has_next():
        batch: Any = batches.next_batch()
        found += [record.value for record in batch if not batch.is_control_batch]
    return found


def test_says_why_kafka_refuses_a_setting(tmp_path: Path) -> None:
    """The reason that Kafka gives for a bad setting reaches the user."""
    with pytest.raises(LocalBrokerError, match=r"num\.io\.threads"):
        LocalBroker.start(tmp_path, overrides={"num.io.threads": "none"})


def test_a_reused_pid_is_another_process(broker: LocalBroker) -> None:
    """A pid file that outlived its process names no process, even if the pid is in use again."""
    impostor = Process(broker.pid, started="long ago")
    assert not impostor.alive()
    assert impostor.stop(patience_seconds=0)
    assert broker.answers()


def test_status_of_the_command_line(broker: LocalBroker, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """``kafka status --json`` tells programs where the broker is, and its exit code whether it answers."""
    assert main(["kafka", "status", "--json", "--folder", str(broker.folder)]) == 0
    facts = orjson.loads(capsys.readouterr().out)
    assert facts["running"]
    assert facts["answers"]
    assert facts["bootstrap_servers"] == broker.bootstrap_servers
    assert facts["pid"] == broker.pid

    assert main(["kafka", "status", "--json", "--folder", str(tmp_path)]) == 1
    assert orjson.loads(capsys.readouterr().out)["running"] is False


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_status_is_short_where_others_look(
    host: str, broker: LocalBroker, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """If the settings already name the broker, nothing needs to be exported."""
    monkeypatch.setenv("LANDMARK_STREAM_BOOTSTRAP_SERVERS", f"127.0.0.1:1, {host}:{broker.state.port}")
    assert main(["kafka", "status", "--folder", str(broker.folder)]) == 0
    said = capsys.readouterr()
    assert "answers at" in said.out
    assert "export" not in said.err


async def test_start_and_stop_of_the_command_line(tmp_path: Path) -> None:
    """The broker outlives the command that starts it until another stops it; it says how others find it.

    Killed without warning in between and restarted in its folder, it has the same address and the same records.
    """
    words = [sys.executable, "-m", "stream_app", "kafka"]
    start = [*words, "start", "--port", "0", "--folder", str(tmp_path)]
    done = await asyncio.to_thread(subprocess.run, start, check=True, capture_output=True, text=True)
    broker = LocalBroker.find(tmp_path)
    assert broker is not None
    assert broker.answers()
    assert f"\nexport LANDMARK_STREAM_BOOTSTRAP_SERVERS={broker.bootstrap_servers}\n" in done.stderr
    await make_topic(broker.bootstrap_servers, "kept")
    assert await send_and_read(broker.bootstrap_servers, "kept", b"one") == b"one"
    os.kill(broker.pid, signal.SIGKILL)
    assert broker.state.process.wait(PATIENCE_SECONDS)
    assert LocalBroker.find(tmp_path) is None
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        other = free.getsockname()[1]
    again = await asyncio.to_thread(LocalBroker.start, tmp_path, preferred=other)
    assert again.bootstrap_servers == broker.bootstrap_servers
    assert await read_last(again.bootstrap_servers, "kept") == b"one"
    stop = [*words, "stop", "--folder", str(tmp_path)]
    ended = await asyncio.to_thread(subprocess.run, stop, check=True, capture_output=True, text=True)
    told = f"stopped: the broker of {tmp_path} has ended; its data are kept for the next `kafka start`\n"
    assert (ended.stdout, ended.stderr) == (told, "")
    assert not again.state.process.alive()


@pytest.mark.parametrize(("missing", "said"), [("java", "Java 17"), ("mvn", "Maven on the PATH")])
def test_says_how_to_install_what_is_missing(
    missing: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without Java or Maven the message gives the command that installs them, and the Docker alternative."""
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in {"java", "mvn"} - {missing}:
        (programs / name).symlink_to(shutil.which(name) or "/nowhere")
    monkeypatch.setenv("PATH", str(programs))
    with pytest.raises(LocalBrokerError, match=said) as caught:
        LocalBroker.start(tmp_path / "kafka", jars=tmp_path / "jars")
    assert "apt-get install" in caught.value.remedy
    assert "docker compose up" in caught.value.remedy


def test_refuses_old_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Java 11 cannot run Kafka 4: the message says which version was found."""
    old = tmp_path / "java"
    old.write_text("#!/bin/sh\necho 'openjdk version \"11.0.2\" 2019-01-15' >&2\n")
    old.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    with pytest.raises(LocalBrokerError, match="is version 11"):
        machine.find_java()


def test_fetches_once_for_all_that_ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One of several simultaneous callers fetches; the folder appears complete, with nothing left beside it."""
    calls = tmp_path / "calls"
    fake_maven(tmp_path, monkeypatch, f'echo call >> {calls}\ncp "{machine.fetch_jars()}"/* "$lib"')
    target = tmp_path / "cache" / "kafka"
    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(lambda _: machine.fetch_jars(target), range(4))) == {target}
    assert calls.read_text().split() == ["call"]
    assert sorted(path.name for path in target.parent.iterdir()) == ["kafka", "kafka.lock"]


def test_refuses_jars_that_are_not_the_pinned_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A jar with other contents, or a missing one, is refused by name, and nothing is kept."""
    spoil = f'cp "{machine.fetch_jars()}"/* "$lib"; echo x >> "$lib"/re2j-1.8.jar; rm "$lib"/snakeyaml-*'
    fake_maven(tmp_path, monkeypatch, spoil)
    target = tmp_path / "cache" / "kafka"
    with pytest.raises(LocalBrokerError, match=r"different contents in re2j-1\.8\.jar, snakeyaml"):
        machine.fetch_jars(target)
    assert not target.exists()


def test_a_home_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The jars go to a temporary folder that nobody else may write; a folder that others may write is refused."""
    home = tmp_path / "home"
    home.touch()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    found = machine.default_cache()
    assert found.parent.parent == tmp_path
    assert found.parent.stat().st_mode & 0o777 == 0o700
    assert machine.default_cache() == found
    found.parent.chmod(0o770)
    with pytest.raises(LocalBrokerError, match="other users can write there"):
        machine.default_cache()


def test_says_why_maven_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Maven's first error reaches the user, and nothing is kept."""
    fake_maven(tmp_path, monkeypatch, "echo '[ERROR] no route to host'; exit 1")
    with pytest.raises(LocalBrokerError, match="no route to host"):
        machine.fetch_jars(tmp_path / "cache" / "kafka")
    assert not (tmp_path / "cache" / "kafka").exists()


def fake_maven(folder: Path, monkeypatch: pytest.MonkeyPatch, commands: str) -> None:
    """Put a program named mvn first on the PATH; it runs shell commands with ``$lib`` as the folder to fill."""
    programs = folder / "programs"
    programs.mkdir()
    script = programs / "mvn"
    chosen = "for word; do case $word in -DoutputDirectory=*) lib=${word#*=};; esac; done"
    script.write_text(f'#!/bin/sh\n{chosen}\nmkdir "$lib"\n{commands}\n')
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:/bin:/usr/bin")
