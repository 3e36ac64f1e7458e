"""Rows of text with separators: CSV and similar formats."""

import csv
import io
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Final, NamedTuple

from stream_app.mapping.cells import Cell, FileError, PickedCells
from stream_app.mapping.form import SEPARATORS, FileMapping
from stream_app.plain import nearest

HEADER_LINES: Final = 30
"""How many lines to search for the column names, or for the first row if there are no names."""


def delimited_rows(
    text: io.TextIOBase, mapping: FileMapping, is_time: Callable[[Sequence[Cell]], bool], left_out: Counter[str]
) -> Iterator[PickedCells]:
    """Yield the rows below the line that names the columns.

    Without such a line, ``is_time`` shows where the rows begin. Rows of a table above that line are counted in
    ``left_out``.

    Raises `FileError` if no line names all columns, for a row with too many cells, and for invalid CSV.
    """
    head = list(islice(text, HEADER_LINES))
    if not "".join(head).strip():
        raise FileError("is empty; write a line of column names, and a line per event")
    if mapping.no_header:
        yield from _numbered(head, text, mapping, is_time)
        return
    found = next(_headers(head, mapping), None)
    if found is None:
        raise FileError(_not_found(head, mapping), 1)
    mark, line, names = found
    columns = _Columns.under(names, mapping)
    above = (cells for each, at, cells in _candidates(head, mapping) if each == mark and at < line)
    if rows := sum(columns.is_row(cells, is_time) for cells in above):
        left_out["above"] += rows
    yield from _Table(mapping, mark, is_time).rows(chain(head[line:], text), line, names)


def _headers(head: Sequence[str], mapping: FileMapping) -> Iterator[tuple[str, int, list[str]]]:
    """Yield each separator for which a line names all columns, with the line's number and names."""
    wanted = set(mapping.columns)
    for mark, line, names in _candidates(head, mapping):
        if wanted <= set(names):
            if several := next((name for name in mapping.columns if names.count(name) > 1), None):
                raise FileError(f"several columns are called {several}; give each column its own name", line)
            yield mark, line, names


def _candidates(head: Sequence[str], mapping: FileMapping) -> Iterator[tuple[str, int, list[str]]]:
    """Yield all lines, split by each possible separator."""
    for mark in SEPARATORS if mapping.separator is None else (mapping.separator,):
        reader = csv.reader(head, delimiter=mark)
        try:
            for cells in reader:
                yield mark, reader.line_num, [cell.strip() for cell in cells]
        except csv.Error:
            continue


class _Columns(NamedTuple):
    """The positions of the requested columns."""

    wanted: Sequence[int]
    times: Sequence[int]
    last: int  # of those
    width: int  # how many columns there are

    @classmethod
    def under(cls, names: Sequence[str], mapping: FileMapping) -> "_Columns":
        """Return the positions of the columns in a line that names them all."""
        wanted, times = ([names.index(name) for name in one] for one in (mapping.columns, mapping.timestamp_columns))
        return cls(wanted, times, max(wanted), len(names))

    def is_row(self, cells: Sequence[str], is_time: Callable[[Sequence[Cell]], bool]) -> bool:
        """Return whether a line has a time in the time columns."""
        return len(cells) > max(self.times) and is_time([cells[at].strip() for at in self.times])


class _Table:
    """Reads rows below the column names, which may be repeated on a later line."""

    def __init__(self, mapping: FileMapping, mark: str, is_time: Callable[[Sequence[Cell]], bool]) -> None:
        self._mapping, self._wanted, self._mark, self._is_time = mapping, mapping.columns, mark, is_time

    def rows(self, lines: Iterable[str], offset: int, names: Sequence[str]) -> Iterator[PickedCells]:
        """Yield the rows in the lines after line number ``offset``."""
        reader = csv.reader(lines, delimiter=self._mark, strict=True)
        columns, apart, above = _Columns.under(names, self._mapping), False, offset
        try:
            for cells in reader:
                above = offset + reader.line_num
                # A file with several tables names the columns again after an empty line and any comments.
                if not cells or (apart and cells[0].startswith("#") and not columns.is_row(cells, self._is_time)):
                    apart = not self._mapping.no_header
                    continue
                if apart:
                    apart = False
                    again = [cell.strip() for cell in cells]
                    if self._names_again(again, above):
                        columns = _Columns.under(again, self._mapping)
                        continue
                if len(cells) > columns.width and any(cells[columns.width :]):
                    raise FileError(
                        f"has {len(cells)} cells, but there are {columns.width} columns; write numbers with a decimal "
                        "point, or quote cells that contain the separator",
                        above,
                    )
                if len(cells) <= columns.last:
                    if not any(map(str.strip, cells)):
                        continue
                    cells += [""] * (columns.last + 1 - len(cells))  # noqa: PLW2901 (short rows end with empty cells)
                yield PickedCells(above, [cells[place].strip() for place in columns.wanted])
        except csv.Error as error:
            long = f"a cell has more than {csv.field_size_limit():,} characters; a closing quote may be missing"
            quote = "a quote is not closed, or is inside a cell; close it, or double it"
            raise FileError(long if "limit" in str(error) else quote, above + 1) from None

    def _names_again(self, cells: Sequence[str], line: int) -> bool:
        """Return whether a row names all columns; raise `FileError` for a row that names columns of another table."""
        if set(self._wanted) <= set(cells):
            return True
        if set(self._mapping.timestamp_columns) <= set(cells):
            missing = ", ".join(name for name in self._wanted if name not in cells)
            raise FileError(
                f"another table begins here, without a column {missing}; split the file into one file per table", line
            )
        return False


def _numbered(
    head: Sequence[str], text: Iterable[str], mapping: FileMapping, is_time: Callable[[Sequence[Cell]], bool]
) -> Iterator[PickedCells]:
    """Yield rows with numbered columns, starting with the first line that has a time in the right columns."""
    wanted = mapping.columns
    if strange := next((name for name in wanted if not re.fullmatch("[1-9][0-9]{0,5}", name)), None):
        raise FileError(f"without a header, columns are numbered from 1, but {strange} is not a column number")
    numbers = list(map(str, range(1, max(map(int, wanted)) + 1)))
    columns = _Columns.under(numbers, mapping)
    for mark, line, cells in _candidates(head, mapping):
        if columns.is_row(cells, is_time):
            names = [*numbers, *map(str, range(len(numbers) + 1, len(cells) + 1))]
            start = line - 1 if "\n" not in head[line - 1].rstrip("\r\n") else line
            yield from _Table(mapping, mark, is_time).rows(chain(head[start:], text), start, names)
            return
    asked = ", ".join(mapping.timestamp_columns)
    raise FileError(f"none of the first {len(head)} lines has a time in column {asked}; {_TIMES}", 1)


_TIMES: Final = "specify the columns and the format with --timestamp-column, --time-format and --separator"


def _not_found(head: Sequence[str], mapping: FileMapping) -> str:
    """Say which columns were not found, and which line matches best."""
    wanted = mapping.columns
    lines = [found for found in _candidates(head, mapping) if len(found[2]) > 1]
    best = max(lines, key=lambda found: (len(set(wanted) & set(found[2])), -found[1]), default=None)
    if best is None:
        all_of = ", ".join(wanted)
        return f"columns not found: {all_of}; no line has several columns; set the separator with --separator"
    mark, line, names = best
    missing = [name for name in wanted if name not in names]
    found = f"columns not found: {', '.join(missing)}" if missing[1:] else f"column not found: {missing[0]}"
    line_of = f"line {line}, separated by {SEPARATORS[mark]},"
    # PRIVACY: names are shown only if they include or resemble a requested name: others may be the first row's raw
    # values, or a person's name in a title. A requested number may be a value by chance.
    asked = [name for name in wanted if not name.isdigit()]
    near = [known for name in missing if name in asked and (known := nearest(name, names))]
    remedy = f"did you mean {', '.join(near)}?" if near else mapping.remedy_without(missing)
    question = remedy and f"; {remedy}"
    if set(asked) & set(names):
        return f"{found}; {line_of} has the columns {', '.join(names)}{question}"
    return (
        f"{found}{question}"
        if near
        else (
            f"{found}; {line_of} has {len(names)} cells; `landmark-stream inspect` lists the columns; if no line "
            "contains column names, use numbers with --no-header"
        )
    )
