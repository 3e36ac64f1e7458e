"""Progress bars of long reading and sending; on a terminal only."""

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

Item = TypeVar("Item")


@contextmanager
def progress(what: str) -> Iterator[Callable[[int, int], None] | None]:
    """Show a bar that the yielded function moves (done, total); yield None where nobody watches."""
    if not sys.stderr.isatty():
        yield None
        return
    # It takes a fifth of a second to load, which is longer than most audits of a file take.
    from rich.console import Console  # noqa: PLC0415
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn  # noqa: PLC0415

    columns = (TextColumn(what), BarColumn(), TaskProgressColumn(show_speed=True), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def tracked(items: Iterable[Item], what: str) -> Iterable[Item]:
    """Return the items, with a bar that moves as they are taken, on a terminal."""
    from rich.console import Console  # noqa: PLC0415 - see `progress`
    from rich.progress import track  # noqa: PLC0415

    console = Console(stderr=True)
    return track(items, what, console=console) if console.is_terminal else items
