"""Signed heads over batches that are decided as columns: the leaves of one by one."""

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest

from stream_app.deciding.columns.batch import BatchDecider
from stream_app.heads.signing import SigningKey
from tests.kafka.owner.test_partition import NAMES, Site
from tests.run import observation

HOMES = [f"home-{nth}" for nth in range(40)]
TOGETHER, ALONE = 1, 10**6
"""How many events of a group are worth it."""


async def _signed(site: Site, key: SigningKey, fewest: int) -> list[Any]:
    """Decide a few events of each home; return the entries, the leaves, and what the head says of them."""
    batches = [[observation(home, moment, 1.0) for home in HOMES] for moment in range(4)]
    await site.goes_on("a", *batches, signing_key=key, fewest=fewest)
    written = [json.loads(one.value) for one in site.committed(NAMES.heads)]
    leaves = [page["leaves"] for page in written if page["type"] == "leaves"]
    heads = [(one["leaves"], one["root"]) for one in written if one["type"] == "head"]
    return [[one.value for one in site.committed(NAMES.ledger) if one.key], leaves, heads]


async def test_columns_are_signed_as_one_by_one(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last head names the last entry of each series, whichever way it was decided."""
    together: list[int] = []
    links = BatchDecider.links

    def noted(self: BatchDecider) -> Iterator[tuple[str, int, str]]:
        """Count the series that changed together, and return what the method returns."""
        together.append(len(self.places))
        return links(self)

    monkeypatch.setattr(BatchDecider, "links", noted)
    key = SigningKey.create(tmp_path_factory.mktemp("key") / "signing.key")
    found = await asyncio.gather(
        *(_signed(Site(tmp_path_factory.mktemp("site")), key, fewest) for fewest in (TOGETHER, ALONE)),
    )
    assert found[0] == found[1]
    assert sum(together) == 3 * len(HOMES), "a series' first event goes one by one, all of the other way too"
    assert len(found[0][0]) == 5 * len(HOMES)
    assert found[0][2][-1][0] == len(HOMES)
