"""The ground for the benchmarks' tests: the run's broker on all cores, because no test uses its figures."""

import os

import pytest

from benchmarks.rig.machine import Cores
from benchmarks.rig.site import Ground
from stream_app.localbroker.broker import LocalBroker


@pytest.fixture(scope="module")
def ground(broker: LocalBroker, tmp_path_factory: pytest.TempPathFactory) -> Ground:
    """Return a ground; each run has topics with its own names."""
    every = frozenset(os.sched_getaffinity(0))
    return Ground(tmp_path_factory.mktemp("bench"), broker, Cores(every, every))
