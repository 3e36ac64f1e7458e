"""The benchmark `members`: the cost of five series per person, with reservations and a limit."""

from benchmarks.result import Figure, Result, Show, Target
from benchmarks.rig.site import Ground
from benchmarks.rig.workers import Work, new_and_known
from benchmarks.rig.workload import MEMBER_SERIES, Sizes

DEFAULT = Sizes(events=500_000, series=500_000, repeats=1)
TARGETS = (Target("members_over_plain", "at least", 0.8), Target("peak_memory_over_plain", "at most", 1.3))
SETTINGS = {"member_separator": "/", "member_epsilon": float(MEMBER_SERIES)}
_MEGABYTE = 1_000_000


def run(ground: Ground, sizes: Sizes, show: Show) -> Result:
    """Measure the same series with and without persons in turn: one event each, then events in all of them."""
    plain: list[tuple[Work, Work]] = []
    members: list[tuple[Work, Work]] = []
    for number in range(sizes.repeats):
        plain.append(new_and_known(ground, f"bench-plain-{number}", sizes, show))
        members.append(new_and_known(ground, f"bench-members-{number}", sizes, show, **SETTINGS))
    pairs = list(zip(plain, members, strict=True))
    figures = {
        "peak_memory": Figure.of("MB", (_peak(both) for both in members)),
        "peak_memory_plain": Figure.of("MB", (_peak(both) for both in plain)),
        "peak_memory_over_plain": Figure.of("ratio", (_peak(with_) / _peak(without) for without, with_ in pairs)),
        "new_cpu": Figure.of("us/series", (fresh.rate.cpu_microseconds for fresh, _ in members)),
        "new_cpu_plain": Figure.of("us/series", (fresh.rate.cpu_microseconds for fresh, _ in plain)),
        "known_cpu": Figure.of("us/event", (known.rate.cpu_microseconds for _, known in members)),
        "known_cpu_plain": Figure.of("us/event", (known.rate.cpu_microseconds for _, known in plain)),
        "members": Figure.of("events/s", (known.rate.per_second for _, known in members)),
        "plain": Figure.of("events/s", (known.rate.per_second for _, known in plain)),
        "members_over_plain": Figure.of(
            "ratio", (with_.rate.per_second / without.rate.per_second for (_, without), (_, with_) in pairs)
        ),
    }
    return Result("members", sizes.document(), figures, TARGETS)


def _peak(both: tuple[Work, Work]) -> float:
    return max(run.peak_bytes for run in both) / _MEGABYTE
