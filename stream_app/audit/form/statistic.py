"""The members of a statistic's release other than the statistic's name: value, measurement, scale and count."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from stream_app.audit.form.domains import MOST_EDGES, MOST_UNITS
from stream_app.audit.form.entry import MAX_SEQUENCE, PERTURBED

STATISTICS: Final = ("sum", "mean", "share", "histogram")  # of collected numbers, or of units
_BINS: Final = frozenset(map(str, range(168)))  # bins of local time; hours of the week are the most


def statistic_fault(members: Mapping[str, Any]) -> str:
    """Return a sentence on a fault in the members of a release that names a statistic, otherwise ""."""
    statistic, count = members["statistic"], members.get("count")
    if statistic not in STATISTICS:
        return "`statistic` is not known"
    if members["decision"] != PERTURBED:
        return ""
    if isinstance(count, dict):
        fits = _is_profile(members, statistic, count)
    elif count is None:
        fits = statistic == "sum" and _are(members, _is_number)
        fits = fits or (
            statistic == "mean" and isinstance(members["measurement"], dict) and _is_number(members["value"])
        )
    elif type(count) is not int or not 0 <= count <= MAX_SEQUENCE:
        return "`count` is out of range, or is neither a whole number nor an object of whole numbers"
    else:
        fits = isinstance(members["scale"], float) and (count > 0 or statistic == "mean")
        several = _are(members, is_bars) or _are(members, _are_counts)
        fits = fits and (several if statistic == "histogram" else _are(members, _is_number))
    return "" if fits else f"`value`, `measurement`, `scale` and `count` do not fit a {statistic}"


def is_bars(found: object) -> bool:
    """Return whether this is a histogram of numbers: a whole number for each bin."""
    return isinstance(found, list) and 2 <= len(found) <= MOST_EDGES + 1 and all(type(bar) is int for bar in found)


def _is_profile(members: Mapping[str, Any], statistic: str, count: dict[str, Any]) -> bool:
    if statistic not in ("mean", "sum") or not _are_bins(count):
        return False
    if not all(type(units) is int and 1 <= units <= MOST_UNITS for units in count.values()):
        return False
    scale = members["scale"]
    return _are(members, _are_numbers) and (_are_bins(scale) if statistic == "mean" else isinstance(scale, float))


def _are(members: Mapping[str, Any], fits: Callable[[object], bool]) -> bool:
    return fits(members["value"]) and fits(members["measurement"])


def _is_number(found: object) -> bool:
    return type(found) in (int, float)


def _are_counts(found: object) -> bool:
    return isinstance(found, dict) and bool(found) and all(type(part) is int for part in found.values())


def _are_numbers(found: object) -> bool:
    return isinstance(found, dict) and _are_bins(found) and all(map(_is_number, found.values()))


def _are_bins(found: object) -> bool:
    return isinstance(found, dict) and bool(found) and found.keys() <= _BINS
