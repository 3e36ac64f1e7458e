"""Who can say that a ledger without its start misses no series: the rule on all small facts, and `recover`."""

from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from stream_app.deciding.members import Member
from stream_app.deciding.outcome import ProcessedRecord
from stream_app.deciding.rebuild import RebuildError
from stream_app.deciding.rows import SeriesRow
from stream_app.heads.signing import SigningKey
from stream_app.kafka.evidence.ends import Bounds, Ends, Shortage
from stream_app.kafka.rebuild.folding import FoldedLogs
from stream_app.kafka.rebuild.survey import AcceptedLosses, Coverage, covered, missing, vouched
from stream_app.kafka.stops import PartitionStoppedError
from tests.cluster.brokers import MemoryBrokers
from tests.cluster.site import NAMES, Site
from tests.run import Run, observation, policy


def test_who_tells() -> None:
    """A named series without a row is never forgotten; if nobody can say, somebody must agree to continue."""
    for lacking, first, covers, releases, held, expected, accepted in product(
        (0, 2),
        (0, 5),
        (None, 0, 4, 5, 9),
        (Bounds(0, 0), Bounds(0, 3), Bounds(1, 3)),
        (None, 0, 4, 5, 9),
        (False, True),
        (False, True),
    ):
        heads = None if covers is None else Coverage(covers, {})
        ends = Ends(Bounds(0, 9), Bounds(first, 9), releases)
        found = vouched(ends, heads, lacking, held=held, expected=expected, accepted=accepted)
        stale = first == 5 and held in {0, 4}
        if lacking:
            wanted = "ledger-short"
        elif first == 0 or (expected and not stale):
            wanted = "ledger"
        elif covers is not None and covers >= 5:
            wanted = "heads"
        elif releases == Bounds(0, 3) and not stale:
            wanted = "releases"
        else:
            wanted = "nobody" if accepted else "ledger-short"
        assert (found.reason if isinstance(found, Shortage) else found) == wanted


def test_missing_is_what_anybody_names() -> None:
    """Heads, releases or entries whose beginning is gone name it, or its row knows less than was signed."""
    rows = {"whole": row("whole", 3), "behind": row("behind", 3)}
    told = FoldedLogs(rows, {}, {}, {}, {}, 0, {"cut"}, {"whole", "published"}, set())
    assert missing(told, None) == {"cut", "published"}
    heads = Coverage(9, {"whole": 3, "behind": 4, "signed": 1})
    assert missing(told, heads) == {"cut", "published", "behind", "signed"}
    members = told._replace(members={"p/": Member("p/", 1), "q/": Member("q/", 2)})
    assert missing(members, Coverage(9, {"p/": 2, "q/": 2, "r/": 1})) == {"cut", "published", "p/", "r/"}


def row(series: str, sequence: int) -> SeriesRow:
    """Return a row at this position."""
    outcome = Run().feed(policy(series))
    assert isinstance(outcome, ProcessedRecord)
    return replace(outcome.row, sequence=sequence)


async def test_a_series_in_the_lost_beginning_of_the_ledger_is_not_forgotten(site: Site) -> None:
    """All its entries are there, later ones are whole; a lost release does not let `recover` start without it."""
    await site.goes_on("worker", *([observation(series, 1, 1.0)] for series in ("home-1", "home-2", "home-3")))
    site.lose_rows(2)
    site.lose_last(NAMES.releases)
    later = next(one for one in site.committed(NAMES.ledger) if one.key == b"home-2")
    site.cluster.log(NAMES.ledger, 0).delete_before(later.offset)
    with pytest.raises(RebuildError, match="accept-lost-releases"):
        await site.recover()
    assert (await site.recover(AcceptedLosses(lost_releases=True))).series == 3


@pytest.mark.parametrize("kept", [0, 1, 3])
@pytest.mark.parametrize("last", [observation("nobody-1", 3, 1.0), observation("home-1", 3, 1.0)])
async def test_a_release_whose_entry_is_lost_is_not_forgotten(site: Site, kept: int, last: dict[str, Any]) -> None:
    """Its series has no later entry to show it; rows without it would let the series spend its budget again."""
    records = [observation("home-1", 1, 1.0), observation("home-2", 1, 1.0), observation("home-1", 2, 1.0), last]
    await site.goes_on("worker", *([record] for record in records))
    site.lose_rows(kept)
    entry = next(one for one in reversed(site.committed(NAMES.ledger)) if one.key == b"home-2")
    site.cluster.log(NAMES.ledger, 0).lose_within(entry.offset, entry.offset + 1)
    with pytest.raises(PartitionStoppedError, match=r"ledger-short.*the ledger entry of a release for input 1"):
        await site.recover()


@pytest.mark.parametrize("more", [(), (2,)])
async def test_an_entry_lost_with_its_release_is_not_taken_for_a_reject(
    site: Site, tmp_path: Path, more: tuple[int, ...]
) -> None:
    """Its series has no other entry. Heads sign it, so its spend is not forgotten with what is given up."""
    site.signing_key = SigningKey.create(tmp_path / "signing")
    events = [observation(f"home-{nth}", 1, 1.0) for nth in (1, 2, 1)]
    events[2]["timestamp"] = 2
    await site.goes_on("worker", *([event] for event in [*events, observation("nobody-1", 4, 1.0)]))
    site.cluster.remake(NAMES.changelog)
    for topic in (NAMES.ledger, NAMES.releases):
        site.lose_outputs(topic, 1)
    site.lose_outputs(NAMES.releases, *more)
    with pytest.raises(PartitionStoppedError, match=r"ledger-short.*1( of them| series), whose entries are missing"):
        await site.recover(AcceptedLosses(lost_releases=True, lost_ledger=True))


async def test_a_beginning_that_the_rows_know_to_be_lost_is_accepted_once(site: Site) -> None:
    """The rows that `recover` wrote prove what each series spent; rows from before the loss cannot."""
    await site.goes_on("worker", *([observation(series, 1, 1.0)] for series in ("home-1", "home-2")))
    for topic in (NAMES.ledger, NAMES.releases):
        site.cluster.log(topic, 0).delete_before(site.committed(topic)[-1].offset)
    with pytest.raises(PartitionStoppedError, match=r"ledger-short.*begins at offset 0, or signed heads"):
        await site.recover()
    assert (await site.recover(AcceptedLosses(lost_ledger=True))).series == 2
    assert (await site.recover()).series == 2


@pytest.mark.parametrize("damage", ["none", "repeated", "leaf"])
async def test_heads_that_do_not_follow_vouch_for_nothing(site: Site, tmp_path: Path, damage: str) -> None:
    """A head must continue the numbering of the one before, and sign exactly the leaves before it."""
    site.signing_key = SigningKey.create(tmp_path / "signing.key")
    await site.goes_on("a", [observation(series, 1, 1.0) for series in ("home-1", "home-2")])
    written = site.committed(NAMES.heads)
    if damage == "repeated":
        await site.write({NAMES.heads: written})
    if damage == "leaf":
        site.cluster.remake(NAMES.heads)
        changed = [replace(one, value=one.value.replace(b"home-2", b"home-3")) for one in written]
        await site.write({NAMES.heads: changed})
    async with MemoryBrokers(site.cluster, "asks", "life", NAMES).reader("read_committed") as reader:
        found = await covered(reader, NAMES, 0, site.signing_key)
    whole = Coverage(site.cluster.log(NAMES.ledger, 0).end - 1, {"home-1": 2, "home-2": 2})
    assert found == (whole if damage == "none" else None)


async def test_a_release_without_its_entry_is_missed_from_the_first_entry_on(site: Site) -> None:
    """The ledger begins with the release of input 0; the series of input 1, whose entries are a hole, spent budget."""
    await site.goes_on(
        "worker", *([observation(series, 1, 1.0)] for series in ("home-1", "home-2")), [observation("home-1", 2, 1.0)]
    )
    first = next(one for one in site.committed(NAMES.ledger) if b'"entry":"release"' in one.value)
    site.cluster.log(NAMES.ledger, 0).delete_before(first.offset)
    site.lose_outputs(NAMES.ledger, 1)
    with pytest.raises(PartitionStoppedError, match=r"ledger-short.*the ledger entry of a release for input 1"):
        await site.recover(AcceptedLosses(lost_ledger=True))


async def test_a_series_that_lost_its_first_entry_in_a_whole_ledger_is_missed(site: Site) -> None:
    """Only if the ledger lost its beginning may a series be omitted because of missing entries."""
    await site.goes_on("worker", *([observation(series, 1, 1.0)] for series in ("home-1", "home-2")))
    policy_of = next(one for one in site.committed(NAMES.ledger) if one.key == b"home-2")
    site.cluster.log(NAMES.ledger, 0).lose_within(policy_of.offset, policy_of.offset + 1)
    site.cluster.remake(NAMES.changelog)
    with pytest.raises(RebuildError):
        await site.recover()
