"""`keys erase` while steps of units are open: their rows stay sealed, they never close, all else continues."""

import asyncio
import json
from contextlib import suppress
from itertools import product, starmap
from pathlib import Path
from typing import Any

import pytest

from stream_app.cli import main
from stream_app.deciding.units.sealed import PREFIX, LostUnitsError, Place, opened
from stream_app.kafka.client.topicid import describe
from stream_app.localbroker.broker import LocalBroker
from stream_app.privacy.noise.key import KeyRing
from stream_app.setup import keyfile
from tests.kafka.installation import HOUR_MS, Installation
from tests.kafka.test_key_life import DAY_MS, FIRST, Erasing

MIDNIGHT_MS = (FIRST + 1) * DAY_MS
"""Everything that begins before midnight belongs to the erased epoch."""
STEP_MS = 12 * HOUR_MS
SERIES = ("old", "both", "young")


def _policy(series: str) -> dict[str, Any]:
    """Return a policy with noise that is 0 almost surely and with two open half days."""
    return {
        "type": "policy",
        "series": series,
        "version": 1,
        "epsilon": 1e6,
        "protection": {"level": "event", "step": STEP_MS, "unit": HOUR_MS, "open_steps": 2},
        "scheme": {"name": "uniform"},
        "value": {"kind": "number", "lower": 0, "upper": 10, "resolution": 0.01, "statistic": "mean"},
    }


def _reading(series: str, hours: float, value: float) -> dict[str, Any]:
    """Return a reading this many hours after midnight."""
    return {"series": series, "timestamp": MIDNIGHT_MS + int(hours * HOUR_MS), "value": value}


@pytest.mark.parametrize("lost", [False, True])
def test_open_units_of_an_erased_epoch(
    broker: LocalBroker,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    lost: bool,  # noqa: FBT001 (a parameter of the test)
) -> None:
    """The erasure asks for consent; a worker then passes those steps over, their rows stay sealed, all goes on.

    One series has an open step before midnight, one after it, and one has both. ``lost``: the rows are lost afterwards.
    """
    name = f"erased-units-{lost}".lower()
    installation = Installation(broker, tmp_path, name, partitions=1, more={"key_epoch_ms": DAY_MS})
    erase = Erasing(installation, capsys)
    readings = [("old", -11.5, 2), ("old", -3, 4), ("both", -3, 6), ("both", 1, 8), ("young", 2, 1)]
    total = installation.send([*map(_policy, SERIES), *starmap(_reading, readings)])
    installation.decide(total)
    whole, rows = keyfile.load(erase.key, DAY_MS), _sealed(installation)
    assert _open_for(installation, whole, rows) == {("old", -1), ("both", -1), ("both", 0), ("young", 0)}

    code, report = erase("--dry-run", before=FIRST + 1)
    assert (code, report["partitions"][0]["lost"]) == (1, 2), "the steps before midnight would never be released"
    assert erase("--accept-rejects", before=FIRST + 1)[0] == 0
    later = keyfile.load(erase.key, DAY_MS)
    assert _open_for(installation, later, rows) == {("both", 0), ("young", 0)}, "what a thief finds on disk and in logs"
    if lost:
        installation.delete(installation.names.changelog)
        config = installation.config(f'key_file = "{erase.key}"', f"key_epoch_ms = {DAY_MS}")
        assert main(["recover", "--config", config, "--json"]) == 0

    more = [("old", -2, 5), ("old", 3, 7), ("both", 2, 4), ("young", 11, 3)]
    watermarks = [{"type": "watermark", "series": name, "timestamp": MIDNIGHT_MS + DAY_MS} for name in SERIES]
    total += installation.send([*starmap(_reading, more), *watermarks])
    log = installation.decide(total)
    assert "partition 0 stopped" not in log, "one epoch that is gone stops no partition"
    rejects = [json.loads(record.value) for record in installation.read(installation.names.rejects)]
    assert [(reject["series"], reject["reason"]) for reject in rejects] == [("old", "key-erased")]
    releases = [json.loads(record.value) for record in installation.read(installation.names.releases)]
    found = [
        (one["series"], (one["timestamp"] - MIDNIGHT_MS) // STEP_MS, one["value"], one["count"]) for one in releases
    ]
    assert found == [("old", 0, 7, 1), ("both", 0, 6, 2), ("young", 0, 2, 2)]
    assert set(_sealed(installation).values()) == {None}, "rows of steps that nobody can open are deleted as well"
    assert installation.command("audit") == 0


def _sealed(installation: Installation) -> dict[bytes, bytes | None]:
    """Return the latest sealed rows in the changelog, by their keys."""
    records = installation.read(installation.names.changelog)
    return {record.key: record.value for record in records if record.key and record.key.startswith(PREFIX)}


def _open_for(installation: Installation, ring: KeyRing, rows: dict[bytes, bytes | None]) -> set[tuple[str, int]]:
    """Return series and step, counted from midnight, of the rows that any key of a ring opens."""
    topic = asyncio.run(describe(installation.settings(), [installation.names.events]))[installation.names.events].id
    secrets = {ring.sealing_of(epoch) for epoch in (*range(2), *range(FIRST - 3, FIRST + 4))} - {None}
    found = set()
    for name, secret, step in product(SERIES, secrets, range(-3, 4)):
        index = MIDNIGHT_MS // STEP_MS + step
        place = Place(name.encode(), index, 1, index * STEP_MS // HOUR_MS)
        with suppress(LostUnitsError):
            if secret is not None and (row := rows.get(place.row_key)) is not None:
                opened(secret, topic, place, row)
                found.add((name, step))
    return found
