"""Ledgers that no worker can have written although every figure fits: impossible rates, times and sizes."""

import pytest

from stream_app.audit.books.landmarks import MOST_INTERVALS
from tests.audit.frauds.forged import behind
from tests.audit.ways import audit, codes
from tests.audit.written import Written, cover, seal, write

SECOND_TOSSED = """
policy 1 {"epsilon": 7e-9, "scheme": %s, "level": "event"}
0 perturbed    . 7 | 0 0 7
1 approximated . - | 0 0 7
"""
THIRD_TOSSED = SECOND_TOSSED.replace("1 approx", "1 perturbed . 7 | 0 0 7\n2 approx")


def test_the_second_event_is_published_too() -> None:
    """The rate of Adaptive starts at 1, and no two measurements were compared before the second event."""
    adaptive = '{"name": "adaptive"}'
    assert codes(audit(write(SECOND_TOSSED % adaptive).lines())) == {"decision"}
    assert audit(write(THIRD_TOSSED % adaptive).lines()).holds


@pytest.mark.parametrize(
    ("members", "falls"),
    [
        ('"minimum": 1', False),
        ('"minimum": 0.9999999999', True),
        ('"decrease": 0', False),
        ('"decrease": 1e-10', False),
        ('"decrease": 1e-9', True),
    ],
)
def test_a_rate_that_cannot_fall_tosses_no_coin(members: str, *, falls: bool) -> None:
    """Rates are whole billionths, rounded down: with no decrease or a minimum of 1, every event is published."""
    written = write(THIRD_TOSSED % f'{{"name": "adaptive", {members}}}')
    assert codes(audit(written.lines())) == (set() if falls else {"decision"})


def test_after_a_gap_the_rate_is_not_known() -> None:
    """A missing entry may have been the second release, so only the gap is reported."""
    written = write(THIRD_TOSSED % '{"name": "adaptive"}')
    del written.entries[2]
    assert codes(audit(written.lines())) == {"gap"}


def registered(landmarks: object, added: list[list[int]], left: int, step: int = 1000) -> Written:
    """Return a ledger that promises landmarks, registers more, and does nothing else."""
    written = write(
        f"""
        policy 1 {{"epsilon": 1e-7, "scheme": {{"name": "uniform"}}, "landmarks": {landmarks}, "step": {step}}}
        landmarks [[0, 1]] 0 | 0 {left} 0
        """
    )
    written.entries[1]["add"] = added
    return seal(cover(written))


def test_no_landmark_lies_beyond_the_last_timestamp() -> None:
    """The step of the last millisecond of the year 9999 can be registered; the one after it cannot."""
    step, last = 10**9, 253_402_000_000_000
    assert audit(registered([], [[last, last + step]], 1, step).lines()).holds
    late = registered([], [[last, last + 2 * step]], 2, step)
    assert codes(audit(late.lines())) == {"refused-landmark"}


def test_a_registration_adds_something() -> None:
    """A worker never registers a record without landmarks."""
    assert codes(audit(registered([], [], 0).lines())) == {"malformed-entry"}


def test_intervals_are_limited() -> None:
    """The maximum number per series is accepted; one more is refused, so it cannot slow the audit down."""
    spans = [2 * second * 1000 for second in range(MOST_INTERVALS - 1)]
    end = spans[-1] + 2000
    assert audit(registered(spans, [[end, end + 1000]], MOST_INTERVALS).lines()).holds
    many = registered(spans, [[end, end + 1000], [end + 2000, end + 3000]], MOST_INTERVALS + 1)
    assert codes(audit(many.lines())) == {"refused-landmark"}
    # Between two of them it makes one of two.
    assert audit(registered([*spans, end], [[1000, 2000]], MOST_INTERVALS + 1).lines()).holds


@pytest.mark.parametrize(
    ("method", "charge", "landmarks", "holds"),
    [
        ("optimal", 1, 16, True),
        ("optimal", 1, 17, False),
        ("heuristic", 1, 17, True),
        ("heuristic", 1, 0, False),
        ("heuristic", 1, 16_385, False),
        ("padding", 0, 16_385, True),
        ("padding", 0, 0, True),
        ("padding", 0, 65_537, False),
    ],
)
def test_dummies_fit_the_range_of_their_method(method: str, charge: int, landmarks: int, *, holds: bool) -> None:
    """No method draws more landmarks than its longest range has steps, and only padding may draw none."""
    spans = [[0, landmarks * 1000]] if landmarks else []
    written = write(f'policy 1 {{"epsilon": 1e-7, "scheme": {{"name": "uniform"}}, "landmarks": {spans}}}\nclose')
    del written.entries[1]
    drawn = behind(written, 0, "dummies", method=method, charged_nano=charge)
    assert codes(audit(drawn.lines())) == (set() if holds else {"dummies"})
