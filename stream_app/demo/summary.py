"""The demo's figures: decisions, budget and error of each series."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import ceil, cos, hypot, radians
from typing import Any

import numpy as np
from rich.box import SIMPLE
from rich.table import Table

from stream_app.analysis.error import best_constant
from stream_app.demo.data import DemoSeries
from stream_app.formats import wire
from stream_app.privacy.kinds.location import EARTH_RADIUS_METRES
from stream_app.privacy.policy import policy_of
from stream_app.privacy.reason import REASONS
from stream_app.privacy.values import NANO
from stream_app.words.amount import amount


@dataclass(frozen=True, slots=True)
class SeriesSummary:
    """What became of one series; the mean error compares with the input, so it is for the person who has both."""

    name: str
    unit: str
    events: int
    perturbed: int
    approximated: int
    withheld: int
    rejected: int
    used: float  # S + M: landmarks and the dearest other step
    promised: float  # epsilon
    left: float
    mean_error: float
    constant_error: float  # of the best constant, chosen with knowledge of all values

    def document(self) -> dict[str, object]:
        """Return the figures as JSON values."""
        return {name: getattr(self, name) for name in self.__slots__}


def summarise(
    series: DemoSeries, releases: Iterable[Mapping[str, Any]], entries: Iterable[Mapping[str, Any]]
) -> SeriesSummary:
    """Return the figures of one series from its releases and ledger entries."""
    by_step = {release["timestamp"]: release for release in releases}
    decisions = [release["decision"] for release in by_step.values()]
    last = max((entry for entry in entries if entry["entry"] == "release"), key=lambda entry: int(entry["sequence"]))
    used_nano = last["landmark_spent_nano"] + last["regular_peak_nano"]
    errors = []
    for timestamp_ms, value in series.readings:
        release = by_step.get(timestamp_ms // series.step_ms * series.step_ms)
        if release is not None and "value" in release:
            errors.append(distance(value, release["value"]))
    return SeriesSummary(
        series.name,
        series.unit,
        len(series.readings),
        decisions.count("perturbed"),
        decisions.count("approximated"),
        decisions.count("withheld"),
        len(series.readings) - len(by_step),
        used_nano / NANO,
        last["budget_nano"] / NANO,
        (last["budget_nano"] - used_nano) / NANO,
        float(np.mean(errors)),
        constant_error(series),
    )


def constant_error(series: DemoSeries) -> float:
    """Return the mean error of the one value that is nearest to all readings: nobody knows it beforehand."""
    constant = constant_of(series)
    return float(np.mean([distance(raw, constant) for _, raw in series.readings]))


def constant_of(series: DemoSeries) -> Any:
    """Return the one value that is nearest to all readings; it tells of the input."""
    return best_constant(policy_of(series.policy, 1).kind, [value for _, value in series.readings])


def distance(raw: float | Mapping[str, float], released: float | Mapping[str, float]) -> float:
    """Return the absolute difference of numbers, or the metres between positions."""
    if isinstance(raw, Mapping) and isinstance(released, Mapping):
        north = radians(raw["latitude"] - released["latitude"])
        east = radians(raw["longitude"] - released["longitude"]) * cos(radians(raw["latitude"]))
        return float(EARTH_RADIUS_METRES) * hypot(north, east)
    if isinstance(raw, Mapping) or isinstance(released, Mapping):
        raise TypeError("a number and a position have no distance")
    return abs(raw - released)


def table_of(summaries: Iterable[SeriesSummary]) -> Table:
    """Return the figures as a table."""
    table = Table(title="What was published", box=SIMPLE, padding=0)
    for column in ("series", "events", "perturbed", "repeated", "used of\npromised", "error", "constant"):
        table.add_column(column, justify="left" if column == "series" else "right", no_wrap=True)
    for one in summaries:
        counts = (one.events, one.perturbed, one.approximated)
        # At most four decimals fit into 80 columns; rounded up, so that none is used unseen.
        used, epsilon = amount(ceil(round(one.used * NANO) / 100_000) * 100_000), amount(round(one.promised * NANO))
        errors = f"{one.mean_error:,.1f} {one.unit}", f"{one.constant_error:,.1f}"
        table.add_row(one.name, *(f"{count:,}" for count in counts), f"{used} of {epsilon}", *errors)
    return table


def reasons_of(rejects: Iterable[bytes]) -> str:
    """Return how many records were refused for which reason, most first; empty for none."""
    records = (record for found in parsed(rejects).values() for record in found)
    counts = Counter(str(record["reason"]) for record in records)
    known = {str(reason): advice for reason, advice in REASONS.items()}
    return "; ".join(
        f"{count:,} {reason} ({known[reason].meaning.partition(';')[0]})" for reason, count in counts.most_common()
    )


def parsed(values: Iterable[bytes]) -> dict[str, list[dict[str, Any]]]:
    """Return records by series, in order."""
    by_series: dict[str, list[dict[str, Any]]] = {}
    for value in values:
        record: Any = wire.load(value)
        by_series.setdefault(record["series"], []).append(record)
    return by_series
