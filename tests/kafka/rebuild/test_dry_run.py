"""``worker --rehearse`` on a real broker: it reports what a start would do, and writes nothing."""

import asyncio
import json
from typing import Any

import pytest

from stream_app.cli import main
from stream_app.formats import encoding
from stream_app.kafka.client.routing import router
from tests.kafka.acts import abort_entries, stopped
from tests.kafka.installation import POLICY, START_MS, Installation, readings
from tests.kafka.test_faults import ledger_of

INSTALLED: dict[str, Any] = {"policy": {**POLICY, "scheme": {"name": "balanced"}}}
"""Releases go through the filter."""


def rehearsed(installation: Installation, capsys: pytest.CaptureFixture[str]) -> tuple[int, list[str]]:
    """Return exit code and lines of the rehearsal; check that no topic changed, not even uncommitted."""
    policies = installation.folder / "policies.jsonl"
    policies.write_text(json.dumps(installation.policy))
    config = installation.config(f'key_file = "{installation.folder / "key"}"', f'policies_file = "{policies}"')
    before = [len(installation.read(name, "read_uncommitted")) for name in installation.names]
    capsys.readouterr()
    code = main(["worker", "--rehearse", "--config", config])
    lines = capsys.readouterr().out.splitlines()
    assert [len(installation.read(name, "read_uncommitted")) for name in installation.names] == before
    return code, lines


def left_behind(installation: Installation, series: str, *, otherwise: bool) -> int:
    """Send an event of a new series whose entries were aborted once; return its partition.

    With ``otherwise`` the entries are those of a version whose filter gave another estimate.
    """
    event = {"series": series, "timestamp": START_MS, "value": 3}
    partition = router(installation.partitions)(series.encode())
    offset = sum(record.partition == partition for record in installation.read(installation.names.events))
    entries = ledger_of(installation, [event])
    (release,) = (installation.folder / "tail" / "releases.jsonl").read_bytes().splitlines()
    if otherwise:
        found: dict[str, Any] = json.loads(release)
        release = compact(found | {"value": round(10 - found["value"], 3)})
        last = {name: part for name, part in entries[-1].items() if name != "hash"}
        last["release"] = encoding.digest(release)
        entries[-1] = last | {"hash": encoding.digest(compact(last)[:-1])}
    asyncio.run(abort_entries(installation, partition, offset, entries, release))
    installation.send([event])
    return partition


def compact(document: object) -> bytes:
    """Return JSON in the form used in records."""
    return json.dumps(document, separators=(",", ":"), ensure_ascii=False).encode()


def test_a_start_is_told_before_it_is_made(installation: Installation, capsys: pytest.CaptureFixture[str]) -> None:
    """No binding entries exist, then some that are reproduced, then some of a version that decides otherwise."""
    partitions = range(installation.partitions)
    total = installation.send(readings(400))
    installation.decide(total)
    quiet = "continues; 0 ledger entries must be computed again, and 0 records are waiting"
    assert rehearsed(installation, capsys) == (0, [f"partition {nth}: {quiet}" for nth in partitions])

    place = left_behind(installation, "home-998", otherwise=False)
    bound = "continues; 2 ledger entries must be computed again, and 1 records are waiting"
    told = [f"partition {nth}: {bound if nth == place else quiet}" for nth in partitions]
    assert rehearsed(installation, capsys) == (0, told)
    installation.decide(total + 1)
    installation.answered_once()

    place = left_behind(installation, "home-999", otherwise=True)
    code, lines = rehearsed(installation, capsys)
    assert code == 1
    assert lines[1 - place] == f"partition {1 - place}: {quiet}"
    assert lines[place].startswith(f"would stop: partition {place} stopped (tail-differs)")
    assert "a version of the program that decides differently may have written the entries" in lines[place]
    stopped(installation, "tail-differs", exit_when_stopped="any")
    assert not [record for record in installation.read(installation.names.releases) if record.key == b"home-999"]
