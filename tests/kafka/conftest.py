"""What the tests of the Kafka shell share: a place for workers in memory, and one on a real broker."""

import re
from copy import deepcopy
from pathlib import Path

import pytest

from stream_app.localbroker.broker import LocalBroker
from tests.cluster.site import Site
from tests.kafka.installation import Installation


@pytest.fixture
def site(tmp_path: Path) -> Site:
    """Make a partition on a cluster in memory."""
    return Site(tmp_path)


@pytest.fixture
def installation(broker: LocalBroker, tmp_path: Path, request: pytest.FixtureRequest) -> Installation:
    """Create an installation named after the test; its module's `INSTALLED` lists deviations from the usual."""
    name = re.sub("[^a-z0-9]+", "-", request.node.name.removeprefix("test_").lower()).strip("-")
    return Installation(broker, tmp_path, name, **deepcopy(getattr(request.module, "INSTALLED", {})))
