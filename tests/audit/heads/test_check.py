"""Digests by number: lookups return what was added, and a gap costs nothing."""

import tracemalloc

from hypothesis import given
from hypothesis import strategies as st

from stream_app.audit.heads.check import HeadDigests


@given(st.sets(st.integers(1, 60) | st.integers(1, 2**53 - 1)))
def test_it_answers_as_a_dictionary(numbers: set[int]) -> None:
    """This holds for every number added, its neighbours, and numbers out of range."""
    digests, plain = HeadDigests(), {}
    for number in sorted(numbers):
        plain[number] = number.to_bytes(32, "big")
        digests.add(number, plain[number])
    assert (digests.last, digests.count) == (max(numbers, default=0), len(numbers))
    for number in {0, *numbers, *(number + 1 for number in numbers), *(number - 1 for number in numbers)}:
        assert digests.get(number) == plain.get(number, b"")


def test_a_gap_costs_no_memory() -> None:
    """Numbers may be as far apart as a record can express."""
    tracemalloc.start()
    digests = HeadDigests()
    for part in range(1, 120):
        digests.add(part * 2**46, bytes(32))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**17
