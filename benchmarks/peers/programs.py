"""The peers' programs, made on first use: jars, a Java program, Python environments.

Jars and the Quix Streams environment stay in the per-user cache, like the broker's jars; the rest is made for each run.
"""

import hashlib
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from benchmarks.rig.process import ClientError
from stream_app.localbroker.machine import KAFKA_VERSION, default_cache, fetch_jars, find_java, locked

ROOT = Path(__file__).parents[2]
_HERE = Path(__file__).parent
_PINS = _HERE / "quix.txt"


@dataclass(frozen=True)
class Programs:
    """The programs of a run, in its ``folder``."""

    folder: Path

    @cached_property
    def streams(self) -> list[str]:
        """The Kafka Streams program as a command without arguments.

        Raises:
            ClientError: if there is no Java compiler, or if it rejects the program.
            LocalBrokerError: if Java or Maven is missing.
        """
        jars = fetch_jars(default_cache().with_name(f"kafka-streams-{KAFKA_VERSION}"), pins=_HERE)
        classes = self.folder / "classes"
        if shutil.which("javac") is None:
            raise ClientError("Kafka Streams needs a Java compiler: sudo apt-get install --yes openjdk-17-jdk-headless")
        compiling = ["javac", "-Xlint:all", "-Werror", "-cp", f"{jars}/*", "-d", str(classes)]
        _done([*compiling, str(_HERE / "PeerStreams.java")])
        return [find_java(), "-Xms512m", "-Xmx512m", "-cp", f"{classes}:{jars}/*", "PeerStreams"]

    @cached_property
    def quix(self) -> str:
        """The Python of an environment with Quix Streams; raises `ClientError` if it cannot be made."""
        pins = hashlib.sha256(_PINS.read_bytes() + sys.version.encode()).hexdigest()
        place = default_cache().with_name(f"quix-{pins[:16]}")
        python, whole = place / "bin" / "python", place / "whole"
        place.parent.mkdir(parents=True, exist_ok=True)
        with locked(place.with_name(f"{place.name}.lock")):
            if not whole.exists():
                _done([sys.executable, "-m", "venv", "--clear", str(place)])
                _done([*_pip(python), "-r", str(_PINS)])
                whole.touch()
        return str(python)


def python_of(tree: Path) -> Path:
    """Return the Python for a checkout's worker: its own environment's, unless it is this checkout."""
    return Path(sys.executable) if tree == ROOT else tree / ".venv" / "bin" / "python"


def _pip(python: Path) -> list[str]:
    return [str(python), "-m", "pip", "install", "-qq", "--disable-pip-version-check"]


def _done(command: Sequence[str]) -> None:
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        raise ClientError(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout[-3000:]}")
