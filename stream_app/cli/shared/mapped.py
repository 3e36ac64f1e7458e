"""What a mapping left out of a file, for whoever has the file."""

import sys

from stream_app.cli.shared.eventfile import EventFile
from stream_app.plain import PRIVATE


def tell_mapped(file: EventFile, command: str, *, events: bool = False) -> None:
    """Print how many rows made no event and why, and series that may be one; with ``events`` what these lack."""
    # PRIVACY: how many rows have no value is known from the raw data alone. It goes to the standard error of whoever
    # runs the command on them, with a mark, and to no output, log of a worker, metric or report.
    if file.mapped is not None:
        for sentence in (*file.mapped.told(), *(file.mapped.told_of_events() if events else ())):
            print(f"landmark-stream {command}: {PRIVATE}: {sentence}", file=sys.stderr)
