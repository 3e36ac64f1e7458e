"""Releases as rows of a frame, whatever library it is of: one row a release, a column a part of its value.

A number's columns are ``value``, ``measurement`` and so on; those of counts, vectors and positions carry their part's
name, as in ``value_walk``, those of a category or a choice ``value_category``, a text. So a column has one type, also
where series of several kinds stand in one frame. What does not apply to a row is left out of it.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC
from math import inf, isclose, sqrt
from typing import Any, Final

from stream_app.analysis.noise import Noise, one_draw
from stream_app.analysis.release import CATEGORY, Release, category_name, parts_of
from stream_app.analysis.windows import moment_of
from stream_app.privacy.kinds import Category
from stream_app.privacy.policy import Policy

FIRST: Final = ("series", "timestamp", "decision", "policy", "landmark", "value", "measurement")
"""Columns that stand before all others, in this order."""
NOISE: Final = ("standard_error", "low", "high", "fourth_cumulant", "grid")
"""Members that have all that a mean needs to know of the noise."""
FIGURES: Final = ("value", "measurement", *NOISE, "scale", "count")  # members that have a column a part


def row_of(release: Release, policy: Policy | None) -> dict[str, Any]:
    """Return a release as columns; times are aware datetimes of UTC.

    ``low`` and ``high`` are the 95 % interval of the one true value, kept in its range, by the measurement alone. The
    columns of the noise need the policy, so they are left out without it. A category and a choice have none.
    """
    row: dict[str, Any] = {
        "series": release.series,
        "timestamp": moment_of(release.timestamp_ms, UTC),
        "decision": release.decision,
        "policy": release.policy,
    }
    if policy is not None:
        row["landmark"] = release.landmark
    row |= _columns("value", release.value) | _columns("measurement", release.measurement)
    if policy is None or not isinstance(policy.kind, Category):
        for part, (number, noise, _) in release.quantities(policy).items():
            ends = number - noise.half, number + noise.half
            figures = zip(NOISE, (sqrt(noise.variance), *ends, noise.fourth, noise.grid), strict=True)
            row |= {column(member, part): figure for member, figure in figures}
    row |= _columns("scale", release.scale)
    if release.epsilon_nano is not None:
        row["epsilon"] = release.epsilon_nano / 1e9
    if release.source_ms is not None:
        row["source"] = moment_of(release.source_ms, UTC)
    if release.statistic is not None:
        row["statistic"] = release.statistic
    # `items` are those of contributors, all of which a mean takes as one step; units are what a mean is weighed by.
    return row | _columns("count" if release.of_units else "items", release.count)


def noises_in(row: Mapping[str, Any], measurement: object) -> dict[str, Noise] | None:
    """Return the noise of a measurement by part, as `row_of` wrote it; None where a row lacks a column of it.

    Raises:
        ValueError: for figures that no measurement has, such as an interval around another number.
        TypeError: for what is no number.
    """
    numbers = parts_of(measurement)
    if not numbers or not all(column(member, part) in row for member in NOISE for part in numbers):
        return None
    return {part: _noise(number, *(row[column(member, part)] for member in NOISE)) for part, number in numbers.items()}


def _noise(number: float, error: float, low: float, high: float, fourth: float, grid: float) -> Noise:
    half = (high - low) / 2
    sound = all(0 <= each < inf for each in (error, half, fourth, grid))
    if not sound or not isclose((low + high) / 2, number, abs_tol=half / 1000):
        raise ValueError(number)
    return Noise(error**2, fourth, half, grid, rates=one_draw(error**2, fourth, grid))


def column(member: str, part: str) -> str:
    """Return the name of the column of a member's part."""
    return f"{member}_{part}" if part else member


def columns_of(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the columns of some rows: the usual ones first, then by member and in the order in which parts come."""
    names = dict.fromkeys(name for row in rows for name in row)
    heads = [*FIRST, *FIGURES, "epsilon", "source"]
    places = {name: nth for nth, name in enumerate(dict.fromkeys(heads))}
    return sorted(names, key=lambda name: places.get(name, places.get(_member(name), len(places))))


def by_column(rows: Sequence[Mapping[str, Any]], columns: Iterable[str]) -> dict[str, list[Any]]:
    """Return rows as columns, None where a row has nothing."""
    return {name: [row.get(name) for row in rows] for name in columns}


def _member(name: str) -> str:
    return next((member for member in FIGURES if name.startswith(f"{member}_")), name)


def _columns(member: str, value: object) -> dict[str, Any]:
    if value is None:
        return {}
    parts: Mapping[str, object] = value if isinstance(value, Mapping) else {"": value}
    if isinstance(value, list):
        parts = parts_of(value)
    if isinstance(value, str | bool):
        parts = {CATEGORY: category_name(value)}
    return {column(member, part): found for part, found in parts.items()}
