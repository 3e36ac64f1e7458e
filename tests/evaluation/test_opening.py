"""The picture that opens the README: what it holds, and that the file in the docs is of today's decisions."""

from pathlib import Path
from typing import Any

import pytest

from stream_app.pictures import DAY_MS, OWN_COLOUR, TRUTH_COLOUR, canvas
from tests.deploy import ROOT
from tests.evaluation.opening import STAY_MS, Opening, draw, lay_out, opening

pytest.importorskip("matplotlib")
pytest.importorskip("bokeh_sampledata")


@pytest.fixture(scope="module")
def shown() -> Opening:
    """Return what the picture shows, decided anew."""
    return opening()


def test_the_file_in_the_docs_is_of_todays_decisions(shown: Opening, tmp_path: Path) -> None:
    """Its figures travel in the file, and the README says the same."""
    for path in (ROOT / "docs" / "pictures" / "opening.png", tmp_path / "again.png"):
        if path.name == "again.png":
            draw(path, shown)
        assert shown.figures.encode() in path.read_bytes()
    said = " ".join((ROOT / "README.md").read_text().split())
    off = f"{shown.error:.0f} mg/dl off on average"
    assert f"{off} (the best constant for daily means that hindsight knows: {shown.constant_error:.0f};" in said
    assert f"{shown.held} of {len(shown.means)} true means" in said


def test_the_budget_is_that_of_the_promise(shown: Opening) -> None:
    """Landmarks and the dearest other step fill the battery, and no more."""
    assert 0.999 * shown.budget_nano < shown.landmark_nano + shown.regular_nano <= shown.budget_nano


def test_days_of_landmarks_have_no_mean(shown: Opening) -> None:
    """Their releases are of another noise: mixed in they would drown all others."""
    assert all(not STAY_MS[0] <= day < STAY_MS[1] for day in shown.means)
    assert {day for day in shown.truth if STAY_MS[0] <= day < STAY_MS[1]}


def test_what_the_picture_holds(shown: Opening) -> None:
    """Truth, means with their band, landmarks, the battery; the legend hides nothing of it."""
    with canvas(4.3, 10.4) as figure:
        lay_out(figure, shown)
        figure.draw_without_rendering()
        course: Any
        battery: Any
        course, battery = figure.axes
        colours = [line.get_color() for line in course.lines]
        assert colours[0] == TRUTH_COLOUR
        assert set(colours[1:]) == {OWN_COLOUR}
        drawn = [day for line in course.lines[1:] for day in line.get_xdata()]
        assert drawn == [day / DAY_MS + 0.5 for day in sorted(shown.means)]
        labels = course.get_legend_handles_labels()[1]
        assert sorted(labels) == sorted(set(labels))
        assert {"its 95 % band", "landmarks"} < set(labels)
        (span,) = course.patches
        assert (span.get_x(), span.get_x() + span.get_width()) == tuple(bound / DAY_MS for bound in STAY_MS)
        (legend,) = figure.legends
        box = legend.get_window_extent()
        assert not any(box.overlaps(axes.get_window_extent()) for axes in (course, battery))
        assert sum(bar.get_height() for bar in battery.patches[:2]) == pytest.approx(4.0)
        assert figure.get_facecolor() == (1.0, 1.0, 1.0, 1.0)  # its own ground, on dark pages too
