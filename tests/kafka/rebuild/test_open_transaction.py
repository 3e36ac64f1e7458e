"""`recover` on a log with a transaction that its coordinator has forgotten, on the in-memory cluster."""

from pathlib import Path

import pytest

from stream_app.kafka.rebuild import open_steps
from stream_app.kafka.stops import PartitionStoppedError
from tests.cluster.log import Draft
from tests.cluster.site import NAMES, Site
from tests.kafka.rebuild.test_going_back import CLOSED, OPEN_READINGS


@pytest.fixture
def site(tmp_path: Path) -> Site:
    """Make a site."""
    return Site(tmp_path)


async def left_open(site: Site) -> int:
    """Let the changelog end in a transaction without its marker; return the offset where it begins."""
    await site.goes_on("worker", OPEN_READINGS, CLOSED)
    site.lose_rows(len(OPEN_READINGS))
    log = site.cluster.log(NAMES.changelog, 0)
    last = next(batch for batch in reversed(log.batches) if batch.marker is None)
    # After a late commit its producer wrote on: see KIP-890.
    return log.append([Draft(b"row", b"", 0)], producer=last.producer, epoch=last.epoch, sequence=last.sequence + 1)


async def test_the_next_epoch_of_its_producer_aborts_it(site: Site) -> None:
    """Nothing in it counts, and everything that was decided is there."""
    begin = await left_open(site)
    whole = site.outputs()
    await site.recover()
    log = site.cluster.log(NAMES.changelog, 0)
    assert log.stable == log.end > begin
    assert all(record.offset != begin for record in site.committed(NAMES.changelog))
    await site.goes_on("next")
    assert site.outputs() == whole


async def test_one_of_a_forgotten_producer_is_named(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody else can end it; an operator who aborts it by hand can run `recover` again."""
    monkeypatch.setattr(open_steps, "_LOOKS", 2)
    begin = await left_open(site)
    assert site.cluster.transactions.expire("life-0")
    with pytest.raises(PartitionStoppedError, match=f"{NAMES.changelog} .* start offset {begin} on") as stopped:
        await site.recover()
    assert stopped.value.reason == "transaction-open"
    site.cluster.abort_open(0)
    await site.recover()
