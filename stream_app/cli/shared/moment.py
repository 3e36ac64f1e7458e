"""Moments as people write them: whole milliseconds since 1970, or ISO 8601 with an offset from UTC."""

import re
from datetime import datetime

from stream_app.cli import UsageError

INTEGER = re.compile(r"-?[0-9]{1,18}", re.ASCII)
"""Beyond it, no timestamp and no count."""


def milliseconds_of(text: str) -> int | None:
    """Return milliseconds since 1970-01-01 UTC, None for what is no moment; raises `UsageError` without an offset."""
    if INTEGER.fullmatch(text):
        return int(text)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    if moment.tzinfo is None:
        raise UsageError("a timestamp without offset from UTC; write one, as in 2026-01-31T08:00:00+01:00")
    # Exact: floats of seconds would misplace milliseconds.
    elapsed = moment - datetime.fromisoformat("1970-01-01T00:00:00+00:00")
    return (elapsed.days * 86_400 + elapsed.seconds) * 1000 + elapsed.microseconds // 1000
