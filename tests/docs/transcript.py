"""Output as a page shows it against output as it was: ``…`` stands for any text, alone for any lines."""

import re

ELLIPSIS = "…"


def literal(shown: str) -> bool:
    """Whether a line says anything besides ``…``, blanks and the strokes of a frame."""
    return re.search(r"[^\W_]", shown.replace(ELLIPSIS, "")) is not None


def agrees(shown: str, printed: str) -> bool:
    """Whether output is as a page shows it; blanks at the ends of lines and of the whole do not count."""
    pattern = "".join(_of_line(row.rstrip()) for row in shown.rstrip().splitlines())
    return re.fullmatch(pattern, "".join(f"{row.rstrip()}\n" for row in printed.rstrip().splitlines())) is not None


def _of_line(shown: str) -> str:
    if shown == ELLIPSIS:
        return r"(?:[^\n]*\n)*?"
    return r"[^\n]*".join(map(re.escape, shown.split(ELLIPSIS))) + r"\n"
