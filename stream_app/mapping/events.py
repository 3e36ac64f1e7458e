"""The events of a mapped file, in time order: one for each row that counts and has a value."""

import io
import pickle
import re
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import chain, islice
from typing import Final

from stream_app.calendar.localtime import milliseconds
from stream_app.formats import wire
from stream_app.mapping.cells import FIRST, Cell, DatedRow, FileError, Numbers, PickedCells, text_of
from stream_app.mapping.clock import Clock, Moments
from stream_app.mapping.delimited import delimited_rows
from stream_app.mapping.documents import json_rows, xml_rows
from stream_app.mapping.form import FileMapping, MappingError
from stream_app.mapping.language import language_of, text_in
from stream_app.words.amount import quoted

_COMPARED: Final = 1_000
"""The number of rows at the start that show whether the newest rows come first."""
_BLOCK: Final = 10_000


class MappedFile:
    """The events of one file, read with a mapping, and what was omitted."""

    def __init__(self, mapping: FileMapping) -> None:
        """Raise `MappingError` if the mapping lacks something that every file needs."""
        if lacking := tuple(mapping.lacking()):
            raise MappingError(lacking)
        self._mapping = mapping
        self._numbers, self._clock, self._moments = Numbers(mapping), Clock(mapping), Moments(mapping.zone)
        self.left_out = Counter[str]()
        """Rows that yielded no event.

        Keys: ``other`` (unmet conditions), ``missing``, ``first`` (of a register) and ``above`` (the column names).
        """
        self.unread = Counter[str]()
        """The number of events not read in full: with no ``time``, or with a ``value`` that is text or missing."""
        self.count = 0
        """Events so far."""
        self.series = set[str]()
        self.newest_first = False
        """Whether the newest rows come first in the file; if so, the file is read from the end."""

    def events(self, found: io.BufferedReader) -> Iterator[tuple[int, bytes]]:
        """Yield, for each event, the number of its line or record and its bytes, oldest first.

        Raises `FileError` for a file that does not fit, and `UnicodeDecodeError` for text that is not UTF-8.
        """
        numbers, end = self._numbers, self._mapping.stamp == "end"
        rows = self._oldest_first(found)
        for row, moment_ms in self._moments.of(rows):
            try:
                value = numbers.value(row.series, row.parts)
            except FileError as error:
                raise FileError(error.message, row.number) from None
            if value is FIRST:
                self.left_out["first"] += 1
                continue
            at_ms = moment_ms - 1 if end and moment_ms is not None else moment_ms
            if at_ms is None:
                self.unread["time"] += 1
            if type(value) is not float and not _is_read(value):
                self.unread["value"] += 1
            event = {"type": "observation", "series": row.series, "timestamp": at_ms, "value": value}
            self.count += 1
            yield row.number, wire.dump(event)

    def moments(self, found: io.BufferedReader) -> Iterator[int | None]:
        """Yield the moments of the rows that count, oldest first; yield None for a row without a time.

        Raises the same errors as `events`.
        """
        rows = self._oldest_first(found)
        return (moment_ms for _, moment_ms in self._moments.of(rows))

    def _oldest_first(self, found: io.BufferedReader) -> Iterator[DatedRow]:
        rows = self._dated(self._picked(found))
        head = list(islice(rows, _COMPARED))
        self.newest_first = _newest_first(head)
        return _turned(head, rows) if self.newest_first else chain(head, rows)

    def _picked(self, found: io.BufferedReader) -> Iterator[PickedCells]:
        """Yield the requested cells."""
        match language_of(found):
            case "json":
                return json_rows(found, self._mapping)
            case "xml":
                return xml_rows(found, self._mapping)
            case "text":
                return delimited_rows(text_in(found), self._mapping, self._is_time, self.left_out)

    def _is_time(self, cells: Sequence[Cell]) -> bool:
        try:
            return self._clock.stamp(cells) is not None
        except FileError:
            return True  # a later error names the row

    def _dated(self, rows: Iterable[PickedCells]) -> Iterator[DatedRow]:
        """Yield the rows that count and have a value, with their parsed times."""
        mapping, numbers, clock, seen = self._mapping, self._numbers, self._clock, self.series
        place = {name: nth for nth, name in enumerate(mapping.columns)}
        times = [place[name] for name in mapping.timestamp_columns]
        parts = [place[name] for name in mapping.value_columns.values()]
        where = [(place[each.column], each.text, each.equal) for each in mapping.where]
        mixes, sort = bool(mapping.single), _Sort(mapping.single, [place[name] for name in mapping.single])
        named = None if mapping.series_column is None else place[mapping.series_column]
        series = mapping.series
        for number, cells in rows:
            if where and not all((text_of(cells[at]) == text) == equal for at, text, equal in where):
                self.left_out["other"] += 1
                continue
            values = [cells[at] for at in parts]
            if numbers.lacks(values):
                self.left_out["missing"] += 1
                continue
            try:
                stamp = clock.stamp([cells[at] for at in times])
            except FileError as error:
                raise FileError(f"{' and '.join(mapping.timestamp_columns)}: {error.message}", number) from None
            if named is not None:
                series = text_of(cells[named]) or None
            if mixes:
                sort.check(series, cells, number)
            if series is not None:
                seen.add(series)
            yield DatedRow(number, series, stamp, values)

    def told(self) -> Iterator[str]:
        """Yield what the owner of the file should know about it."""
        # PRIVACY: how many rows have no value is known from the raw data alone: this is for the owner of the file.
        if told := ", ".join(f"{count:,} {_LEFT_OUT[what]}" for what, count in sorted(self.left_out.items())):
            yield f"skipped rows: {told}"
        if assumed := self._moments.assumed:
            what = f"rows in an hour that clocks show twice, although no time goes back: {assumed:,}"
            yield (
                f"{what}; they are read as the first occurrence of the hour; if they belong to the second "
                "occurrence, add their offset"
            )
        if self._mapping.stamp is None and (ends := list(filter(_is_end, self._mapping.timestamp_columns))):
            what = (
                f"{' and '.join(ends)} may be the end of an interval; if so, add --stamp end, otherwise --stamp start"
            )
            yield f"{what}: otherwise landmarks would be one interval away from their readings"
        yield from alike(self.series)

    def told_of_events(self) -> Iterator[str]:
        """Yield the faults for which a policy would reject the events."""
        for what, count in sorted(self.unread.items()):
            yield f"events {_UNREAD[what]}: {count:,}; they are printed unchanged, and a policy would reject them"


def alike(series: Iterable[str]) -> Iterator[str]:
    """Yield a question about series whose names differ only in case or spaces.

    If such series belong to one person, that person would have two budgets.
    """
    by_letters: dict[str, list[str]] = {}
    for name in sorted(series):
        by_letters.setdefault(" ".join(name.casefold().split()), []).append(name)
    for names in by_letters.values():
        if len(names) > 1:
            told = f"{' and '.join(map(quoted, names))} differ only in case or spaces"
            yield f"{told}; if they are one series, correct the names: each name has its own budget"


_ENDS: Final = frozenset({"end", "ends", "till", "until", "to", "tot", "bis", "ende", "fin", "fine", "slut"})


def _is_end(column: str) -> bool:
    """Return whether a column's name marks the end of something."""
    return not _ENDS.isdisjoint(word.lower() for word in re.findall(r"[A-Z]*[^\W\d_A-Z]+|[A-Z]+", column))


_LEFT_OUT: Final = {
    "other": "that --where excludes",
    "missing": "without a value, as --missing says",
    "first": "as the first reading of a register",
    "above": "in a table above the line of column names",
}
_UNREAD: Final = {
    "time": "without a readable time (null)",
    "value": "with a value that is not a number, true or false",
}


class _Sort:
    """Rejects a series that mixes kinds of readings, such as steps and heart rate in one column."""

    def __init__(self, columns: Sequence[str], places: Sequence[int]) -> None:
        self._columns, self._places = columns, places
        self._known: dict[str | None, list[str]] = {}

    def check(self, series: str | None, cells: Sequence[Cell], number: int) -> None:
        """Raise `FileError` for a row whose kind differs from that of earlier rows in its series."""
        found = [text_of(cells[at]) for at in self._places]
        if (known := self._known.setdefault(series, found)) != found:
            # PRIVACY: the message names the column but not its texts, which belong to the raw data.
            name = next(name for name, one, other in zip(self._columns, found, known, strict=True) if one != other)
            message = f"{name}: differs from earlier rows, so the file has several sorts of reading"
            raise FileError(f"{message}; choose one with --where {name}=TEXT, or add --series-column {name}", number)


def _is_read(value: object) -> bool:
    return all(map(_is_read, value.values())) if isinstance(value, dict) else isinstance(value, int | float)


def _newest_first(head: Iterable[DatedRow]) -> bool:
    """Return whether, compared with the previous row of their series, more rows are earlier than later."""
    steps = Counter[bool]()
    before: dict[str | None, int] = {}
    for row in head:
        if row.stamp is not None:
            found = _compared(row.stamp)
            if (last := before.get(row.series, found)) != found:
                steps[found < last] += 1
            before[row.series] = found
    return steps[True] > steps[False]


def _turned(head: list[DatedRow], rest: Iterator[DatedRow]) -> Iterator[DatedRow]:
    """Yield rows from last to first, keeping them in an unnamed file."""
    # PRIVACY: raw values wait in an unnamed file of mode 0600, which is gone when the run ends, however it ends.
    with tempfile.TemporaryFile() as spool:
        places = []
        while head:
            places.append(spool.tell())
            pickle.dump([tuple(row) for row in head], spool, pickle.HIGHEST_PROTOCOL)
            head = list(islice(rest, _BLOCK))
        for place in reversed(places):
            spool.seek(place)
            for row in reversed(pickle.load(spool)):  # noqa: S301 (what this function wrote)
                yield DatedRow(*row)


def _compared(stamp: int | datetime) -> int:
    """Return a number for comparing times; local times are assumed to share one zone."""
    if isinstance(stamp, int):
        return stamp
    return milliseconds(stamp.replace(tzinfo=UTC))
