"""The audit's landmark set compared with a plain set of numbers."""

from hypothesis import given
from hypothesis import strategies as st

from stream_app.audit.books.landmarks import LandmarkSet

STEPS = 40
intervals = st.lists(
    st.tuples(st.integers(0, STEPS - 1), st.integers(1, STEPS)).map(lambda pair: (pair[0], pair[0] + pair[1])),
    max_size=8,
)


@given(st.lists(intervals, max_size=3))
def test_it_is_a_set_with_counts(batches: list[list[tuple[int, int]]]) -> None:
    """However intervals overlap, touch or repeat, they stay separate, and every count equals the plain set's."""
    landmarks, plain = LandmarkSet(), set[int]()
    for batch in batches:
        apart = LandmarkSet().joined(batch)
        count = landmarks.count_joined(zip(apart.starts, apart.ends, strict=True))
        landmarks = landmarks.joined(batch)
        assert count == len(landmarks.starts)
        plain |= {step for start, end in batch for step in range(start, end)}
        assert landmarks.total == len(plain)
        assert all(end < start for end, start in zip(landmarks.ends, landmarks.starts[1:], strict=False))
        for step in range(2 * STEPS + 2):
            later = sum(1 for landmark in plain if landmark >= step)
            assert landmarks.at(step) == (step in plain, later)
            assert landmarks.count_before(step) == len(plain) - later
