"""Faust's recovery as the shell of standby copies: their content says where their changelog is read from."""

from pathlib import Path
from typing import Any

import pytest
from faust.types import TP

from stream_app.formats.records import Records
from stream_app.kafka.faust.app import Recovery
from stream_app.monitoring.metrics import Metrics
from tests.kafka.faust.conftest import MakeStore
from tests.kafka.owner.test_standbycopy import NEW, OLD

CHANGELOG = TP("changelog", 0)


@pytest.fixture
def recovery(tmp_path: Path, store_in: MakeStore) -> Recovery:
    """Create the recovery of a worker to which a standby copy is assigned again and again."""
    store = store_in(tmp_path)
    app: Any = store.app
    app.store, app.measures = store, Metrics()
    return Recovery(app, app.tables)


def assign(recovery: Recovery) -> int | None:
    """Assign the copy, and return the offset to which Faust then seeks."""
    recovery.add_standby(recovery.app.store.table, CHANGELOG)
    return recovery.standby_offsets[CHANGELOG]


def test_a_copy_is_read_on_from_its_last_record(recovery: Recovery) -> None:
    """What was written counts."""
    assert assign(recovery) is None
    recovery.apply(CHANGELOG, Records.of(OLD))
    assert (recovery.standby_rows, assign(recovery)) == (len(OLD), OLD[-1].offset)


def test_a_discarded_copy_is_read_from_the_beginning(recovery: Recovery) -> None:
    """Faust keeps the offset of a partition that stays with a worker: a copy read from there is incomplete."""
    assign(recovery)
    recovery.apply(CHANGELOG, Records.of(OLD))
    recovery.apply(CHANGELOG, Records.of(NEW[6:]))
    assert not recovery.follows(CHANGELOG)
    assert recovery.app.store.offset(0) is None
    assert assign(recovery) is None


def test_a_damaged_copy_is_read_from_the_beginning(recovery: Recovery) -> None:
    """The copy is discarded when opened, at an assignment that leaves it with this worker."""
    assign(recovery)
    recovery.apply(CHANGELOG, Records.of(OLD))
    store = recovery.app.store
    store.release(0)
    (store.partition_path(0) / "CURRENT").write_bytes(b"")
    assert assign(recovery) is None
