"""Outputs of input after the partition row: one missing in the middle stops the partition; none is doubled."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain, combinations, product

import pytest

from stream_app.formats import encoding, wire
from stream_app.kafka.evidence.ends import answered_of, ends_of
from stream_app.kafka.evidence.outputs import CommittedOutputs, Outputs, first_lacking, outputs_of
from stream_app.kafka.evidence.row import PARTITION_KEY
from stream_app.kafka.stops import PartitionStoppedError, StopReason
from tests.cluster.brokers import MemoryBrokers
from tests.cluster.cluster import MemoryCluster
from tests.cluster.group import Place
from tests.cluster.log import Draft
from tests.cluster.site import NAMES, Site, until
from tests.kafka.evidence.test_row import ROW
from tests.run import Record, observation, policy

OFFSETS = range(4)
INPUT = [observation("nobody" if nth % 2 else "home-1", nth + 1, 1.0) for nth in range(9)]
"""Inputs with even offsets are released, those with odd offsets are rejected; each is a batch of its own."""
FIRST: dict[str, tuple[StopReason, int]] = {
    NAMES.ledger: ("ledger-short", 2),
    NAMES.releases: ("releases-short", 2),
    NAMES.rejects: ("rejects-short", 1),
}
"""Why a partition that lacks an output of a log stops, and the first input after the first batch with one."""


@pytest.mark.parametrize(
    ("reason", "differs"), [("ledger-short", "tail-differs"), ("releases-short", "releases-short")]
)
def test_every_place_of_an_output_against_the_rules(reason: StopReason, differs: StopReason) -> None:
    """An existing output is passed over once, as is one that may be missing; others stop or follow the last."""
    count = 0
    for whole, gone, offset in product(OFFSETS, repeat=3):
        for held in chain.from_iterable(combinations(OFFSETS, size) for size in range(len(OFFSETS) + 1)):
            for digest in ("own", "other"):
                committed = CommittedOutputs(0, reason, whole, gone, {one: [digest] for one in held})
                wanted: bool | str = reason if offset < whole else False
                if offset in held:
                    wanted = differs
                if offset < gone or (offset in held and digest == "own"):
                    wanted = True
                assert _asked(committed, offset) == wanted
                if offset in held and digest == "own":
                    assert offset not in {committed.left(before) for before in range(offset + 2)}
                    again = True if offset < gone else reason if offset < whole else False
                    assert _asked(committed, offset) == again, "it lies there once, so only one is passed over"
                count += 1
    assert count == 4 * 4 * 4 * 16 * 2


def _asked(committed: CommittedOutputs, offset: int) -> bool | str:
    try:
        return committed.holds(offset, "own")
    except PartitionStoppedError as stopped:
        return stopped.reason


@pytest.mark.parametrize(
    ("reason", "log"), [("ledger-short", "ledger entry"), ("releases-short", "release"), ("rejects-short", "reject")]
)
def test_a_missing_output_is_named_by_its_log_and_input(reason: StopReason, log: str) -> None:
    """The message says that a later output exists, and names the log and the input."""
    wanted = f"expected the {log} for input 1; found none, although a later output exists"
    with pytest.raises(PartitionStoppedError, match=wanted):
        CommittedOutputs(0, reason, 3, 0, {2: ["own"]}).holds(1, "own")


def test_an_output_that_nobody_recomputed_is_named_by_the_first_input() -> None:
    """It is the first over all three logs, counting only input that was decided."""
    for inputs in product((1, 2, 3, None), repeat=3):
        ledger, releases, rejects = (
            CommittedOutputs(0, "ledger-short", 9, 0, {} if one is None else {one: ["own"]}) for one in inputs
        )
        outputs = Outputs(ledger, releases, rejects, 9)
        for before in range(5):
            below = [one for one in inputs if one is not None and one < before]
            assert outputs.left(before) == min(below, default=None)


HOLES = [(topic, offset) for topic, (_, first) in FIRST.items() for offset in range(first, 7, 2)]
"""Inputs whose output is lost, while the output of a later input stays."""


@pytest.mark.parametrize(("topic", "offset"), HOLES)
async def test_an_output_missing_in_the_middle_stops_the_partition(site: Site, topic: str, offset: int) -> None:
    """The state is older than the outputs, one of which is missing: nobody skips it, and nothing is written."""
    await _decided(site, INPUT)
    _lose_rows(site)
    _lose_output(site, topic, offset)
    await site.stops("b", FIRST[topic][0])


@pytest.mark.parametrize("topic", [NAMES.releases, NAMES.rejects])
async def test_the_last_output_of_a_log_is_written_once(site: Site, topic: str) -> None:
    """If its log has no later output, it is the rest of a batch: the next owner publishes it, and nothing else."""
    await _decided(site, INPUT)
    whole = site.outputs()
    _lose_rows(site)
    _lose_output(site, topic, 8 if topic == NAMES.releases else 7)
    await _finishes(site)
    assert site.outputs() == whole


async def test_a_whole_log_is_written_to_no_more(site: Site) -> None:
    """Every output is there, so each is passed over."""
    await _decided(site, INPUT)
    whole = site.outputs()
    _lose_rows(site)
    await _finishes(site)
    assert site.outputs() == whole


LAST_ENTRIES = {
    "of an input with a release": [observation("home-1", 1, 1.0)],
    "of an input before a reject": [policy("own-1"), observation("nobody", 1, 1.0)],
}


@pytest.mark.parametrize("records", LAST_ENTRIES.values(), ids=LAST_ENTRIES)
async def test_an_entry_is_not_written_after_what_it_must_precede(site: Site, records: list[Record]) -> None:
    """A later output shows that the entry existed: it is lost, and not the rest of a batch."""
    await _decided(site, records)
    _lose_rows(site, 1)
    last = site.committed(NAMES.ledger)[-1].offset
    site.cluster.log(NAMES.ledger, 0).lose_within(last, last + 1)
    await site.stops("b", "ledger-short")


async def test_each_reject_of_one_input_is_passed_over(site: Site) -> None:
    """Several series can refuse one record; as many rejects as exist are not written again."""
    rejects = [Draft(b"home-1", b"{}", 0, [("input", b"3")])] * 2
    await site.write({NAMES.rejects: rejects})
    brokers = MemoryBrokers(site.cluster, "reads", "life", NAMES)
    async with brokers.reader("read_committed") as reader:
        answered = await answered_of(reader, NAMES, 0)
        outputs = await outputs_of(
            reader, NAMES, 0, replace(ROW, next_offset=2), answered, await ends_of(reader, NAMES, 0)
        )
    assert [outputs.rejects.holds(3, "") for _ in range(3)] == [True, True, False]


EXPIRED = [(topic, before) for topic in (NAMES.releases, NAMES.rejects) for before in (3, 5, 9)]
"""Logs that lost the outputs of all input before an offset, as happens when old ones expire."""


@pytest.mark.parametrize(("topic", "before"), EXPIRED)
async def test_expired_outputs_are_not_written_again(site: Site, topic: str, before: int) -> None:
    """They were published; whatever is left of the log, if anything, is passed over."""
    await _decided(site, INPUT)
    _expire(site, topic, before)
    left = site.outputs()
    _lose_rows(site)
    await _finishes(site)
    assert site.outputs() == left


@pytest.mark.parametrize("topic", [NAMES.releases, NAMES.rejects])
async def test_an_output_missing_after_expired_ones_stops_the_partition(site: Site, topic: str) -> None:
    """Only outputs before the first one that is kept have expired."""
    await _decided(site, INPUT)
    reason, first = FIRST[topic]
    _expire(site, topic, first + 1)
    _lose_rows(site)
    _lose_output(site, topic, first + 4)
    await site.stops("b", reason)


@pytest.mark.parametrize(("topic", "lost"), [(NAMES.releases, (4, 6, 8)), (NAMES.rejects, (5, 7))])
async def test_what_never_was_published_has_not_expired(site: Site, topic: str, lost: Sequence[int]) -> None:
    """The log lost its beginning but still holds an output that the state covers, so later ones are published."""
    await _decided(site, INPUT)
    _expire(site, topic, 2)
    whole = site.outputs()
    _lose_rows(site, 5)  # up to the input with offset 3
    for offset in lost:
        _lose_output(site, topic, offset)
    await _finishes(site)
    assert site.outputs() == whole


STATES = ("nothing", "policy", "entry", "release", "reject")
"""The result of one input: a policy entry, an entry whose release is missing or present, or a reject."""


async def test_recover_goes_back_to_the_first_input_that_lacks_an_output() -> None:
    """The result equals the rules written out again, over all short histories, read record by record."""
    for states in product(STATES, repeat=4):
        cluster = MemoryCluster(lambda: 0)
        for name in NAMES:
            cluster.make(name, 1)
        for offset, state in enumerate(states):
            _came_to(cluster, offset, state)
        before = max((offset + 1 for offset, state in enumerate(states) if state != "nothing"), default=0)
        last = {state: max((n for n, one in enumerate(states) if one == state), default=-1) for state in STATES}
        async with MemoryBrokers(cluster, "reads", "life", NAMES, fetch_records=1).reader("read_committed") as reader:
            answered = await answered_of(reader, NAMES, 0)
            for start in (0, 2):
                # An entry at the very end may be a part of those of its input; input without an output, a lost reject.
                lacks = [
                    offset
                    for offset in range(start, before)
                    if states[offset] == "entry"
                    or (states[offset] == "policy" and offset == before - 1)
                    or (states[offset] == "nothing" and offset > last["reject"])
                ]
                found = await first_lacking(reader, NAMES, 0, start, answered)
                assert found == min(lacks, default=before), (states, start)


def _came_to(cluster: MemoryCluster, offset: int, state: str) -> None:
    """Append one input and its result."""
    headers, release = [("input", b"%d" % offset)], b'{"release":%d}' % offset
    entry = {"series": "home-1", "sequence": offset + 1, "previous": "", "hash": "aa"}
    entry |= {"entry": "policy"} if state == "policy" else {"entry": "release", "release": encoding.digest(release)}
    drafts = {
        NAMES.events: b"{}",
        NAMES.ledger: wire.dump(entry) if state in {"policy", "entry", "release"} else None,
        NAMES.releases: release if state == "release" else None,
        NAMES.rejects: b"{}" if state == "reject" else None,
    }
    for topic, value in drafts.items():
        if value is not None:
            cluster.append(Place(topic, 0), [Draft(b"home-1", value, 0, headers)])


async def _decided(site: Site, records: Sequence[Record]) -> None:
    """Let a worker decide records, each as a batch."""
    await site.goes_on("a", *([record] for record in records))


def _lose_rows(site: Site, batches: int | None = None) -> None:
    """Lose the rows of all but ``batches`` transactions; without a number, of all but the first batch."""
    kept = 2 if batches is None else batches  # the first transaction has the row of a fresh partition
    rows = [record.offset for record in site.committed(NAMES.changelog) if record.key == PARTITION_KEY]
    site.cluster.log(NAMES.changelog, 0).lose_tail(rows[kept - 1] + 2)


def _lose_output(site: Site, topic: str, offset: int) -> None:
    """Lose the records that one input produced in a log."""
    for record in site.committed(topic):
        if record.key != b"" and dict(record.headers)["input"] == b"%d" % offset:
            site.cluster.log(topic, 0).lose_within(record.offset, record.offset + 1)


def _expire(site: Site, topic: str, before: int) -> None:
    """Delete the beginning of a log: the records produced by input before an offset."""
    kept = [record.offset for record in site.committed(topic) if int(dict(record.headers)["input"]) >= before]
    site.cluster.log(topic, 0).delete_before(kept[0] if kept else -1)


async def _finishes(site: Site) -> None:
    """Check that the next owner decides all that is there."""
    partitions, feed = await site.started("b")
    await feed.seek(0, 0)
    await until(lambda: site.decided() == site.sent or bool(partitions.stopped))
    assert partitions.stopped == {}
    await partitions.close()
