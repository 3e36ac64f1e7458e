"""Shows landmark.releases as a pandas frame.

    python pandas_frame.py [BOOTSTRAP [TOPIC]]

Needs aiokafka and pandas. rows.py describes the columns.
"""

import asyncio
import sys
from collections.abc import Iterable
from typing import Any

import pandas as pd

from release import Release
from rows import KEYS, read, row


def frame_of(releases: Iterable[Release]) -> pd.DataFrame:
    """Return the frame, sorted by series and timestamp. Raises ValueError if a step of a series has two rows."""
    rows = pd.DataFrame([row(release) for release in releases])
    types: dict[str, Any] = {name: type_of(name) for name in rows.columns}
    frame = rows.astype(types).sort_values(KEYS, ignore_index=True)
    if frame.duplicated(KEYS).any():
        raise ValueError("a step has two releases: uncommitted records were read, or those of several installations")
    return frame


def type_of(column: str) -> str:
    """Return the type of a column; every type allows nulls."""
    if column in {"timestamp", "source"}:
        return "datetime64[ms, UTC]"
    if column in {"policy", "items"} or column.startswith(("counts_", "measured_counts_")):
        return "Int64"
    return "string" if column in {"series", "decision", "category", "measured_category", "statistic"} else "float64"


if __name__ == "__main__":
    print(frame_of(asyncio.run(read(*sys.argv[1:]))).to_string())
