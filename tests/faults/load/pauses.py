"""How long partitions pause, measured from the partition rows: every committed batch writes one."""

from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Self

from stream_app.kafka.evidence.row import PARTITION_KEY
from tests.faults.topics import Topics

Beats = dict[int, list[int]]
"""When each partition committed a batch, in milliseconds since 1970, in order."""


@dataclass(frozen=True)
class Pause:
    """The longest pause of one partition around a change to the workers."""

    partition: int
    gap_ms: int
    """Between two batches."""
    back_ms: int
    """The time from the change to the batch that ended the pause."""

    @classmethod
    def of(cls, partition: int, beats: list[int], since_ms: int, until_ms: int) -> Self:
        """Return the longest gap that overlaps the time from ``since_ms`` to ``until_ms``."""
        gaps = [(after - before, after) for before, after in pairwise(beats) if after > since_ms and before < until_ms]
        assert gaps, f"partition {partition} never went on"
        gap_ms, after = max(gaps)
        return cls(partition, gap_ms, after - since_ms)


async def beats(topics: Topics) -> Beats:
    """Return when each partition committed; the changelog must be too small yet to be compacted."""
    found: Beats = defaultdict(list)
    async for record in topics.walk("changelog"):
        if record.key == PARTITION_KEY:
            found[record.partition].append(record.timestamp)
    return found


def summary(pauses: list[Pause]) -> str:
    """Return the distribution of gaps and of times until work resumed, as text."""
    gaps, backs = sorted(pause.gap_ms for pause in pauses), sorted(pause.back_ms for pause in pauses)
    return (
        f"gap {gaps[0]}/{int(median(gaps))}/{gaps[-1]} ms, "
        f"back after {backs[0]}/{int(median(backs))}/{backs[-1]} ms (least/median/most of {len(gaps)})"
    )
