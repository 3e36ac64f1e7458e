"""One installation on a broker that denies by default: each of its users does what its role is for."""

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stream_app.cli import main
from stream_app.kafka.provision import Access, needs
from stream_app.setup.settings import Settings
from tests.admin import committed
from tests.kafka.client.secured import SecuredBroker
from tests.kafka.forked import Forked
from tests.kafka.installation import readings
from tests.kafka.workerprocess import WorkerProcess

DAY_MS = 86_400_000
BEFORE_LANDMARKS = ("--accept", "landmarks")
"""Option for sending events before all landmarks of the policy, about which `send` asks."""


@dataclass
class Guarded:
    """One installation on the secured broker, with a user for each role."""

    secured: SecuredBroker
    folder: Path
    name: str = "guarded"
    sent: int = 0

    def config(self, role: str, *, certified: bool = False, **more: Any) -> Path:
        """Write the settings of a role's user, with a certificate for the reader, and return their file."""
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

    def committed(self) -> int:
        """Return how many events the group has acknowledged."""
        found = committed(self.secured.broker.bootstrap_servers, self.name, f"{self.name}.events")
        return sum(offset for offset, _ in found.values())

    @contextmanager
    def worker(self, **more: Any) -> Iterator[WorkerProcess]:
        """Run a worker until the block ends."""
        log = self.folder / f"worker-{time.monotonic_ns()}.log"
        config = self.config("worker", **more)
        process = Forked(("worker", "--config", str(config)), log, self.folder, os.environ)  # noqa: TID251 (the child's)
        try:
            yield WorkerProcess(process, log, self.committed)
        finally:
            process.kill()
            process.wait()
