"""One real broker a run: the first test process that needs it starts it, whatever process the run began with ends it.

Test processes of pytest-xdist know the folder in which it runs, where `LocalBroker.find` tells its address.
"""

import fcntl
import shutil
import tempfile
import uuid
from pathlib import Path

from stream_app.localbroker.broker import LocalBroker


def new_folder() -> Path:
    """Return the path of a folder for the run's broker, which is made when the broker is asked for."""
    return Path(tempfile.gettempdir()) / f"tests-broker-{uuid.uuid4().hex}"


def shared_broker(folder: Path) -> LocalBroker:
    """Return the broker that runs in a folder, started if this is the first process that asks."""
    folder.mkdir(mode=0o700, exist_ok=True)
    with (folder / "asking").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return LocalBroker.find(folder / "kafka") or LocalBroker.start(folder / "kafka")


def end_broker(folder: Path) -> None:
    """Stop the broker of a folder and remove the folder, if one was started."""
    if not folder.exists():
        return
    running = LocalBroker.find(folder / "kafka")
    if running is not None:
        running.stop()
    shutil.rmtree(folder)
