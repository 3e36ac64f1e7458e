"""The run's own home: no program started by a test writes into the user's home, or finds anything there.

Earlier downloads are found again: our downloads folder is the user's.
"""

import os
import shutil
import tempfile
from pathlib import Path

from stream_app.localbroker.machine import default_cache

_ELSEWHERE = ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME")


def begin() -> Path:
    """Create the home, set it for this process and everything that it starts, and return it."""
    downloads = default_cache().parent
    downloads.mkdir(parents=True, exist_ok=True)
    home = Path(tempfile.mkdtemp(prefix="tests-home-"))
    (home / ".cache").mkdir()
    (home / ".cache" / "landmark-stream").symlink_to(downloads)
    os.environ["HOME"] = str(home)  # noqa: TID251 (of the programs that tests start)
    for name in _ELSEWHERE:
        os.environ.pop(name, None)  # noqa: TID251
    return home


def end(home: Path) -> None:
    """Remove the home; downloads stay."""
    shutil.rmtree(home)
