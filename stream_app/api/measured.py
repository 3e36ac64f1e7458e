"""Converts frames, tables and other programs' data to releases with their known policies."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, Final, TypeVar

from stream_app.analysis.chosen import chosen_by_noise
from stream_app.analysis.means import MeasuredRelease
from stream_app.analysis.release import CATEGORY, Release, UnsoundError, parts_of
from stream_app.analysis.rows import noises_in
from stream_app.analysis.windows import is_landmark
from stream_app.api.given import Error, unboxed
from stream_app.api.parts import moment_ms
from stream_app.api.policy import Policy, compiled
from stream_app.api.reading import Releases
from stream_app.api.releasing import Released
from stream_app.api.tables import Frame, Row, rows_of
from stream_app.privacy import policy as core
from stream_app.privacy.protection import LandmarkLevel
from stream_app.words.amount import NANO, quoted

T = TypeVar("T")


def measured_of(frame: Frame | Released, policy: Policy | None) -> list[MeasuredRelease]:
    """Return a frame's releases with their known policies; raise `Error` for impossible releases."""
    given = None if policy is None else compiled(policy)
    found = frame.releases if isinstance(frame, Released) else frame
    if isinstance(found, Releases):
        measured = list(found.measured)
    else:
        measured = [MeasuredRelease(_release(row, nth)) for nth, row in enumerate(rows_of(found))]
    if given is not None:
        measured = [MeasuredRelease(_flagged(release, given), given) for release, _ in measured]
    seen: dict[tuple[str, int], Release] = {}
    for nth, (release, ruling) in enumerate(measured):
        if seen.setdefault((release.series, release.timestamp_ms), release) is not release:
            what = f"is for the same step as an earlier row, {release.timestamp_ms} of {quoted(release.series)}"
            raise Error.of(f"row {nth}", f"{what}: counting a release twice makes errors too small; drop duplicates")
        try:
            release.check_under(ruling)
        except ValueError:
            remedy = "use the policy of these releases, or omit it for the result of release()"
            raise Error.of("policy", f"is for a different kind or scale of values than row {nth}; {remedy}") from None
        if parts_of(release.measurement) and not release.quantities(ruling):
            raise Error.of(f"row {nth}", _unknown(ruling))
    if not isinstance(found, Releases) and (series := chosen_by_noise(measured)):
        lie = f"the measurements of {quoted(series)} are closer together, or further apart, than their noise allows"
        raise Error.of("frame", f"{lie}: these rows were chosen by their noise, and their mean is biased; {CHOOSE}")
    return measured


def _unknown(ruling: core.Policy | None) -> str:
    """Return why the noise of a measurement is not known."""
    if ruling is not None and not ruling.kind.noises(NANO):
        return "has a measurement without a mean, because its kind's noise has none; leave out such series"
    remedy = "read the releases with their ledger, or add policy= unless counters start with noise"
    return f"does not say how noisy its measurement is; {remedy}"


CHOOSE: Final = "choose rows by time, series, policy or landmark, never by measurement or value"
"""The remedy for rows that were, or may have been, selected by their noise."""


def _flagged(release: Release, given: core.Policy) -> Release:
    """Return a release with its landmark flag set from a policy, which may predate a registration."""
    release = replace(release, of_units=given.units is not None)
    if release.landmark is not None:
        return release
    found = is_landmark(release, given)
    spare = isinstance(given.protection, LandmarkLevel) and given.protection.spare > 0 and given.units is None
    return replace(release, landmark=None if spare and not found else found)


_UNSOUND: Final = (
    "contains a value that no release can have: it is not a number, or contradicts other columns of its row"
)
_REMEDY: Final = "use the result of read_releases() or release()"


def _release(row: Row, nth: int) -> Release:
    """Return the release in a row; raise an `Error` that names the row and the missing or changed column."""

    def read(column: str, of: Callable[[], T]) -> T:
        try:
            return of()
        except Error:
            raise
        except (KeyError, TypeError, ValueError, OverflowError):
            raise Error.of(f"row {nth}", f"{column} {_UNSOUND}; {_REMEDY}") from None

    if missing := [name for name in ("series", "timestamp", "decision", "policy") if name not in row]:
        raise Error.of(f"row {nth}", f"has no column {', '.join(missing)}; {_REMEDY}")
    row = {name: unboxed(cell) for name, cell in row.items()}
    moment = row["timestamp"]
    measurement = read("measurement", lambda: _parts(row, "measurement"))
    if measurement is None and row["decision"] == "perturbed" and any(name.startswith("measurement") for name in row):
        raise Error.of(f"row {nth}", f"is perturbed but has no measurement; {_REMEDY}")
    noises = read("measurement or its noise (standard_error to grid)", lambda: noises_in(row, measurement))
    count = read(
        "count", lambda: row["items"] if "items" in row else _parts(row, "count") if "statistic" in row else None
    )
    found = Release(
        series=row["series"],
        timestamp_ms=read(
            "timestamp", lambda: moment_ms(moment, f"row {nth}") if isinstance(moment, datetime) else _integer(moment)
        ),
        decision=row["decision"],
        policy=read("policy", lambda: _integer(row["policy"])),
        measurement=measurement,
        scale=read("scale", lambda: _parts(row, "scale")),
        epsilon_nano=read(
            "epsilon", lambda: row.get("epsilon_nano", round(row["epsilon"] * 1e9) if "epsilon" in row else None)
        ),
        statistic=row.get("statistic"),
        count=read("count", lambda: _counted(count)),
        # Records of contributors also have a count, and have no noise of their own.
        of_units=count is not None and "items" not in row and noises is not None,
        landmark=row.get("landmark"),
        noises=noises,
    )
    try:
        found.check()
    except UnsoundError as error:
        raise Error.of(f"row {nth}", f"{error.member} {_UNSOUND}; {_REMEDY}") from None
    return found


def _counted(found: Any) -> int | dict[str, int] | None:
    if isinstance(found, Mapping):
        return {name: _integer(number) for name, number in found.items()}
    return None if found is None else _integer(found)


def _integer(found: Any) -> int:
    """Return a whole number, even if its column has gaps; raise ValueError for fractions."""
    number = int(found)
    if number != float(found):
        raise ValueError(found)
    return number


def _parts(row: Row, member: str) -> Any:
    if member in row:
        return row[member]
    parts = {name.removeprefix(f"{member}_"): found for name, found in row.items() if name.startswith(f"{member}_")}
    if set(parts) == {CATEGORY} and isinstance(parts[CATEGORY], str):
        return parts[CATEGORY]
    return parts or None
