"""Landmark sets compared with plain sets of steps."""

from hypothesis import given
from hypothesis import strategies as st

from stream_app.privacy.landmarks import NO_LANDMARKS, LandmarkSet, aligned

INTERVALS = st.lists(st.tuples(st.integers(0, 60), st.integers(1, 20)).map(lambda span: (span[0], span[0] + span[1])))


def _steps(intervals: list[tuple[int, int]]) -> set[int]:
    return {step for first, end in intervals for step in range(first, end)}


@given(INTERVALS)
def test_a_set_holds_its_steps(intervals: list[tuple[int, int]]) -> None:
    """Membership, length and counts are those of the steps taken individually, however intervals overlap."""
    steps, landmarks = _steps(intervals), LandmarkSet.of(intervals)
    assert len(landmarks) == len(steps)
    for step in range(-2, 90):
        assert (step in landmarks) == (step in steps)
        assert landmarks.count_before(step) == sum(other < step for other in steps)
        assert landmarks.count_from(step) == sum(other >= step for other in steps)
    assert all(end < first for (_, end), (first, _) in zip(landmarks.intervals, landmarks.intervals[1:], strict=False))


@given(INTERVALS, INTERVALS)
def test_a_union_is_the_union(one: list[tuple[int, int]], other: list[tuple[int, int]]) -> None:
    """A union contains the steps of both, in the same form as if it had been made in one go."""
    assert LandmarkSet.of(one).union(LandmarkSet.of(other)) == LandmarkSet.of(one + other)


@given(
    st.lists(st.integers(0, 500) | st.tuples(st.integers(0, 400), st.integers(401, 500))), st.sampled_from([1, 7, 60])
)
def test_spans_are_every_step_they_touch(spans: list[int | tuple[int, int]], step_ms: int) -> None:
    """A timestamp is floored to its step; an interval is every step that contains one of its milliseconds."""
    touched = set()
    for span in spans:
        first, end = (span, span + 1) if isinstance(span, int) else span
        touched |= {ms // step_ms for ms in range(first, end)}
    landmarks = aligned(spans, step_ms)
    assert {step for step in range(600) if step in landmarks} == touched


def test_the_empty_set_is_one_object() -> None:
    """Policies without landmarks share the empty set, which shows that none was registered."""
    assert len(NO_LANDMARKS) == 0
    assert LandmarkSet.of([]) == NO_LANDMARKS
