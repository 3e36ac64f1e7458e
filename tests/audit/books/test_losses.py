"""Where series stand: the figures of hand-written ledgers."""

import pytest

from stream_app.audit import Auditor
from stream_app.audit.books.guarantee import SeriesLoss
from tests.audit.written import LEDGERS, write


@pytest.mark.parametrize(
    ("name", "landmark", "peak", "closed", "left"),
    [
        ("uniform", 82, 18, 0, 0),
        ("adaptive", 8, 8, 84, 0),  # of the second period, after 50 + 34 in the first
        ("skip", 0, 100, 0, 0),
        ("balanced", 46, 55, 0, 0),
        ("event", 0, 7, 0, 0),
        ("user", 100, 0, 0, 0),
    ],
)
def test_standings_are_the_last_figures(name: str, landmark: int, peak: int, closed: int, left: int) -> None:
    """The figures are landmark spends, worst other step, earlier periods, and the rest of the present budget."""
    auditor = Auditor()
    auditor.entries(write(LEDGERS[name]).lines())
    (loss,) = auditor.losses()
    assert (loss.landmark_nano, loss.peak_nano, loss.closed_nano) == (landmark, peak, closed)
    assert (loss.left_nano, loss.total_nano) == (left, landmark + peak + closed)


def test_nothing_is_left_where_too_much_was_lost() -> None:
    """A share is never negative, and a budget of 0 leaves nothing."""
    assert SeriesLoss("home-7", 100, landmark_nano=20, peak_nano=5, closed_nano=50).share_left == 0.75
    assert SeriesLoss("home-7", 100, landmark_nano=90, peak_nano=20, closed_nano=0).share_left == 0.0
    assert SeriesLoss("home-7", 0, landmark_nano=0, peak_nano=0, closed_nano=0).share_left == 0.0
