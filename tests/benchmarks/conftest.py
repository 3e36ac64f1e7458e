"""One broker for all tests of the benchmark, as each benchmark has one for all its runs."""

from collections.abc import Iterator

import pytest

from benchmarks.rig.site import Ground


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    """Prepare a ground; topics of each run have names of their own."""
    with Ground.prepared(tmp_path_factory.mktemp("bench")) as prepared:
        yield prepared
