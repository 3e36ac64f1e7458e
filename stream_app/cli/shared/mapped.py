"""What a mapping left out of a file, for whoever has the file."""

import sys
from collections.abc import Iterator
from typing import Final

from stream_app.cli.shared.eventfile import EventFile
from stream_app.mapping.events import MappedFile

_LEFT_OUT: Final = {
    "other": "do not meet --where",
    "missing": "have no value, as --missing says",
    "first": "are the first reading of a register",
}


def tell_mapped(file: EventFile, command: str) -> None:
    """Print how many rows made no event and why, and series that may be one."""
    # PRIVACY: how many rows have no value is known from the raw data alone. It goes to the standard error of whoever
    # runs the command on them, with a mark, and to no output, log of a worker, metric or report.
    if file.mapped is not None:
        for sentence in _sentences(file.mapped):
            print(f"landmark-stream {command}: {sentence}", file=sys.stderr)


def _sentences(mapped: MappedFile) -> Iterator[str]:
    if told := ", ".join(f"{count:,} {_LEFT_OUT[what]}" for what, count in sorted(mapped.left_out.items())):
        yield f"PRIVATE, protect this like the raw data: rows that were skipped: {told}"
    for names in mapped.alike():
        yield f"{' and '.join(names)} differ by case alone; are they one series? Each has a budget of its own"
