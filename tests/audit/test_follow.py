"""The audit beside a live worker, as a separate process on a real broker."""

import asyncio
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.request import urlopen

import orjson
import pytest
from aiokafka import AIOKafkaProducer

from stream_app.cli import main
from stream_app.heads.signing import SigningKey
from stream_app.kafka.client.routing import router
from stream_app.localbroker.broker import LocalBroker
from stream_app.monitoring.metrics import AUDIT_TABLE
from tests.audit.written import hash_of
from tests.kafka.installation import Installation, readings
from tests.monitoring.statuspage.read import Page
from tests.patience import ANSWER_SECONDS, PATIENCE_SECONDS

RAW = 7.777123
"""A value that a grid of 0.001 never publishes by chance."""


@pytest.fixture
def installation(broker: LocalBroker, tmp_path: Path, request: pytest.FixtureRequest) -> Installation:
    """An installation named after the test, whose workers sign heads often."""
    key = SigningKey.create(tmp_path / "signing.key")
    (tmp_path / "public.pem").write_text(key.public_pem())
    name = re.sub(r"[^a-z]+", "-", request.node.name.removeprefix("test_")).strip("-")
    more = {"signing_key_file": str(tmp_path / "signing.key"), "head_interval_ms": 300}
    return Installation(broker, tmp_path, name, more=more)


@dataclass
class Follower:
    """A running ``audit --follow``."""

    process: "subprocess.Popen[bytes]"
    log: Path
    report: Path

    def until(self, holds: Callable[[], bool], what: str) -> None:
        """Wait until something holds."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not holds():
            assert self.process.poll() is None, f"ended: {self.said()[-3000:]}"
            assert time.monotonic() < deadline, f"never {what}: {self.said()[-3000:]}"
            time.sleep(0.1)

    def said(self) -> str:
        """Return the log."""
        return self.log.read_text()

    def get(self, path: str) -> str:
        """Ask its HTTP server."""
        port = re.search(r"metrics and health at http://127\.0\.0\.1:(\d+)", self.said())
        assert port is not None
        with urlopen(f"http://127.0.0.1:{port[1]}{path}", timeout=ANSWER_SECONDS) as answer:
            return str(answer.read().decode())

    def measure(self, name: str) -> float:
        """Return a metric's value, or 0 if it has none yet."""
        found = re.search(rf"^{re.escape(name)} (\S+)$", self.get("/metrics"), re.MULTILINE)
        return float(found[1]) if found else 0.0

    def found(self, code: str) -> float:
        """Return how often a code was found."""
        return self.measure(f'landmark_audit_findings_total{{code="{code}"}}')

    def end(self, number: signal.Signals) -> tuple[int, str]:
        """Send a signal; return the exit code and the report."""
        self.process.send_signal(number)
        return self.process.wait(PATIENCE_SECONDS), self.report.read_text()


@contextmanager
def following(installation: Installation) -> Iterator[Follower]:
    """Run the audit as an auditor who has no noise key; leaving the block ends it."""
    folder = installation.folder
    command = [sys.executable, "-m", "stream_app", "audit", "--follow", "--http-port", "0"]
    command += ["--config", installation.config(), "--heads", "--public-key", str(folder / "public.pem")]
    log, report = folder / "audit.log", folder / "audit.txt"
    with log.open("wb") as err, report.open("wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=err, cwd=folder)
    follower = Follower(process, log, report)
    try:
        follower.until(lambda: "follows the ledger" in follower.said(), "followed")
        yield follower
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()


def inject(installation: Installation, series: str, line: bytes) -> None:
    """Write a record to the ledger, as only someone with write access to the topic can."""

    async def send() -> None:
        """Send it outside of any transaction."""
        producer = AIOKafkaProducer(bootstrap_servers=installation.broker.bootstrap_servers)
        await producer.start()
        partition = router(installation.partitions)(series.encode())
        await producer.send_and_wait(installation.names.ledger, line, key=series.encode(), partition=partition)
        await producer.stop()

    asyncio.run(send())


def last_of(installation: Installation, series: str) -> dict[str, object]:
    """Return the last entry of a series."""
    records = [record for record in installation.read(installation.names.ledger) if record.key == series.encode()]
    entry: dict[str, object] = orjson.loads(records[-1].value)
    return entry


def test_a_forged_entry_is_found_at_once(installation: Installation, capsys: pytest.CaptureFixture[str]) -> None:
    """While a worker writes, each forgery becomes a metric and a log line; the audit continues to its verdict."""
    total = installation.send(readings(400))
    with installation.worker() as worker, following(installation) as follower:
        worker.await_committed(total)
        total += installation.send([dict(event, value=RAW) for event in readings(400, start=400)])
        worker.await_committed(total)
        everything = len(installation.read(installation.names.ledger))
        follower.until(lambda: follower.measure("landmark_audit_entries") == everything, "caught up")
        follower.until(lambda: follower.measure("landmark_audit_unsigned_entries") == 0, "met the heads")
        assert "finding" not in follower.said()

        twin = dict(last_of(installation, "home-7"), release="5" * 64)
        twin["hash"] = hash_of(twin)
        inject(installation, "home-7", orjson.dumps(twin))
        follower.until(lambda: follower.found("fork") == 1, "found the fork")
        assert f"finding: fork  home-7 #{twin['sequence']}" in follower.said()
        page = Page(follower.get("/"))
        assert (page.data["found-fork"], page.data["entries"]) == (1, follower.measure("landmark_audit_entries"))
        assert "✗ Guarantee violated: 1 finding " in page.text
        assert "home-7" not in page.text

        # It takes the place of the next entry; the worker writes none behind it, so that is forged, too.
        before = last_of(installation, "home-8")
        after = dict(before, sequence=int(str(before["sequence"])) + 1, previous=before["hash"])
        inject(installation, "home-8", orjson.dumps(after | {"hash": hash_of(after)}))
        follower.until(lambda: follower.found("step-order") == 1, "found the repeated step")
        other = dict(after, release="6" * 64)
        inject(installation, "home-8", orjson.dumps(other | {"hash": hash_of(other)}))
        follower.until(lambda: follower.found("fork") == 2, "met another entry in its place")
        inject(installation, "home-9", b'{"series":"home-9"}\n')
        follower.until(lambda: follower.found("unknown-entry") == 1, "found the odd record")
        installation.send(readings(400, start=800))
        worker.await_log("foreign-writer")
        worker.stop()
        measures = follower.get("/metrics")
        code, report = follower.end(signal.SIGTERM)
    assert (code, report.splitlines()[0][:14]) == (1, "DOES NOT HOLD:")
    config, key = installation.config(), str(installation.folder / "public.pem")
    capsys.readouterr()
    assert main(["audit", "--config", config, "--heads", "--public-key", key]) == 1
    again = capsys.readouterr().out
    assert {line.split()[0] for line in report.splitlines()[1:]} == {line.split()[0] for line in again.splitlines()[1:]}
    assert "home-" not in measures
    for text in (measures, report, follower.said()):
        assert str(RAW) not in text
    helped = set(re.findall(r"^# HELP (landmark_\S+)", measures, re.MULTILINE))
    assert {name.removesuffix("_total") for name in helped if not name.endswith("_created")} == set(AUDIT_TABLE)


def test_a_true_ledger_holds_until_the_end(installation: Installation) -> None:
    """Nothing is found while workers start, stop and are killed, and the final verdict is that of any audit."""
    total = installation.send(readings(500))
    with following(installation) as follower:
        for number in (1, 2, 3):
            with installation.worker() as worker:
                worker.await_committed(total)
                total += installation.send(readings(500, start=500 * number))
                worker.process.kill()
        installation.decide(total)
        assert follower.get("/readyz") == "follows the ledger\n"
        assert follower.get("/healthz") == "alive\n"
        code, report = follower.end(signal.SIGINT)
    assert (code, report.splitlines()[0]) == (0, "HOLDS: no findings"), follower.said()
    assert "\n0 entries follow the last checkpoints" in report
    assert "finding" not in follower.said()


def test_a_file_is_not_followed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file does not grow."""
    (tmp_path / "ledger.jsonl").write_text("")
    assert main(["audit", "--follow", "--ledger", f"{tmp_path}/ledger.jsonl"]) == 2
    assert "--follow: a file does not grow" in capsys.readouterr().err


def test_a_port_that_is_in_use(installation: Installation) -> None:
    """The error names it with the option; the exit code is 2, without a traceback."""
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        command = [sys.executable, "-m", "stream_app", "audit", "--follow", "--http-port", str(port)]
        command += ["--config", installation.config()]
        done = subprocess.run(command, cwd=installation.folder, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert (
        f"landmark-stream audit: --http-port: 127.0.0.1:{port} is in use, perhaps by another worker or audit."
        in done.stderr
    )
    assert "Traceback" not in done.stderr
