"""The demo's stage: a broker, topics, a key and a worker of its own in one folder, stopped at the end."""

import asyncio
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from stream_app.kafka.provision import make_and_check
from stream_app.localbroker.broker import LocalBroker
from stream_app.setup import keyfile
from stream_app.setup.settings import Settings

MARKER = "made-by-landmark-stream-demo"
STOP_SECONDS = 30.0

Tell = Callable[[str], None]


class StageError(Exception):
    """Folder or topics of the demo cannot be set up; the message names what and the remedy."""


@contextmanager
def stage(folder: Path, partitions: int, tell: Tell) -> Iterator[Path]:
    """Set everything up in an empty ``folder``, yield the configuration file, and stop what was started."""
    clear(folder)
    config = folder / "landmark-stream.toml"
    with LocalBroker.start(folder / "kafka", progress=tell) as broker:
        config.write_text(
            f'bootstrap_servers = "{broker.bootstrap_servers}"\n'
            f'application = "landmark-demo"\npartitions = {partitions}\n'
            f'key_file = "{folder / "demo.key"}"\ndata_folder = "{folder / "state"}"\nhttp_port = 0\n'
        )
        keyfile.create(folder / "demo.key")
        tell("making the topics")
        report = asyncio.run(make_and_check(Settings.load(config)))
        if report.differences:
            raise StageError("\n".join(map(str, report.differences)))
        tell("starting a worker")
        log = folder / "worker.log"
        command = [sys.executable, "-m", "stream_app", "worker", "--config", str(config)]
        with log.open("wb") as out, subprocess.Popen(command, stdout=out, stderr=out) as worker:
            try:
                yield config
            finally:
                worker.terminate()
                try:
                    worker.wait(STOP_SECONDS)
                except subprocess.TimeoutExpired:
                    worker.kill()


def clear(folder: Path) -> None:
    """Empty a folder that an earlier demo made, or make it; any other folder with content is refused."""
    if folder.exists() and any(folder.iterdir()):
        if not (folder / MARKER).exists():
            raise StageError(f"{folder} holds something that no demo made; name another with --folder")
        if (running := LocalBroker.find(folder / "kafka")) is not None:
            running.stop()
        shutil.rmtree(folder)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / MARKER).touch()
