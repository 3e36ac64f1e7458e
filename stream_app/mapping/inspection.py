"""What a file is, judged by its first rows, and what its mapping still lacks.

PRIVACY: all of this is for people who have the file. Cells are shown as shapes, in which `9` stands for a digit and `a`
for letters. Nothing here proposes the range of a policy: a range taken from data reveals those data.
"""

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice, pairwise
from typing import Any, Final, Literal

from stream_app.mapping.cells import NUMBER, FileError, text_of
from stream_app.mapping.delimited import HEADER_LINES
from stream_app.mapping.documents import elements, loaded, records_of
from stream_app.mapping.form import SEPARATORS, UNITS, FileMapping
from stream_app.mapping.language import Language, language_of, text_in
from stream_app.mapping.members import shipped_mappings
from stream_app.mapping.timeforms import DAYS, formats_of, has_offset, is_hour

SAMPLED: Final = 1_000
"""The number of rows at the start whose cells are examined."""
MOST_WORDS: Final = 5
"""Maximum number of words among numbers; a column with more words contains text."""
_MOST: Final = 0.9
"""The share of a column's cells that must be times, or numbers."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column, represented by its first non-empty cells."""

    name: str
    cells: tuple[str, ...]
    empty: int

    @property
    def shapes(self) -> list[str]:
        """Return the most frequent shapes of the column's cells, at most three."""
        return [shape for shape, _ in Counter(map(shape_of, self.cells)).most_common(3)]

    @property
    def numbers(self) -> int:
        """Return how many cells are numbers."""
        return sum(NUMBER.fullmatch(cell.replace(",", ".", 1)) is not None for cell in self.cells)

    @property
    def words(self) -> list[str]:
        """Return the words among the column's numbers, such as High; return no words if there are many."""
        found = sorted({cell for cell in self.cells if not any(map(str.isdigit, cell))})
        return found if self.numbers and len(found) <= MOST_WORDS else []

    @property
    def thousands(self) -> bool:
        """Return whether the commas in the numbers could be thousands separators as well as decimal commas."""
        return self.comma and all(re.fullmatch(r"-?[0-9]{1,3}(,[0-9]{3})?", cell) for cell in self.cells if "," in cell)

    @property
    def comma(self) -> bool:
        """Return whether numbers have a decimal comma."""
        return any("," in cell for cell in self.cells) and not any("." in cell for cell in self.cells)


Form = Language | Literal["events"]
LANGUAGES: Final[dict[Form, str]] = {
    "text": "text with columns",
    "json": "JSON",
    "xml": "XML",
    "events": "event records, which need no mapping",
}


@dataclass(frozen=True, slots=True)
class Inspection:
    """What a file is, and its mapping, as far as the file reveals it."""

    form: Form
    columns: tuple[Column, ...]
    mapping: FileMapping
    separator: str | None = None
    header_line: int | None = None
    named: tuple[str, ...] = ()
    """Shipped mappings whose columns are all in the file."""
    times: tuple[str, ...] = ()
    """Columns that may hold times."""
    values: tuple[str, ...] = ()
    """Columns that may hold values."""
    formats: tuple[str, ...] = ()
    """Formats that fit all times; there are several if day and month can be swapped."""
    local: bool = False
    """Whether times have no offset."""


def shape_of(text: str) -> str:
    """Return a text with each digit replaced by 9, and each group of letters by one a."""
    return re.sub(r"a+", "a", re.sub(r"[^\W\d_]", "a", re.sub(r"[0-9]", "9", text)))


def inspected(found: io.BufferedReader) -> Inspection:
    """Return a description of a file; raise `FileError` if it is not a file of records."""
    match language_of(found):
        case "json":
            return _of_json(found)
        case "xml":
            return _of_xml(found)
        case "text":
            return _of_text(text_in(found))


def _of_text(text: io.TextIOBase) -> Inspection:
    head = list(islice(text, SAMPLED))
    if not "".join(head).strip():
        raise FileError("is empty")
    divided = [(",", [(1, [""])]), *_divided(head)]
    mark, rows = max(divided, key=lambda found: _regular([cells for _, cells in found[1]]))
    widths = Counter(len(cells) for _, cells in rows)
    width = max(widths, key=lambda count: (widths[count] * (count > 1), count))
    table = [(line, cells) for line, cells in rows if len(cells) == width]
    while width > 1 and not any(cells[-1] for _, cells in table):  # each row ends with a separator
        width -= 1
        table = [(line, cells[:width]) for line, cells in rows if len(cells[:width]) == width]
    names, header = [str(nth) for nth in range(1, width + 1)], 0
    timed = (nth for nth, (_, cells) in enumerate(table[:HEADER_LINES]) if any(formats_of([one]) for one in cells))
    numbered = (nth for nth, (_, cells) in enumerate(table[:HEADER_LINES]) if any(map(_is_number, cells)))
    first = next(chain(timed, numbered), 0)
    # The column names are the last ones above the first time, below any titles and other lines. The first column may
    # have no name: it numbers the rows, or says what a line is.
    named = [nth for nth, (_, cells) in enumerate(table[:first]) if all(cells[1:]) and not any(map(_is_number, cells))]
    if named and (table[named[-1]][1][0] or not any(formats_of([cells[0]]) for _, cells in table[first:])):
        header, names = table[named[-1]]
    table = [row for row in table[named[-1] + 1 if named else first :] if row[1] != names]  # names may recur
    columns = [_column(name, [cells[nth] for _, cells in table]) for nth, name in enumerate(names) if name]
    base = FileMapping(separator=mark, no_header=not header)
    return replace(_told("text", columns, base), separator=mark, header_line=header or None)


def _divided(head: Sequence[str]) -> Iterator[tuple[str, list[tuple[int, list[str]]]]]:
    for mark in SEPARATORS:
        reader = csv.reader(head, delimiter=mark)
        try:
            rows = [(reader.line_num, [cell.strip() for cell in cells]) for cells in reader if cells]
        except csv.Error:
            continue
        yield mark, [row for row in rows if not row[1][0].startswith("#")] or [(1, [""])]


def _regular(rows: Sequence[Sequence[str]]) -> tuple[float, int]:
    """Return the share of rows that have the most common number of columns above one, and that number."""
    widths = Counter(map(len, rows))
    width, count = max(widths.items(), key=lambda found: (found[1] * (found[0] > 1), found[0]))
    return (count / len(rows), width) if width > 1 else (0.0, width)


def _of_json(found: io.BufferedReader) -> Inspection:
    content = found.read()
    document, path = loaded(content), None
    if document is None:
        lines = enumerate(content.splitlines()[:SAMPLED], 1)
        document = [one for number, line in lines if (one := loaded(line, number)) is not None]
    if isinstance(document, dict) and (lists := list(_lists(document))):
        counts = Counter[str]()
        for each, count in lists:
            counts[each] += count
        samples = {each: _sample(document, each) for each in counts}
        path = _shipped_records(samples) or max(counts, key=lambda each: counts[each])
        records = samples[path]
    else:
        records = _sample([document] if isinstance(document, dict) else document, None)
    if records and all("series" in one and ("timestamp" in one or "type" in one) for one in records):
        return Inspection("events", (), FileMapping())
    if not records:
        raise FileError("contains no records; use a list of objects, or one object per line")
    return _told("json", _columns(records), FileMapping(records=path))


def _sample(document: Any, path: str | None) -> list[dict[str, str]]:
    return [dict(_flat(one)) for one in islice(records_of(document, path), SAMPLED) if isinstance(one, dict)]


def _lists(document: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, int]]:
    """Yield the path of each list of objects, with the list's length."""
    for name, found in document.items():
        path = f"{above}{name}"
        inner = [found] if isinstance(found, dict) else found if isinstance(found, list) else []
        if isinstance(found, list) and any(isinstance(one, dict) for one in found):
            yield path, len(found)
        for one in inner[:SAMPLED]:
            if isinstance(one, dict):
                yield from _lists(one, f"{path}.")


def _flat(record: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, str]]:
    for name, found in record.items():
        if isinstance(found, dict):
            yield from _flat(found, f"{above}{name}.")
        elif not isinstance(found, list):
            yield f"{above}{name}", text_of(found).strip()


def _of_xml(found: io.BufferedReader) -> Inspection:
    counts, samples = Counter[str](), dict[str, list[dict[str, str]]]()
    for name, members in islice(elements(found), 50 * SAMPLED):
        counts[name] += 1
        if len(members) > 1 and len(samples.setdefault(name, [])) < SAMPLED:
            samples[name].append(members)
    largest = max(samples, key=lambda each: counts[each] * len(samples[each][0]), default=None)
    best = _shipped_records(samples) or largest
    return _told("xml", _columns([] if best is None else samples[best]), FileMapping(records=best))


def _shipped_records(samples: Mapping[str, Sequence[Mapping[str, str]]]) -> str | None:
    """Return the record path of a shipped mapping if the samples have records with all of the mapping's columns."""
    for known in shipped_mappings().values():
        found = {name for one in samples.get(known.records or "", ()) for name in one}
        if found and set(known.columns) <= found:
            return known.records
    return None


def _columns(records: Sequence[Mapping[str, str]]) -> list[Column]:
    names = dict.fromkeys(name for one in records for name in one if name)
    return [_column(name, [one.get(name, "") for one in records]) for name in names]


def _column(name: str, cells: Iterable[str]) -> Column:
    every = list(cells)
    held = tuple(cell for cell in every if cell)
    return Column(name, held, len(every) - len(held))


def _is_number(cell: str) -> bool:
    return NUMBER.fullmatch(cell) is not None


def _told(form: Form, columns: Sequence[Column], base: FileMapping) -> Inspection:
    """Return as much of an inspection as the columns reveal."""
    by_name = {column.name: column for column in columns}
    found = {column.name: tuple(forms) for column in columns if (forms := formats_of(column.cells))}
    hours = [one.name for one in columns if one.cells and all(is_hour(cell) for cell in one.cells)]
    days = [name for name, forms in found.items() if set(forms) <= {"", *DAYS} and _is_day(by_name[name])]
    times: tuple[str, ...] = tuple(list(found)[:1])
    formats = found[times[0]] if times else ()
    if days and hours:
        times = days[0], hours[0]
        joined = [" ".join(pair) for pair in zip(by_name[days[0]].cells, by_name[hours[0]].cells, strict=False)]
        formats = tuple(formats_of(joined))
    values = _values(columns, {*found, *hours})
    parts = {part: name for part, names in _POSITION.items() for name in by_name if name.lower() in names}
    of_value = parts if len(parts) == len(_POSITION) else {"": values[0]} if len(values) == 1 else {}
    written = formats[0] if len(formats) == 1 and formats[0] not in {"", "ms"} else None
    decimal: Literal[".", ","] = "," if any(by_name[name].comma for name in of_value.values()) else "."
    mapping = replace(base, timestamp_columns=times, time_format=written, value_columns=of_value, decimal=decimal)
    named = tuple(
        name
        for name, known in shipped_mappings().items()
        if not base.no_header  # numbered columns identify no export
        if set(known.columns) <= set(by_name) and (form == "text" or known.records in {base.records, None})
    )
    sample = by_name[times[0]].cells[:SAMPLED] if len(times) == 1 else ()
    local = bool(times) and not all(one in UNITS for one in formats) and not any(has_offset(cell) for cell in sample)
    return Inspection(
        form, tuple(columns), mapping, named=named, times=tuple(found), values=values, formats=formats, local=local
    )


_POSITION: Final = {"latitude": {"lat", "latitude"}, "longitude": {"lon", "lng", "long", "longitude"}}


def _values(columns: Sequence[Column], times: set[str]) -> tuple[str, ...]:
    """Return the columns whose cells are mostly numbers, except columns of row numbers."""
    return tuple(
        one.name
        for one in columns
        if one.name not in times
        and one.numbers >= max(1, _MOST * (len(one.cells) - sum(one.cells.count(word) for word in one.words)))
        and len(set(one.cells)) > 1
        and not _counts(one.cells)
    )


def _counts(cells: Sequence[str]) -> bool:
    """Return whether the cells are row numbers."""
    whole = all(cell.isascii() and cell.isdigit() for cell in cells)
    return whole and {int(after) - int(before) for before, after in pairwise(cells)} <= {0, 1}


def _is_day(column: Column) -> bool:
    return not any(":" in cell for cell in column.cells)
