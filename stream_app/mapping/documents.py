"""Records in JSON (lists or lines of objects) and XML (elements); dotted paths name the members of records."""

import io
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from typing import Any, Final

from defusedxml import ElementTree
from defusedxml.common import DefusedXmlException

from stream_app.formats import wire
from stream_app.formats.documents import MARK
from stream_app.mapping.cells import Cell, FileError, PickedCells
from stream_app.mapping.form import FileMapping
from stream_app.plain import nearest, some_of

MOST_NESTED: Final = 100
"""The maximum depth of members within members. Python's own limit is higher, and differs between processes."""
TOO_DEEP: Final = f"is nested too deeply, at more than {MOST_NESTED} levels; flatten its records"
LOOKED_AT: Final = 1_000
"""The number of records at the start; each column must be present in at least one of them."""


def json_rows(found: io.BufferedReader, mapping: FileMapping) -> Iterator[PickedCells]:
    """Yield the records of a JSON document, which is read as a whole, or of JSON lines.

    Raises `FileError` if the input is neither, or has no records.
    """
    head = [next(found, b"")]
    while head[-1].removeprefix(MARK).isspace():
        head.append(next(found, b""))
    if isinstance(loaded(head[-1]), dict):
        for line in found:
            head.append(line)
            if line.strip():
                yield from _picked(_lines(chain(head, found), mapping.records), mapping)
                return
    document = loaded(b"".join(head) + found.read())
    if document is None:
        raise FileError("is not valid JSON; use one document, or one record per line")
    if mapping.records is None and isinstance(document, dict) and set(mapping.timestamp_columns) <= document.keys():
        document = [document]  # the only line
    yield from _picked(enumerate(records_of(document, mapping.records), 1), mapping)


def _lines(lines: Iterable[bytes], path: str | None) -> Iterator[tuple[int, Any]]:
    """Yield the record on each line, or the records under a path if the line contains the path's first name."""
    begins = None if path is None else path.partition(".")[0]
    for number, line in enumerate(lines, 1):
        if line.strip():
            if (record := loaded(line, number)) is None:
                raise FileError("is not valid JSON", number)
            if begins is not None and isinstance(record, dict) and begins in record:
                yield from ((number, one) for one in records_of(record, path))
            else:
                yield number, record


def loaded(text: bytes, line: int | None = None) -> Any:
    """Return the parsed JSON, or None if it is invalid; raise `FileError` if it is nested too deeply."""
    try:
        found = wire.load(text.removeprefix(MARK))
    except ValueError:
        return None
    if text.count(b"{") + text.count(b"[") <= MOST_NESTED:
        return found  # as almost all lines
    level: list[Any] = [[found]]
    for _ in range(MOST_NESTED + 1):
        members = chain.from_iterable(each.values() if isinstance(each, dict) else each for each in level)
        level = [member for member in members if isinstance(member, dict | list)]
    if level:
        raise FileError(TOO_DEEP, line)
    return found


def records_of(document: Any, path: str | None) -> Iterator[Any]:
    """Yield what is found under a path, descending into any lists on the way."""
    found = [document]
    for name in [] if path is None else path.split("."):
        inner = [one for each in found for one in (each if isinstance(each, list) else [each])]
        found = [each[name] for each in inner if isinstance(each, dict) and name in each]
    lists = [each for each in found if isinstance(each, list)]
    if not lists and path is None and isinstance(document, dict):
        names = sorted(name for name, each in document.items() if isinstance(each, list))
        say = f"; it may be {' or '.join(map(repr, names))}" if names else ""
        raise FileError(f"is one object; set the path to its records with --records{say}")
    if not found:
        raise FileError(f"has no records under --records {path}")
    for each in found:
        yield from each if isinstance(each, list) else [each]


def _picked(records: Iterable[tuple[int, Any]], mapping: FileMapping) -> Iterator[PickedCells]:
    columns = mapping.columns
    paths = [(name, name.split(".")) for name in columns]
    known: set[str] = set()
    number, first = 0, dict[str, Any]()
    for number, record in records:
        if not isinstance(record, dict):
            raise FileError("is not an object; set the path to the records with --records", number)
        first = first or record
        cells = [_member(record, name, path) for name, path in paths]
        if number <= LOOKED_AT:
            known.update(name for name, cell in zip(columns, cells, strict=True) if cell is not None)
        yield PickedCells(number, cells)
        if number == LOOKED_AT:
            _all_there(mapping, known, first)
    if 0 < number < LOOKED_AT:
        _all_there(mapping, known, first)


def _all_there(mapping: FileMapping, known: Collection[str], record: dict[str, Any]) -> None:
    if missing := [name for name in mapping.columns if name not in known]:
        paths = list(_paths(record))
        near = [known for name in missing if (known := nearest(name, paths))]
        remedy = mapping.remedy_without(missing) or "specify nested members by their path, as in a.b"
        remedy = f"did you mean {', '.join(near)}?" if near else f"{remedy}."
        raise FileError(f"no record has {', '.join(missing)}; {remedy} The first has {some_of(paths, 'members')}")


def _paths(record: dict[str, Any], above: str = "") -> Iterator[str]:
    """Yield the paths of a record's members that are not objects."""
    for name, found in record.items():
        if isinstance(found, dict):
            yield from _paths(found, f"{above}{name}.")
        elif name:
            yield f"{above}{name}"


def _member(record: dict[str, Any], name: str, path: list[str]) -> Cell:
    found: Any = record.get(name)
    if found is None and len(path) > 1:
        found = record
        for step in path:
            found = found.get(step) if isinstance(found, dict) else None
    if isinstance(found, str):
        return found.strip()
    if found is None or isinstance(found, bool | int | float):
        return found
    return wire.dump(found).decode()


def xml_rows(found: io.BufferedReader, mapping: FileMapping) -> Iterator[PickedCells]:
    """Yield the elements that are records, one at a time, using constant memory.

    Raises `FileError` for invalid XML, for entities, and if no element has the required name.
    """
    if mapping.records is None:
        raise FileError("is XML; specify the element of a record with --records, as `landmark-stream inspect` suggests")
    with _refused():
        yield from _picked(enumerate(_elements(found, mapping.records), 1), mapping)


def _elements(found: io.BufferedReader, name: str) -> Iterator[dict[str, Any]]:
    outside: list[Any] = []  # the surrounding elements, and the depth within a record
    within, none = 0, True
    for event, element in _parsed(found):
        is_record = _local(element.tag) == name
        if event == "start":
            within += is_record
            if not within or (is_record and within == 1):
                outside.append(element)
            continue
        within -= is_record
        if within:
            continue
        if is_record:
            none = False
            yield _flat(element)
        outside.pop()
        if outside:
            outside[-1].remove(element)
    if none:
        raise FileError(f"has no element {name}; specify the element of a record with --records")


def elements(found: io.BufferedReader) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the name of each element as it ends, and its attributes and children by dotted path."""
    with _refused():
        for event, element in _parsed(found):
            if event == "end":
                yield _local(element.tag), _flat(element)


def _parsed(found: io.BufferedReader) -> Iterator[tuple[str, Any]]:
    """Yield the start and the end of each element; raise `FileError` if one is nested too deeply."""
    depth = 0
    for event, element in ElementTree.iterparse(found, events=("start", "end")):
        depth += 1 if event == "start" else -1
        if depth > MOST_NESTED:
            raise FileError(TOO_DEEP)
        yield event, element


@contextmanager
def _refused() -> Iterator[None]:
    try:
        yield
    except ElementTree.ParseError as error:
        raise FileError("is not valid XML", error.position[0]) from None
    except DefusedXmlException:
        raise FileError("contains entity declarations, which are not supported; remove them") from None
    except FileError:
        raise
    except (LookupError, ValueError):
        raise FileError("is not XML in a known encoding") from None


def _flat(element: Any) -> dict[str, Any]:
    """Return an element's attributes and children by dotted path."""
    found: dict[str, Any] = {_local(name): text for name, text in element.attrib.items()}
    for child in element:
        inner = _flat(child)
        name = _local(child.tag)
        found.setdefault(name, inner.pop(_TEXT))
        for path, text in inner.items():
            found.setdefault(f"{name}.{path}", text)
    found[_TEXT] = (element.text or "").strip()
    return found


_TEXT: Final = ""


def _local(tag: str) -> str:
    """Return a name without its namespace."""
    return tag.rpartition("}")[2]
