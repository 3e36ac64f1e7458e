"""The language in which a file is written, recognized by its beginning."""

import io
from typing import Literal

from stream_app.formats.documents import MARK

Language = Literal["json", "xml", "text"]


def language_of(found: io.BufferedReader) -> Language:
    """Return the language of a file before it is read; anything but JSON and XML is text with columns."""
    match found.peek(1 << 12).removeprefix(MARK).lstrip()[:1]:
        case b"{" | b"[":
            return "json"
        case b"<":
            return "xml"
        case _:
            return "text"


def text_in(found: io.BufferedReader) -> io.TextIOBase:
    """Return the text of a file; reading it raises `UnicodeDecodeError` if it is not UTF-8."""
    return io.TextIOWrapper(found, encoding="utf-8-sig", newline="")
