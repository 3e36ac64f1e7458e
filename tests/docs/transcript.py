"""Compares output with what a page shows: ``…`` stands for any text, or on its own for any lines."""

import re

ELLIPSIS = "…"


def literal(shown: str) -> bool:
    """Return whether a line contains anything besides ``…``, blanks and frame characters."""
    return re.search(r"[^\W_]", shown.replace(ELLIPSIS, "")) is not None


def agrees(shown: str, printed: str) -> bool:
    """Return whether output is as a page shows it, ignoring blanks at line ends and at the end of the text."""
    pattern = "".join(_of_line(row.rstrip()) for row in shown.rstrip().splitlines())
    return re.fullmatch(pattern, "".join(f"{row.rstrip()}\n" for row in printed.rstrip().splitlines())) is not None


def _of_line(shown: str) -> str:
    if shown == ELLIPSIS:
        return r"(?:[^\n]*\n)*?"
    return r"[^\n]*".join(map(re.escape, shown.split(ELLIPSIS))) + r"\n"
