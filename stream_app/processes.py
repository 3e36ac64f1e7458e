"""Manages other processes: workers that never outlive a killed parent, and other programs."""

import contextlib
import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, ParamSpec, TypeVar

_POLL_SECONDS = 0.02


@dataclass(frozen=True, slots=True)
class Process:
    """One process on this machine, alive or gone."""

    pid: int
    started: str  # opaque: clock ticks since boot on Linux, a date elsewhere

    @classmethod
    def of(cls, pid: int) -> "Process | None":
        """Return the living process that currently has the id ``pid``, or None."""
        started = _start_of(pid)
        return None if started is None else cls(pid, started)

    def alive(self) -> bool:
        """Return whether this exact process is still running."""
        # A child process that ended stays in the process table until its exit code is read.
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self.pid, os.WNOHANG)
        return _start_of(self.pid) == self.started

    def wait(self, seconds: float) -> bool:
        """Wait until the process ends; return whether it ended in time."""
        deadline = time.monotonic() + seconds
        while self.alive():
            if time.monotonic() > deadline:
                return False
            time.sleep(_POLL_SECONDS)
        return True

    def stop(self, patience_seconds: float) -> bool:
        """Send SIGTERM and, after ``patience_seconds``, SIGKILL; return whether the process has ended."""
        for number, seconds in ((signal.SIGTERM, patience_seconds), (signal.SIGKILL, 5.0)):
            if not self.alive():
                return True
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)
            if self.wait(seconds):
                return True
        return False


def _start_of(pid: int) -> str | None:
    """Return when the living process ``pid`` started, or None if there is no such process."""
    proc = Path("/proc")
    if (proc / "self").exists():
        try:
            # The command name is in brackets and may contain spaces: fields are counted after its last bracket.
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


class ProcessEndedError(Exception):
    """A process that shared work was ended from outside, for example by a system that is short of memory."""


class _Partner:
    """A process that calls functions read from standard input, and writes results to standard output.

    Each end of its pipes is open in only one process. So every wait on this side ends when the process ends, even in
    the middle of a message, and the process ends when this one ends. `multiprocessing` keeps both ends open here.
    """

    def __init__(self, prepare: Callable[..., None], given: tuple[Any, ...]) -> None:
        code = f"import sys; sys.path[:] = {sys.path!r}; from stream_app.processes import serve; serve()"
        self._process = subprocess.Popen(  # its own session: Ctrl-C in a terminal reaches only this process
            [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
        )
        self._first: tuple[Callable[..., None], tuple[Any, ...]] | None = (prepare, given)

    @property
    def pid(self) -> int:
        return self._process.pid

    def call(self, work: Callable[..., Found], given: tuple[Any, ...], named: Mapping[str, Any]) -> Found:
        if self._first is not None:
            self._answer(*self._first, {})
            self._first = None
        answer: Found = self._answer(work, given, named)
        return answer

    def _answer(self, work: Callable[..., Any], given: tuple[Any, ...], named: Mapping[str, Any]) -> Any:
        request = pickle.dumps((work, given, named))
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            _write(self._process.stdin, request)
            answer = _read(self._process.stdout)
        except (OSError, EOFError, ValueError) as error:  # ValueError: its pipes are closed at the end
            raise ProcessEndedError(f"process {self.pid} was killed") from error
        found, failed = pickle.loads(answer)  # noqa: S301 - of a process that this one began
        if failed is not None:
            raise failed
        return found

    def end(self) -> None:
        self._process.kill()
        self._process.wait()

    def close(self) -> None:
        for pipe in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):  # unwritten data has no reader any more
                if pipe is not None:
                    pipe.close()


def _write(pipe: IO[bytes], message: bytes) -> None:
    pipe.write(len(message).to_bytes(8, "big") + message)
    pipe.flush()


def _read(pipe: IO[bytes]) -> bytes:
    size = int.from_bytes(pipe.read(8), "big")
    message = pipe.read(size)
    if not size or len(message) < size:
        raise EOFError
    return message


def serve() -> None:
    """Run as a process of `pooled`: call the functions from standard input until the input ends."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # prints are not answers
    requests: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_receive, args=(requests,), daemon=True).start()
    with contextlib.suppress(BrokenPipeError):
        while True:
            message = requests.get()
            try:
                work, given, named = pickle.loads(message)  # noqa: S301 - of the process that began this one
                answer = pickle.dumps((work(*given, **named), None))
            except Exception as error:  # noqa: BLE001 - whoever asked has to know
                answer = pickle.dumps((None, error))
            _write(answers, answer)


def _receive(requests: "queue.SimpleQueue[bytes]") -> None:
    with contextlib.suppress(EOFError):
        while True:
            requests.put(_read(sys.stdin.buffer))
    os._exit(1)  # nobody waits for an answer now, even if work is running


@dataclass(frozen=True, slots=True)
class Pool:
    """Processes that share work, created by ``pooled``."""

    _threads: ThreadPoolExecutor
    _partners: tuple[_Partner, ...]
    _idle: "queue.SimpleQueue[_Partner]"

    @property
    def pids(self) -> tuple[int, ...]:
        """The ids of the processes."""
        return tuple(partner.pid for partner in self._partners)

    def submit(self, work: Callable[Given, Found], *given: Given.args, **named: Given.kwargs) -> Future[Found]:
        """Have an idle process call a function; the result raises `ProcessEndedError` if the process was ended."""
        return self._threads.submit(self._call, work, given, named)

    def _call(self, work: Callable[..., Found], given: tuple[Any, ...], named: Mapping[str, Any]) -> Found:
        partner = self._idle.get()
        try:
            return partner.call(work, given, named)
        finally:
            self._idle.put(partner)


@contextmanager
def pooled(number: int, prepare: Callable[..., None], given: tuple[Any, ...]) -> Iterator[Pool]:
    """Yield a pool of ``number`` new processes that first call ``prepare(*given)``; end them all on exit.

    Functions, arguments and results are pickled.
    """
    with ExitStack() as stack:
        partners: list[_Partner] = []
        for _ in range(number):
            partners.append(_Partner(prepare, given))
            stack.callback(partners[-1].close)
        threads = ThreadPoolExecutor(number)
        stack.callback(threads.shutdown)
        for partner in partners:
            stack.callback(partner.end)
        stack.callback(threads.shutdown, wait=False, cancel_futures=True)
        idle: queue.SimpleQueue[_Partner] = queue.SimpleQueue()
        for partner in partners:
            idle.put(partner)
        yield Pool(threads, tuple(partners), idle)


@contextmanager
def running(words: tuple[str, ...], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run a command of this program in its own process, writing its output to a file; stop the process at the end."""
    command = [sys.executable, "-m", "stream_app", *words]
    with log.open("wb") as logged, subprocess.Popen(command, stdout=logged, stderr=logged) as process:
        try:
            yield process
        finally:
            process.terminate()
            try:
                process.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
