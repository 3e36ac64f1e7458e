"""A real schema registry: Apicurio with Confluent's API, fetched once through Maven into a per-user cache."""

import hashlib
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

from stream_app.localbroker.machine import default_cache, free_ports
from tests.patience import ANSWER_SECONDS, awaited

VERSION = "3.0.9"  # the last one for Java 17
SHA256 = "2b28181501a20cbf6efcd77f9b7153908fc01f3d3a7c32024c0bd9e1b04c8a43"
GET = "org.apache.maven.plugins:maven-dependency-plugin:2.8:get"
"""Version 2.8 fetches an archive alone; later ones need its parent POM, which was never published."""


def fetched() -> Path:
    """Return the folder of the program; fetch its 109 MB first if it is missing."""
    target = default_cache().with_name(f"apicurio-registry-{VERSION}")
    if not target.is_dir():
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent) as work:
            archive = Path(work) / "registry.tar.gz"
            artifact = f"io.apicurio:apicurio-registry-app:{VERSION}:tar.gz:all"
            options = [f"-Dartifact={artifact}", "-Dtransitive=false", f"-Ddest={archive}"]
            options.append(f"-Dmaven.repo.local={Path(work) / 'repository'}")
            subprocess.run(["mvn", "-B", "-q", GET, *options], check=True, stdin=subprocess.DEVNULL)
            assert hashlib.sha256(archive.read_bytes()).hexdigest() == SHA256
            with tarfile.open(archive) as content:
                content.extractall(Path(work) / "program")  # noqa: S202 (of this sum; Python 3.11.2 knows no filter)
            shutil.move(Path(work) / "program", target)
    return target


@contextmanager
def registry(folder: Path) -> Iterator[str]:
    """Run a registry that keeps everything in memory, on a free loopback port; yield the address of its API."""
    (port,) = free_ports(1)
    home = fetched()
    settings = {"quarkus.http.host": "127.0.0.1", "quarkus.http.port": port, "apicurio.storage.kind": "sql"}
    options = ["-Xmx512m", "-XX:TieredStopAtLevel=1", *(f"-D{name}={value}" for name, value in settings.items())]
    jar = home / f"apicurio-registry-app-{VERSION}-runner.jar"
    log = folder / "registry.log"
    with log.open("wb") as out:
        process = subprocess.Popen(["java", *options, "-jar", str(jar)], cwd=folder, stdout=out, stderr=out)
    try:
        address = f"http://127.0.0.1:{port}/apis/ccompat/v7"
        awaited(lambda: process.poll() is not None or _answers(f"{address}/subjects"), log.read_text)
        assert process.poll() is None, log.read_text()[-3000:]
        yield address
    finally:
        process.kill()
        process.wait()


def _answers(address: str) -> bool:
    try:
        with urlopen(address, timeout=ANSWER_SECONDS):  # noqa: S310 - loopback
            return True
    except (URLError, OSError):
        return False
