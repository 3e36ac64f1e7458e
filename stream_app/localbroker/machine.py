"""What a local broker takes of its machine: ports that nobody listens on, and a process."""

import contextlib
import os
import signal
import socket
import subprocess
import time
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from stream_app.localbroker import LocalBrokerError

HOST: Final = "127.0.0.1"
_SERVERS: Final = range(20_000, 32_768)
"""Connections have those from 32768 on Linux, from 49152 elsewhere (RFC 6335, section 6)."""
_POLL_SECONDS = 0.02


def ports_of(asked: int | None, wished: Iterable[int | None]) -> tuple[int, int]:
    """Choose the broker's and the controller's port.

    Args:
        asked: the broker's port, which must be free; 0 for any free one, None for the first free one of ``wished``.
        wished: what it should be, best first; any free one where none of these is, and None counts as none.

    Raises:
        LocalBrokerError: if somebody listens on the port that was asked for.
    """
    if asked:
        if not _is_free(asked):
            raise LocalBrokerError(f"port {asked}", "another program listens there", "Give another --port, or none")
        port = asked
    else:
        port = 0 if asked == 0 else next((one for one in wished if one is not None and _is_free(one)), 0)
    found, controller = free_ports(2)
    # A port that is chosen by name may be what chance gives the controller.
    return (port, controller if controller != port else found) if port else (found, controller)


def free_ports(count: int) -> tuple[int, ...]:
    """Return ``count`` different free ports, none of which the system gives to outgoing connections.

    A server that is away for a moment finds its port free again: a client that calls it meanwhile from a port of the
    system's choice would get that very port one day, reach itself, and keep it.
    """
    with contextlib.ExitStack() as held:  # all at once, so that they differ
        found: list[int] = []
        while len(found) < count:
            probe, port = held.enter_context(socket.socket()), _SERVERS[uuid.uuid4().int % len(_SERVERS)]
            with contextlib.suppress(OSError):
                probe.bind((HOST, port))
                found.append(port)
    return tuple(found)


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as Kafka does: its last connections may linger
        with contextlib.suppress(OSError):
            probe.bind((HOST, port))
            return True
    return False


@dataclass(frozen=True, slots=True)
class Process:
    """One process of this machine, alive or gone, known by pid and start time: another may get the same pid later."""

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
