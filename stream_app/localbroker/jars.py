"""The jars of a local broker: fetched once through Maven, checked against pinned sums, kept in a per-user cache."""

import fcntl
import hashlib
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from stream_app.localbroker import LocalBrokerError

KAFKA_VERSION = "4.1.2"
JAVA_MINIMUM = 17  # Kafka 4's brokers need it

_HERE = Path(__file__).parent
_COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"
_INSTALL = "Install both with: sudo apt-get install --yes openjdk-17-jre-headless maven"
_DOCKER = "Or use Docker instead: docker compose up --detach kafka"

Progress = Callable[[str], None]


def default_cache() -> Path:
    """Return the per-user folder that the jars are kept in."""
    return Path.home() / ".cache" / "landmark-stream" / f"kafka-{KAFKA_VERSION}"


def find_java() -> str:
    """Return the path of the machine's Java, new enough for Kafka."""
    asked = f"Java {JAVA_MINIMUM} or newer on the PATH"
    java = shutil.which("java")
    if java is None:
        raise LocalBrokerError(asked, "there is none", f"{_INSTALL}. {_DOCKER}")
    said = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    version = re.search(r'version "(\d+)', said)
    if version is None or int(version[1]) < JAVA_MINIMUM:
        found = f"{java} is version {version[1] if version else 'unknown'}"
        raise LocalBrokerError(asked, found, f"{_INSTALL}. {_DOCKER}")
    return java


def fetch_jars(folder: Path | None = None, progress: Progress = lambda _: None, pins: Path = _HERE) -> Path:
    """Return the folder of the jars; fetch them first when it is not there.

    ``pins`` holds ``pom.xml`` and ``jars.sha256``, which say what jars: those of the broker, unless given. Several
    processes may ask at once: one fetches, the others wait. A folder appears whole or not at all.
    """
    target = default_cache() if folder is None else folder
    if target.is_dir():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    with locked(target.with_name(f"{target.name}.lock")):
        if not target.is_dir():
            maven = _find_maven()
            with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name}-") as work:
                _copy(maven, pins, Path(work), progress)
                _verify(Path(work) / "lib", pins)
                (Path(work) / "lib").rename(target)
    return target


def _find_maven() -> str:
    maven = shutil.which("mvn")
    if maven is None:
        asked = f"Maven on the PATH, to fetch Apache Kafka {KAFKA_VERSION} once"
        raise LocalBrokerError(asked, "there is none", f"{_INSTALL}. {_DOCKER}")
    return maven


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Let one process at a time in."""
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _copy(maven: str, pins: Path, work: Path, progress: Progress) -> None:
    shutil.copy(pins / "pom.xml", work)
    progress(f"fetching Apache Kafka {KAFKA_VERSION} (about 45 MB, once)")
    command = [maven, "-B", _COPY, "-DincludeScope=runtime", f"-DoutputDirectory={work / 'lib'}"]
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
        raise LocalBrokerError("Maven fetching Apache Kafka", reason, "Check the network, try again")


def _verify(folder: Path, pins: Path) -> None:
    wanted = {}
    for line in (pins / "jars.sha256").read_text().splitlines():
        digest, name = line.split()
        wanted[name] = digest
    found = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}
    if wrong := sorted(name for name in wanted.keys() | found.keys() if wanted.get(name) != found.get(name)):
        remedy = "Remove these from Maven's local repository, or look at who serves them, and try again"
        raise LocalBrokerError("the pinned jars of Apache Kafka", f"other contents in {', '.join(wrong)}", remedy)
