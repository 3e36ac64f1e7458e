"""One real broker a run: the first test process that needs it starts it, whatever process the run began with ends it.

Test processes of pytest-xdist know the folder in which it runs, where `LocalBroker.find` tells its address.
"""

import fcntl
import shutil
import tempfile
from pathlib import Path

from stream_app.localbroker.broker import LocalBroker


def make_folder() -> Path:
    """Return a new folder for the run's broker; nothing runs there yet."""
    return Path(tempfile.mkdtemp(prefix="tests-broker-"))


def shared_broker(folder: Path) -> LocalBroker:
    """Return the broker that runs in a folder, started if this is the first process that asks."""
    with (folder / "asking").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return LocalBroker.find(folder / "kafka") or LocalBroker.start(folder / "kafka")


def end_broker(folder: Path) -> None:
    """Stop the broker of a folder, if one was started, and remove the folder."""
    running = LocalBroker.find(folder / "kafka")
    if running is not None:
        running.stop()
    shutil.rmtree(folder)
