"""A fleet of real workers, each its own process: started, killed, paused, woken and stopped by its pid."""

import asyncio
import http.client
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.kafka.forked import Forked, completed
from tests.loopback import ask
from tests.patience import PATIENCE_SECONDS
from tests.stacks import last_words

SESSION_MS = 6_000
HEAD_MS = 300
PORT = re.compile(r"metrics and health at http://127\.0\.0\.1:(\d+)")


@dataclass(frozen=True)
class Site:
    """An installation under one name: its folder holds key, policies, settings, state and logs."""

    bootstrap: str
    folder: Path
    name: str
    partitions: int
    policies: Sequence[Mapping[str, object]]
    more: Mapping[str, object] = field(default_factory=dict)
    signed: bool = False
    """Whether its workers sign heads of the ledger, often."""

    def prepare(self) -> Self:
        """Make key, policies and topics."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self.write_policies(self.policies)
        self.command("keys", "new", str(self.key))
        if self.signed:
            self.command("keys", "new", str(self.signing_key), "--signing")
            self.public_key.write_bytes(self.command("keys", "public", str(self.signing_key)).stdout)
        self.command("topics", "--config", str(self.config()))
        return self

    @property
    def key(self) -> Path:
        """The key file."""
        return self.folder / "noise.key"

    @property
    def signing_key(self) -> Path:
        """The key file that signs the heads."""
        return self.folder / "signing.key"

    @property
    def public_key(self) -> Path:
        """The key by which an auditor trusts the heads."""
        return self.folder / "public.pem"

    @property
    def topics(self) -> dict[str, str]:
        """Names of all topics by their meaning."""
        named = {meaning: f"{self.name}.{meaning}" for meaning in ("events", "releases", "ledger", "rejects")}
        return {**named, "changelog": f"{self.name}-state-changelog"}

    def write_policies(self, policies: Sequence[Mapping[str, object]]) -> None:
        """Write the default policies."""
        (self.folder / "policies.jsonl").write_text("".join(json.dumps(policy) + "\n" for policy in policies))

    def state(self, worker: str) -> Path:
        """Return the folder of a worker's local state."""
        return self.folder / f"state-{worker}"

    def config(self, worker: str = "a") -> Path:
        """Write the settings of a worker and return their file."""
        settings: dict[str, object] = {
            "bootstrap_servers": self.bootstrap,
            "application": self.name,
            "prefix": self.name,
            "partitions": self.partitions,
            "key_file": str(self.key),
            "policies_file": str(self.folder / "policies.jsonl"),
            "data_folder": str(self.state(worker)),
            "session_timeout_ms": SESSION_MS,
            "http_port": 0,
            "exit_delay_ms": 0,
            **({"signing_key_file": str(self.signing_key), "head_interval_ms": HEAD_MS} if self.signed else {}),
            **self.more,
        }
        file = self.folder / f"{worker}.toml"
        file.write_text("".join(f"{name} = {json.dumps(value)}\n" for name, value in settings.items()))
        return file

    def command(self, *words: str, code: int | None = 0) -> "subprocess.CompletedProcess[bytes]":
        """Run a command of the product; fail on any exit code other than ``code``, while None accepts every code."""
        done = completed(words)
        assert code in (done.returncode, None), (
            f"{words[0]}: exit {done.returncode}: {(done.stdout + done.stderr).decode()}"
        )
        return done


class Worker:
    """One worker in its present life; its log holds all of its lives."""

    def __init__(self, site: Site, name: str, tree: Path | None = None) -> None:
        """Start the worker; ``tree`` is another checkout whose program it should run."""
        self.site, self.name = site, name
        self.log = site.folder / f"worker-{name}.log"
        self._born = self.log.stat().st_size if self.log.exists() else 0
        words = ("worker", "--config", str(site.config(name)))
        self.process: Forked | subprocess.Popen[bytes]
        if tree is None:
            self.process = Forked(words, self.log, site.folder, os.environ)  # noqa: TID251 (the child's)
        else:
            with self.log.open("ab") as out:
                command = [
                    sys.executable,
                    "-m",
                    "stream_app",
                    *words,
                ]  # `python -m` looks into the working folder first
                self.process = subprocess.Popen(command, stdout=out, stderr=out, stdin=subprocess.DEVNULL, cwd=tree)

    @property
    def runs(self) -> bool:
        """Whether it has not ended."""
        return self.process.poll() is None

    def kill(self) -> None:
        """Kill it without warning."""
        self.process.kill()
        self.process.wait()

    def pause(self) -> None:
        """Freeze it."""
        self.process.send_signal(signal.SIGSTOP)

    def wake(self) -> None:
        """Let it go on."""
        self.process.send_signal(signal.SIGCONT)

    def stop(self) -> int:
        """Ask the worker to end; return its exit code."""
        self.process.terminate()
        return self.ended()

    def ended(self) -> int:
        """Wait until the worker has ended; return its exit code."""
        try:
            return self.process.wait(PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"{self.name} does not end: {last_words(self.process, self.log)}") from None

    def said(self) -> str:
        """Return the log of this life."""
        with self.log.open("rb") as log:
            log.seek(self._born)
            return log.read().decode(errors="replace")

    async def until_said(self, text: str, seconds: float = PATIENCE_SECONDS) -> None:
        """Wait until its log says ``text``."""
        deadline = time.monotonic() + seconds
        while text not in self.said():
            assert self.runs or text in self.said(), f"ended ({self.process.poll()}): {self.said()[-3000:]}"
            assert time.monotonic() < deadline, f"never said {text!r}: {last_words(self.process, self.log)}"
            await asyncio.sleep(0.1)

    async def until_ended(self, seconds: float = PATIENCE_SECONDS) -> int:
        """Wait until the worker ends by itself; return its exit code."""
        deadline = time.monotonic() + seconds
        while self.process.poll() is None:
            assert time.monotonic() < deadline, f"never ended: {last_words(self.process, self.log)}"
            await asyncio.sleep(0.1)
        return self.ended()

    def get(self, path: str) -> tuple[int, bytes]:
        """Ask its HTTP server."""
        found = PORT.search(self.said())
        assert found is not None, self.said()[-3000:]
        answer, body = ask(int(found[1]), path)
        return answer.status, body

    async def until_ready(self, seconds: float = PATIENCE_SECONDS) -> None:
        """Wait until the worker owns partitions and serves them."""
        await self.until_said("metrics and health at", seconds)
        deadline = time.monotonic() + seconds
        while self.get("/readyz")[0] != http.client.OK:
            assert time.monotonic() < deadline, f"never ready: {last_words(self.process, self.log)}"
            await asyncio.sleep(0.1)

    def resident_bytes(self) -> int:
        """Return the memory that it holds now."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0]) * 1024


class Fleet:
    """The workers of a site; leaving the block ends those that still run."""

    def __init__(self, site: Site) -> None:
        """Begin with none."""
        self.site = site
        self.workers: dict[str, Worker] = {}

    def start(self, name: str, tree: Path | None = None) -> Worker:
        """Start a worker, or the next life of one that ended; ``tree`` is another checkout to run."""
        assert name not in self.workers or not self.workers[name].runs, f"{name} runs"
        self.workers[name] = Worker(self.site, name, tree)
        return self.workers[name]

    async def begin(self, *names: str) -> None:
        """Start workers simultaneously, and wait until all of them own partitions."""
        for worker in [self.start(name) for name in names]:
            await worker.until_ready()

    def stop(self) -> None:
        """Ask all workers to end; each must end without a failure."""
        running = [worker for worker in self.workers.values() if worker.runs]
        for worker in running:
            worker.process.terminate()
        for worker in running:
            code = worker.ended()
            # A worker that was started a moment ago may still be loading modules, where the signal itself ends it.
            unborn = code == -signal.SIGTERM and not worker.said()
            assert code == 0 or unborn, worker.said()[-3000:]

    def forget_state(self) -> None:
        """Delete the local state of all workers, none of which may run."""
        assert not any(worker.runs for worker in self.workers.values())
        for name in self.workers:
            shutil.rmtree(self.site.state(name))

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Kill what still runs."""
        for worker in self.workers.values():
            if worker.runs:
                worker.kill()
