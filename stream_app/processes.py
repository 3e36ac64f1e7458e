"""Processes beside this one: some that share work, none of which outlives one that was killed; and one more program."""

import contextlib
import itertools
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

_POLL_SECONDS = 0.02


@dataclass(frozen=True, slots=True)
class Process:
    """One process of this machine, alive or gone."""

    pid: int
    started: str  # opaque: clock ticks since boot on Linux, a date elsewhere

    @classmethod
    def of(cls, pid: int) -> "Process | None":
        """Return the living process that has ``pid`` now, or None."""
        started = _start_of(pid)
        return None if started is None else cls(pid, started)

    def alive(self) -> bool:
        """Tell whether this very process still runs."""
        # A child of ours that ended stays in the process table until somebody asks for its exit code.
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self.pid, os.WNOHANG)
        return _start_of(self.pid) == self.started

    def wait(self, seconds: float) -> bool:
        """Wait until the process ends; return whether it did in time."""
        deadline = time.monotonic() + seconds
        while self.alive():
            if time.monotonic() > deadline:
                return False
            time.sleep(_POLL_SECONDS)
        return True

    def stop(self, patience_seconds: float) -> bool:
        """Send SIGTERM, and after ``patience_seconds`` SIGKILL; return whether the process has ended."""
        for number, seconds in ((signal.SIGTERM, patience_seconds), (signal.SIGKILL, 5.0)):
            if not self.alive():
                return True
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)
            if self.wait(seconds):
                return True
        return False


def _start_of(pid: int) -> str | None:
    """Return when the living process ``pid`` began, or None when there is none."""
    proc = Path("/proc")
    if (proc / "self").exists():
        try:
            # The command's name stands in brackets and may hold spaces: fields are counted behind its last bracket.
            fields = (proc / str(pid) / "stat").read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            return None
        return None if fields[0] in "ZX" else fields[19]
    answer = subprocess.run(
        ["ps", "-o", "stat=,lstart=", "-p", str(pid)], capture_output=True, text=True, check=False
    ).stdout.split(maxsplit=1)
    return None if not answer or answer[0].startswith("Z") else answer[1].strip()


Given = ParamSpec("Given")
Found = TypeVar("Found")
_STOP_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Pool:
    """Processes that take work in turn; ``pooled`` makes them."""

    _turns: Iterator[ProcessPoolExecutor]

    def submit(self, work: Callable[Given, Found], *given: Given.args, **named: Given.kwargs) -> Future[Found]:
        """Have the next process call a function; raises `BrokenProcessPool` when it was ended from outside."""
        try:
            return next(self._turns).submit(work, *given, **named)
        except OSError as error:  # its pipe is closed, while it begins
            raise BrokenProcessPool(str(error)) from error


@contextmanager
def pooled(number: int, prepare: Callable[..., None], given: tuple[Any, ...]) -> Iterator[Pool]:
    """Give so many new processes, each of which calls ``prepare(*given)`` first; at the end none is left.

    Raises `BrokenProcessPool` when one of them is ended from outside, as systems do that have too little memory.
    """
    others = set(multiprocessing.active_children())
    context = multiprocessing.get_context("spawn")  # alike on all systems, and no thread of ours is copied
    with ExitStack() as stack:
        # Each executor has one process: one that had several would begin some while its thread ends others, and such
        # a process was waited for without end, or made that thread fail (seen with 3.11).
        executors = [ProcessPoolExecutor(1, context, prepare, given) for _ in range(number)]
        for executor in executors:
            stack.callback(executor.shutdown, cancel_futures=True)
        try:
            yield Pool(itertools.cycle(executors))
        except BrokenProcessPool:
            for process in set(multiprocessing.active_children()) - others:
                process.terminate()
            raise


@contextmanager
def running(
    words: tuple[str, ...], log: Path, environment: Mapping[str, str] | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a command of this program in a process of its own, whose output goes to a file; stop it at the end.

    ``environment`` is its own; None: that of this process.
    """
    command = [sys.executable, "-m", "stream_app", *words]
    with log.open("wb") as logged, subprocess.Popen(command, stdout=logged, stderr=logged, env=environment) as process:
        try:
            yield process
        finally:
            process.terminate()
            try:
                process.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
