"""`mean` and `smooth`: estimates of the true values, with standard errors and 95 % intervals.

PRIVACY: both use only releases and public policies, so they are free post-processing: nothing is spent.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, timedelta
from itertools import groupby
from operator import attrgetter
from typing import Any, Final, Literal

from stream_app.analysis import smooth as smoothing
from stream_app.analysis.chosen import gaps
from stream_app.analysis.means import Figure, MeasuredRelease, means
from stream_app.analysis.release import Release
from stream_app.analysis.rows import column
from stream_app.analysis.windows import CLOCKS, by_clock, moment_of, window
from stream_app.api.given import Error, told
from stream_app.api.measured import CHOOSE, measured_of
from stream_app.api.policy import Policy
from stream_app.api.reading import Releases
from stream_app.api.releasing import Released
from stream_app.api.tables import Frame, Row, Table, library_of
from stream_app.privacy.kinds import Kind
from stream_app.words.amount import quoted

By = str | timedelta | Sequence[str | timedelta]
"""``"series"``, ``"hour"``, ``"weekday"``, ``"day"``, ``"landmark"``, ``"policy"``, a duration, or several."""


def mean(
    frame: Frame | Released,
    by: By = "series",
    *,
    zone: str = "UTC",
    policy: Policy | None = None,
    landmarks: Literal["apart", "together"] = "apart",
) -> Table:
    """Return the mean of the measurements in each group and part, one mean per row.

    The columns are ``mean``, ``standard_error``, ``low``, ``high`` and ``steps``. Groups are sorted, and windows of a
    given length begin with the first release.

    Estimates and repeats are not used, because they are not independent measurements. Each mean estimates the mean of
    the true values at the measured steps, with each value clamped to the policy's range. ``zone`` is the time zone of
    hours and days. Vectors, counts and categories have one row per part.

    Statistics of units (``unit=``) have exact intervals. A mean or a share is weighted by its ``units``: the mean of
    daily means over a week is the mean of that week's units, excluding landmark units.

    Every group is split by the column ``landmark``, because landmarks often have far more noise than other steps.
    ``landmarks="together"`` computes a single mean over landmarks and other steps; if a group has both, the table's
    ``note`` says so.

    Releases from `release`, or from `read_releases` with their ledger, include the noise and the landmarks. So do the
    frames of these releases, except for categories and for means over hidden numbers, which need ``policy``. Other
    frames need ``policy`` too.

    Raises:
        Error: for a frame without measurements, for a measurement whose noise or kind of step (landmark or
            not) is unknown, for an invalid grouping, and for grouping by hour or weekday if statistics have
            their own ``by``: use `profile` for those.
    """
    measured = measured_of(frame, policy)
    names: list[Any] = list(by) if isinstance(by, list | tuple) else [by]
    if landmarks not in {"apart", "together"}:
        raise Error.of("landmarks", 'is neither "apart" nor "together"; omit it to keep landmarks apart')
    if landmarks == "apart":
        names += [] if "landmark" in names else ["landmark"]
    elif "landmark" in names:
        raise Error.of(
            "landmarks", 'conflicts with "landmark" in by=, which keeps landmarks apart; omit one of the two'
        )
    if "landmark" in names:
        _check_flags(measured)
    _check_bins(names, measured)
    with told():
        keys = [_key(name, zone, min((each.timestamp_ms for each, _ in measured), default=0)) for name in names]

    def group_of(release: Release) -> tuple[object, ...]:
        return tuple(key(release) for key in keys)

    found = means(measured, group_of)
    if not found:
        raise Error.of("frame", _UNMEASURED)
    columns = [name if isinstance(name, str) else "window" for name in names]
    rows = [
        dict(zip(columns, key, strict=True)) | ({"part": part} if part else {}) | cells_of("mean", figure)
        for key, parts in sorted(found.items(), key=lambda group: [(part is not None, part) for part in group[0]])
        for part, figure in sorted(parts.items(), key=lambda item: int(item[0]) if item[0].isdecimal() else -1)
    ]
    flags = {(group_of(release), release.landmark) for release, _ in measured if release.measurement is not None}
    notes = [_MIXED] if len(flags) > len({group for group, _ in flags}) else []
    if not isinstance(frame, Releases | Released) and (series := gaps(measured)):
        notes.append(f"steps of {quoted(series)} are missing between other steps; if you removed them, {CHOOSE}")
    return Table(rows, library(frame), "Means of measurements, with 95 % intervals", "; ".join(notes))


_MIXED: Final = (
    'these steps include landmarks, so their larger noise is in the means; omit landmarks="together" to keep '
    "landmarks apart"
)


def _check_flags(measured: Sequence[MeasuredRelease]) -> None:
    for nth, (release, _) in enumerate(measured):
        if release.measurement is not None and release.landmark is None:
            remedy = (
                "read the releases with their ledger, add policy=, or use landmarks='together' for one mean over "
                "all steps"
            )
            raise Error.of(f"row {nth}", f"does not say whether its step is a landmark; {remedy}")


def _check_bins(names: Sequence[object], measured: Sequence[MeasuredRelease]) -> None:
    """Raise `Error` if a grouping uses hours or weekdays but the releases have bins of local time."""
    asked = next((name for name in names if isinstance(name, str) and name in {"hour", "weekday"}), None)
    if asked and any(release.of_units and isinstance(release.count, Mapping) for release, _ in measured):
        remedy = "use profile(), or group by series, day or a length of time"
        raise Error.of(
            "by",
            f"{asked} groups steps by the local time of their start, but each release already has bins by local time; "
            f"{remedy}",
        )


def smooth(frame: Frame | Released, *, policy: Policy | None = None) -> Table:
    """Return estimates of the true values over time, based on all measurements.

    Each step has ``smoothed``, ``low`` and ``high``. The method is the offline version of the filter `level`: a Kalman
    smoother that applies the same models but also uses later steps. ``low .. high`` is the smoother's 95 % band under
    these models. For a category, the result is the probability of each value.

    Raises:
        Error: for kinds without a filter, and for frames whose policy is unknown.
    """
    measured = measured_of(frame, policy)
    if any(found.policy is None for found in measured):
        raise Error.of("policy", "the range and the step are unknown; add the policy, or use the result of release()")
    ordered = sorted(measured, key=lambda found: (found.release.series, found.release.timestamp_ms))
    rows: list[Row] = []
    for _, group in groupby(ordered, lambda found: (found.release.series, *_course(found))):
        rows += _smoothed(list(group))
    return Table(rows, library(frame), "Smoothed, with 95 % bands")


_UNMEASURED: Final = (
    "contains no noisy values to average: no step was published with noise, the value is a choice, or the categories "
    "lack their policy (policy=)"
)


def _course(found: MeasuredRelease) -> tuple[Kind, int]:
    assert found.policy is not None, "asked before"
    return found.policy.kind, found.policy.step_ms


def _smoothed(group: list[MeasuredRelease]) -> Iterator[Row]:
    """Yield the rows of one series, for policy versions with the same kind and step."""
    policy = group[0].policy
    assert policy is not None, "asked before"
    if not smoothing.takes_smoothing(policy.kind):
        raise Error.of("policy", "a sum, a mean or a choice has no filter, so it cannot be smoothed; use mean()")
    courses = smoothing.smooth([found.release for found in group], policy)
    for (release, _), parts in zip(group, courses, strict=True):
        row: dict[str, Any] = {"series": release.series, "timestamp": moment_of(release.timestamp_ms, UTC)}
        for part, figure in parts.items():
            row[column("smoothed", part)] = figure.estimate
            row[column("low", part)] = figure.low
            row[column("high", part)] = figure.high
        yield row


def _key(name: str | timedelta, zone: str, first_ms: int) -> Callable[[Release], object]:
    if isinstance(name, timedelta):
        length_ms = name // timedelta(milliseconds=1)
        if length_ms < 1:
            raise Error.of("by", "is a window without a length; use a length such as timedelta(hours=6)")
        of = window(length_ms, first_ms)
        return lambda release: moment_of(of(release), UTC)
    if not isinstance(name, str):
        raise Error.of("by", _GROUPS)
    if name in CLOCKS:
        return by_clock(name, zone)
    if name in {"series", "policy", "landmark"}:
        return attrgetter(name)
    raise Error.of("by", _GROUPS)


_GROUPS: Final = "is not series, policy, landmark, hour, weekday, day, a timedelta, or a list of these"


def cells_of(name: str, figure: Figure) -> dict[str, Any]:
    """Return the columns of a figure."""
    found = {
        name: figure.estimate,
        "standard_error": figure.standard_error,
        "low": figure.low,
        "high": figure.high,
        "steps": figure.steps,
    }
    return found | ({"units": figure.units} if figure.units else {})


def library(frame: object) -> Any:
    """Return the input's library."""
    return library_of(frame.releases if isinstance(frame, Released) else frame)
