"""Processes beside this one: some that share work, none of which outlives one that was killed; and one more program."""

import multiprocessing
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

Given = ParamSpec("Given")
Found = TypeVar("Found")
_STOP_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Pool:
    """Processes that take work; ``pooled`` makes them."""

    _executor: ProcessPoolExecutor

    def submit(self, work: Callable[Given, Found], *given: Given.args, **named: Given.kwargs) -> Future[Found]:
        """Have some process call a function; raises `BrokenProcessPool` when one was ended from outside."""
        try:
            return self._executor.submit(work, *given, **named)
        except (OSError, ValueError) as error:  # of a process that begins: its pipe, or the pool's, is closed
            raise BrokenProcessPool(str(error)) from error


@contextmanager
def pooled(number: int, prepare: Callable[..., None], given: tuple[Any, ...]) -> Iterator[Pool]:
    """Give so many new processes, each of which calls ``prepare(*given)`` first; at the end none is left.

    Raises `BrokenProcessPool` when one of them is ended from outside, as systems do that have too little memory.
    """
    others = set(multiprocessing.active_children())
    context = multiprocessing.get_context("spawn")  # alike on all systems, and no thread of ours is copied
    with ProcessPoolExecutor(number, context, prepare, given) as executor:
        try:
            yield Pool(executor)
        except BrokenProcessPool:
            # Python's pool ends the processes that had begun when it broke; for one that was just beginning it would
            # wait without end (seen with 3.11: `submit` begins processes while another thread ends them).
            for process in set(multiprocessing.active_children()) - others:
                process.terminate()
            raise
        finally:
            executor.shutdown(cancel_futures=True)


@contextmanager
def running(
    words: tuple[str, ...], log: Path, environment: Mapping[str, str] | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a command of this program in a process of its own, whose output goes to a file; stop it at the end.

    ``environment`` is its own; None: that of this process.
    """
    command = [sys.executable, "-m", "stream_app", *words]
    with (
        log.open("wb") as logged,
        subprocess.Popen(command, stdout=logged, stderr=logged, env=environment) as process,
    ):
        try:
            yield process
        finally:
            process.terminate()
            try:
                process.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
