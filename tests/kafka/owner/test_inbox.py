"""The inbox: order, no holes, and batches within their limits."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_app.formats.records import InputRecord, Records
from stream_app.kafka.owner.inbox import BatchInput, Delivery, Inbox


class Sent(str):
    """A message by a name."""

    __slots__ = ()

    def ack(self) -> None:
        """Do nothing."""


def fetched(start: int, end: int, *, size: int = 10, skip: frozenset[int] = frozenset()) -> Delivery:
    """Return a fetch of the offsets in between, some of which hold no record."""
    records = [InputRecord("t", 0, offset, 0, None, b"x" * size) for offset in range(start, end) if offset not in skip]
    return Delivery(Records.of(records), start, end)


def test_hole_is_refused_and_changes_nothing() -> None:
    """Missing offsets are requested again."""
    inbox = Inbox(10, 1_000)
    inbox.restart(5)
    assert not inbox.put(Sent("late"), fetched(7, 9))
    assert inbox.next_offset == 5
    assert inbox.take() is None


def test_repeated_offsets_are_dropped() -> None:
    """Offsets that were taken once are not taken again."""
    inbox = Inbox(10, 1_000)
    inbox.restart(5)
    assert inbox.put(Sent("a"), fetched(3, 8))
    assert inbox.put(Sent("b"), fetched(6, 8))
    given = inbox.take()
    assert given is not None
    assert given.records.offsets == [5, 6, 7]
    assert (given.start, given.end, given.messages) == (5, 8, [Sent("a")])


@pytest.mark.parametrize("start", [0, 2, 4, 6])
def test_a_message_holds_no_record_once_it_was_taken(start: int) -> None:
    """Faust keeps the last message; whether whole, cut, old or after a hole, it retains none of its records."""
    inbox = Inbox(10, 1_000)
    inbox.restart(4)
    message = fetched(start, start + 4)
    inbox.put(Sent("a"), message)
    assert not message


@given(
    lengths=st.lists(st.integers(1, 30), max_size=12),
    sizes=st.lists(st.integers(1, 200), min_size=12, max_size=12),
    most_records=st.integers(1, 40),
    most_bytes=st.integers(1, 600),
    decided=st.lists(st.integers(1, 40), max_size=12),
)
def test_givens_are_the_log(
    lengths: list[int], sizes: list[int], most_records: int, most_bytes: int, decided: list[int]
) -> None:
    """All records come out once and in order, in givens within the limits, each message with its last record.

    This holds whatever is left of the givens and given back.
    """
    inbox = Inbox(most_records, most_bytes)
    inbox.restart(0)
    end, ends = 0, []
    for number, length in enumerate(lengths):
        assert inbox.put(Sent(str(number)), fetched(end, end + length, size=sizes[number]))
        end += length
        ends.append(end)
    seen, messages, place = [], [], 0
    while (given := inbox.take()) is not None:
        assert given.start == place
        assert len(given.records) <= most_records
        assert len(given.records) == 1 or sum(len(value or b"") for value in given.records.values) <= most_bytes
        done, rest = given.parted(decided.pop() if decided else most_records)
        if rest is not None:
            inbox.give_back(rest)
        place = done.end
        seen += done.records.offsets
        numbers = [int(str(message)) for message in done.messages]
        messages += numbers
        assert all(ends[number] <= done.end for number in numbers)
    assert seen == list(range(end))
    assert messages == list(range(len(lengths)))
    assert len(inbox) == 0


@pytest.mark.parametrize("skip", [frozenset({5, 6}), frozenset({9})])
def test_offsets_without_records_are_passed(skip: frozenset[int]) -> None:
    """Transaction markers leave gaps, and the given's end is after them."""
    inbox = Inbox(100, 10_000)
    inbox.restart(5)
    assert inbox.put(Sent("a"), fetched(5, 10, skip=skip))
    given = inbox.take()
    assert given is not None
    assert given.end == 10
    assert len(given.records) == 5 - len(skip)


@pytest.mark.parametrize(("records", "size", "ample"), [(1, 10, False), (2, 10, True), (1, 200, True), (0, 0, False)])
def test_an_eighth_of_a_batch_is_ample(records: int, size: int, *, ample: bool) -> None:
    """An eighth of its records or of its bytes suffices."""
    inbox = Inbox(16, 1_600)
    inbox.restart(0)
    assert inbox.put(Sent("a"), fetched(0, records, size=size))
    assert inbox.ample == ample


def test_batches_are_as_short_as_what_was_decided_and_grow_again() -> None:
    """Little is given back, as it is read again; a few records that took long cut the batch to a sixteenth."""
    inbox = Inbox(160, 100_000)
    inbox.restart(0)
    assert inbox.put(Sent("a"), fetched(0, 2_000))
    given, decided = inbox.take(), [30, 12, 12, 60, 1, 10, 20, 40, 80, 160, 160]
    lengths, seen, messages = [], [], []
    while given is not None:
        lengths.append(len(given.records))
        done, rest = given.parted(decided[len(lengths) - 1] if len(lengths) <= len(decided) else 160)
        seen += done.records.offsets
        messages += done.messages
        if rest is not None:
            inbox.give_back(rest)
        given = inbox.take()
    assert lengths[:11] == [160, 30, 12, 6, 48, 10, 20, 17, 52, 160, 160]
    assert (seen, messages, len(inbox)) == (list(range(2_000)), [Sent("a")], 0)


def test_what_was_not_decided_does_not_wait_for_the_commit() -> None:
    """It was left over because the batch took long."""
    inbox = Inbox(1_000, 100_000)
    inbox.restart(0)
    assert inbox.put(Sent("a"), fetched(0, 4))
    given = inbox.take()
    assert given is not None
    assert not inbox.ample
    inbox.give_back(BatchInput(2, given.end, given.records[2:], given.messages))
    assert inbox.ample


def test_records_do_not_show_themselves() -> None:
    """A fetch in a log shows only its place."""
    assert "x" not in repr(fetched(1, 3)).replace("offsets", "")


def test_what_was_not_decided_comes_first_again() -> None:
    """The end of a given is given back whole, before what waits after it."""
    inbox = Inbox(4, 1_000)
    inbox.restart(0)
    assert inbox.put(Sent("a"), fetched(0, 4))
    assert inbox.put(Sent("b"), fetched(4, 7))
    given = inbox.take()
    assert given is not None
    rest = BatchInput(2, given.end, given.records[2:], given.messages)
    inbox.give_back(rest)
    assert len(inbox) == 5
    assert inbox.take() == rest
    following = inbox.take()
    assert following is not None
    assert (following.start, following.end, following.messages) == (4, 7, [Sent("b")])
    assert len(inbox) == 0


def test_a_hole_of_one_record_is_not_passed_over() -> None:
    """A fetch that begins one offset too late is refused, and nothing of it waits."""
    inbox = Inbox(10, 1_000)
    inbox.restart(5)
    late = Delivery(Records("events", 0, [6], [0], [None], [b"{}"]), 6, 7)
    assert not inbox.put(None, late)  # type: ignore[arg-type]
    assert (len(inbox), inbox.next_offset) == (0, 5)
