"""The counts of members by remaining cap: maintained batch by batch, they equal a count of all rows."""

import json
from collections import Counter

from stream_app.deciding.collection import Collection
from stream_app.deciding.context import Context, Limits
from stream_app.deciding.decider import Decider, Outlets
from stream_app.deciding.members import Member, stored_member
from stream_app.deciding.rows import SeriesRow
from stream_app.formats.records import InputRecord
from stream_app.kafka.owner.counts import CapCounts
from stream_app.monitoring.metrics import CLAIMED, CLASSES, Metrics
from stream_app.monitoring.scrape import scrape_of
from tests.cluster.site import Site, until
from tests.run import KEYS, Record, policy

LIMITS = Limits(member_separator="/", member_nano=10**9, lifetime_nano=10**9)


def drop(*_: object) -> None:
    """Let an output record go."""


def decided(context: Context, batch: list[Record], rows: dict[str, SeriesRow], members: dict[str, Member]) -> Decider:
    """Return the decider that has decided a batch."""
    outlets, collection = Outlets(drop, drop, drop, None), Collection(bytes(32))
    decider = Decider(context, rows.get, outlets, collection, members.get)
    decider.decide([InputRecord("events", 0, 0, 0, None, json.dumps(record).encode()) for record in batch])
    return decider


def batches() -> list[list[Record]]:
    """Return batches of series that claim, caps that appear and fall, and members without a cap of their own."""
    found: list[list[Record]] = []
    for batch in range(8):
        records: list[Record] = [
            policy(f"p-{nth}/{batch}", epsilon=0.01, lifetime=0.05 * (nth + 1)) for nth in range(6)
        ]
        found.append([*records, {"type": "member", "member": f"p-{batch}", "epsilon": 1.0 - batch / 20}])
    return found


def test_moves_add_up_to_a_count_of_all_rows() -> None:
    """This holds after every batch, and the classes are those of the exact share."""
    counts, recounted = CapCounts(), CapCounts()
    rows: dict[str, SeriesRow] = {}
    members: dict[str, Member] = {}
    table: dict[bytes, bytes] = {}
    seen = set()
    for batch in batches():
        decider = decided(Context(KEYS, limits=LIMITS), batch, rows, members)
        counts.move(decider.claims())
        table.update(decider.stored())
        rows.update(decider.changed)
        members.update(decider.members)
        recounted.take(stored_member(value) for key, value in table.items() if key[:1] == b"m")
        assert +counts.left == +recounted.left
        literal: Counter[str] = Counter()
        for member in members.values():
            assert member.cap_nano is not None
            left = member.cap_nano - member.claimed_nano
            literal[next(share for share in CLASSES if left * 100 <= int(float(share) * 100) * member.cap_nano)] += 1
        assert +counts.left == literal
        seen.add(tuple(sorted(literal.items())))
    assert len(seen) > 5
    assert sum(counts.left[share] for share in CLAIMED) > 0


def test_nine_tenths_are_exact() -> None:
    """A cap with exactly nine tenths claimed is at nine tenths; with one nano-epsilon less it is not."""
    for cap in (3_000_000_000, 10, 990, 7 * 10**14):
        counts = CapCounts()
        counts.take([Member("p/", 1, "", cap, cap * 9 // 10, 1), Member("q/", 1, "", cap, cap * 9 // 10 - 1, 1)])
        assert counts.left == {"0.10": 1, "0.20": 1}


def test_nothing_is_claimed_of_a_cap_of_zero() -> None:
    """It counts as a cap, unlike a member without one, and raises no alert: somebody set it on purpose."""
    counts = CapCounts()
    counts.take([Member("p/", 1, "", 0), Member("q/", 0, "", None)])
    assert counts.left == {"1.00": 1}


def test_they_are_shown_and_withdrawn_by_partition() -> None:
    """A partition that moved to another worker shows nothing more; an emptied class shows 0; no cap, nothing."""
    metrics, counts = Metrics(), CapCounts()
    counts.take([Member("q/", 0, "", None, 7, 1)])
    counts.show(metrics, "0")
    assert shown(metrics) == {}
    before, after = Member("p/", 1, "", 100, 0, 0), Member("p/", 1, "", 100, 95, 1)
    counts.move([(None, before)])
    counts.move([(before, after)])
    for partition in "01":
        counts.show(metrics, partition)
    assert shown(metrics) == {(partition, share): n for partition in "01" for share, n in (("1.00", 0), ("0.05", 1))}
    counts.withdraw(metrics, "0")
    assert shown(metrics) == {("1", "1.00"): 0, ("1", "0.05"): 1}


async def test_a_worker_shows_them_and_the_next_one_finds_them(site: Site) -> None:
    """They change batch by batch; the next owner counts the rows it reads back, and the first shows no more."""
    limits = Limits(member_separator="/", member_nano=10**9)
    metrics, other = Metrics(), Metrics()
    partitions, feed = await site.working("a", limits=limits, metrics=metrics)
    assert shown(metrics) == {}
    for member, epsilon in (("p", 0.95), ("q", 0.25), ("q", 0.25), ("q", 0.6)):  # which is refused
        site.append(policy(f"{member}/{epsilon}-{site.sent}", epsilon=epsilon))
    await feed.seek(0, 0)
    await until(lambda: site.decided() == 4)
    await until(lambda: +Counter(shown(metrics)) == {("0", "0.05"): 1, ("0", "0.50"): 1})
    await partitions.close()
    taken, _ = await site.working("b", limits=limits, metrics=other)
    assert shown(metrics) == {}
    assert shown(other) == {("0", "0.05"): 1, ("0", "0.50"): 1}
    await taken.close()


def shown(metrics: Metrics) -> dict[tuple[str, str], float]:
    """Return what the metric shows by partition and class."""
    samples = scrape_of(metrics.text().decode(), 0).samples.get("landmark_cap_left_members", ())
    return {(sample.labels["partition"], sample.labels["share"]): sample.value for sample in samples}
