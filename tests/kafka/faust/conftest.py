"""What tests of local copies share: none of them leaves files open."""

from collections.abc import Iterator

import pytest

from tests.kafka.faust.test_localcopy import OPENED


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    """Close every store that a test has made: most users may have 1,024 files open at once."""
    yield
    while OPENED:
        store = OPENED.pop()
        for partition in (0, 1):
            store.release(partition)
