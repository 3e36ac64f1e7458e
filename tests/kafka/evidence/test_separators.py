"""Another `member_separator` on a real broker: series placed by one never continue or begin under another."""

import json
from typing import Any

import pytest

from tests.kafka.acts import stopped
from tests.kafka.installation import HOUR_MS, START_MS, Installation

INSTALLED: dict[str, Any] = {
    "policy": {
        "series": "*",
        "epsilon": 0.5,
        "protection": {"level": "event", "step": HOUR_MS},
        "scheme": {"name": "uniform"},
        "value": {"kind": "number", "lower": 0, "upper": 10, "resolution": 0.1},
    },
    "more": {"member_separator": "/", "member_epsilon": 1.0, "exit_when_stopped": "all"},
}
"""Topics of two partitions, with members."""


def reading(series: str, step: int = 0) -> dict[str, object]:
    """Return one reading."""
    return {"series": series, "timestamp": START_MS + step * HOUR_MS, "value": 1}


def test_another_separator_stops_every_partition(installation: Installation) -> None:
    """The empty partition stops too: a series whose spends are on the other one could start over there."""
    total = installation.send([reading("p/a"), reading("p/b"), reading("p/c")])
    with installation.worker() as worker:
        worker.await_committed(total)
        worker.await_ready(200, "partitions [0, 1]")
        stopped(installation, "other workers use a different member_separator", name="b", member_separator=":")
        worker.await_ready(200, "partitions [0, 1]")
        assert worker.stop() == 0
    before = [record.value for record in installation.read(installation.names.ledger)]
    assert [b'"entry":"member"' in value for value in before] == [True, False, False, False, False]
    told = (f"partition {partition} stopped (separator-changed)" for partition in (0, 1))
    stopped(installation, *told, member_separator=":")
    assert [record.value for record in installation.read(installation.names.ledger)] == before
    total += installation.send([reading("p/a", 1)])
    with installation.worker() as worker:
        worker.await_committed(total)


def test_without_series_a_separator_may_come(installation: Installation) -> None:
    """A separator that placed no series binds nobody; the new one is in every row before anything is decided."""
    for name, separator in (("a", "/"), ("b", ":")):
        with installation.worker(name, member_separator=separator) as worker:
            worker.await_log("page, metrics and health at")
            worker.await_ready(200, "partitions [0, 1]")
            assert worker.stop() == 0
    installation.more["member_separator"] = ":"
    total = installation.send([reading("p:a")])
    installation.decide(total)
    assert len(installation.read(installation.names.ledger)) == 3


def test_recovered_members_claim_no_more(installation: Installation, capsys: pytest.CaptureFixture[str]) -> None:
    """Claims and caps are restored from the ledger alone, only under the separator that wrote it."""
    total = installation.send([reading("p/a"), reading("p/b"), reading("q/a")])
    installation.decide(total)
    installation.delete(installation.names.changelog)
    for separator in (":", None):
        installation.more["member_separator"] = separator
        assert installation.command("recover") != 0
        assert "a different `member_separator`" in capsys.readouterr().err
    installation.more |= {"member_separator": "/", "member_epsilon": 9.0}
    assert installation.command("recover") == 0
    total += installation.send([reading("p/c"), reading("q/b"), reading("q/c"), reading("p/a", 1)])
    installation.decide(total)
    rejects = [json.loads(record.value) for record in installation.read(installation.names.rejects)]
    assert sorted((reject["series"], reject["reason"]) for reject in rejects) == [
        ("p/c", "member-cap"),
        ("q/c", "member-cap"),
    ]
    assert installation.command("audit") == 0
