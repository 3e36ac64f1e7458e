"""The amount spent is one figure: `replay`, `top`, the metrics and `audit` print the same for one run."""

import json
import time
from pathlib import Path
from typing import Any

from stream_app.cli import main
from stream_app.localbroker.broker import LocalBroker
from stream_app.words.amount import amount
from tests.command import Cli
from tests.kafka.installation import HOUR_MS, START_MS, Installation
from tests.kafka.replayed import replay
from tests.patience import PATIENCE_SECONDS

VALUE = {"kind": "number", "lower": 0, "upper": 10, "resolution": 0.001}
HOURS = 12
DUMMIES = {"method": "heuristic", "utility": "proximity", "start": START_MS, "end": START_MS + HOURS * HOUR_MS}


def policy(series: str, protection: dict[str, Any], scheme: dict[str, Any], **members: Any) -> dict[str, Any]:
    """Return a policy record of hourly numbers."""
    record: dict[str, Any] = {"type": "policy", "series": series, "version": 1, "epsilon": 1.0}
    return record | {"protection": protection | {"step": HOUR_MS}, "scheme": scheme, "value": VALUE} | members


LANDMARK = {"level": "landmark", "landmarks": [START_MS + 5 * HOUR_MS]}
WINDOW = 5
WEEK = {"level": "w-event", "window": WINDOW}
PRIVATE = {"name": "ba", "dissimilarity": "private"}
SERIES = ("default", "drawn", "week", "late")
EVENTS = [
    policy("drawn", LANDMARK, {"name": "uniform"}, dummies={**DUMMIES, "fraction": 0.25}),
    policy("week", WEEK, PRIVATE),
    policy("late", LANDMARK, {"name": "balanced", "regular_share": 0.25}),
    *(
        {"series": series, "timestamp": START_MS + hour * HOUR_MS, "value": hour % 3}
        for hour in range(3)
        for series in SERIES
    ),
    {"type": "landmarks", "series": "late", "add": [START_MS + HOUR_MS]},
    *(
        {"series": series, "timestamp": START_MS + hour * HOUR_MS, "value": hour % 3}
        for hour in range(3, HOURS)
        for series in SERIES
    ),
]


def await_markers(installation: Installation) -> None:
    """Wait until readers see the whole ledger as committed: a commit is answered before its markers exist."""
    topic, deadline = installation.names.ledger, time.monotonic() + PATIENCE_SECONDS
    while len(installation.read(topic)) < len(installation.read(topic, "read_uncommitted")):
        assert time.monotonic() < deadline, "markers of the last transaction"


def told_by_top(address: str, total: int, cli: Cli) -> dict[str, Any]:
    """Return the `top` data of a worker once it counts ``total`` events, which are acknowledged earlier."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        cli.said()
        assert main(["top", "--json", "--interval", "0", "--url", address]) == 0
        instance: dict[str, Any]
        (instance,) = cli.said().document["instances"]
        if instance["events"] >= total:
            return instance
    raise AssertionError(f"it counts fewer than {total} events")


def test_all_print_the_same(broker: LocalBroker, tmp_path: Path, cli: Cli) -> None:
    """Private dissimilarities and draws count, also of default policies; a late landmark's charge is in no sum."""
    own = policy("default", LANDMARK, {"name": "uniform"}, dummies={**DUMMIES, "fraction": 0.125})
    default = {name: member for name, member in own.items() if name not in ("type", "version")}
    installation = Installation(broker, tmp_path, "all-print-the-same", policy=default)
    total = installation.send(EVENTS)
    with installation.worker() as worker:
        worker.await_committed(total)
        address = worker.address()
        instance = told_by_top(address, total, cli)
        assert worker.stop() == 0
    await_markers(installation)
    audited = cli("audit", "--config", installation.config()).out
    ledger = [json.loads(record.value) for record in installation.read(installation.names.ledger)]
    kinds = {(entry["series"], entry["entry"]) for entry in ledger}
    assert {("default", "dummies"), ("drawn", "dummies"), ("late", "landmarks")} <= kinds
    charged = {entry["series"]: entry["charged_nano"] for entry in ledger if entry.get("charged_nano")}
    assert charged.keys() == {"default", "drawn", "late"}
    expected = sum(entry.get("epsilon_nano", 0) for entry in ledger) + charged["default"] + charged["drawn"]
    expected += HOURS * 10**9 // (2 * WINDOW)  # looked at in every hour
    summed = f" steps: {amount(expected)} (no guarantee limits this sum)\n"
    assert instance["spent_nano"] == expected
    assert summed in audited
    cli.said()
    folder = replay(installation)
    assert summed in cli.said().out
    assert summed in cli("audit", "--ledger", folder / "ledger.jsonl").out
