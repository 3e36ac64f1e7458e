"""The page on sizing: every figure of its tables follows from the measured ones in docs/sizing.json."""

import json
import math
from typing import Any

import pytest

from tests.deploy import ROOT

MEASURED: dict[str, Any] = json.loads((ROOT / "docs" / "sizing.json").read_text())
PAGE = (ROOT / "docs" / "sizing.md").read_text()
RECORDS = ("event", "release", "entry", "policy", "row")
HOURS_A_YEAR = 8_760
REPLICAS = 3
PLANNED_EVENTS_PER_SECOND = 5_000
LEAST_WORKERS = 2
PARTITIONS_A_WORKER = 4
COPIES = 2 * 2  # owner and standby, and as much again while RocksDB compacts
CLEAN_SHARE = 0.8  # the changelog is compacted when a fifth of it is outdated


def on_disk(kind: str, record: str) -> int:
    """Return the size in bytes of a record in the broker's log, for one replica."""
    return int(MEASURED["values"][kind][record] + MEASURED["framing"][record])


def shown(number: float) -> str:
    """Write bytes in the page's form: two digits and a decimal unit."""
    units = ["B", "kB", "MB", "GB", "TB", "PB"]
    while number >= 999.5:
        number /= 1000
        units.pop(0)
    unit = units[0]
    return f"{number:.2g} {unit}" if number < 99.5 else f"{number:.0f} {unit}"


@pytest.mark.parametrize("kind", MEASURED["values"])
def test_records_are_values_and_framing(kind: str) -> None:
    """Each row of the first table is the value and its framing."""
    assert f"| {kind} | " + " | ".join(str(on_disk(kind, record)) for record in RECORDS) + " |" in PAGE


@pytest.mark.parametrize("exponent", [4, 6, 8])
def test_plans_follow(exponent: int) -> None:
    """Each row of the second table is correct, for one number per hour."""
    series = 10**exponent
    events_per_second = series / 3_600
    workers = max(LEAST_WORKERS, math.ceil(events_per_second / PLANNED_EVENTS_PER_SECOND))
    cells = [
        f"10^{exponent}",
        f"{events_per_second:,.0f}",
        str(workers),
        str(PARTITIONS_A_WORKER * workers),
        shown(series * MEASURED["state_bytes_per_series"] * COPIES / workers),
        shown(series * on_disk("number", "row") / CLEAN_SHARE * REPLICAS),
        shown(series * HOURS_A_YEAR * on_disk("number", "entry") * REPLICAS),
        shown(series * HOURS_A_YEAR * on_disk("number", "release") * REPLICAS),
        f"{series / workers / MEASURED['recovered_rows_per_second']:,.1f} s",
    ]
    assert f"| {' | '.join(cells)} |" in PAGE, cells


def test_measured_figures_stand_in_the_page() -> None:
    """Figures that are not in a table are in the text."""
    speeds, costs = MEASURED["events_per_second"], MEASURED["worker_cpu_microseconds"]
    for figure in (*speeds.values(), *costs.values(), MEASURED["recovered_rows_per_second"]):
        assert f"{figure:,}" in PAGE
    for name in (
        "state_bytes_per_series",
        "worker_peak_megabytes",
        "cached_bytes_per_series",
        "filtered_bytes_per_series",
        "decoded_bytes_per_series",
    ):
        assert f" {MEASURED[name]} " in " ".join(PAGE.split())
