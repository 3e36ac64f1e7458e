"""The partition row: stored content is read back, and so are rows of earlier versions."""

import json
from dataclasses import replace
from typing import Any

import pytest

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
    rejects_lost=2,
    group_offset=71,
    life="l",
)


def test_stored_rows_come_back() -> None:
    """A row is what was encoded; members of later versions are left out."""
    assert PartitionRow.decode(ROW.encode()) == ROW
    later = {**json.loads(ROW.encode()), "more": 1}
    assert PartitionRow.decode(json.dumps(later).encode()) == ROW


@pytest.mark.parametrize(
    ("lacks", "read"),
    [
        (("recall_offset",), {"recall_offset": 70}),
        (("last_offset", "last_append_ms"), {"last_offset": -1, "last_append_ms": 0}),
        (
            ("changelog_first", "ledger_first", "releases_offset", "releases_lost", "life"),
            {"changelog_first": UNKNOWN, "ledger_first": UNKNOWN, "releases_offset": UNKNOWN, "releases_lost": -1}
            | {"life": ""},
        ),
        (("rejects_lost", "group_offset"), {"rejects_lost": -1, "group_offset": UNKNOWN}),
    ],
    ids=["collected data", "the last record", "ends of logs", "what recover accepts"],
)
def test_rows_from_before(lacks: tuple[str, ...], read: dict[str, Any]) -> None:
    """Nothing was open, so reading continues with the next record; nothing is compared.

    A worker adopts what it finds.
    """
    stored = {name: part for name, part in json.loads(ROW.encode()).items() if name not in lacks}
    assert PartitionRow.decode(json.dumps(stored).encode()) == replace(ROW, **read)
