"""The ground of the benchmark's tests: the run's broker, on all cores, since no figure of theirs is looked at."""

import os

import pytest

from benchmarks.rig.machine import Cores
from benchmarks.rig.site import Ground
from stream_app.localbroker.broker import LocalBroker


@pytest.fixture(scope="module")
def ground(broker: LocalBroker, tmp_path_factory: pytest.TempPathFactory) -> Ground:
    """Return a ground; topics of each run have names of their own."""
    every = frozenset(os.sched_getaffinity(0))
    return Ground(tmp_path_factory.mktemp("bench"), broker, Cores(every, every))
