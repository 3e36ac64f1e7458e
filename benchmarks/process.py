"""A client under measurement: a process on the client's core, its time and its memory."""

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from benchmarks.machine import pinned

_STOP_SECONDS = 60.0
_TICKS = os.sysconf("SC_CLK_TCK")
_KIBIBYTE = 1024


class ClientError(Exception):
    """The client ended or does not get on; the message holds the end of its log."""


class Client:
    """A running process of ours."""

    def __init__(self, process: "subprocess.Popen[bytes]", log: Path) -> None:
        """Hold a process; ``started`` makes these."""
        self._process = process
        self._log = log

    @classmethod
    @contextmanager
    def started(cls, module: str, arguments: Sequence[str], cores: frozenset[int], log: Path) -> "Iterator[Client]":
        """Run ``python -m module arguments`` held to ``cores``; end it with the ``with`` block."""
        with log.open("ab") as out:
            with pinned(cores):
                process = subprocess.Popen([sys.executable, "-m", module, *arguments], stdout=out, stderr=out)
            try:
                yield cls(process, log)
            finally:
                process.terminate()
                try:
                    process.wait(_STOP_SECONDS)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()

    def check(self) -> None:
        """Raise `ClientError` when it is not running any more."""
        if self._process.poll() is not None:
            raise ClientError(f"{self._log.stem} ended with {self._process.returncode}:\n{self.last_words()}")

    def kill(self) -> None:
        """End it without warning."""
        self._process.kill()
        self._process.wait()

    def last_words(self) -> str:
        """Return the end of what it logged."""
        return self._log.read_text(errors="replace")[-3000:]

    def cpu_seconds(self) -> float:
        """Return the processor time of all its threads so far."""
        return cpu_seconds(self._process.pid)

    def peak_bytes(self) -> int:
        """Return the most memory that was resident at once."""
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        (line,) = (line for line in status.splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) * _KIBIBYTE


def cpu_seconds(pid: int) -> float:
    """Return the processor time of all threads of a process so far; 0 when it is gone."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return 0.0
    fields = stat.rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS
