"""One real broker per run: the first test process to need it starts it, the run's initial process ends it.

Test processes of pytest-xdist know the folder in which it runs, where `LocalBroker.find` finds its address.
"""

import fcntl
import shutil
import tempfile
import uuid
from pathlib import Path

from stream_app.localbroker.broker import LocalBroker


def new_folder() -> Path:
    """Return the path of a folder for the run's broker, which is created when the broker is requested."""
    return Path(tempfile.gettempdir()) / f"tests-broker-{uuid.uuid4().hex}"


def shared_broker(folder: Path) -> LocalBroker:
    """Return the broker that runs in a folder, starting it if this is the first process to ask."""
    folder.mkdir(mode=0o700, exist_ok=True)
    with (folder / "asking").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return LocalBroker.find(folder / "kafka") or LocalBroker.start(folder / "kafka")


def end_broker(folder: Path) -> None:
    """Stop a folder's broker and remove the folder, if one was started."""
    if not folder.exists():
        return
    running = LocalBroker.find(folder / "kafka")
    if running is not None:
        running.stop()
    shutil.rmtree(folder)
