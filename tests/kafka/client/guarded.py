"""One installation on a broker that denies by default: each of its users does what its role is for."""

import asyncio
import json
import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stream_app.cli import main
from stream_app.kafka.client.cluster import group_offsets
from stream_app.kafka.provision import Access, needs
from stream_app.setup.settings import Settings
from tests.kafka.client.secured import SecuredBroker
from tests.kafka.forked import Forked
from tests.kafka.installation import readings
from tests.patience import PATIENCE_SECONDS
from tests.stacks import last_words

DAY_MS = 86_400_000
BEFORE_LANDMARKS = ("--accept", "landmarks")
"""Events are sent that lie before all landmarks of the policy, which `send` asks about."""


@dataclass
class Guarded:
    """One installation on the secured broker, used by a user for each role."""

    secured: SecuredBroker
    folder: Path
    name: str = "guarded"
    sent: int = 0

    def config(self, role: str, *, certified: bool = False, **more: Any) -> Path:
        """Write the settings of a role's user, the reader's by certificate, and return their file."""
        certified = certified or role == "reader"
        transport = self.secured.certified(role) if certified else self.secured.settings(role, self.folder)
        settings = {
            "application": self.name,
            "prefix": self.name,
            "partitions": 1,
            "key_file": str(self.folder / "noise.key"),
            "key_epoch_ms": DAY_MS,
            "signing_key_file": str(self.folder / "signing.key"),
            "head_interval_ms": 200,
            "policies_file": str(self.folder / "policies.jsonl"),
            "data_folder": str(self.folder / "state"),
            "session_timeout_ms": 6_000,
            "http_port": 0,
            **transport,
            **more,
        }
        file = self.folder / f"{role}.toml"
        file.write_text("".join(f"{name} = {json.dumps(value)}\n" for name, value in settings.items()))
        return file

    def needs(self, role: str) -> tuple[Access, ...]:
        """Return what a role needs."""
        return needs(role, Settings.load(self.config(role)))

    def run(self, role: str, *words: str, **more: Any) -> int:
        """Run a command as a role's user; return its exit code."""
        return main([*words, "--config", str(self.config(role, **more))])

    def send(self, count: int) -> None:
        """Send events as the producer."""
        file = self.folder / "events.jsonl"
        events = readings(count, series=5, start=self.sent)
        file.write_text("".join(json.dumps(event) + "\n" for event in events))
        assert self.run("producer", "send", str(file), *BEFORE_LANDMARKS) == 0
        self.sent += count

    def until_committed(self, worker: "GuardedWorker") -> None:
        """Wait until the group has acknowledged all that was sent."""
        plain: dict[str, Any] = {
            "bootstrap_servers": self.secured.broker.bootstrap_servers,
            "key_file": self.folder / "noise.key",
            "application": self.name,
            "prefix": self.name,
            "partitions": 1,
        }
        settings = Settings(**plain)
        deadline = time.monotonic() + PATIENCE_SECONDS
        while sum(asyncio.run(group_offsets(settings, f"{self.name}.events")).values()) < self.sent:
            assert worker.process.poll() is None, worker.said()[-3000:]
            assert time.monotonic() < deadline, worker.said()[-3000:]
            time.sleep(0.3)

    @contextmanager
    def worker(self, **more: Any) -> Iterator["GuardedWorker"]:
        """Run a worker until the block ends."""
        log = self.folder / f"worker-{time.monotonic_ns()}.log"
        config = self.config("worker", **more)
        process = Forked(("worker", "--config", str(config)), log, self.folder, os.environ)  # noqa: TID251 (the child's)
        try:
            yield GuardedWorker(process, log)
        finally:
            process.kill()
            process.wait()


@dataclass
class GuardedWorker:
    """A worker in a process of its own."""

    process: Forked
    log: Path

    def said(self) -> str:
        """Return what it logged."""
        return self.log.read_text()

    def ended(self) -> int:
        """Wait until it ends by itself; return its exit code."""
        try:
            return self.process.wait(PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"does not end: {last_words(self.process, self.log)}") from None

    def stop(self) -> int:
        """Ask it to end once it works; return its exit code."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while "owns partitions" not in self.said():
            assert time.monotonic() < deadline, self.said()[-3000:]
            time.sleep(0.1)
        self.process.terminate()
        return self.ended()
