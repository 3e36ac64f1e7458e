"""All that prevents `recover` from continuing is named together, with the command that accepts it."""

from pathlib import Path

import pytest

from stream_app.kafka.rebuild.survey import AcceptedLosses
from stream_app.kafka.stops import PartitionStoppedError
from tests.cluster.site import Site
from tests.kafka.owner.test_torn import torn_site
from tests.kafka.rebuild.test_given_up import EVERYTHING, LEDGER, torn_and_forgotten


@pytest.fixture
def site(tmp_path: Path) -> Site:
    """Make a site."""
    return torn_site(tmp_path)


@pytest.mark.parametrize(
    "accepted", [AcceptedLosses(), AcceptedLosses(lost_input=True), AcceptedLosses(lost_releases=True)]
)
@pytest.mark.parametrize("committed", [True, False])
async def test_all_that_has_to_be_accepted_is_named_at_once(
    site: Site, accepted: AcceptedLosses, *, committed: bool
) -> None:
    """Nobody is sent back and forth between options, and nothing is written before all are given."""
    await torn_and_forgotten(site, LEDGER, 2, 0, 0, committed=committed)
    before = site.outputs()
    with pytest.raises(PartitionStoppedError) as refused:
        await site.recover(accepted)
    if accepted == AcceptedLosses():
        assert "; also expected" in refused.value.found
    assert "`recover --accept-lost-input --accept-lost-releases`" in refused.value.remedy
    assert site.outputs() == before
    await site.recover(EVERYTHING)
