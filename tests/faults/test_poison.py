"""Valid records that would block everything after them if their effects had no bound."""

from pathlib import Path

import orjson

from stream_app.localbroker.broker import LocalBroker
from stream_app.privacy.landmarks import MOST_INTERVALS
from tests.faults.fleet import Fleet, Site
from tests.faults.topics import Sent, Topics
from tests.faults.verdict import judge
from tests.faults.workload import DEFAULTS, NUMBER, START_MS

A_RECORD = 18_000
"""The number of single landmarks in a record of 256 KiB."""
RECORDS = 10


def landmarks(nth: int) -> bytes:
    """Return landmarks of which no two touch, all after the earlier ones."""
    first = START_MS + 2 * A_RECORD * nth
    return orjson.dumps({"type": "landmarks", "series": "many", "add": list(range(first, first + 2 * A_RECORD, 2))})


async def test_a_series_cannot_outgrow_its_row(broker: LocalBroker, tmp_path: Path) -> None:
    """A series that registers landmarks without end is refused at last; the series and its partition continue."""
    site = Site(broker.bootstrap_servers, tmp_path, "poison", 1, DEFAULTS).prepare()
    topics = Topics(site)
    protection = {"level": "landmark", "step": 1}
    own = {"epsilon": 1.0, "protection": protection, "scheme": {"name": "uniform"}, "value": NUMBER}
    with Fleet(site) as fleet:
        fleet.start("a")
        await topics.send([Sent(b"many", orjson.dumps({"type": "policy", "series": "many", "version": 1, **own}))])
        await topics.send(Sent(b"many", landmarks(nth)) for nth in range(RECORDS))
        for series in ("many", "meter-0"):
            event = {"series": series, "timestamp": START_MS, "value": 1}
            await topics.send([Sent(series.encode(), orjson.dumps(event))])
        await topics.until_decided(fleet)
        fleet.stop()
    verdict = await judge(site)
    assert verdict.reasons == {"refused-landmark": RECORDS - MOST_INTERVALS // A_RECORD}
    assert len(await topics.read("releases")) == 2
