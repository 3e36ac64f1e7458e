"""Frauds against statistics of units: too little noise, false counts and bins, late units at too small a charge."""

from collections.abc import Iterator
from typing import Any

from tests.audit.frauds.forged import Forged, forged, frauds_in
from tests.audit.frauds.published import scales
from tests.audit.written import Record, Written, cover, releases_in, renumber, seal

MOST_UNITS = 10_000
"""Of a step."""


def noise_without_windows(true: Written) -> Iterator[Forged]:
    """The noise protects one unit, although any w in a row are protected together."""
    for index, window, _ in _measured(true):
        if window > 1:
            yield _scaled(true, index, 1 / window)


def noise_of_one_bin(true: Written) -> Iterator[Forged]:
    """The noise of a histogram covers a unit leaving a bin, but not its entering another one."""
    for index, _, release in _measured(true):
        if release["statistic"] == "histogram":
            yield _scaled(true, index, 0.5)


def count_divided_twice(true: Written) -> Iterator[Forged]:
    """The noise of a mean is divided by the number of units twice, or that of a sum once."""
    for index, _, release in _measured(true):
        units = release["count"]
        if isinstance(units, int) and units > 1:
            yield _scaled(true, index, 1 / units)


def count_changed(true: Written) -> Iterator[Forged]:
    """The number of units is changed, missing, or one that no step can have."""
    for index, _, release in _measured(true):
        for count in _other_counts(release["count"]):
            written = true.copy()
            written.releases[index]["count"] = count
            yield forged(seal(cover(written)), "release-mismatch", "malformed-release")
        written = true.copy()
        del written.releases[index]["count"]
        yield forged(seal(cover(written)), "release-mismatch", "malformed-release")


def landmarks_counted(true: Written) -> Iterator[Forged]:
    """A statistic claims more units than the non-landmarks; scale, value and measurement are made to match."""
    for index, _, release in _measured(true):
        if not isinstance(release["count"], int) or release["statistic"] == "share":
            continue
        written = true.copy()
        changed = written.releases[index]
        if release["statistic"] == "mean":
            for member in ("scale", "measurement"):
                changed[member] = changed[member] * changed["count"] / 5
            changed["value"] = min(changed["measurement"], 10.0)
        changed["count"] = 5
        yield forged(seal(cover(written)), "release-mismatch")


def bins_changed(true: Written) -> Iterator[Forged]:
    """A bin is missing or added, in one member or in all; or the bins have another order or form."""
    for index, _, release in _measured(true):
        several = [
            name for name in ("value", "measurement", "scale", "count") if isinstance(release[name], dict | list)
        ]
        for name in several:
            for other in (each for each in _other_bins(release[name]) if repr(each) != repr(release[name])):
                written = true.copy()
                written.releases[index][name] = other
                yield forged(seal(cover(written)), "release-mismatch", "malformed-release")
        if isinstance(release["count"], dict):
            written = true.copy()
            for name in several:
                written.releases[index][name]["9"] = written.releases[index][name].pop(next(iter(release["count"])))
            yield forged(seal(cover(written)), "release-mismatch")
        if several and release["statistic"] == "histogram":
            written = true.copy()
            for name in several:
                written.releases[index][name] = next(_other_bins(release[name]))
            yield forged(seal(cover(written)), "release-mismatch")


def late_units_cheap(true: Written) -> Iterator[Forged]:
    """Units of decided steps become landmarks at the charge of one of them, or at one less than is due."""
    for index, entry in enumerate(true.entries):
        charge = entry.get("charged_nano", 0)
        if not charge:
            continue
        for less in {charge - 1, charge // 2, charge - charge // 3}:
            written = true.copy()
            for later in written.entries[index:]:
                if later["policy"] == entry["policy"] and "landmark_spent_nano" in later:
                    later["landmark_spent_nano"] -= charge - less
            written.entries[index]["charged_nano"] = less
            yield forged(seal(written), "charge")


def never_waited(true: Written) -> Iterator[Forged]:
    """A version spends in a window with a step on which an earlier version with other units spent."""
    for index, entry in releases_in(true):
        if entry["decision"] != "withheld":
            continue
        written = true.copy()
        spent = next(one for _, one in releases_in(true) if one["policy"] == entry["policy"] and "epsilon_nano" in one)
        figures = ("sequence", "timestamp", "previous", "hash")
        written.entries[index] = spent | {name: entry[name] for name in figures}
        place = next(at for at, one in enumerate(written.releases) if one["timestamp"] == entry["timestamp"])
        like = next(one for one in true.releases if one["timestamp"] == spent["timestamp"])
        written.releases[place] = like | {"timestamp": entry["timestamp"]}
        yield forged(seal(cover(written)), "theorem")


def grid_left(true: Written) -> Iterator[Forged]:
    """A step or unit starts where none can, as if the grid had no offset."""
    unit = step = 0
    for index, entry in enumerate(true.entries):
        if entry["entry"] == "policy":
            unit, step = (entry["parameters"]["protection"].get(name, 0) for name in ("unit", "step"))
        written = true.copy()
        if entry["entry"] == "release" and 0 < unit < step:
            written.entries[index]["timestamp"] += unit
        elif entry["entry"] == "landmarks":
            if unit == 1:  # every time is the start of one
                continue
            written.entries[index]["add"][-1][1] += 1
        else:
            continue
        yield forged(seal(written), "step-alignment")


def all_left_out(true: Written) -> Iterator[Forged]:
    """A step is decided although all its units are landmarks."""
    for index, entry in releases_in(true):
        policy = next(one for one in true.entries[index::-1] if one["entry"] == "policy")
        protection = policy["parameters"]["protection"]
        if "unit" not in protection or protection["level"] != "landmark":
            continue
        written = true.copy()
        changed: Record = written.entries[true.entries.index(policy)]["parameters"]["protection"]
        changed["landmarks"] = [[entry["timestamp"], entry["timestamp"] + protection["step"]]]
        yield forged(renumber(written), "decision")


def promise_widened(true: Written) -> Iterator[Forged]:
    """The policy is changed to protect more units in a row than the noise does."""
    for index, entry in enumerate(true.entries[:-1]):
        protection = entry["parameters"]["protection"] if entry["entry"] == "policy" else {}
        if "unit" not in protection or protection["level"] != "landmark":
            continue
        written = true.copy()
        written.entries[index]["parameters"]["protection"]["window"] = protection.get("window", 1) + 1
        yield forged(seal(written), "release-mismatch", "share")


def _measured(true: Written) -> Iterator[tuple[int, int, Record]]:
    """Yield the positions of perturbed unit releases with their windows."""
    windows: dict[int, int] = {}
    for entry in true.entries:
        if entry["entry"] == "policy":
            windows[entry["policy"]] = entry["parameters"]["protection"].get("window", 1)
    for index, release in enumerate(true.releases):
        if "measurement" in release and "count" in release:
            yield index, windows[release["policy"]], release


def _scaled(true: Written, index: int, change: float) -> Forged:
    written = true.copy()
    scale = true.releases[index]["scale"]
    for other in scales(scale, change):
        written.releases[index]["scale"] = other
    return forged(seal(cover(written)), "release-mismatch")


def _other_counts(count: Any) -> Iterator[Any]:
    if isinstance(count, dict):
        for name, units in count.items():
            yield from (count | {name: other} for other in (units + MOST_UNITS, 0, -1, float(units)))
        yield sum(count.values())
        yield {}
    else:
        yield from (count + MOST_UNITS, 0, -1, float(count), True, [count], {"1": count})


def _other_bins(bins: Any) -> Iterator[Any]:
    if isinstance(bins, list):
        yield from (bins[:-1], [*bins, 0], [float(each) for each in bins])
        yield {str(nth): bar for nth, bar in enumerate(bins)}
        return
    yield dict(list(bins.items())[:-1])
    yield bins | {"23": next(iter(bins.values()))}
    yield dict(reversed(bins.items()))
    yield list(bins.values())


FRAUDS = frauds_in(__name__)
