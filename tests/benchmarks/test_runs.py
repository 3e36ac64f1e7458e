"""Each benchmark runs in tiny sizes and produces the stated figures; no test depends on the speed."""

import importlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks.__main__ import BENCHES, measured
from benchmarks.result import Result
from benchmarks.rig import site
from benchmarks.rig.site import Ground

FIGURES = {
    "worker": {"worker", "bare", "worker_over_bare", "worker_cpu", "bare_cpu", "bare_cpu_over_worker_cpu"}
    | {"batch", "output"},
    "faust": {"worker", "stock", "worker_over_stock", "worker_cpu", "stock_cpu"},
    "series": {"peak_memory", "peak_memory_few", "many", "few", "many_over_few", "many_cpu", "few_cpu", "new_series"},
    "members": {"peak_memory", "peak_memory_plain", "peak_memory_over_plain", "members", "plain", "members_over_plain"}
    | {"new_cpu", "new_cpu_plain", "known_cpu", "known_cpu_plain"},
    "latency": {"full_load", "load", "p50", "p99", "most"},
    "scale": {"one", "two", "two_over_one", "one_cpu", "two_cpu", "one_broker_cpu", "two_broker_cpu"},
    "recovery": {"start_with_state", "start_without_state", "recovery", "rows", "rate", "row_cpu"},
    "takeover": {"without_noticed", "without_take_over", "without_rows"}
    | {"standby_noticed", "standby_take_over", "standby_rows", "take_over_without_over_standby"},
    "sizing": {"events_event", "releases_event", "ledger_event", "ledger_series", "changelog_row", "changelog_event"}
    | {"state_series", "cached_series", "worker_memory", "worker_cpu_event", "broker_cpu_event"}
    | {"recovered_rows", "recovery_row", "recovery_cpu_row", "audit_cpu_entry", "audit_memory"},
    "units": {"units", "plain", "units_over_plain", "units_cpu", "plain_cpu", "plain_cpu_over_units_cpu"}
    | {"deciding_units", "deciding_plain", "deciding_plain_over_units"}
    | {"changelog_reading", "memory_idle", "memory_above_idle", "memory_above_idle_plain"}
    | {"recovered_rows", "recovery", "recovery_row_cpu", "recover", "recover_reading_cpu", "recover_memory"},
}
ELSEWHERE = {"core", "audit", "loss", "collect", "feeder", "peers", "worker"}
"""Benchmarks without a broker; `peers`, in `test_peers`; and `worker`, as the command runs it."""
EVENTS = 10_000
SIZES = {
    "worker": {"events": 6 * EVENTS, "series": 50},  # so many that two looks at the topic find different ends
    "faust": {"events": EVENTS, "series": 50},
    "series": {"events": EVENTS, "series": EVENTS},
    "members": {"events": EVENTS, "series": EVENTS},
    "latency": {"events": EVENTS, "series": 50},
    "scale": {"events": EVENTS, "series": 50, "partitions": 2},
    "recovery": {"series": 500},
    "takeover": {"series": 500, "partitions": 2},
    "sizing": {"events": EVENTS, "series": 500},
    "units": {"events": EVENTS, "series": 500},
}


LONG = {"faust", "latency", "members", "recovery", "scale", "series", "takeover", "units"}
"""Benchmarks in `make long`, because they share all machinery with others."""


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.long] * (name in LONG)) for name in BENCHES if name not in ELSEWHERE],
)
def test_finds_the_stated_figures(name: str, ground: Ground) -> None:
    """The sizes are those requested, every figure is measured once, and targets name figures."""
    shown: list[str] = []
    module: Any = importlib.import_module(f"benchmarks.measures.{name}")
    sizes = replace(module.DEFAULT, repeats=1, **({"partitions": 1} | SIZES[name]))
    result: Result = module.run(ground, sizes, lambda what, *_: shown.append(what))
    assert result.bench == name
    assert result.sizes == sizes.document()
    assert result.figures.keys() == FIGURES[name]
    assert all(len(figure.runs) == 1 for figure in result.figures.values())
    assert {target.figure for target in result.targets} <= result.figures.keys()
    assert shown


@pytest.mark.parametrize("java", ["quick start", pytest.param("full speed", marks=pytest.mark.long)])
def test_the_command_starts_a_broker_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, java: str) -> None:
    """It has cores of its own, and the sizes are those given to the command.

    At full speed, Java compiles for longer than everything else takes, so that case is in `make long`.
    """
    if java == "quick start":
        monkeypatch.setattr(site, "_FULL_SPEED", ())
    assert measured("worker", tmp_path, SIZES["worker"] | {"repeats": 1}).figures.keys() == FIGURES["worker"]
