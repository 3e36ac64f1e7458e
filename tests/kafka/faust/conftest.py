"""What tests of local copies share: none of them leaves files open."""

from collections.abc import Callable, Iterator
from pathlib import Path

import faust
import pytest

from stream_app.kafka.faust.table import MemoryBudget, StateStore, StateTable
from stream_app.setup.settings import Settings

PARTITIONS = 2
MakeStore = Callable[[Path], StateStore]


@pytest.fixture
def store_in() -> Iterator[MakeStore]:
    """Return a function that makes a worker's store in a data folder; all are closed when the test ends.

    Most users may have 1,024 files open simultaneously.
    """
    made: list[StateStore] = []

    def make(folder: Path) -> StateStore:
        app = faust.App("damage", datadir=str(folder), store="rocksdb://", web_enabled=False, autodiscover=False)
        table = StateTable(app, name="state", key_type=bytes, value_type=bytes, partitions=PARTITIONS)
        table.budget = MemoryBudget(Settings.load(None))
        store = table.data
        assert isinstance(store, StateStore)
        made.append(store)
        return store

    yield make
    for store in made:
        for partition in range(PARTITIONS):
            store.release(partition)
