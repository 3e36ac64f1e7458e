"""Recovery in memory: members return with their series, from committed and from aborted entries."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from stream_app.deciding.context import Limits
from stream_app.formats.wire import load
from stream_app.heads.signing import SigningKey
from stream_app.kafka.evidence.claim import is_claim
from stream_app.kafka.evidence.row import PARTITION_KEY, PartitionRow
from stream_app.kafka.rebuild.survey import AcceptedLosses
from stream_app.kafka.stops import PartitionStoppedError
from tests.cluster.group import Place
from tests.cluster.log import Draft
from tests.cluster.site import NAMES, Site
from tests.run import Record, observation, policy

LIMITS = Limits(member_separator="/", member_nano=10**9)
CLAIMS: list[Record] = [
    {"type": "member", "member": "p", "epsilon": 0.9},
    *(policy(f"{member}/{nth}", epsilon=0.1) for member in "pq" for nth in range(3)),
    observation("p/0", 1, 1.0),
    {"type": "member", "member": "p", "epsilon": 0.5},
    policy("p/3", epsilon=0.2),
    policy("q/0", version=2, epsilon=0.1),  # later versions claim nothing
]


def rows_of(site: Site) -> dict[bytes, Any]:
    """Return the rows of series and members that the changelog holds."""
    held = {one.key: one.value for one in site.committed(NAMES.changelog) if one.key != PARTITION_KEY}
    return {key: load(value) for key, value in held.items() if value is not None and key[:1] in b"sm"}


async def decided(folder: Path, signing_key: SigningKey | None = None) -> Site:
    """Decide what claims."""
    site = Site(folder)
    await site.goes_on("a", CLAIMS, limits=LIMITS, signing_key=signing_key)
    return site


async def test_a_worker_signs_the_chains_of_members(tmp_path: Path) -> None:
    """Its heads name the last entry of every chain: a cap cannot be removed unnoticed."""
    site = await decided(tmp_path, SigningKey.create(tmp_path / "signing"))
    entries = [json.loads(one.value) for one in site.committed(NAMES.ledger) if not is_claim(one)]
    found = [json.loads(one.value) for one in site.committed(NAMES.heads)]
    signed = {leaf[0]: leaf[1:] for one in found if one["type"] == "leaves" for leaf in one["leaves"]}
    assert signed == {entry["series"]: [entry["sequence"], entry["hash"]] for entry in entries}
    assert {"p/", "q/"} < signed.keys()


async def test_entries_of_members_that_rows_hold_bind_nobody(tmp_path: Path) -> None:
    """A row may cover less of the ledger than it holds while others bind: its members' entries are settled."""
    site = await decided(tmp_path)
    stored = [one.value for one in site.committed(NAMES.changelog) if one.key == PARTITION_KEY][-1]
    row = replace(PartitionRow.decode(stored), ledger_offset=0)
    await site.write({NAMES.changelog: [Draft(PARTITION_KEY, row.encode(), 0)]})
    await site.goes_on("c", [observation("p/0", 2, 1.0)], limits=LIMITS)


async def test_members_come_back_from_their_ledger(tmp_path: Path) -> None:
    """Caps, claims, numbers of series and chain positions are those of the lost rows."""
    site = await decided(tmp_path)
    before = rows_of(site)
    assert {key: row[2:] for key, row in before.items() if key[:1] == b"m"} == {
        b"mp/": [500_000_000, 500_000_000, 4],
        b"mq/": [1_000_000_000, 300_000_000, 3],
    }
    site.cluster.remake(NAMES.changelog)
    await site.recover(limits=LIMITS)
    assert rows_of(site) == before


async def test_members_stay_where_the_ledger_lost_its_beginning(tmp_path: Path) -> None:
    """Their rows are continued; claims of series whose rows exist are not counted again."""
    site = await decided(tmp_path)
    before = rows_of(site)
    late = next(one.offset for one in site.committed(NAMES.ledger) if b'"entry":"release"' in one.value)
    site.cluster.log(NAMES.ledger, 0).delete_before(late)
    await site.recover(limits=LIMITS)
    assert rows_of(site) == before


@pytest.mark.parametrize("held", [0, 1])
async def test_a_person_whose_row_is_lost_with_the_beginning_is_missed(tmp_path: Path, held: int) -> None:
    """Its series' rows reserve more than the person's row holds, or there is none: it would reserve again."""
    site = await decided(tmp_path)
    late = next(one.offset for one in site.committed(NAMES.ledger) if b'"entry":"release"' in one.value)
    site.cluster.log(NAMES.ledger, 0).delete_before(late)
    of_q = next(one for one in site.committed(NAMES.changelog)[::-1] if one.key == b"mq/")
    less = of_q.value.replace(b"300000000", b"299999999") if held else None
    assert less != of_q.value
    row = next(one for one in site.committed(NAMES.changelog)[::-1] if one.key == PARTITION_KEY)
    await site.write({NAMES.changelog: [replace(of_q, value=less), row]})
    with pytest.raises(PartitionStoppedError, match=r"ledger-short"):
        await site.recover(AcceptedLosses(lost_ledger=True), LIMITS)


async def test_members_come_back_from_aborted_entries(tmp_path: Path) -> None:
    """Claims of a failed transaction count if their input is gone and nobody decides it again."""
    site = await decided(tmp_path)
    before = rows_of(site)
    entries = [one for one in site.committed(NAMES.ledger) if not is_claim(one)]
    releases = site.committed(NAMES.releases)
    (tmp_path / "other").mkdir()
    other = Site(tmp_path / "other")
    other.cluster.append(Place(NAMES.events, 0), [Draft(b"p", b"{}", 0) for _ in CLAIMS])
    await other.write({NAMES.ledger: entries, NAMES.releases: releases}, end="abort")
    other.cluster.log(NAMES.events, 0).delete_before(len(CLAIMS))
    await other.recover(AcceptedLosses(lost_input=True), LIMITS)
    assert rows_of(other) == before
    assert [one.value for one in other.committed(NAMES.ledger)] == [one.value for one in entries]
