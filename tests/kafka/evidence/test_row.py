"""The partition row: what it stores comes back, and rows of earlier versions too."""

import json
from dataclasses import replace

from stream_app.kafka.evidence.row import UNKNOWN, PartitionRow

ROW = PartitionRow(
    topic="t",
    changelog="c",
    partitions=4,
    next_offset=70,
    recall_offset=31,
    ledger_offset=9,
    key="k",
    configuration="f",
    last_offset=68,
    last_append_ms=1_700_000_000_000,
    changelog_first=2,
    ledger_first=1,
    releases_offset=8,
    releases_lost=3,
    life="l",
)


def test_stored_rows_come_back() -> None:
    """A row is what was encoded; members of later versions are left out."""
    assert PartitionRow.decode(ROW.encode()) == ROW
    later = {**json.loads(ROW.encode()), "more": 1}
    assert PartitionRow.decode(json.dumps(later).encode()) == ROW


def test_rows_from_before_collected_data() -> None:
    """They name no offset to read again from: nothing was open, so it is the next one."""
    stored = json.loads(ROW.encode())
    del stored["recall_offset"]
    assert PartitionRow.decode(json.dumps(stored).encode()) == replace(ROW, recall_offset=70)


def test_rows_from_before_the_last_record_was_kept() -> None:
    """They name none, so nothing is compared."""
    stored = json.loads(ROW.encode())
    del stored["last_offset"], stored["last_append_ms"]
    assert PartitionRow.decode(json.dumps(stored).encode()) == replace(ROW, last_offset=-1, last_append_ms=0)


def test_rows_from_before_logs_had_ends() -> None:
    """They tell nothing of where the logs must begin and end: a worker adopts what it finds."""
    stored = json.loads(ROW.encode())
    for name in ("changelog_first", "ledger_first", "releases_offset", "releases_lost", "life"):
        del stored[name]
    row = PartitionRow.decode(json.dumps(stored).encode())
    assert (row.changelog_first, row.ledger_first, row.releases_offset, row.life) == (UNKNOWN, UNKNOWN, UNKNOWN, "")
    assert row.releases_lost < 0
