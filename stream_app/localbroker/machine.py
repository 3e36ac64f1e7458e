"""What a local broker needs from its machine: Java, Kafka's jars and free ports.

The jars are fetched once through Maven, checked against pinned hashes, and kept in a per-user cache.
"""

import contextlib
import fcntl
import hashlib
import os
import re
import shutil
import socket
import subprocess
import tempfile
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from stream_app.localbroker import LocalBrokerError

KAFKA_VERSION = "4.1.2"
JAVA_MINIMUM = 17  # Kafka 4's brokers need it

_HERE = Path(__file__).parent
_COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"
_REMEDY = (
    "Install both with: sudo apt-get install --yes openjdk-17-jre-headless maven. Or use Docker instead: "
    "docker compose up --detach kafka"
)

Progress = Callable[[str], None]


def default_cache() -> Path:
    """Return the folder for the jars, in the user's home or otherwise in the temporary folder.

    Raises `LocalBrokerError` if the home is not writable and other users own or can access the one in the temporary
    folder.
    """
    with contextlib.suppress(RuntimeError):  # the user has no home
        own = Path.home() / ".cache" / "landmark-stream"
        last = next(folder for folder in (own, *own.parents) if folder.exists())
        if last.is_dir() and os.access(last, os.W_OK):
            return own / f"kafka-{KAFKA_VERSION}"
    temporary = Path(tempfile.gettempdir()) / f"landmark-stream-{os.getuid()}"
    with contextlib.suppress(FileExistsError):
        temporary.mkdir(mode=0o700)
    found = temporary.lstat()
    if found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise LocalBrokerError(
            f"a folder at {temporary} that only this user can write to", "other users can write there", "Remove it"
        )
    return temporary / f"kafka-{KAFKA_VERSION}"


def find_java() -> str:
    """Return the path of an installed Java that is new enough for Kafka."""
    asked = f"Java {JAVA_MINIMUM} or newer on the PATH"
    java = shutil.which("java")
    if java is None:
        raise LocalBrokerError(asked, "found none", _REMEDY)
    said = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    version = re.search(r'version "(\d+)', said)
    if version is None or int(version[1]) < JAVA_MINIMUM:
        found = f"{java} is version {version[1] if version else 'unknown'}"
        raise LocalBrokerError(asked, found, _REMEDY)
    return java


def fetch_jars(folder: Path | None = None, progress: Progress = lambda _: None, pins: Path = _HERE) -> Path:
    """Return the folder of the jars, fetching them first if the folder is missing.

    ``pins`` contains ``pom.xml`` and ``jars.sha256``, which name the jars; the default pins are those of the broker. If
    several processes ask at once, one fetches the jars and the others wait. A folder appears completely or not at all.
    """
    target = default_cache() if folder is None else folder
    if target.is_dir():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    with locked(target.with_name(f"{target.name}.lock")):
        if not target.is_dir():
            with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name}-") as work:
                _copy(pins, Path(work), progress)
                _verify(Path(work) / "lib", pins)
                (Path(work) / "lib").rename(target)
    return target


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Allow one process at a time to enter."""
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _copy(pins: Path, work: Path, progress: Progress) -> None:
    maven = shutil.which("mvn")
    if maven is None:
        asked = f"Maven on the PATH, to fetch Apache Kafka {KAFKA_VERSION} once"
        raise LocalBrokerError(asked, "found none", _REMEDY)
    shutil.copy(pins / "pom.xml", work)
    progress(f"fetching Apache Kafka {KAFKA_VERSION} (about 45 MB, once)")
    # A separate repository: the user's is in a home that may not be writable and that Java determines itself.
    command = [maven, "-B", _COPY, "-DincludeScope=runtime", f"-DoutputDirectory={work / 'lib'}"]
    command += [f"-Dmaven.repo.local={work / 'repository'}"]
    said = []
    with subprocess.Popen(
        command, cwd=work, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True
    ) as run:
        for line in run.stdout or ():
            said.append(line)
            if (jar := re.search(r"Downloaded from .*/(\S+\.jar) \(", line)) is not None:
                progress(f"fetched {jar[1]}")
    if run.returncode != 0:
        reason = next((line.strip() for line in said if "ERROR" in line), f"it ended with code {run.returncode}")
        raise LocalBrokerError("Maven fetching Apache Kafka", reason, "Check the network and try again")


def _verify(folder: Path, pins: Path) -> None:
    pinned = map(str.split, (pins / "jars.sha256").read_text().splitlines())
    wanted = {name: digest for digest, name in pinned}
    found = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}
    if wrong := sorted(name for name in wanted.keys() | found.keys() if wanted.get(name) != found.get(name)):
        remedy = "Check the server that the jars come from, and try again"
        raise LocalBrokerError("the pinned jars of Apache Kafka", f"different contents in {', '.join(wrong)}", remedy)


HOST: Final = "127.0.0.1"
_SERVERS: Final = range(20_000, 32_768)
"""Server ports; outgoing connections use 32768 and up on Linux, 49152 and up elsewhere (RFC 6335, section 6)."""


def ports_of(preferred: int, *, other: bool) -> tuple[int, int]:
    """Choose the ports of the broker and the controller.

    Args:
        preferred: the broker's port; 0 means any free one.
        other: whether another free port will do if another program listens on ``preferred``.

    Raises:
        LocalBrokerError: if another program listens on ``preferred``, and no other port will do.
    """
    port = preferred if preferred and _is_free(preferred) else 0
    if preferred and not port and not other:
        remedy = "Stop it, or use another --port; --port 0 picks a free one"
        raise LocalBrokerError(f"port {preferred}", "another program is listening there", remedy)
    found, controller = free_ports(2)
    # The preferred port may also be the random port of the controller.
    return (port, controller if controller != port else found) if port else (found, controller)


def free_ports(count: int) -> tuple[int, ...]:
    """Return ``count`` different free ports that the system does not give to outgoing connections.

    A server that restarts must find its port free. A client that calls the server in the meantime, from a port that the
    system chooses, would one day get that very port, connect to itself, and keep the port.
    """
    with contextlib.ExitStack() as held:  # open together, so they differ
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
