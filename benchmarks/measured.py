"""What a command takes of processor and memory; ``python -m benchmarks.measured WORDS..`` is its starter.

The kernel's peak of a process (ru_maxrss) begins with that of the process that started it, and a benchmark, or the
tests around it, may have held far more than the command. So a process that holds next to nothing starts the command.
"""

import os
import subprocess
import sys
from collections.abc import Sequence
from typing import NamedTuple

import orjson

from benchmarks.process import ClientError

_KIBIBYTE = 1024


class Usage(NamedTuple):
    """What a command took: processor time of its own and of the system for it, and the most memory it held."""

    seconds: float
    peak_bytes: int


def usage_of(command: Sequence[str]) -> Usage:
    """Run a command to its end.

    Raises:
        ClientError: if it does not end with 0; the message holds the end of what it printed.
    """
    starter = (sys.executable, "-m", "benchmarks.measured", *command)
    done = subprocess.run(starter, stdout=subprocess.PIPE, check=False)
    said, _, found = done.stdout.rpartition(b"\n")
    if done.returncode != 0:
        raise ClientError(f"{' '.join(command)} ended with {done.returncode}:\n{said.decode(errors='replace')[-3000:]}")
    return Usage(*orjson.loads(found))


def main(command: Sequence[str]) -> int:
    """Run a command, then print what it took as a last line; return its exit code."""
    with subprocess.Popen(command) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    took = Usage(usage.ru_utime + usage.ru_stime, usage.ru_maxrss * _KIBIBYTE)
    sys.stdout.write(f"\n{orjson.dumps(list(took)).decode()}")
    return process.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
