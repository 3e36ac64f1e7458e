"""A year of monthly renewals over both daylight saving changes: the same bytes in `replay` and any batches."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from stream_app.cli import main
from stream_app.deciding import rows
from stream_app.deciding.collection import Collection
from stream_app.deciding.context import Context, Limits
from stream_app.deciding.decider import Append, Decider, Headers, Outlets
from stream_app.deciding.rebuild import rebuild
from stream_app.formats.records import InputRecord
from stream_app.privacy.policy import Policy
from stream_app.setup import keyfile
from tests.run import ACCEPTING, NUMBER, UNIFORM, Record, default, observation, policy

NANO = 10**9
HOUR = 3_600_000
PARIS = ZoneInfo("Europe/Paris")
BOUNDS = [int(datetime(2026, month, 1, tzinfo=PARIS).timestamp()) * 1000 for month in range(2, 13)]
FIRST = int(datetime(2026, 1, 1, tzinfo=PARIS).timestamp()) * 1000
EVENTS = range(FIRST, FIRST + 365 * 24 * HOUR, 7 * HOUR)
SUNDAYS = [[FIRST + (3 + 7 * week) * 24 * HOUR, FIRST + (4 + 7 * week) * 24 * HOUR] for week in range(52)]
LANDMARKS: dict[str, object] = {"level": "landmark", "step": HOUR, "landmarks": SUNDAYS, "spare": 4}
USER: dict[str, object] = {"level": "user", "step": HOUR, "length": 31 * 24}
DEFAULT: dict[str, Any] = {"protection": USER, "scheme": UNIFORM, "value": NUMBER, "renew": BOUNDS}


def log() -> Iterator[Record]:
    """Yield the records of a series with its own policy, and of two under a default policy, one of which pauses."""
    yield policy("own", protection=LANDMARKS, scheme={"name": "adaptive"}, renew=BOUNDS, filter="level")
    for at in EVENTS:
        for series in ("own", "meter-1", "meter-2"):
            if series != "meter-2" or not BOUNDS[3] <= at < BOUNDS[6]:
                yield observation(series, at, at // HOUR % 11)
        if at in EVENTS[200:1200:100]:
            yield {"type": "landmarks", "series": "own", "add": [at + 2000 * HOUR]}
            yield observation("own", at, 5)  # a duplicate


def month_of(timestamp_ms: int) -> int:
    """Return the month that clocks in Paris show."""
    return datetime.fromtimestamp(timestamp_ms / 1000, UTC).astimezone(PARIS).month


@pytest.fixture(scope="module", params=[13, 3])
def lifetime(request: pytest.FixtureRequest) -> int:
    """Return a lifetime with room for every version, or for some."""
    found: int = request.param
    return found


@pytest.fixture(scope="module")
def replayed(tmp_path_factory: pytest.TempPathFactory, lifetime: int) -> Path:
    """Return the folder of a replay of the log."""
    folder = tmp_path_factory.mktemp("year")
    (folder / "log.jsonl").write_text("".join(json.dumps(record) + "\n" for record in log()))
    (folder / "defaults.jsonl").write_text(json.dumps({"series": "meter-*", "epsilon": 1.0, **DEFAULT}))
    (folder / "settings.toml").write_text(f"lifetime_epsilon = {lifetime}.0\n")
    assert main(["keys", "new", str(folder / "key")]) == 0
    words = ["--policies", str(folder / "defaults.jsonl"), "--config", str(folder / "settings.toml")]
    words += ["--key", str(folder / "key"), "--out", str(folder / "out")]
    assert main(["replay", *ACCEPTING, str(folder / "log.jsonl"), *words]) == 0
    return folder


def lines(folder: Path, name: str) -> list[bytes]:
    """Return the lines of an output."""
    return (folder / "out" / f"{name}.jsonl").read_bytes().splitlines()


def test_each_month_has_a_version(replayed: Path, lifetime: int) -> None:
    """A release's version rises with the month in Paris while the lifetime has room; a pause skips months."""
    months: dict[str, list[tuple[int, int]]] = {}
    for release in map(json.loads, lines(replayed, "releases")):
        months.setdefault(release["series"], []).append((month_of(release["timestamp"]), release["policy"]))
    used = used_by_version(lines(replayed, "ledger"))
    refused = 0
    for series, found in months.items():
        assert found[0] == (1, 1)
        for (month, version), (next_month, next_version) in pairwise(found):
            closed = sum(used[series, each] for each in range(1, version + 1))
            room = closed + NANO <= lifetime * NANO
            assert next_version == version + (next_month != month and room), (series, next_month)
            refused += next_month != month and not room
    assert (refused > 0) == (lifetime == 3)
    assert {month for month, _ in months["meter-2"]} == {1, 2, 3, 4, 8, 9, 10, 11, 12}


def test_no_series_passes_its_lifetime(replayed: Path, lifetime: int) -> None:
    """Releases alone show what all versions of a user-level series spent."""
    spent: dict[tuple[str, int], int] = {}
    for release in map(json.loads, lines(replayed, "releases")):
        version = release["series"], release["policy"]
        spent[version] = spent.get(version, 0) + release.get("epsilon_nano", 0)
    for wanted in ("meter-1", "meter-2"):
        ours = [nano for (series, _), nano in spent.items() if series == wanted]
        assert max(ours) <= NANO
        assert sum(ours) <= lifetime * NANO


def used_by_version(ledger: list[bytes]) -> dict[tuple[str, int], int]:
    """Return the usage stated by the last entry of each version."""
    last: dict[tuple[str, int], int] = {}
    for entry in map(json.loads, ledger):
        if "landmark_spent_nano" in entry:
            last[entry["series"], entry["policy"]] = entry["landmark_spent_nano"] + entry["regular_peak_nano"]
    return last


@pytest.mark.parametrize("size", [1, 7, 256, 10**6])
def test_batches_of_any_size_give_the_bytes_of_replay(replayed: Path, lifetime: int, size: int) -> None:
    """As in a worker, each batch writes rows to a table and the next one reads them; the figures agree."""
    defaults = (default("meter-*", **DEFAULT),)
    context = Context(keyfile.load(replayed / "key"), defaults, Limits(lifetime_nano=lifetime * NANO))
    records = [InputRecord("landmark.events", 0, n, 0, None, json.dumps(each).encode()) for n, each in enumerate(log())]
    table: dict[bytes, bytes] = {}
    known: dict[str, Policy] = {}
    out: dict[str, list[bytes]] = {"ledger": [], "releases": [], "rejects": []}
    outlets = Outlets(_into(out["ledger"]), _into(out["releases"]), _into(out["rejects"]), None)
    used, renewals = 0, {"begun": 0, "refused": 0}
    for start in range(0, len(records), size):
        decider = Decider(context, lambda series: rows.load(table.get, series, known), outlets, Collection(bytes(32)))
        assert decider.decide(records[start : start + size])
        table.update(decider.stored())
        used += sum(decider.used().values())
        for outcome, number in decider.renewals.items():
            renewals[outcome] += number
    for name, values in out.items():
        assert values == lines(replayed, name), name
    assert used == sum(used_by_version(out["ledger"]).values())
    versions = sum(json.loads(entry)["entry"] == "policy" for entry in out["ledger"])
    assert renewals["begun"] == versions - 3
    assert sum(renewals.values()) == 11 + 11 + 8, "each bound once, and four that were skipped as one"
    rebuilt = rebuild(context, out["ledger"], out["releases"])
    assert rebuilt == {series: rows.load(table.get, series, {}) for series in ("own", "meter-1", "meter-2")}


def _into(values: list[bytes]) -> Append:
    def append(key: bytes | None, value: bytes, timestamp_ms: int, headers: Headers) -> None:
        del key, timestamp_ms, headers
        values.append(value)

    return append
