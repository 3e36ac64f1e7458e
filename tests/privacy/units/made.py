"""Policies and steps of units, as small as an enumeration needs."""

from collections.abc import Sequence
from typing import Any

from stream_app.privacy.policy import Policy, policy_of
from stream_app.privacy.units.readings import EMPTY, OpenUnit
from tests.run import UNIFORM

UNIT = 1000
"""Milliseconds of a unit."""
NUMBER: dict[str, object] = {"kind": "number", "lower": 0, "upper": 2, "resolution": 1}
CATEGORY: dict[str, object] = {"kind": "category", "categories": ["home", "work", True], "statistic": "histogram"}
STATISTICS: dict[str, dict[str, object]] = {
    "mean": NUMBER | {"statistic": "mean"},
    "sum": NUMBER | {"statistic": "sum"},
    "share": NUMBER | {"statistic": "share", "from": 1, "to": 2},
    "histogram": NUMBER | {"statistic": "histogram", "edges": [1, 2]},
    "categories": CATEGORY,
    "mean by hour": NUMBER | {"statistic": "mean", "by": "hour"},
    "sum by weekday": NUMBER | {"statistic": "sum", "by": "weekday"},
}
HOUR = 3_600_000
DAY = 24 * HOUR
UNITS_MS = {"mean by hour": HOUR // 2, "sum by weekday": DAY // 2}
"""Statistics by local time need units that fall into several bins of a step: two per bin."""


def policy(  # noqa: PLR0913 (what an enumeration varies)
    statistic: str = "mean",
    *,
    per_step: int = 2,
    window: int = 1,
    spare: int = 0,
    landmarks: Sequence[int] = (),
    version: int = 1,
    unit_ms: int | None = None,
    offset_ms: int = 0,
    **members: Any,
) -> Policy:
    """Return a policy of units; ``landmarks`` are units by their index."""
    unit_ms = unit_ms or UNITS_MS.get(statistic, UNIT)
    protection = {
        "level": "landmark",
        "unit": unit_ms,
        "step": per_step * unit_ms,
        "offset": offset_ms,
        "open_steps": 1,
        "window": window,
        "spare": spare,
        "landmarks": [offset_ms + unit * unit_ms for unit in landmarks],
    }
    good = {"epsilon": 1.0, "protection": protection, "scheme": UNIFORM, "value": STATISTICS[statistic]}
    return policy_of(good | members, version)


def units(cells: Sequence[int | None]) -> list[OpenUnit]:
    """Return a step's units with a reading of each cell; None: the unit has none."""
    return [EMPTY if cell is None else OpenUnit(1, 1, cell) for cell in cells]
