"""Shows landmark.releases as a polars frame.

    python polars_frame.py [BOOTSTRAP [TOPIC]]

Needs aiokafka and polars. rows.py describes the columns.
"""

import asyncio
import sys
from collections.abc import Iterable

import polars as pl

from release import Release
from rows import KEYS, read, row


def frame_of(releases: Iterable[Release]) -> pl.DataFrame:
    """Return the frame, sorted by series and timestamp. Raises ValueError if a step of a series has two rows."""
    rows = [row(release) for release in releases]
    names = dict.fromkeys(name for each in rows for name in each)
    frame = pl.DataFrame(rows, schema={name: type_of(name) for name in names}).sort(KEYS)
    if frame.select(KEYS).is_duplicated().any():
        raise ValueError("a step has two releases: uncommitted records were read, or those of several installations")
    return frame


def type_of(column: str) -> pl.DataType:
    """Return the type of a column."""
    if column in {"timestamp", "source"}:
        return pl.Datetime("ms", "UTC")
    if column in {"policy", "items"} or column.startswith(("counts_", "measured_counts_")):
        return pl.Int64()
    return (
        pl.String() if column in {"series", "decision", "category", "measured_category", "statistic"} else pl.Float64()
    )


if __name__ == "__main__":
    print(frame_of(asyncio.run(read(*sys.argv[1:]))))
