"""The benchmark `series`: memory and speed with so many series that no needed row is in memory."""

from dataclasses import replace

from benchmarks.result import Figure, Result, Show, Target
from benchmarks.rig.site import Ground
from benchmarks.rig.workers import new_and_known
from benchmarks.rig.workload import Sizes

DEFAULT = Sizes(events=400_000, series=1_000_000, repeats=1)
FEW = 10_000
TARGETS = (Target("peak_memory", "at most", 600), Target("many_over_few", "at least", 0.7))
_MEGABYTE = 1_000_000


def run(ground: Ground, sizes: Sizes, show: Show) -> Result:
    """Measure few and many series in turn: first one event each, then events that cycle through them.

    Each series recurs only after all others, so a cache in front of the state is useless: the hardest case.
    """
    few = replace(sizes, series=min(FEW, sizes.series))
    runs = [
        (
            *new_and_known(ground, f"bench-few-{number}", few, show),
            *new_and_known(ground, f"bench-many-{number}", sizes, show),
        )
        for number in range(sizes.repeats)
    ]
    figures = {
        "peak_memory": Figure.of(
            "MB", (max(fresh.peak_bytes, known.peak_bytes) / _MEGABYTE for *_, fresh, known in runs)
        ),
        "peak_memory_few": Figure.of(
            "MB", (max(fresh.peak_bytes, known.peak_bytes) / _MEGABYTE for fresh, known, *_ in runs)
        ),
        "many": Figure.of("events/s", (known.rate.per_second for *_, known in runs)),
        "few": Figure.of("events/s", (known.rate.per_second for _, known, *_ in runs)),
        "many_over_few": Figure.of("ratio", (many.rate.per_second / few.rate.per_second for _, few, _, many in runs)),
        "many_cpu": Figure.of("us/event", (known.rate.cpu_microseconds for *_, known in runs)),
        "few_cpu": Figure.of("us/event", (known.rate.cpu_microseconds for _, known, *_ in runs)),
        "new_series": Figure.of("series/s", (fresh.rate.per_second for *_, fresh, _ in runs)),
    }
    return Result("series", sizes.document(), figures, TARGETS)
