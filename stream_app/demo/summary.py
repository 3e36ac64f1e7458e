"""The demo's figures: each series' decisions, budget and error, and the true and published weekly means."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, fsum, log
from statistics import median
from typing import Any, Final

import numpy as np
from rich.box import SIMPLE
from rich.table import Table

from stream_app.demo.data import DemoSeries
from stream_app.formats import wire
from stream_app.privacy.reason import REASONS
from stream_app.privacy.values import NANO
from stream_app.words.amount import amount

CONFIDENCE: Final = 0.95
HALF: Final = 2


@dataclass(frozen=True, slots=True)
class Week:
    """A week of the sample without its landmarks, with figures in the value's unit."""

    start_ms: int
    truth: float  # the mean over hours. PRIVACY: raw; the demo shows it because its sample is public
    estimate: float  # published
    half: float  # half of the published mean's 95 % interval
    averaged: float  # the mean of the week's measurements as single releases


@dataclass(frozen=True, slots=True)
class SeriesSummary:
    """The result of one series; its mean error compares its releases with the input."""

    name: str
    unit: str
    events: int
    perturbed: int
    approximated: int
    withheld: int
    rejected: int
    used: float  # S + M: landmarks and costliest other step
    promised: float  # epsilon
    left: float
    mean_error: float
    constant_error: float  # of the constant baseline, chosen with all values
    averaged_error: float | None = None  # of weekly means: the error of averaged single releases

    def document(self) -> dict[str, object]:
        """Return the figures as JSON values."""
        return {name: getattr(self, name) for name in self.__slots__}


def summarise(
    series: DemoSeries,
    releases: Iterable[Mapping[str, Any]],
    entries: Iterable[Mapping[str, Any]],
    weeks: Sequence[Week],
) -> SeriesSummary:
    """Return a series' figures from its releases and ledger entries; ``weeks`` are used for weekly means."""
    found = {release["timestamp"]: release for release in releases}
    decisions = [release["decision"] for release in found.values()]
    last = max((entry for entry in entries if entry["entry"] == "release"), key=lambda entry: int(entry["sequence"]))
    used_nano = last["landmark_spent_nano"] + last["regular_peak_nano"]
    errors: tuple[float, float, float | None]
    if series.weekly:
        constant = best_constant_of(weeks)
        errors = (
            error_of((week.truth, week.estimate) for week in weeks),
            error_of((week.truth, constant) for week in weeks),
            error_of((week.truth, week.averaged) for week in weeks),
        )
    else:
        errors = (_error_of_steps(series, found), constant_error(series), None)
    return SeriesSummary(
        series.name,
        series.unit,
        len(series.readings),
        decisions.count("perturbed"),
        decisions.count("approximated"),
        decisions.count("withheld"),
        series.repeats() if series.weekly else len(series.readings) - len(found),
        used_nano / NANO,
        last["budget_nano"] / NANO,
        (last["budget_nano"] - used_nano) / NANO,
        *errors,
    )


def _error_of_steps(series: DemoSeries, found: Mapping[int, Mapping[str, Any]]) -> float:
    # PRIVACY: see `constant_error`.
    ruling = series.ruling
    kind = ruling.kind.item
    pairs = ((value, found.get(ruling.start_of(ruling.index_of(at_ms)))) for at_ms, value in series.readings)
    return float(
        np.mean([kind.error(value, one["value"]) for value, one in pairs if one is not None and "value" in one])
    )


def constant_error(series: DemoSeries) -> float:
    """Return the mean error of the constant with the smallest error, which is known only in hindsight."""
    # PRIVACY: errors are computed from raw values; the demo shows their means because its sample is public.
    constant, kind = constant_of(series), series.ruling.kind.item
    return float(np.mean([kind.error(raw, constant) for _, raw in series.readings]))


def constant_of(series: DemoSeries) -> Any:
    """Return the constant with the smallest error; this constant reveals something about the input."""
    return series.ruling.kind.item.best_constant([value for _, value in series.readings])


def weeks_of(
    weekly: DemoSeries, releases: Iterable[Mapping[str, Any]], single: Iterable[Mapping[str, Any]]
) -> tuple[Week, ...]:
    """Return the weeks with a published mean; ``single`` are the single releases of the same readings.

    Weeks with less than half as many hours as the fullest week are omitted, because the data begin, pause or end in
    these weeks.
    """
    ruling, means = weekly.ruling, [one for one in releases if one["decision"] == "perturbed"]
    most = max((one["count"] for one in means), default=0)

    def by_week(numbers: Iterable[tuple[int, Any]]) -> dict[int, list[float]]:
        found: dict[int, list[float]] = {}
        for timestamp_ms, number in numbers:
            found.setdefault(ruling.start_of(ruling.index_of(timestamp_ms)), []).append(number)
        return found

    raw = by_week(true_units(weekly).items())
    measured = by_week(
        (one["timestamp"], one["measurement"])
        for one in single
        if "measurement" in one and not in_landmark(weekly, one["timestamp"])
    )
    return tuple(
        Week(
            one["timestamp"],
            _mean(raw[one["timestamp"]]),
            one["value"],
            # The noise is Laplace noise of this scale, on a much finer grid.
            one["scale"] * -log(1 - CONFIDENCE),
            _mean(measured[one["timestamp"]]),
        )
        for one in means
        if HALF * one["count"] >= most
    )


def true_units(weekly: DemoSeries) -> dict[int, float]:
    """Return the mean reading of each unit that is not a landmark, keyed by the unit's start."""
    units = weekly.ruling.units
    assert units is not None, "a statistic of units"
    found: dict[int, list[float]] = {}
    for timestamp_ms, value in weekly.readings:
        if not in_landmark(weekly, timestamp_ms):
            assert isinstance(value, float), "glucose is a number"
            since_ms = (timestamp_ms - units.offset_ms) % units.unit_ms
            found.setdefault(timestamp_ms - since_ms, []).append(value)
    return {start_ms: _mean(values) for start_ms, values in found.items()}


def in_landmark(series: DemoSeries, timestamp_ms: int) -> bool:
    """Return whether a moment lies in a landmark; a landmark consists of whole units."""
    spans: list[list[int]] = series.policy["protection"]["landmarks"]
    return any(start_ms <= timestamp_ms < end_ms for start_ms, end_ms in spans)


def best_constant_of(weeks: Iterable[Week]) -> float:
    """Return the constant, known only in hindsight, with the smallest error for all true means."""
    return median(week.truth for week in weeks)


def error_of(pairs: Iterable[tuple[float, float]]) -> float:
    """Return the mean absolute difference of one or more pairs."""
    return _mean([abs(one - other) for one, other in pairs])


def _mean(numbers: list[float]) -> float:
    return fsum(numbers) / len(numbers)


def table_of(summaries: Iterable[SeriesSummary]) -> Table:
    """Return the figures as a table."""
    table = Table(title="What was published", box=SIMPLE, padding=0)
    for column in ("series", "events", "perturbed", "repeated", "used of\nlimit", "error", "constant"):
        table.add_column(column, justify="left" if column == "series" else "right", no_wrap=True)
    for one in summaries:
        counts = (one.events, one.perturbed, one.approximated)
        # At most four decimals fit into 80 columns. The amount is rounded up, so that none is used unseen.
        used, epsilon = amount(ceil(round(one.used * NANO) / 100_000) * 100_000), amount(round(one.promised * NANO))
        errors = f"{one.mean_error:,.1f} {one.unit}", f"{one.constant_error:,.1f}"
        table.add_row(one.name, *(f"{count:,}" for count in counts), f"{used} of {epsilon}", *errors)
        if one.averaged_error is not None:
            averaged = f"{one.averaged_error:,.1f} {one.unit}", f"{one.constant_error:,.1f}"
            table.add_row("  single releases", *[""] * 4, *averaged)
    return table


def reasons_of(rejects: Iterable[bytes]) -> str:
    """Return the number of rejected records for each reason, most frequent first; "" if there are none."""
    records = (record for found in parsed(rejects).values() for record in found)
    counts = Counter(str(record["reason"]) for record in records)
    known = {str(reason): advice for reason, advice in REASONS.items()}
    return "; ".join(
        f"{count:,} {reason} ({known[reason].meaning.partition(';')[0]})" for reason, count in counts.most_common()
    )


def parsed(values: Iterable[bytes]) -> dict[str, list[dict[str, Any]]]:
    """Return the records of each series, in order."""
    by_series: dict[str, list[dict[str, Any]]] = {}
    for value in values:
        record: Any = wire.load(value)
        by_series.setdefault(record["series"], []).append(record)
    return by_series
