"""The demo's picture and figures: weekly means first, own scheme highlighted, landmarks, legends; constant."""

from dataclasses import replace
from statistics import fmean, median
from typing import Any

import pytest
from rich.console import Console

from stream_app.demo.data import DAY_MS, STAY_MS, DemoSeries, demo_series
from stream_app.demo.summary import (
    SeriesSummary,
    Week,
    best_constant_of,
    constant_error,
    summarise,
    table_of,
    weeks_of,
)
from stream_app.formats import wire
from stream_app.pictures import OWN_COLOUR, TRUTH_COLOUR

pytest.importorskip("matplotlib")
pytest.importorskip("bokeh_sampledata")

READINGS = 200
"""The number of readings for the ride and for single releases."""
WEEKS = 10_000
"""The readings for the weekly means: six weeks, including the two days in hospital."""
HIDDEN = "input"
LANDMARKS = 60
"""The number of seconds of the ride that are landmarks."""
EXCESS = 4.0
"""The amount by which these tests' estimates are too large."""
NOISE = {"scale": 2.0, "count": 168}


def short() -> tuple[DemoSeries, ...]:
    """Return the demo's series with only their first readings."""
    return tuple(replace(one, readings=one.readings[: WEEKS if one.weekly else READINGS]) for one in demo_series())


def released(one: DemoSeries) -> list[dict[str, Any]]:
    """Return releases that each have the first reading; weekly means have the true one plus `EXCESS`."""
    ruling = one.ruling
    starts = dict.fromkeys(ruling.start_of(ruling.index_of(time)) for time, _ in one.readings)
    said: dict[str, Any] = {"value": one.readings[0][1], "measurement": one.readings[0][1], "decision": "perturbed"}
    if not one.weekly:
        return [{"timestamp": start, **said} for start in starts]
    return [{"timestamp": start, **said, "value": true_mean(one, start) + EXCESS, **NOISE} for start in starts]


def true_mean(one: DemoSeries, start_ms: int) -> float:
    """Return the mean over a week's hours of their mean readings, excluding those in hospital."""
    hours: dict[int, list[Any]] = {}
    for time, value in one.readings:
        if start_ms <= time < start_ms + 7 * DAY_MS and not STAY_MS[0] <= time < STAY_MS[1]:
            hours.setdefault(time // 3_600_000, []).append(value)
    return fmean(fmean(values) for values in hours.values())


def entries(one: DemoSeries) -> list[dict[str, Any]]:
    """Return entries whose budget is half used."""
    spent = {"landmark_spent_nano": 10**8, "regular_peak_nano": 4 * 10**8, "budget_nano": 10**9}
    return [{"entry": "release", "sequence": str(nth), **spent} for nth in range(len(one.readings))]


def told(series: tuple[DemoSeries, ...]) -> tuple[tuple[Week, ...], list[SeriesSummary]]:
    """Return the weeks, with a single release for each reading, and the summaries of all series."""
    weekly = series[0]
    single = [{"timestamp": time, "measurement": 100.0} for time, _ in weekly.readings]
    weeks = weeks_of(weekly, released(weekly), single)
    return weeks, [summarise(one, released(one), entries(one), weeks) for one in series]


@pytest.mark.parametrize("with_input", [False, True])
def test_what_the_picture_holds(*, with_input: bool) -> None:
    """No single input appears unless requested; legends are below the data, and name each thing once."""
    from stream_app.demo.picture import laid_out  # noqa: PLC0415 - matplotlib is an optional extra

    series = short()
    weeks, summaries = told(series)
    found, booked = ({one.name: of(one) for one in series} for of in (released, entries))
    figure = laid_out(series, found, booked, summaries, weeks, with_input=with_input)
    figure.draw_without_rendering()
    plots: list[Any] = figure.axes
    for axes in plots:
        labels = axes.get_legend_handles_labels()[1]
        assert len(labels) == len(set(labels))
        assert (HIDDEN in labels) == (with_input and axes in plots[1:3])
        legend = axes.get_legend().get_window_extent()
        assert axes.bbox.x0 <= legend.x0 <= legend.x1 <= axes.bbox.x1  # a wider one narrows all plots
        assert not any(legend.overlaps(other.get_window_extent()) for other in plots)
        assert not any(legend.overlaps(other.xaxis.get_tightbbox()) for other in plots)
    readings = plots[1]
    lines = {line.get_label().partition(":")[0]: line for line in readings.lines}
    assert lines["balanced, published"].get_color() == OWN_COLOUR
    for summary, axes in ((summaries[1], readings), (summaries[3], plots[2])):
        labels = axes.get_legend_handles_labels()[1]
        assert f"balanced, published: mean error {summary.mean_error:,.1f} {summary.unit}" in labels
        held = f"constant baseline: mean error {summary.constant_error:,.1f} {summary.unit}"
        assert (held if with_input else f"{held} (not drawn)") in labels
    if with_input:
        values: list[Any] = [value for _, value in series[1].readings]
        assert list(lines["constant baseline"].get_ydata()) == [median(values)] * 2
    assert len({line.get_label(): line for line in plots[2].lines}["balanced, at landmarks"].get_xdata()) == LANDMARKS
    assert plots[2].get_title().endswith("epsilon 10, 13 Sep 2020, 12:26 to 12:29 UTC")
    assert {40, 400} <= {y for line in readings.lines for y in line.get_ydata()[:1]}
    assert "UTC" in readings.get_xlabel()


def test_the_picture_leads_with_weekly_means() -> None:
    """It shows the means with intervals, the truth, averages of single releases, and the best constant."""
    from stream_app.demo.picture import laid_out  # noqa: PLC0415 - matplotlib is an optional extra

    series = short()
    weeks, summaries = told(series)
    found, booked = ({one.name: of(one) for one in series} for of in (released, entries))
    top: Any = laid_out(series, found, booked, summaries, weeks, with_input=False).axes[0]
    lines = {line.get_label(): line for line in top.lines}
    truth = lines["true weekly means"]
    assert truth.get_color() == TRUTH_COLOUR
    assert list(truth.get_ydata()) == [week.truth for week in weeks]
    (bars,) = top.containers
    assert bars.get_label() == f"published (unit: 1 h, 95 % intervals): mean error {EXCESS:.1f} mg/dl"
    assert bars.lines[0].get_color() == OWN_COLOUR
    assert list(bars.lines[0].get_ydata()) == [week.estimate for week in weeks]
    constant = f"constant baseline: mean error {summaries[0].constant_error:.1f} mg/dl"
    assert list(lines[constant].get_ydata()) == [best_constant_of(weeks)] * 2
    assert any(label.startswith("averages of single releases") for label in lines)
    (left_out,) = top.patches
    assert (left_out.get_x() * DAY_MS, (left_out.get_x() + left_out.get_width()) * DAY_MS) == STAY_MS
    assert top.get_title().endswith("epsilon 1, 24 Mar 2010 to 03 May 2010")


def test_weeks_leave_the_days_in_hospital_out() -> None:
    """Their truth is the mean over all other hours; the average of single releases also excludes these days."""
    weekly = short()[0]
    single = [
        {"timestamp": time, "measurement": 10_000.0 if STAY_MS[0] <= time < STAY_MS[1] else 100.0}
        for time, _ in weekly.readings
    ]
    weeks = weeks_of(weekly, released(weekly), single)
    assert [week.truth for week in weeks] == pytest.approx([true_mean(weekly, week.start_ms) for week in weeks])
    assert {week.averaged for week in weeks} == {100.0}
    assert weeks[0].half == pytest.approx(2 * 2.995732)  # 5 % of Laplace noise lie beyond ln 20 scales


def test_weeks_of_few_hours_are_left_out() -> None:
    """Data began, paused or ended in such weeks."""
    weekly = short()[0]
    single = [{"timestamp": time, "measurement": 100.0} for time, _ in weekly.readings]
    first, *others = released(weekly)
    for hours, there in ((84, True), (83, False)):
        weeks = weeks_of(weekly, [first | {"count": hours}, *others], single)
        assert (weeks[0].start_ms == first["timestamp"]) == there


def test_weekly_means_begin_on_mondays_and_protect_an_hour() -> None:
    """Their budget is that of the single releases of the same readings."""
    weekly, single = demo_series()[:2]
    assert [one.weekly for one in demo_series()] == [True, False, False, False]
    assert weekly.ruling.units is not None
    assert weekly.ruling.units.unit_ms == 3_600_000
    assert weekly.ruling.start_of(0) // DAY_MS % 7 == 4  # 1 January 1970 was a Thursday
    assert weekly.ruling.epsilon_nano == single.ruling.epsilon_nano
    assert weekly.readings == single.readings


def test_the_demo_knows_how_many_answers_come() -> None:
    """There is one for each reading, or for each week and each repeated time; a watermark closes the last week."""
    weekly, single = demo_series()[:2]
    times = [time for time, _ in weekly.readings]
    assert weekly.repeats() == len(times) - len(set(times))
    assert weekly.answers() == len({(time // DAY_MS - 4) // 7 for time in times}) + weekly.repeats()
    assert single.answers() == len(single.readings)
    *_, last = weekly.events()
    record: Any = wire.load(last)
    assert record["type"] == "watermark"
    assert record["timestamp"] > times[-1]


def test_the_best_constant_stands_beside_each_error() -> None:
    """For numbers, it is the median's error; naming it in advance does equally well in the table."""
    glucose = short()[1]
    values: list[Any] = [value for _, value in glucose.readings]
    middle = median(values)
    summary = summarise(glucose, released(glucose), entries(glucose), ())
    assert summary.constant_error == pytest.approx(sum(abs(value - middle) for value in values) / len(values))
    said = [{**release, "value": middle} for release in released(glucose)]
    assert summarise(glucose, said, entries(glucose), ()).mean_error == pytest.approx(summary.constant_error)


def test_the_table_shows_the_constant_beside_each_error() -> None:
    """At 80 columns nothing in it is cut off; the note below explains the column."""
    summaries = told(short())[1]
    console = Console(width=80, no_color=True)
    with console.capture() as caught:
        console.print(table_of(summaries))
    lines = caught.get().splitlines()
    assert any("error" in line and line.rstrip().endswith("constant") for line in lines)
    for summary in summaries:
        (line,) = (line for line in lines if summary.name in line)
        errors = f"{summary.mean_error:,.1f} {summary.unit} {summary.constant_error:,.1f}"
        assert " ".join(line.split()).endswith(errors)
    (averaged,) = (line for line in lines if "single releases" in line)
    assert " ".join(averaged.split()).endswith(
        f"{summaries[0].averaged_error:,.1f} mg/dl {summaries[0].constant_error:,.1f}"
    )
    assert "…" not in caught.get()


def test_no_constant_beats_that_of_the_ride() -> None:
    """Positions around the computed one are no better."""
    ride = short()[2]
    places: list[Any] = [value for _, value in ride.readings]
    kind = ride.ruling.kind.item
    for place in places[::20]:
        assert constant_error(ride) <= fmean(kind.error(one, place) for one in places) + 0.01
