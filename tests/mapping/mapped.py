"""Test files, read under a mapping."""

import io
import json
from typing import Any

from stream_app.mapping.events import MappedFile
from stream_app.mapping.members import mapping_of

PLAIN = {"series": "s", "timestamp_column": "time", "value_columns": "kwh"}


def events(text: str | bytes, **members: Any) -> list[tuple[Any, Any]]:
    """Return the times and values that a file represents, under `PLAIN` with other members on top."""
    return [(found["timestamp"], found["value"]) for found in records(text, **members)]


def records(text: str | bytes, **members: Any) -> list[Any]:
    """Return the event records that a file represents."""
    _, found = read(text, **members)
    return found


def read(text: str | bytes, **members: Any) -> tuple[MappedFile, list[Any]]:
    """Return the file as it was read, and its event records."""
    content = text.encode() if isinstance(text, str) else text
    given = {
        name: value for name, value in (PLAIN | members).items() if name != "series" or "series_column" not in members
    }
    mapped = MappedFile(mapping_of(given))
    return mapped, [json.loads(record) for _, record in mapped.events(io.BufferedReader(io.BytesIO(content)))]
