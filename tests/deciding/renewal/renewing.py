"""Records that renew, and the results of a run: its entries, versions, and rebuilt rows."""

import json

from stream_app.deciding import rows
from stream_app.deciding.context import Limits
from stream_app.deciding.rebuild import rebuild
from tests.run import Run, policy

NANO = 10**9
ROOM = Limits(lifetime_nano=100 * NANO)
DRAWN = {"method": "padding", "probability": 0.5, "start": 0, "end": 100}


def landmarks(*spans: object, **members: object) -> dict[str, object]:
    """Return the protection of level landmark."""
    return {"level": "landmark", "landmarks": list(spans), "step": 10, **members}


def renewing(series: str = "a", **members: object) -> dict[str, object]:
    """Return a policy record with bounds at 100, 200 and 300."""
    return policy(series, renew=[100, 200, 300], protection=landmarks([150, 160])) | members


def versions(run: Run) -> list[tuple[int, int]]:
    """Return timestamp and version of each release."""
    return [(found["timestamp"], found["policy"]) for found in map(json.loads, run.releases)]


def rebuilt(run: Run) -> Run:
    """Return the run with rows rebuilt from ledger and releases, to the byte."""
    again = rebuild(run.context, run.ledger, run.releases)
    assert again == run.rows
    for series, row in run.rows.items():
        assert rows.dump(again[series], None, set()) == rows.dump(row, None, set())
        assert again[series].policy.fixed is row.policy.fixed
    return run


def parameters_of(record: dict[str, object]) -> dict[str, object]:
    """Return the content of a policy record other than its place."""
    return {name: part for name, part in record.items() if name not in {"type", "series", "version"}}
