"""Releases as rows of a data frame of any library: one row per release, one column per part of the value.

The columns of a number are ``value``, ``measurement`` and so on. For counts, vectors and positions, column names
include the part, as in ``value_walk``. For a category or a choice, the column is ``value_category``, which contains
text. Each column therefore has one type, even in a frame with series of several kinds. Columns that do not apply to a
row are omitted from it.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC
from math import inf, isclose, sqrt
from typing import Any, Final

from stream_app.analysis.release import CATEGORY, Release, category_name, parts_of
from stream_app.analysis.windows import moment_of
from stream_app.privacy.kinds import Category
from stream_app.privacy.noise.moments import Noise, one_draw
from stream_app.privacy.policy import Policy

FIRST: Final = ("series", "timestamp", "decision", "policy", "landmark", "value", "measurement")
"""The first columns, in this order."""
NOISE: Final = ("standard_error", "low", "high", "fourth_cumulant", "grid")
"""Members with everything that a mean needs to know about the noise."""
FIGURES: Final = ("value", "measurement", *NOISE, "scale", "count")  # members with a column per part


def row_of(release: Release, policy: Policy | None) -> dict[str, Any]:
    """Return a release as columns; times are aware datetimes in UTC.

    ``low`` and ``high`` are the 95 % interval of the one true value (clamped to its range), computed from the
    measurement alone. The noise columns need the policy and are omitted without it. A category and a choice have no
    noise columns.
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
    # `items` counts contributors; a mean takes all of them as one step. `count` counts units, which weight a mean.
    return row | _columns("count" if release.of_units else "items", release.count)


def noises_in(row: Mapping[str, Any], measurement: object) -> dict[str, Noise] | None:
    """Return the noise of a measurement by part, as written by `row_of`, or None if a column is missing.

    Raises:
        ValueError: for figures that no measurement can have, such as an interval around another number.
        TypeError: for a figure that is not a number.
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
    """Return the column name of a part of a member."""
    return f"{member}_{part}" if part else member


def columns_of(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the columns of some rows: the usual ones first, then the others by member, with parts in order."""
    names = dict.fromkeys(name for row in rows for name in row)
    heads = [*FIRST, *FIGURES, "epsilon", "source"]
    places = {name: nth for nth, name in enumerate(dict.fromkeys(heads))}
    return sorted(names, key=lambda name: places.get(name, places.get(_member(name), len(places))))


def by_column(rows: Sequence[Mapping[str, Any]], columns: Iterable[str]) -> dict[str, list[Any]]:
    """Return rows as columns, with None for missing values."""
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
