"""Text for people: folded between words where a terminal shows it, as it is where a file or a program takes it."""

import sys
from shutil import get_terminal_size
from textwrap import fill


def say(text: str) -> None:
    """Print some lines; a terminal gets those that are wider than it in several, each further one indented."""
    if sys.stdout.isatty():
        width = get_terminal_size().columns
        text = "\n".join(folded(line, width) for line in text.splitlines())
    print(text)


def folded(line: str, width: int, further: int = 2) -> str:
    """Return a line in lines of at most `width` letters, further ones indented by so many spaces more.

    A word that is longer alone stays whole, to be copied.
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
