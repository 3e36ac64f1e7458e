"""On real data, the smoothed course is closer to the truth than what the filter `level` publishes."""

from itertools import islice
from pathlib import Path
from statistics import mean
from typing import Any

import pytest

import landmark_stream as ls
from stream_app.api.policy import compiled
from stream_app.demo.data import Reading, glucose, ride

STEPS = 1_000
RUNS = 4
DATA: dict[str, tuple[Any, ls.Number | ls.Location, int, float, tuple[str, ...]]] = {
    "glucose": (glucose, ls.Number(40, 400, 1), 300_000, 10, ("",)),
    "ride": (ride, ls.Location(200, 1, ls.Bounds(-11.8, 166.8, -11.5, 167.1)), 1_000, 4, ("_latitude", "_longitude")),
}


def guess(row: Any, member: str, parts: tuple[str, ...]) -> Any:
    """Return a value of a row in the form of records."""
    if parts == ("",):
        return row[member]
    return {part.removeprefix("_"): row[f"{member}{part}"] for part in parts}


@pytest.mark.parametrize("name", DATA)
def test_smoothed_is_nearer_than_value(name: str, tmp_path: Path) -> None:
    """This holds for means over some runs, each with its own key and twelve landmarks among a thousand steps."""
    read, value, step, epsilon, parts = DATA[name]
    readings: list[Reading] = list(islice(read(), STEPS))
    begin = readings[200][0]
    policy = ls.Policy.landmark(epsilon=epsilon, landmarks=[(begin, begin + 12 * step)], value=value, step=step)
    kind = compiled(policy).kind.item
    rows = [{"timestamp": timestamp_ms, "value": raw} for timestamp_ms, raw in readings]
    errors: dict[str, list[float]] = {"value": [], "smoothed": []}
    for run in range(RUNS):
        found = ls.release(rows, policy, out=tmp_path / str(run), series=name)
        for member, table in (("value", found.releases), ("smoothed", ls.smooth(found))):
            pairs = zip(readings, table, strict=True)
            errors[member] += [kind.error(raw, guess(row, member, parts)) for (_, raw), row in pairs]
    assert mean(errors["smoothed"]) < mean(errors["value"])
