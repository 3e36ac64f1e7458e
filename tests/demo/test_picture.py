"""The demo's picture and figures: own scheme highlighted, range, landmarks, dates, free legends; the best constant."""

from dataclasses import replace
from statistics import median
from typing import Any

import pytest
from rich.console import Console

from stream_app.demo.data import DemoSeries, demo_series
from stream_app.demo.summary import constant_error, distance, summarise, table_of
from stream_app.pictures import DAY_MS, OWN_COLOUR, TRUTH_COLOUR

pytest.importorskip("matplotlib")
pytest.importorskip("bokeh_sampledata")

READINGS = 200
HIDDEN = "input"
LANDMARKS = 60
"""Seconds of the ride that are landmarks."""


def short() -> tuple[DemoSeries, ...]:
    """Return the demo's series, their first readings alone."""
    return tuple(replace(one, readings=one.readings[:READINGS]) for one in demo_series())


def released(one: DemoSeries) -> list[dict[str, Any]]:
    """Return releases that each say the first reading."""
    return [
        {"timestamp": time // one.step_ms * one.step_ms, "value": one.readings[0][1], "decision": "perturbed"}
        for time, _ in one.readings
    ]


def entries(one: DemoSeries) -> list[dict[str, Any]]:
    """Return entries whose budget is half used."""
    spent = {"landmark_spent_nano": 10**8, "regular_peak_nano": 4 * 10**8, "budget_nano": 10**9}
    return [{"entry": "release", "sequence": str(nth), **spent} for nth in range(len(one.readings))]


@pytest.mark.parametrize("with_input", [False, True])
def test_what_the_picture_holds(*, with_input: bool) -> None:
    """No input unless it is asked for; legends lie below what is drawn, and name each thing once."""
    from stream_app.demo.picture import laid_out  # noqa: PLC0415 - matplotlib is an optional extra

    series = short()
    found = {one.name: released(one) for one in series}
    summaries = [summarise(one, found[one.name], entries(one)) for one in series]
    booked = {one.name: entries(one) for one in series}
    figure = laid_out(series, found, booked, summaries, with_input=with_input)
    figure.draw_without_rendering()
    plots: list[Any] = figure.axes
    for axes in plots:
        labels = axes.get_legend_handles_labels()[1]
        assert len(labels) == len(set(labels))
        assert (HIDDEN in labels) == (with_input and axes is not plots[2])
        legend = axes.get_legend().get_window_extent()
        assert axes.bbox.x0 <= legend.x0 <= legend.x1 <= axes.bbox.x1  # a wider one narrows all plots
        assert not any(legend.overlaps(other.get_window_extent()) for other in plots)
        assert not any(legend.overlaps(other.xaxis.get_tightbbox()) for other in plots)
    top = plots[0]
    lines = {line.get_label().partition(":")[0]: line for line in top.lines}
    assert lines["balanced, published"].get_color() == OWN_COLOUR
    assert lines["adaptive, published"].get_color() not in {OWN_COLOUR, TRUTH_COLOUR}
    for summary, axes in ((summaries[1], plots[0]), (summaries[3], plots[1])):
        labels = axes.get_legend_handles_labels()[1]
        assert f"balanced, published: {summary.mean_error:,.1f} {summary.unit} off" in labels
        held = f"best constant in hindsight: {summary.constant_error:,.1f} {summary.unit} off"
        assert (held if with_input else f"{held} (not drawn)") in labels
    constant = lines["best constant in hindsight"].get_ydata()
    values: list[Any] = [value for _, value in series[0].readings]
    assert list(constant) == ([median(values)] * 2 if with_input else [])
    assert len({line.get_label(): line for line in plots[1].lines}["balanced, at landmarks"].get_xdata()) == LANDMARKS
    assert top.get_title().endswith("epsilon 1, 24 Mar 2010 to 25 Mar 2010")
    assert plots[1].get_title().endswith("epsilon 10, 13 Sep 2020, 12:26 to 12:29 UTC")
    assert {40, 400} <= {y for line in top.lines for y in line.get_ydata()[:1]}
    assert [patch.get_x() * DAY_MS for patch in top.patches] == [series[0].policy["protection"]["landmarks"][0][0]]
    assert "UTC" in top.get_xlabel()


def test_the_best_constant_stands_beside_each_error() -> None:
    """Of numbers it is the median's error; who says it beforehand is as good in the table."""
    glucose = short()[0]
    values: list[Any] = [value for _, value in glucose.readings]
    middle = median(values)
    summary = summarise(glucose, released(glucose), entries(glucose))
    assert summary.constant_error == pytest.approx(sum(abs(value - middle) for value in values) / len(values))
    said = [{**release, "value": middle} for release in released(glucose)]
    assert summarise(glucose, said, entries(glucose)).mean_error == pytest.approx(summary.constant_error)


def test_the_table_shows_the_constant_beside_each_error() -> None:
    """In 80 columns nothing of it is cut off; the note below it says what the column is."""
    summaries = [summarise(one, released(one), entries(one)) for one in short()]
    console = Console(width=80, no_color=True)
    with console.capture() as caught:
        console.print(table_of(summaries))
    lines = caught.get().splitlines()
    assert any("error" in line and line.rstrip().endswith("constant") for line in lines)
    for summary in summaries:
        (line,) = (line for line in lines if summary.name in line)
        errors = f"{summary.mean_error:,.1f} {summary.unit} {summary.constant_error:,.1f}"
        assert " ".join(line.split()).endswith(errors)
    assert "…" not in caught.get()


def test_no_constant_beats_that_of_the_ride() -> None:
    """Positions about the one found are no better."""
    ride = short()[2]
    places: list[Any] = [value for _, value in ride.readings]
    for place in places[::20]:
        assert constant_error(ride) <= sum(distance(one, place) for one in places) / len(places) + 0.01
