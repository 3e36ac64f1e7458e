"""How far a run is, on a terminal."""

import sys
from collections.abc import Callable
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import Progress, TaskID

Show = Callable[[str, int, int], None]
"""Shows progress: of what, how many are done, of how many."""


class Bars:
    """A bar for each thing that is waited for; none without a terminal."""

    def __init__(self) -> None:
        """Show nothing yet."""
        self._progress = Progress(console=Console(stderr=True), disable=not sys.stderr.isatty(), transient=True)
        self._bars: dict[str, TaskID] = {}

    def __enter__(self) -> Self:
        """Begin to show."""
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Take the bars away."""
        self._progress.stop()

    def show(self, what: str, done: int, total: int) -> None:
        """Show that ``done`` of ``total`` are done."""
        if what not in self._bars:
            self._bars[what] = self._progress.add_task(what, total=total)
        self._progress.update(self._bars[what], completed=done, total=total)
