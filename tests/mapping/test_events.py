"""Files in any order of time, and what the order decides."""

import io
import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from stream_app.mapping.events import MappedFile
from stream_app.mapping.members import mapping_of
from tests.mapping.mapped import events, read


def text(numbers: list[int]) -> str:
    """Return a file of one series, with each row's number as its value."""
    return "time,kwh\n" + "".join(f"{1000 * at},{nth}\n" for nth, at in enumerate(numbers))


@given(st.lists(st.integers(0, 99), min_size=1, max_size=300))
def test_files_come_oldest_first(numbers: list[int]) -> None:
    """A file that begins with the newest row is reversed row by row; equal times are reversed with it."""
    every = [(1000 * at, nth) for nth, at in enumerate(sorted(numbers))]
    assert events(text(sorted(numbers))) == every
    mapped, found = read(text(sorted(numbers, reverse=True)))
    every = [(1000 * at, nth) for nth, at in enumerate(sorted(numbers, reverse=True))]
    assert mapped.newest_first == (len(set(numbers)) > 1)
    assert [(one["timestamp"], one["value"]) for one in found] == (every[::-1] if mapped.newest_first else every)


def test_a_long_file_is_turned_over_too() -> None:
    """It is reversed in blocks, which wait in a file."""
    assert [value for _, value in events(text(list(range(35_000, 0, -1))))] == list(range(35_000))[::-1]


def test_a_file_without_order_stays_as_it_is() -> None:
    """The decision determines whether its rows are late."""
    assert [at for at, _ in events(text([1, 2, 3, 2, 5, 4, 6]))] == [1000, 2000, 3000, 2000, 5000, 4000, 6000]


def test_several_series_one_below_the_other_are_in_order() -> None:
    """Only the order within each series counts."""
    lines = [f"{who},{at},{at}" for who in "abc" for at in range(3, 0, -1)]
    _, found = read("\n".join(["who,time,kwh", *lines]), series_column="who")
    assert [(one["series"], one["timestamp"]) for one in found] == [(who, at) for who in "cba" for at in (1, 2, 3)]


def test_the_newest_first_over_the_end_of_summer_time() -> None:
    """Its passes are those of the same file in reverse order."""
    local = [f"2024-10-27 0{hour}:{minute:02}" for hour in (1, 2, 2, 3) for minute in range(0, 60, 15)]
    lines = [f"{time},{nth}" for nth, time in enumerate(local)]
    forward = events("\n".join(["time,kwh", *lines]), zone="Europe/Paris")
    assert [at for at, _ in forward] == [1729983600000 + 900_000 * nth for nth in range(16)]
    assert events("\n".join(["time,kwh", *reversed(lines)]), zone="Europe/Paris") == forward


def test_registers_of_a_file_with_the_newest_first_grow_forward() -> None:
    """A register never runs backwards because a file does."""
    assert events("time,kwh\n3,9\n2,5\n1,4\n", differences=True) == [(2, 1), (3, 4)]


def test_events_are_records_that_are_read_back() -> None:
    """As `send` takes them."""
    _, found = read("time,kwh\n1,2\n")
    assert found == [{"type": "observation", "series": "s", "timestamp": 1, "value": 2}]


def test_the_file_is_read_as_a_stream() -> None:
    """The first event is there before the last row is read."""

    class Counted(io.BytesIO):
        taken = 0

        def readinto(self, into: Any) -> int:
            found = super().readinto(into)
            self.taken += found
            return found

    content = Counted(b"time,kwh\n" + b"".join(b"%d,1\n" % nth for nth in range(200_000)))
    file = MappedFile(mapping_of({"series": "s", "timestamp_column": "time", "value_columns": "kwh"}))
    found = file.events(io.BufferedReader(content))
    _, first = next(found)
    assert json.loads(first)["timestamp"] == 0
    assert content.taken < len(content.getvalue()) / 4
