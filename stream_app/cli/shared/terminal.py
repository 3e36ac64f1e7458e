"""Text for people: lines are wrapped between words in a terminal, and unchanged in files and for programs."""

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from shutil import get_terminal_size
from textwrap import fill
from typing import TypeVar


def say(text: str) -> None:
    """Print lines; in a terminal, wide lines are wrapped and continuation lines are indented."""
    if sys.stdout.isatty():
        width = get_terminal_size().columns
        text = "\n".join(folded(line, width) for line in text.splitlines())
    print(text)


def folded(line: str, width: int, further: int = 2) -> str:
    """Return a line wrapped to `width` characters; continuation lines are indented by ``further`` more spaces.

    A longer word stays whole, so that it can be copied.
    """
    if len(line) <= width:
        return line
    indent = " " * (len(line) - len(line.lstrip()) + further)
    return fill(
        line,
        width,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
        expand_tabs=False,
        replace_whitespace=False,
    )


Item = TypeVar("Item")
SHOWN_EVERY = 200  # items between two updates of a bar


@contextmanager
def progress(what: str) -> Iterator[Callable[[int, int], None] | None]:
    """Show a bar that the yielded function updates (done, total); yield None without a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    # The import takes a fifth of a second, which is longer than most audits of a file.
    from rich.console import Console  # noqa: PLC0415
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn  # noqa: PLC0415

    columns = (TextColumn(what), BarColumn(), TaskProgressColumn(show_speed=True), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total or None)


def tracked(items: Iterable[Item], what: str, far: Callable[[], tuple[int, int]] | int) -> Iterable[Item]:
    """Return the items; on a terminal, show a progress bar.

    ``far`` is the number of items, or a function that returns the amount done and the total (0 if unknown).
    """
    return _moving(items, what, far) if sys.stderr.isatty() else items


def _moving(items: Iterable[Item], what: str, far: Callable[[], tuple[int, int]] | int) -> Iterator[Item]:
    with progress(what) as shown:
        assert shown is not None, "a terminal is there"
        for number, item in enumerate(items):
            yield item
            if number % SHOWN_EVERY == 0:
                shown(*((number, far) if isinstance(far, int) else far()))
        shown(*((far, far) if isinstance(far, int) else far()))
