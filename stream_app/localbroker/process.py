"""A process identified by its pid and start time: another process may get the same pid later."""

import contextlib
import os
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

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
