"""Programs under measurement: a client on its own core, and a command's processor time and memory.

``python -m benchmarks.rig.process WORDS..`` runs a command and prints its usage. The kernel's peak of a process
(ru_maxrss) starts with that of its parent, and a benchmark, or the tests around it, may have held far more memory than
the command. So a process that holds almost nothing starts the command.
"""

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import orjson

from benchmarks.rig.machine import pinned

_STOP_SECONDS = 60.0
_KIBIBYTE = 1024


class ClientError(Exception):
    """The client ended or made no progress; the message holds the end of its log."""


class Client:
    """A running process under measurement."""

    def __init__(self, process: "subprocess.Popen[bytes]", log: Path) -> None:
        """Wrap a process; use ``running`` to create clients."""
        self._process = process
        self._log = log

    @classmethod
    @contextmanager
    def started(cls, module: str, arguments: Sequence[str], cores: frozenset[int], log: Path) -> "Iterator[Client]":
        """Run ``python -m module arguments`` pinned to ``cores``; end it with the ``with`` block."""
        with cls.running([sys.executable, "-m", module, *arguments], cores, log) as client:
            yield client

    @classmethod
    @contextmanager
    def running(
        cls, command: Sequence[str], cores: frozenset[int], log: Path, where: Path | None = None
    ) -> "Iterator[Client]":
        """Run a command pinned to ``cores``, in the folder ``where`` if given; end it with the ``with`` block."""
        with log.open("ab") as out:
            with pinned(cores):
                process = subprocess.Popen(command, stdout=out, stderr=out, cwd=where)
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
        """Raise `ClientError` if the process has ended."""
        if self._process.poll() is not None:
            raise ClientError(f"{self._log.stem} ended with {self._process.returncode}:\n{self.last_words()}")

    def kill(self) -> None:
        """Kill the process without warning."""
        self._process.kill()
        self._process.wait()

    def last_words(self) -> str:
        """Return the end of the log."""
        return self._log.read_text(errors="replace")[-3000:]

    def cpu_seconds(self) -> float:
        """Return the processor time of all the client's threads so far."""
        return cpu_seconds(self._process.pid)

    def peak_bytes(self) -> int:
        """Return its peak resident memory."""
        return self._memory("VmHWM:")

    def resident_bytes(self) -> int:
        """Return its current resident memory."""
        return self._memory("VmRSS:")

    def _memory(self, name: str) -> int:
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        (line,) = (line for line in status.splitlines() if line.startswith(name))
        return int(line.split()[1]) * _KIBIBYTE


def cpu_seconds(pid: int) -> float:
    """Return the processor time of all threads of a process so far, or 0 if it is gone.

    It is exact, unlike the clock ticks in /proc, which may be 0 for a short run.
    """
    clock = (~pid << 3) | 2  # clock_getcpuclockid(3) of Linux
    try:
        return time.clock_gettime(clock)
    except OSError:
        return 0.0


class Usage(NamedTuple):
    """A command's usage: its processor time, including system time, and its peak memory."""

    seconds: float
    peak_bytes: int


def usage_of(command: Sequence[str]) -> Usage:
    """Run a command to its end and return its usage.

    Raises:
        ClientError: if its exit code is not 0; the message holds the end of its output.
    """
    starter = (sys.executable, "-m", "benchmarks.rig.process", *command)
    done = subprocess.run(starter, stdout=subprocess.PIPE, check=False)
    said, _, found = done.stdout.rpartition(b"\n")
    if done.returncode != 0:
        raise ClientError(f"{' '.join(command)} ended with {done.returncode}:\n{said.decode(errors='replace')[-3000:]}")
    return Usage(*orjson.loads(found))


def main(command: Sequence[str]) -> int:
    """Run a command, then print its usage as the last line; return its exit code."""
    with subprocess.Popen(command) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    took = Usage(usage.ru_utime + usage.ru_stime, usage.ru_maxrss * _KIBIBYTE)
    sys.stdout.write(f"\n{orjson.dumps(list(took)).decode()}")
    return process.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
