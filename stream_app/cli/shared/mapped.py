"""Notes for the owner of a file: rows that a mapping omitted, and series that may be the same."""

import sys
from collections.abc import Collection
from itertools import chain

from stream_app.cli.shared.eventfile import EventFile
from stream_app.mapping.events import alike
from stream_app.plain import PRIVATE


def tell_file(file: EventFile, command: str, series: Collection[str] = (), *, events: bool = False) -> None:
    """Print how many rows yielded no event and why, and which series may be the same.

    With ``events``, also print what the events lack. ``series`` are the series in a file of event records.
    """
    # PRIVACY: only the raw data show how many rows have no value. The number goes to the standard error of whoever runs
    # the command on them, with a mark, and to no output, log of a worker, metric or report.
    mapped = file.mapped
    told = alike(series) if mapped is None else chain(mapped.told(), mapped.told_of_events() if events else ())
    for sentence in told:
        print(f"landmark-stream {command}: {PRIVATE}: {sentence}", file=sys.stderr)
