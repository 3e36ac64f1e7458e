"""A copy that stands by follows one history of the changelog: after another one it is no longer whole."""

from collections.abc import Iterable
from pathlib import Path

from faust.types import TP

from stream_app.formats.records import InputRecord, Records
from stream_app.kafka.evidence.row import PARTITION_KEY, PartitionRow
from stream_app.kafka.faust.recovery import Recovery
from stream_app.kafka.faust.table import StateStore
from tests.kafka.faust.test_localcopy import store_in

CHANGELOG = TP("changelog", 0)


def record(offset: int, key: bytes, value: bytes | None) -> InputRecord:
    """Return a changelog record."""
    return InputRecord("changelog", 0, offset, 0, key, value)


def log(*rows: tuple[str, str | int]) -> list[InputRecord]:
    """Return a changelog: a text is a series' row, a number the partition row at that input, of the life before it."""
    return [
        record(nth, name.encode(), value.encode())
        if isinstance(value, str)
        else record(nth, PARTITION_KEY, row(value, name))
        for nth, (name, value) in enumerate(rows)
    ]


def row(next_offset: int, life: str) -> bytes:
    """Return a partition row."""
    return PartitionRow(
        topic="t",
        changelog="c",
        partitions=1,
        next_offset=next_offset,
        recall_offset=next_offset,
        ledger_offset=next_offset,
        key="k",
        configuration="f",
        life=life,
    ).encode()


# Behind its second record the changelog was lost; whoever owns it then wrote on from there, under a new life.
OLD = log(("sY", "one"), ("", 1), ("sX", "one"), ("", 2), ("sX", "two"), ("", 3))
NEW = log(("sY", "one"), ("", 1), ("sX", "one"), ("l", 3), ("sY", "two"), ("l", 4), ("sX", "three"), ("l", 5))


def standing_by(store: StateStore, log: Iterable[InputRecord], recovery: Recovery | None = None) -> Recovery:
    """Apply what of a log lies behind a copy, one transaction after the other, as one who begins to stand by."""
    if recovery is None:
        recovery = Recovery(store.app, store.app.tables)
    recovery._given_up.clear()  # noqa: SLF001 (as an assignment does)
    recovery.app.store = store
    recovery.standby_tps.add(CHANGELOG)
    held = store.offset(0)
    portion: list[InputRecord] = []
    for each in log:
        if held is None or each.offset > held:
            portion.append(each)
            if each.key == PARTITION_KEY:
                recovery.apply(CHANGELOG, Records.of(portion))
                portion = []
    return recovery


def test_a_copy_of_what_was_lost_is_discarded(tmp_path: Path) -> None:
    """Its rows of before the cut would rule again, under the row of the new life.

    It is not filled either: the rest alone is not whole.
    """
    store = store_in(tmp_path)
    recovery = standing_by(store, OLD)
    assert (store.offset(0), store.read(0, b"sX")) == (5, b"two")
    again = standing_by(store, NEW)  # its worker started anew
    assert store.offset(0) is None
    assert store.read(0, b"sY") is None
    assert not again.follows(CHANGELOG)
    assert recovery.standby_rows == len(OLD)
    assert again.standby_rows == 0


def test_a_copy_begun_anew_is_filled_at_the_second_assignment(tmp_path: Path) -> None:
    """Records do not tell whether a life ended under their reader; what was known before it began to read did not."""
    store = store_in(tmp_path)
    recovery = standing_by(store, NEW)
    assert store.offset(0) is None
    standing_by(store, NEW, recovery)
    assert (store.offset(0), store.read(0, b"sY"), store.read(0, b"sX")) == (7, b"two", b"three")
    standing_by(store, [*NEW, record(8, PARTITION_KEY, row(6, "m"))], recovery)
    assert store.offset(0) is None


def test_a_copy_of_a_log_that_is_read_from_its_beginning_again_is_discarded(tmp_path: Path) -> None:
    """The log lost its end while the copy followed it, and the consumer began anew: rows of what is lost would stay."""
    store = store_in(tmp_path)
    recovery = standing_by(store, OLD)
    recovery.apply(CHANGELOG, Records.of(OLD[:2]))
    assert store.offset(0) is None
    assert not recovery.follows(CHANGELOG)
    standing_by(store, OLD[:4], recovery)
    assert (store.offset(0), store.read(0, b"sX")) == (3, b"one")


def test_a_copy_whose_last_record_lies_there_no_more_is_discarded(tmp_path: Path) -> None:
    """The consumer begins with that record; the log lost its end and has grown as long again, under the same life."""
    store = store_in(tmp_path)
    recovery = standing_by(store, OLD)
    recovery.apply(CHANGELOG, Records.of(OLD[5:]))
    assert store.offset(0) == 5, "it goes on where it was"
    recovery.apply(CHANGELOG, Records.of([record(5, b"sZ", b"one"), record(6, PARTITION_KEY, row(4, ""))]))
    assert store.offset(0) is None
