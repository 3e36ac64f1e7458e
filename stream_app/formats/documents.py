"""Parse JSON documents, one per file or one per line, and report each document's line number and fault."""

import re
from typing import NamedTuple

import orjson

from stream_app.plain import NOT_UTF8

NO_OBJECT = "is not a JSON object; write one in braces, with double quotes"
UNCLOSED = "is not valid JSON: it ends before its last bracket is closed; close the bracket"
MARK = b"\xef\xbb\xbf"  # UTF-8 byte order mark that some programs write; not part of the text

_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
_NO_NUMBER = re.compile("[-+ :,]?(NaN|Infinity)")

MOST_FAULTS = 5  # invalid lines that are reported


class Line(NamedTuple):
    """A document and its line number, counted from 1; for invalid JSON, the document is None and ``fault`` is set."""

    number: int
    document: object
    written: bytes
    fault: str = ""


def lines(content: bytes) -> list[Line]:
    """Return the documents in a file: the whole file as one document, or one per line."""
    content = content.removeprefix(MARK)
    if content.startswith(_UTF_16):
        return [Line(1, None, content, "is text in UTF-16; save it as UTF-8")]
    whole: Line | None = None  # the fault of a multi-line document, at its line
    if len(content.strip().splitlines()) > 1:
        begins = content[: len(content) - len(content.lstrip())].count(b"\n") + 1
        try:
            return [Line(begins, orjson.loads(content), content)]
        except orjson.JSONDecodeError as error:
            whole = Line(error.lineno, None, content, _fault(content, error))
    found = [line(text, number) for number, text in enumerate(content.splitlines(), start=1) if text.strip()]
    if whole is not None and all(each.fault for each in found[:2]) and content.lstrip()[:1] in {b"{", b"["}:
        return [whole]
    return _few(found)


def _few(found: list[Line]) -> list[Line]:
    """Return the lines, keeping only a few invalid ones; the last of these says how many were left out.

    If no line is an object, return only the first line, which says what the file looks like.
    """
    wrong = [each for each in found if each.fault]
    if wrong and len(wrong) == len(found) and found[1:] and wrong[0].fault == NO_OBJECT:
        behind = f"nor are the next {len(found) - 1:,} lines"
        return [wrong[0]._replace(fault=f"is not a JSON object, {behind}; {_like(wrong[0].written)}")]
    if len(wrong) <= MOST_FAULTS:
        return found
    last = wrong[MOST_FAULTS - 1]
    told = last._replace(fault=f"{last.fault}; {len(wrong) - MOST_FAULTS:,} more lines are not JSON")
    return [told if each is last else each for each in found if not each.fault or each.number <= last.number]


def _like(written: bytes) -> str:
    """Describe the format that a file appears to have, judging by its first line."""
    if b"=" in written:
        return "it looks like a configuration, for --config; specify a file of policies"
    if any(mark in written for mark in (b",", b";", b"\t")):
        return "it looks like CSV data; specify a file of policies"
    return "specify a file of policies, one JSON object per line"


def line(text: bytes, number: int) -> Line:
    """Return the document on a line."""
    try:
        return Line(number, orjson.loads(text), text)
    except orjson.JSONDecodeError as error:
        return Line(number, None, text, _fault(text, error))


def _fault(content: bytes, error: orjson.JSONDecodeError) -> str:
    """Return the reason why a text is invalid JSON, without quoting the text, because it may be private."""
    # PRIVACY: the message says nothing about the text there except JSON's own marks.
    text = content.decode(errors="replace")
    if "\ufffd" in text:
        return NOT_UTF8
    if "'" in text and '"' not in text:
        return "is not valid JSON: it has single quotes; use double quotes"
    if not text.lstrip().startswith(("{", "[")):
        return NO_OBJECT
    at = f"at character {error.colno}"
    if _NO_NUMBER.match(text, max(0, error.pos - 1)):
        return f"is not valid JSON, {at}: JSON has no NaN and no Infinity; omit the record, or use null"
    if text[error.pos : error.pos + 1] == "," and text[error.pos + 1 :].lstrip()[:1] in {"}", "]"}:
        return f"is not valid JSON: it has a comma before the closing bracket, {at}; remove it"
    if error.pos >= len(text.rstrip()):
        return UNCLOSED
    return f"is not valid JSON, {at}; check the commas, quotes and brackets there"
