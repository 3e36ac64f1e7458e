"""The real worker fed with fuzzed records."""

from collections import Counter
from itertools import islice
from pathlib import Path

import orjson

from stream_app.localbroker.broker import LocalBroker
from tests.faults.fleet import Fleet, Site
from tests.faults.fuzzing import POLICIES, fuzzed
from tests.faults.topics import Topics
from tests.faults.verdict import judge

MEBIBYTE = 1024 * 1024
PARTITIONS = 4
PORTIONS = 8
MOST_GROWTH_BYTES = 40 * MEBIBYTE


async def test_fuzz(broker: LocalBroker, tmp_path: Path, fuzz: int, seed: int) -> None:
    """The worker stays up, answers each record with exactly one reject or decision, and its memory stays flat."""
    site = Site(broker.bootstrap_servers, tmp_path, "fuzz", PARTITIONS, POLICIES).prepare()
    topics, records = Topics(site), fuzzed(seed, PARTITIONS, fuzz)
    resident = []
    with Fleet(site) as fleet:
        worker = fleet.start("a")
        await worker.until_ready()
        for _ in range(PORTIONS):
            await topics.send(islice(records, -(-fuzz // PORTIONS)))
            await topics.until_decided(fleet)
            resident.append(worker.resident_bytes())
        assert worker.get("/readyz")[0] == 200
        assert b"landmark_partitions_running 4.0" in worker.get("/metrics")[1]
        fleet.stop()
        assert "ERROR stream_app" not in worker.said()
        assert "Traceback" not in worker.said()
    verdict = await judge(site, replay=False)
    assert verdict.inputs == fuzz
    assert verdict.decided + verdict.rejected == fuzz
    print(f"{verdict}; resident MiB {[size // MEBIBYTE for size in resident]}")
    # Caches fill and the allocator settles in the first half.
    assert resident[-1] - resident[PORTIONS // 2 - 1] < MOST_GROWTH_BYTES
    reasons = Counter(orjson.loads(record.value)["reason"] for record in await topics.read("rejects"))
    assert {"malformed", "invalid-value", "misrouted", "no-policy", "invalid-policy", "too-large"} <= set(reasons)
