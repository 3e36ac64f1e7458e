"""Displays results: as text, with rich in a terminal, and as HTML in a notebook.

PRIVACY: only results are shown: releases, public policies and what follows from them, never a raw value. Every name
from a file or a policy is escaped.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from datetime import datetime
from html import escape
from typing import TYPE_CHECKING, Any, Final, NewType

if TYPE_CHECKING:
    from rich.console import RenderableType

Html = NewType("Html", str)
"""Markup in which all text is escaped."""
SHOWN: Final = 48
"""The number of rows shown in a table: two per hour of a day, with separate rows for landmarks.

The table states the total.
"""
LONGEST_CELL: Final = 40
"""The length, in characters, up to which HTML never breaks a cell."""


class Page(ABC):
    """A result that notebooks and terminals can show."""

    __slots__ = ()

    @abstractmethod
    def html(self) -> Html:
        """Return HTML without its own colours, so that it is readable on light and dark pages."""

    def _repr_html_(self) -> str:
        return self.html()

    def __rich__(self) -> "RenderableType":
        from rich.text import Text  # noqa: PLC0415 - a fifth of a second to load

        return Text(str(self))


def paragraph(title: str, text: str) -> Html:
    """Return a title and lines of text as HTML."""
    lines = "<br>".join(escape(line) for line in text.splitlines())
    return Html(f"<div><strong>{escape(title)}</strong><p>{lines}</p></div>")


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]], below: Iterable[str] = ()) -> Html:
    """Return an HTML table of the first rows, with lines of text below it."""
    head = "".join(f"<th>{escape(name)}</th>" for name in columns)
    body = "".join("<tr>" + "".join(_cell(shown(cell)) for cell in row) + "</tr>" for row in rows[:SHOWN])
    lines = [*below, *([f"{len(rows):,} rows, showing the first {SHOWN}"] if len(rows) > SHOWN else [])]
    text = "".join(f"<div>{escape(line)}</div>" for line in lines)
    return Html(
        f"<div><strong>{escape(title)}</strong><table><thead><tr>{head}</tr></thead>"
        f"<tbody>{body}</tbody></table>{text}</div>"
    )


def _cell(text: str) -> str:
    """Return an HTML cell; long text is broken so that it does not push other columns off the page."""
    style = ' style="overflow-wrap:anywhere;min-width:12em"' if len(text) > LONGEST_CELL else ""
    return f"<td{style}>{escape(text)}</td>"


def rich_table(
    title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]], below: Iterable[str] = ()
) -> "RenderableType":
    """Return the table for a terminal."""
    from rich.table import Table as RichTable  # noqa: PLC0415 - a fifth of a second to load
    from rich.text import Text  # noqa: PLC0415

    found = RichTable(title=Text(title), title_justify="left")
    for name in columns:
        found.add_column(Text(shown(name)))
    for row in rows[:SHOWN]:
        found.add_row(*(Text(shown(cell)) for cell in row))
    lines = [*below, *([f"{len(rows):,} rows, showing the first {SHOWN}"] if len(rows) > SHOWN else [])]
    found.caption = Text("\n".join(lines)) if lines else None
    return found


def plain_table(columns: Sequence[str], rows: Sequence[Sequence[Any]], below: Iterable[str] = ()) -> str:
    """Return the table as text."""
    cells = [[shown(name) for name in columns], *([shown(cell) for cell in row] for row in rows[:SHOWN])]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells]
    return "\n".join([*lines, *([f".. {len(rows):,} rows"] if len(rows) > SHOWN else []), *below])


def shown(cell: object) -> str:
    """Return a cell as text that cannot break its line or control the terminal."""
    match cell:
        case None:
            return ""
        case float():
            return f"{cell:.6g}"
        case datetime():
            return cell.isoformat(" ", timespec="auto").replace("+00:00", "Z")
        case _:
            text = str(cell)
            return text if text.isprintable() else ascii(text)
