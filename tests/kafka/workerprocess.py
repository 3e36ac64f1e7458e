"""A running worker of an installation: its output, its readiness, its end."""

import re
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from http.client import HTTPResponse
from pathlib import Path
from typing import Any

from stream_app.monitoring.scrape import scrape_of
from tests.kafka.forked import Forked
from tests.loopback import ask
from tests.patience import PATIENCE_SECONDS
from tests.stacks import last_words


@dataclass
class WorkerProcess:
    """A running worker."""

    process: Forked
    log: Path
    committed: Callable[[], int]
    """Returns the number of input records that its group has acknowledged."""

    def await_committed(self, total: int, seconds: float = PATIENCE_SECONDS) -> None:
        """Wait until this many input records are acknowledged."""
        self._await(lambda: self.committed() >= total, f"{total} records", seconds)

    def said(self) -> str:
        """Return everything that it logged, in all of its lives."""
        return self.log.read_text()

    def await_log(self, text: str, seconds: float = PATIENCE_SECONDS) -> None:
        """Wait until the log contains the text."""
        self._await(lambda: text in self.said(), repr(text), seconds)

    def address(self) -> str:
        """Return the URL of its endpoint, once the log shows it."""
        self.await_log("health at http://127.0.0.1:")
        *_, found = re.findall(r"health at (http://127\.0\.0\.1:\d+)", self.said())  # of its last life
        return str(found)

    def ready(self) -> tuple[int, str]:
        """Return status and text of /readyz."""
        return self.get("/readyz")

    def metric(self, name: str) -> float:
        """Return the sum of a metric over its labels; the metric must exist."""
        scrape = scrape_of(self.get("/metrics")[1], 0.0)
        assert name in scrape.samples, f"no {name}"
        return scrape.total(name)

    def get(self, path: str) -> tuple[int, str]:
        """Return status and text of what its endpoint answers."""
        answer, text = self.ask(path)
        return answer.status, text

    def ask(self, path: str, method: str = "GET") -> tuple[HTTPResponse, str]:
        """Return its endpoint's answer, and the text of that answer."""
        answer, body = ask(int(self.address().rpartition(":")[2]), path, method)
        return answer, body.decode()

    def await_ready(self, status: int, text: str, seconds: float = PATIENCE_SECONDS) -> None:
        """Wait until /readyz answers with a status, and a text that holds this one."""
        self._await(lambda: (found := self.ready())[0] == status and text in found[1], f"{status} {text!r}", seconds)

    def await_end(self, seconds: float = PATIENCE_SECONDS) -> int:
        """Wait until it ends by itself; return its exit code."""
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"does not end: {last_words(self.process, self.log)}") from None

    def stop(self) -> int:
        """Ask it to stop; return its exit code."""
        self.process.terminate()
        return self.await_end()

    def _await(self, holds: Any, what: str, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while not holds():
            ended = self.process.poll() is not None and not holds()
            assert not ended, f"ended without {what}: {self.log.read_text()[-3000:]}"
            assert time.monotonic() < deadline, f"no {what}: {last_words(self.process, self.log)}"
            time.sleep(0.1)
