"""The machine of a run, and the cores to which its programs are pinned."""

import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

_CPU_FACTS = Path("/proc/cpuinfo")


@dataclass(frozen=True, slots=True)
class Machine:
    """The machine of a run; figures mean little without it."""

    cpu: str
    cores: int
    python: str
    system: str
    load: float
    """Load average of the minute before the run; other programs make the figures worse."""

    @classmethod
    def this(cls) -> "Machine":
        """Return the machine that runs this program."""
        return cls(_cpu_model(), len(os.sched_getaffinity(0)), platform.python_version(), platform.platform(), _load())

    def document(self) -> dict[str, object]:
        """Return the facts as JSON values."""
        return {name: getattr(self, name) for name in self.__slots__}

    def __str__(self) -> str:
        """Return the facts on one line."""
        return f"{self.cpu}, {self.cores} cores, Python {self.python}, {self.system}, load {self.load:.1f}"


@dataclass(frozen=True, slots=True)
class Cores:
    """One core for the measured client, and the others for the broker and the observer."""

    client: frozenset[int]
    others: frozenset[int]

    @classmethod
    def split(cls) -> "Cores":
        """Divide the cores that this process may use; a single core is used for everything."""
        cores = sorted(os.sched_getaffinity(0))
        return cls(frozenset(cores[-1:]), frozenset(cores[:-1] or cores))


@contextmanager
def pinned(cores: frozenset[int]) -> Iterator[None]:
    """Pin this thread, and all programs and threads that it starts meanwhile, to ``cores``."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def _cpu_model() -> str:
    try:
        lines = _CPU_FACTS.read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.machine()


def _load() -> float:
    return round(os.getloadavg()[0], 2)
