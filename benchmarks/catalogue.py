"""All benchmarks by name, and running one."""

import importlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from benchmarks.figure import Result
from benchmarks.progress import Bars
from benchmarks.site import Ground

BENCHES: Mapping[str, tuple[str, str]] = {
    "worker": ("throughput", "events/s over those of a bare client that writes the same bytes"),
    "faust": ("against_stock", "events/s over those of Faust as it comes"),
    "series": ("population", "memory and speed with a million series"),
    "latency": ("latency", "from append to committed release at half load"),
    "scale": ("scale", "events/s of two and of four workers over those of one"),
    "recovery": ("recovery", "reading the state of a million series back from the changelog"),
    "takeover": (
        "takeover",
        "from a worker's kill until another decides, with a standby replica and without",
    ),
    "sizing": ("sizing", "bytes and processor time for each series, event and ledger entry (docs/sizing.md)"),
    "loss": ("temporal", "temporal loss of a million timestamps, against the published algorithm"),
    "core": ("core", "one decision and its parts, without Kafka"),
    "collect": ("collect", "contributions/s of one open step, their memory, and a closed cell, without Kafka"),
    "audit": ("audit", "entries/s of an audit over those of parsing and hashing them, and its memory"),
}
"""Name, module, what it measures. A module offers ``DEFAULT`` sizes and ``run(ground, sizes, show) -> Result``.

``BROKER`` are further settings of the broker. Where ``NEEDS_BROKER`` is False, ``run`` gets the empty folder instead of
the ground.
"""


def run(name: str, folder: Path, given: Mapping[str, Any]) -> Result:
    """Run a benchmark in an empty ``folder``, in its default sizes but for those ``given``.

    Raises:
        ClientError: when a program under measurement fails.
        LocalBrokerError: when there is no broker.
    """
    module: Any = importlib.import_module(f"benchmarks.{BENCHES[name][0]}")
    sizes = replace(module.DEFAULT, **given)
    with Bars() as bars:
        if not getattr(module, "NEEDS_BROKER", True):
            return cast("Result", module.run(folder, sizes, bars.show))
        with Ground.prepared(folder, getattr(module, "BROKER", None)) as ground:
            return cast("Result", module.run(ground, sizes, bars.show))
