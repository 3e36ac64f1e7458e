"""Converts the members of a policy with units between the library's form and the record's form."""

import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from stream_app.api.given import Error, length_of, whole
from stream_app.api.parts import Part, plain
from stream_app.calendar.policy import days_cut_by, zone_in
from stream_app.privacy.policy import Fault, Policy


@dataclass(frozen=True, slots=True)
class Share(Part):
    """A statistic of units: the share of units whose value is at least ``low`` and below ``high``."""

    NAMED = "statistic", "share"
    low: float
    high: float

    def record(self) -> dict[str, Any]:
        """Return the statistic in the form of the record's `value` member."""
        return {
            "statistic": "share",
            "from": plain(self.low, "statistic.low"),
            "to": plain(self.high, "statistic.high"),
        }


@dataclass(frozen=True, slots=True)
class Histogram(Part):
    """A statistic of units: the unit counts below the first edge, between adjacent edges, and from the last edge up.

    For categories, the bins are the categories, and no edges are needed.
    """

    NAMED = "statistic", "histogram"
    edges: Sequence[float] | None = None


Statistic = Literal["mean", "sum", "histogram"] | Share | Histogram
"""The statistic that is released about the units of a step."""


OF_UNITS: Final = ("statistic", "by", "offset", "open_steps", "local_zone", "local_from")
"""Arguments that apply only if steps contain units."""
OPEN_STEPS: Final = 1


def with_units(others: Mapping[str, Any]) -> dict[str, Any]:
    """Return the members that units add to `protection`; raise `Error` for arguments that need a unit."""
    if others.get("unit") is None:
        if lonely := [name for name in OF_UNITS if others.get(name) is not None]:
            message = 'only for steps with units; add the length of a unit, as in unit="1h", or omit it'
            raise Error(Fault(name, message) for name in lonely)
        return {}
    if others.get("step") is None:
        raise Error.of(
            "step", 'is missing: a statistic covers the units of a step; add the length of a step, as in step="1d"'
        )
    offset, open_steps, within = others.get("offset"), others.get("open_steps"), others.get("within")
    if isinstance(within, Part):
        raise Error.of("within", 'only for steps without units; with a unit, use a string, as in within="mean"')
    return {
        "unit": length_of(others["unit"], "unit"),
        "offset": None if offset in {None, 0} else length_of(offset, "offset"),
        "open_steps": OPEN_STEPS if open_steps is None else whole(open_steps, "open_steps", "write how many"),
        "within": plain(within, "within"),
    }


def value_of(value: dict[str, Any], others: Mapping[str, Any]) -> dict[str, Any]:
    """Return the record's `value` member with its statistic; raise `Error` for invalid arguments."""
    statistic, by = others.get("statistic"), others.get("by")
    found = dict(value)
    if isinstance(statistic, Part):
        if statistic.NAMED is None or statistic.NAMED[0] != "statistic":
            raise Error.of(
                "statistic", 'is not a statistic; use "mean", "sum", ls.Share(70, 180) or ls.Histogram([70, 180])'
            )
        found |= statistic.record()
    elif statistic is not None:
        found["statistic"] = plain(statistic, "statistic")
    if by is not None:
        found["by"] = plain(by, "by")
    zone, first = others.get("local_zone"), others.get("local_from")
    if zone is not None and first is None:
        message = 'is missing: use the day from which offsets are needed, as in "2026-01-01"'
        raise Error.of("local_from", message)
    if first is not None and zone is None:
        raise Error.of("local_zone", 'is missing; use the time zone of local_from, as in "Europe/Paris"')
    if zone is not None:
        if by is None:
            raise Error.of("local_zone", "only for statistics by local time; add by=, or omit local_zone")
        found["transitions"] = {"zone": plain(zone, "local_zone"), "first": _day(first)}
    return found


def _day(first: Any) -> Any:
    found = plain(first, "local_from")
    if isinstance(found, int):
        raise Error.of("local_from", 'is not a day; use one such as "2026-01-01"')
    return found


def warn_of_days(record: Mapping[str, Any], policy: Policy) -> None:
    """Warn if steps of whole days do not match the time zone of a valid record."""
    zone = zone_in(record)
    if zone is not None and (warning := days_cut_by(policy, zone, time.time_ns() // 1_000_000)):
        warnings.warn(f"protection.offset: {warning}", stacklevel=3)
