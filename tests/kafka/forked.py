"""A program of ours in its own process, forked from one with its libraries: they cost most of a start."""

import gc
import multiprocessing
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from stream_app.cli import main

_FORKS = multiprocessing.get_context("forkserver")
_COMMANDS = ("operating.worker", "operating.keys", "operating.topics", "ledger.audit", "records.replay")
_FORKS.set_forkserver_preload([*(f"stream_app.cli.{name}" for name in _COMMANDS), "tests.kafka.forked"])

# The process that forks imports this last: no child looks for garbage among the libraries, which copies their pages.
gc.freeze()


class Forked:
    """A running program of ours, with the parts of `subprocess.Popen` that tests use.

    Stdout and stderr go to a file.
    """

    def __init__(
        self,
        words: tuple[str, ...],
        log: Path,
        folder: Path,
        environment: Mapping[str, str],
        prepare: Callable[[], None] | None = None,
    ) -> None:
        """Start ``landmark-stream`` with these arguments in a folder, after calling ``prepare`` there."""
        self._words = words
        log.touch()  # whoever waits for what it says looks at once
        self._process = _FORKS.Process(target=_be, args=(words, str(log), str(folder), dict(environment), prepare))
        self._process.start()

    @property
    def pid(self) -> int:
        """Its process id."""
        assert self._process.pid is not None, "it was started"
        return self._process.pid

    def poll(self) -> int | None:
        """Return the exit code, None while the program runs, or minus the number of the signal that ended it."""
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        """Wait until the program has ended and return its exit code; raises `subprocess.TimeoutExpired`."""
        self._process.join(timeout)
        code = self.poll()
        if code is None:
            raise subprocess.TimeoutExpired(self._words, timeout or 0)
        return code

    def send_signal(self, number: int) -> None:
        """Send the program a signal if it is running."""
        if self.poll() is None:
            with suppress(ProcessLookupError):  # it has ended since
                os.kill(self.pid, number)

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """Kill it without warning."""
        self.send_signal(signal.SIGKILL)


def completed(words: tuple[str, ...]) -> "subprocess.CompletedProcess[bytes]":
    """Run a command in the working folder until it ends; return its exit code and output."""
    with TemporaryDirectory() as folder:
        out, errors = Path(folder) / "stdout", Path(folder) / "stderr"
        errors.touch()
        apart = partial(_complain, str(errors))
        code = Forked(words, out, Path.cwd(), os.environ, apart).wait()  # noqa: TID251 (the child's)
        return subprocess.CompletedProcess(words, code, out.read_bytes(), errors.read_bytes())


def _complain(errors: str) -> None:
    """Write stderr to a separate file."""
    os.dup2(os.open(errors, os.O_WRONLY | os.O_APPEND), 2)


def _be(
    words: tuple[str, ...], log: str, folder: str, environment: dict[str, str], prepare: Callable[[], None] | None
) -> None:
    """Be the program: its exit code becomes that of the process."""
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    os.chdir(folder)
    # A fork server gives its children no environment of their own, as `subprocess` would: this one takes it over here.
    os.environ.clear()  # noqa: TID251 (nothing is read, and the program reads it in settings.py alone)
    os.environ.update(environment)  # noqa: TID251
    if prepare is not None:
        prepare()
    sys.exit(main(list(words)))
