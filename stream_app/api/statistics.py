"""`profile`, `time_in_range` and `compare`: results from statistics of units, with 95 % intervals.

PRIVACY: all of them use only releases and public policies, so they are free post-processing: nothing is spent.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from itertools import groupby
from operator import attrgetter
from typing import Any, Final

from stream_app.analysis.means import (
    MeanDifference,
    MeasuredRelease,
    WeightedTotal,
    of_one_unit,
    together,
    totals,
)
from stream_app.analysis.release import Quantity
from stream_app.api.averages import cells_of, library
from stream_app.api.given import Error, told
from stream_app.api.measured import measured_of
from stream_app.api.parts import Time, moment_ms
from stream_app.api.policy import Policy
from stream_app.api.releasing import Released
from stream_app.api.tables import Frame, Row, Table
from stream_app.calendar.landmarks import reach
from stream_app.calendar.localtime import zone_of
from stream_app.privacy.kinds import ByBins, Histogram, Number, Share, UnitStatistic

Span = tuple[Time, Time]
"""A span from the first moment up to, but excluding, the second; if the second is a day, the day is included."""
_NOT_OF_UNITS: Final = (
    'is a single release, not a statistic of units; publish a statistic with Policy.landmark(unit="1h", '
    'step="1d", statistic="mean"), or use mean(), which averages single releases with their noise'
)


def profile(frame: Frame | Released, *, policy: Policy | None = None) -> Table:
    """Return the mean of a unit in each bin of local time, from statistics ``by`` hour, weekday or week hour.

    Each series and bin has one row with ``mean``, ``standard_error``, ``low``, ``high``, ``steps`` and ``units``. The
    bins of several steps are averaged with their numbers of units as weights; sums are divided by these numbers.

    Raises:
        Error: for releases without such statistics.
    """
    rows: list[Row] = []
    for series, group in _by_series(frame, policy):
        for release, ruling in group:
            named = ruling is not None and not isinstance(ruling.kind, ByBins)
            if named or not isinstance(release.count, Mapping):
                remedy = (
                    'publish one with by="hour", or use mean(by="hour") on statistics over hours or on single releases'
                )
                raise Error.of("frame", f"{series}: is not a statistic by local time; {remedy}")
        found = totals(of_one_unit(release, release.quantities(ruling)) for release, ruling in group)
        ruled = next((ruling for _, ruling in group if ruling is not None), None)
        name = ruled.kind.local.by.replace("-", "_") if ruled and isinstance(ruled.kind, ByBins) else "bin"
        rows += [
            {"series": series, name: int(part), **cells_of("mean", found[part].figure)}
            for part in sorted(found, key=int)
        ]
    return Table(rows, library(frame), "Profile, with exact 95 % intervals")


def time_in_range(
    frame: Frame | Released, low: float | None = None, high: float | None = None, *, policy: Policy | None = None
) -> Table:
    """Return the share of units whose value is in a range: from ``low`` up to, but excluding, ``high``.

    The share comes from the statistic ``share``, whose range the policy sets, or from a ``histogram`` that has ``low``
    and ``high`` among its edges. If both are omitted, a histogram has one row per bin or category. ``share`` is
    unbiased, so it may be slightly below 0 or above 1.

    Raises:
        Error: for other releases, and for a range whose ends are not edges.
    """
    rows: list[Row] = []
    for series, group in _by_series(frame, policy):
        ranges = _ranges(series, group, low, high)
        units: dict[str, list[Quantity]] = {}
        for release, ruling in group:
            quantities = of_one_unit(release, release.quantities(ruling))
            for label, parts in ranges.items():
                units.setdefault(label, []).append(together(quantities, parts))
        rows += [
            {"series": series, "range": label, **cells_of("share", WeightedTotal.of(found).figure)}
            for label, found in units.items()
        ]
    return Table(rows, library(frame), "Time in range, with exact 95 % intervals")


def compare(
    frame: Frame | Released, before: Span, after: Span, *, zone: str = "UTC", policy: Policy | None = None
) -> Table:
    """Return the amount by which the mean of one span exceeds that of another, with its 95 % interval.

    One row per series and part contains the means ``before`` and ``after``, their ``difference`` with its
    ``standard_error``, ``low`` and ``high``, and the number of units in each span. A step belongs to the span that
    contains its start. ``zone`` applies to days and to times without a zone.

    Raises:
        Error: for releases without statistics of units, for spans that overlap, and for a span without a release.
    """
    spans = [_span(each, name, zone) for name, each in (("before", before), ("after", after))]
    if max(spans[0][0], spans[1][0]) < min(spans[0][1], spans[1][1]):
        raise Error.of("after", "overlaps with before=, so a release would be in both spans; use separate spans")
    rows: list[Row] = []
    for series, group in _by_series(frame, policy):
        one, other = (
            totals(each.quantities(ruling) for each, ruling in group if start <= each.timestamp_ms < end)
            for start, end in spans
        )
        for name, found in (("before", one), ("after", other)):
            if not found:
                raise Error.of(name, f"{series}: has no release in this span; use another span")
        for part in (part for part in one if part in other):
            difference = MeanDifference.of(one[part], other[part])
            rows.append(
                {
                    "series": series,
                    **({"part": part} if part else {}),
                    "before": one[part].mean,
                    "after": other[part].mean,
                    "difference": difference.estimate,
                    "standard_error": difference.deviation,
                    "low": difference.estimate - difference.half,
                    "high": difference.estimate + difference.half,
                    "units_before": one[part].weight,
                    "units_after": other[part].weight,
                }
            )
    return Table(rows, library(frame), "Difference of two spans, with exact 95 % intervals")


def _span(span: Any, name: str, zone: str) -> tuple[int, int]:
    """Return a span in milliseconds; raise `Error` for anything else."""
    if not isinstance(span, tuple | list) or len(span) != 2:
        raise Error.of(name, 'is not a span; use a start and an end, as in ("2026-01-01", "2026-01-31")')
    with told():
        clocks = zone_of(zone)
        start, end = (_reach(each, name, clocks) for each in span)
    if start[0] >= end[1]:
        raise Error.of(name, "ends before it begins; put the earlier time first")
    return start[0], end[1]


def _reach(moment: Any, name: str, clocks: Any) -> tuple[int, int]:
    if isinstance(moment, datetime):
        at = moment_ms(moment, name)
        return at, at
    return reach(moment.isoformat() if isinstance(moment, date) else moment, clocks)


def _ranges(
    series: str, group: Sequence[MeasuredRelease], low: float | None, high: float | None
) -> dict[str, tuple[str, ...]]:
    """Return the parts of a measurement that belong to each range, keyed by the range's label."""
    release, ruling = group[0]
    kind = ruling.kind if ruling is not None else None
    if release.statistic == "share" and (kind is None or isinstance(kind, Share)):
        if low is not None or high is not None:
            raise Error.of("low", "the policy sets the range of a share; omit low and high, or publish a histogram")
        if not isinstance(kind, Share):
            return {"": ("",)}
        return {_label(*(kind.item.axis.double(end) for end in (kind.start, kind.end))): ("",)}
    if release.statistic != "histogram" or (kind is not None and not isinstance(kind, Histogram)):
        remedy = 'publish one with statistic="share" or "histogram"'
        raise Error.of("frame", f"{series}: is neither a share nor a histogram of units; {remedy}")
    names = tuple(release.quantities(ruling))
    if not isinstance(kind, Histogram) or kind.names:
        if low is not None or high is not None:
            raise Error.of("low", "needs edges, but these bins are categories or the policy is unknown (policy=)")
        return {name: (name,) for name in names}
    assert isinstance(kind.item, Number), "a histogram over categories has names"
    edges = [kind.item.axis.double(edge) for edge in kind.edges]
    if low is None and high is None:
        ends: list[float | None] = [None, *edges, None]
        return {_label(*ends[nth : nth + 2]): (name,) for nth, name in enumerate(names)}
    if wrong := [bound for bound in (low, high) if bound is not None and bound not in edges]:
        listed = ", ".join(f"{edge:g}" for edge in edges)
        raise Error.of(
            "low" if wrong[0] == low else "high", f"{wrong[0]:g} is not one of the edges {listed}; use one of them"
        )
    first = 0 if low is None else edges.index(low) + 1
    end = len(names) if high is None else edges.index(high) + 1
    if first >= end:
        raise Error.of("high", "is not above low; use a larger value")
    return {_label(low, high): names[first:end]}


def _label(low: float | None, high: float | None) -> str:
    if low is None:
        return f"below {high:g}"
    return f"from {low:g}" if high is None else f"{low:g} to {high:g}"


def _by_series(frame: Frame | Released, policy: Policy | None) -> Iterable[tuple[str, list[MeasuredRelease]]]:
    """Return the measured releases of each series; raise `Error` if one is not a statistic of units."""
    measured = [found for found in measured_of(frame, policy) if found.release.measurement is not None]
    if not measured:
        raise Error.of("frame", "contains no noisy values; use releases of statistics of units")
    for nth, (release, ruling) in enumerate(measured):
        if not release.of_units or (ruling is not None and not isinstance(ruling.kind, UnitStatistic)):
            raise Error.of(f"row {nth}", _NOT_OF_UNITS)
    series = attrgetter("release.series")
    return [(name, list(group)) for name, group in groupby(sorted(measured, key=series), series)]
