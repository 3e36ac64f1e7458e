"""The README's opening picture: what it shows, and that the file and the page match today's decisions."""

from pathlib import Path
from statistics import correlation, fmean
from typing import Any

import pytest

from stream_app.demo.data import DAY_MS, HOUR_MS, MINUTE_MS, STAY_MS, demo_series
from stream_app.pictures import OWN_COLOUR, TRUTH_COLOUR, canvas
from tests.deploy import ROOT
from tests.experiments.opening import Opening, draw, lay_out, opening

pytest.importorskip("matplotlib")
pytest.importorskip("bokeh_sampledata")

RANGE = 360
"""The range of glucose in the policy, in mg/dl."""


@pytest.fixture(scope="module")
def shown() -> Opening:
    """Return what the picture shows, computed again."""
    return opening()


@pytest.fixture(scope="module")
def said() -> str:
    """Return the README as one line."""
    return " ".join((ROOT / "README.md").read_text().split())


def test_the_file_in_the_docs_is_of_todays_decisions(shown: Opening, tmp_path: Path) -> None:
    """The figures are embedded in the file."""
    for path in (ROOT / "docs" / "pictures" / "opening.png", tmp_path / "again.png"):
        if path.name == "again.png":
            draw(path, shown)
        assert shown.figures.encode() in path.read_bytes()


def test_the_readme_says_what_the_picture_shows(shown: Opening, said: str) -> None:
    """It gives errors, best constants, how many intervals hold, and the error by unit."""
    assert f"**weekly means have a mean error of {shown.error:.1f} mg/dl**" in said
    assert f"the best single number in hindsight, has an error of {shown.constant_error:.0f} mg/dl." in said
    assert f"{shown.held} of the {len(shown.weeks)} true means lie within their 95 % intervals" in said
    assert f"have an error of {shown.averaged_error:.0f}, because half of epsilon is reserved" in said
    assert (
        f"**typical day** has an error of {shown.hour_error:.1f} (baseline: {shown.hour_constant_error:.0f})." in said
    )
    assert f"(baseline: {shown.constant_error:.0f})" in said
    for name, digits in (("5 minutes", 1), ("**an hour**", 1), ("a day", 0)):
        assert f"| {name} | {shown.errors[name.strip('*')]:.{digits}f} mg/dl |" in said


def test_the_readme_says_how_alike_neighbours_are(said: str) -> None:
    """It states the sample's autocorrelation from one reading to the next, and where that drops below one half."""
    values: dict[int, Any] = {}
    for time, value in demo_series()[0].readings:
        values.setdefault(time // (5 * MINUTE_MS), value)

    def autocorrelation(lag: int) -> float:
        pairs = [(value, values[at + lag]) for at, value in values.items() if at + lag in values]
        return correlation(*zip(*pairs, strict=True))

    assert f"the autocorrelation is {autocorrelation(1):.3f}" in said
    assert autocorrelation(20) >= 0.5 > autocorrelation(21)
    assert 21 * 5 * MINUTE_MS == HOUR_MS + 45 * MINUTE_MS
    assert "1 h 45 min" in said


def test_errors_by_unit_are_those_of_the_law(shown: Opening) -> None:
    """The noise of a full week has a mean error of the range over the number of its units."""
    for name, units in (("5 minutes", 2016), ("an hour", 168), ("a day", 7)):
        assert RANGE / units <= shown.errors[name] < 1.35 * RANGE / units  # weeks that lack readings have more
    assert shown.errors["a day"] > shown.constant_error > 4 * shown.errors["an hour"]
    assert shown.averaged_error > shown.constant_error


def test_the_week_in_hospital_has_fewer_hours(shown: Opening) -> None:
    """Two days are omitted, so its interval is wider by seven fifths; none of its days enter another week."""
    (week,) = (week for week in shown.weeks if week.start_ms <= STAY_MS[0] < week.start_ms + 7 * DAY_MS)
    full = min(week.half for week in shown.weeks)
    assert week.half >= full * 7 / 5


def test_what_the_picture_holds(shown: Opening) -> None:
    """It shows truth, published means with intervals, averages, constant and landmarks; the legend hides none."""
    with canvas(4.6, 11) as figure:
        lay_out(figure, shown)
        figure.draw_without_rendering()
        weeks: Any
        day: Any
        weeks, day = figure.axes
        labels = weeks.get_legend_handles_labels()[1]
        assert sorted(labels) == sorted(set(labels))
        for axes, parts in ((weeks, shown.weeks), (day, shown.hours)):
            (bars,) = axes.containers
            assert bars.lines[0].get_color() == OWN_COLOUR
            assert list(bars.lines[0].get_ydata()) == [part.estimate for part in parts]
            truth = [y for line in axes.lines if line.get_color() == TRUTH_COLOUR for y in line.get_ydata()]
            assert {part.truth for part in parts} <= set(truth)
        (span,) = weeks.patches
        assert (span.get_x(), span.get_x() + span.get_width()) == tuple(bound / DAY_MS for bound in STAY_MS)
        (legend,) = figure.legends
        box = legend.get_window_extent()
        assert not any(box.overlaps(axes.get_window_extent()) for axes in (weeks, day))
        assert figure.get_facecolor() == (1.0, 1.0, 1.0, 1.0)  # its own ground, on dark pages too


def test_the_usual_day_is_that_of_all_hours(shown: Opening) -> None:
    """Its true means average to roughly the mean of the weeks."""
    assert len(shown.hours) == 24
    assert fmean(hour.truth for hour in shown.hours) == pytest.approx(fmean(week.truth for week in shown.weeks), abs=3)
