"""A standby copy follows one history of the changelog: after another history it is no longer whole."""

from collections.abc import Iterable

import pytest

from stream_app.formats.records import InputRecord, Records
from stream_app.kafka.evidence.row import PARTITION_KEY, PartitionRow
from stream_app.kafka.owner.changelogcopy import StandbyCopies
from stream_app.monitoring.metrics import Metrics
from tests.cluster.rows import DiskRows


def record(offset: int, key: bytes, value: bytes | None) -> InputRecord:
    """Return a changelog record."""
    return InputRecord("changelog", 0, offset, 0, key, value)


def log(*rows: tuple[str, str | int]) -> list[InputRecord]:
    """Return a changelog: a text is a series' row, a number the partition row at that input, of the prior life."""
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


@pytest.fixture
def rows() -> DiskRows:
    """Create the rows of the standby worker."""
    return DiskRows()


@pytest.fixture
def copies(rows: DiskRows) -> StandbyCopies:
    """Make its standby copies."""
    return StandbyCopies(rows, Metrics())


def stand_by(copies: StandbyCopies, log: Iterable[InputRecord]) -> int:
    """Assign the copy, feed it what it requests of a log, by transaction; return how many records it took."""
    copies.leave()
    held = copies.open(0)
    portion: list[InputRecord] = []
    taken = 0
    for each in log:
        if held is None or each.offset >= held:
            portion.append(each)
            if each.key == PARTITION_KEY:
                taken += len(portion) * copies.apply(0, Records.of(portion))
                portion = []
    return taken


def test_a_copy_of_what_was_lost_is_discarded(rows: DiskRows, copies: StandbyCopies) -> None:
    """Its rows from before the cut would rule again, under the row of the new life.

    It is not filled either: the rest by itself is not whole.
    """
    assert stand_by(copies, OLD) == len(OLD)
    assert (rows.offset(0), rows.read(0, b"sX")) == (5, b"two")
    again = StandbyCopies(rows, Metrics())  # its worker started anew
    assert stand_by(again, NEW) == 0
    assert (rows.offset(0), rows.read(0, b"sY")) == (None, None)
    assert not again.follows(0)


def test_a_copy_whose_log_goes_on_under_another_life_is_discarded(rows: DiskRows, copies: StandbyCopies) -> None:
    """It follows the log, which lost its end and grew beyond it before the next fetch."""
    stand_by(copies, OLD)
    assert not copies.apply(0, Records.of(NEW[6:]))
    assert rows.offset(0) is None


def test_a_copy_begun_anew_is_filled_at_the_second_assignment(rows: DiskRows, copies: StandbyCopies) -> None:
    """Records do not show whether a life ended during reading; what was known before it began had not ended."""
    stand_by(copies, NEW)
    assert rows.offset(0) is None
    stand_by(copies, NEW)
    assert (rows.offset(0), rows.read(0, b"sY"), rows.read(0, b"sX")) == (7, b"two", b"three")
    stand_by(copies, [*NEW, record(8, PARTITION_KEY, row(6, "m"))])
    assert rows.offset(0) is None


def test_a_copy_of_a_log_that_is_read_from_its_beginning_again_is_discarded(
    rows: DiskRows, copies: StandbyCopies
) -> None:
    """The log lost its end under the copy and the consumer started over: rows of the lost part would stay."""
    stand_by(copies, OLD)
    assert not copies.apply(0, Records.of(OLD[:2]))
    assert rows.offset(0) is None
    assert not copies.follows(0)
    assert stand_by(copies, OLD[:4]) == 4
    assert (rows.offset(0), rows.read(0, b"sX")) == (3, b"one")


def test_a_copy_whose_last_record_lies_there_no_more_is_discarded(rows: DiskRows, copies: StandbyCopies) -> None:
    """The consumer begins with that record; the log lost its end and grew to the same length, in the same life."""
    stand_by(copies, OLD)
    assert copies.apply(0, Records.of(OLD[5:]))
    assert rows.offset(0) == 5, "it goes on where it was"
    assert not copies.apply(0, Records.of([record(5, b"sZ", b"one"), record(6, PARTITION_KEY, row(4, ""))]))
    assert rows.offset(0) is None


def test_a_copy_that_cannot_be_read_is_given_up(rows: DiskRows, copies: StandbyCopies) -> None:
    """It takes nothing more until it is reopened, which discards it: it is read from the beginning."""
    stand_by(copies, OLD[:2])
    rows.damage(0)
    assert not copies.apply(0, Records.of(OLD[2:4]))
    assert not copies.follows(0)
    assert not copies.apply(0, Records.of(OLD[4:]))
    assert copies.open(0) is None
    assert copies.follows(0)


def test_a_copy_takes_nothing_between_two_assignments(rows: DiskRows, copies: StandbyCopies) -> None:
    """Its partition may now be this worker's own, whose owner writes the rows."""
    stand_by(copies, OLD[:2])
    copies.leave()
    assert not copies.apply(0, Records.of(OLD[2:]))
    assert rows.offset(0) == 1
