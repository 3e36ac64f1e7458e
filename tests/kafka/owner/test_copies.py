"""Copies of rows on a worker's disk that hold what the changelog lost, on the in-memory cluster."""

import json

from stream_app.kafka.memory.rows import MemoryRows
from stream_app.kafka.stops import REASONS
from tests.cluster.site import NAMES, Site
from tests.readings import reading, watermark, within
from tests.run import observation


async def decide(site: Site, name: str, rows: MemoryRows, *records: dict[str, object]) -> None:
    """Let a worker with these rows decide all input, and then these records in one batch."""
    await site.goes_on(name, records, rows=rows)


async def test_a_copy_whose_last_record_lies_elsewhere_is_discarded(site: Site) -> None:
    """The changelog lost a batch without outputs, and grew again within the same life.

    A row of home-1 is now where the copy's last record was. The copy would never take it, and home-1 would start over
    with its whole budget.
    """
    old, new = MemoryRows(), MemoryRows()
    await decide(site, "a", old, within(series="read-1"))
    await decide(site, "a", old, reading(5, 1.0, "read-1"))
    site.lose_rows(1)
    site.append(observation("home-1", 1, 1.0))
    await decide(site, "b", new)
    await decide(site, "a", old, observation("home-1", 2, 1.0))
    entries = [json.loads(value) for key, value, _ in site.outputs()[0] if key == b"home-1"]
    assert [one["sequence"] for one in entries] == [1, 2, 3]


async def test_a_copy_whose_last_record_gave_way_to_a_marker_is_discarded(site: Site) -> None:
    """The changelog lost a batch, and markers of empty transactions took its offsets.

    Only the copy would know about home-2, and the next owner without a copy would start it over with its whole budget.
    """
    old, new = MemoryRows(), MemoryRows()
    await decide(site, "a", old, observation("home-1", 1, 1.0))
    await decide(site, "a", old, observation("home-2", 1, 1.0))
    site.lose_rows(1)
    log, held = site.cluster.log(NAMES.changelog, 0), old.offset(0)
    assert held is not None
    while log.end <= held:
        log.mark(log.batches[-1].producer, log.batches[-1].epoch, "abort")
    await decide(site, "a", old, observation("home-1", 2, 1.0))
    await decide(site, "b", new, observation("home-2", 2, 1.0))
    entries = [json.loads(value) for key, value, _ in site.outputs()[0] if key == b"home-2"]
    assert [one["sequence"] for one in entries] == [1, 2, 3]


async def test_a_copy_without_its_partition_row_is_discarded(site: Site) -> None:
    """A standby of a compacted changelog has read rows of series, but not yet the partition row, which is last."""
    await decide(site, "a", MemoryRows(), observation("home-1", 1, 1.0))
    log, old = site.cluster.log(NAMES.changelog, 0), MemoryRows()
    row = next(one for one in site.committed(NAMES.changelog) if one.key == b"shome-1")
    old.load(0, {row.key: row.value}, row.offset)
    log.lose_tail(row.offset)
    while log.end <= row.offset:
        log.mark(log.batches[-1].producer, log.batches[-1].epoch, "abort")
    await decide(site, "b", old, observation("home-1", 2, 1.0))
    entries = [json.loads(value) for key, value, _ in site.outputs()[0] if key == b"home-1"]
    assert [one["sequence"] for one in entries] == [1, 2, 3]


async def test_a_copy_newer_than_the_changelog_is_deleted_by_hand_after_recover(site: Site) -> None:
    """The worker stops because of it, with or without `recover`, and the remedy says so."""
    old = MemoryRows()
    await decide(site, "a", old, within(series="read-1"), reading(5, 1.0, "read-1"))
    for step in range(1, 6):
        await decide(site, "a", old, watermark(10 * step, "read-1"), reading(10 * step + 5, 1.0, "read-1"))
    site.lose_rows(2)
    for _ in range(2):
        await site.stops("a", "changelog-short", rows=old)
        await site.recover()
    assert "delete its `data_folder`" in REASONS["changelog-short"].remedy
    old.discard(0)
    await decide(site, "a", old, watermark(60, "read-1"))
    assert len(site.outputs()[1]) == 6
