"""Markdown elements for the pages."""

import re
from collections.abc import Iterable, Sequence


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; cells are one-line Markdown, in which bars and line ends are made harmless."""
    lines = [header, ["---"] * len(header), *rows]
    return "".join(f"| {' | '.join(_cell(cell) for cell in line)} |\n" for line in lines)


def code(text: object) -> str:
    """Return text as code."""
    return f"`{text}`"


def sentence(text: str) -> str:
    """Return a meaning as a sentence, with a capital letter and a full stop if it lacks them."""
    text = text.strip()
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")


def anchor(heading: str) -> str:
    """Return the anchor of a heading, as Markdown renderers spell it."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def pages_top(title: str, sources: str) -> str:
    """Return the first lines of a page; ``sources`` says where its content is changed."""
    return f"# {title}\n\n<!-- Written by `make reference` from {sources}: change those, not this page. -->\n\n"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
