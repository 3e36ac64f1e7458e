"""Sealed rows of open units, kept in a file on disk while a partition is rebuilt.

The rows may exceed memory: a million series with half a day of open units need gigabytes. The file has no name after
its creation, so it disappears with the process, however the process ends.
"""

import os
import sqlite3
import tempfile
import weakref
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final, final

from stream_app.kafka.brokers import LocalStateError

_PAGES_KIB: Final = 16_384
"""The part of the file that stays in memory."""


@final
class SealedRows:
    """The rows of a partition by key; a row without content is to be deleted."""

    def __init__(self, folder: Path | None = None) -> None:
        """Create the file in ``folder``, or in the machine's temporary folder if ``folder`` is None.

        This call and later ones raise `LocalStateError` if there is no space.
        """
        self._folder: Final = folder if folder is not None and folder.is_dir() else Path(tempfile.gettempdir())
        with self._failing():
            # PRIVACY: only sealed rows are stored here, and only the owner of the file can read it.
            handle, name = tempfile.mkstemp(prefix="recover-", dir=self._folder)
            os.close(handle)
            # Garbage is collected in whichever thread allocates, and the collection may close this object.
            self._database: Final = sqlite3.connect(name, check_same_thread=False)
            weakref.finalize(self, self._database.close)
            try:
                for setting in ("journal_mode = OFF", "synchronous = OFF", f"cache_size = -{_PAGES_KIB}"):
                    self._database.execute(f"PRAGMA {setting}")
                self._database.execute("CREATE TABLE sealed (key BLOB PRIMARY KEY, row BLOB) WITHOUT ROWID")
            finally:
                Path(name).unlink()

    def read(self, key: bytes) -> bytes | None:
        """Return the row stored under a key, or None."""
        with self._failing():
            found = self._database.execute("SELECT row FROM sealed WHERE key = ?", (key,)).fetchone()
        return None if found is None else found[0]

    def put(self, rows: Mapping[bytes, bytes | None]) -> None:
        """Store rows, replacing existing ones."""
        with self._failing():
            self._database.executemany("INSERT OR REPLACE INTO sealed VALUES (?, ?)", rows.items())

    def delete(self, keys: Iterable[bytes]) -> None:
        """Mark rows written by others for deletion, unless a row is stored here under the same key."""
        with self._failing():
            self._database.executemany("INSERT OR IGNORE INTO sealed VALUES (?, NULL)", ((key,) for key in keys))

    def __iter__(self) -> Iterator[tuple[bytes, bytes | None]]:
        """Yield all rows, ordered by key."""
        with self._failing():
            yield from self._database.execute("SELECT key, row FROM sealed ORDER BY key")

    @contextmanager
    def _failing(self) -> Iterator[None]:
        """Raise `LocalStateError` if there is no space."""
        try:
            yield
        except (sqlite3.OperationalError, OSError) as error:
            found = f"sealed rows of open units are kept there until all are restored, but {error}; make room for them"
            raise LocalStateError("disk-full", self._folder, found) from None
