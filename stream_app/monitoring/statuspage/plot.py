"""Small plots as SVG elements without text; the page and the plots' labels say what they show."""

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Final

from stream_app.monitoring.scrape import Distribution
from stream_app.monitoring.statuspage.figure import count
from stream_app.monitoring.statuspage.history import EVERY_SECONDS, PLACES
from stream_app.monitoring.statuspage.markup import Markup, element, joined

WIDTH, HEIGHT = 240, 44  # size of a plot in its own units; the page scales it
MINUTES: Final = f"{PLACES * EVERY_SECONDS / 60:.0f} min"  # time span of plots


def lately(name: str, values: Sequence[float | None], text: Callable[[float], str]) -> tuple[Markup, Markup]:
    """Return a line plot of a figure over the last minutes, newest value at the right, and the plot's legend.

    The bottom is 0. The last value is the value at the time of the page, so no figure on the page exceeds the maximum
    of its own line.
    """
    values = values[-PLACES:]
    known = [value for value in values if value is not None]
    most = max(known, default=0.0)
    first = PLACES - len(values)
    points = [
        (round((first + place) * WIDTH / (PLACES - 1), 1), None if value is None else _height(value, most))
        for place, value in enumerate(values)
    ]
    peak = f"at most {text(most)}" if known else "nothing yet"
    base = element("path", d=f"M0 {HEIGHT - 1}H{WIDTH}", class_="base")
    lines = [list(run) for there, run in groupby(points, lambda point: point[1] is not None) if there]
    plot = _drawing(
        f"{name} over the last {MINUTES}: {peak}", "spark", base, *(each for line in lines for each in _line(line))
    )
    return plot, ends(f"{MINUTES} ago", peak)


def bars(name: str, found: Distribution, text: Callable[[float], str]) -> Markup:
    """Return a bar for each range of a histogram, with a height that shows its count."""
    uppers, counts = [float(upper) for upper in found.counts], list(found.counts.values())
    most = max(counts, default=0)
    wide = WIDTH / max(1, len(counts))
    names = [text(upper) if upper != float("inf") else "more" for upper in uppers]
    drawn = [
        element(
            "rect",
            element("title", f"up to {end}: {count(met)}"),
            x=round(place * wide + 1, 1),
            y=_height(met, most),
            width=round(wide - 2, 1),
            height=round(HEIGHT - _height(met, most), 1),
        )
        for place, (end, met) in enumerate(zip(names, counts, strict=True))
        if met
    ]
    listed = ", ".join(f"up to {end} {count(met)}" for end, met in zip(names, counts, strict=True) if met)
    base = element("path", d=f"M0 {HEIGHT - 0.5}H{WIDTH}", class_="base")
    return _drawing(f"{name}: {listed or 'nothing yet'}", "bars", base, *drawn)


def ends(left: str, right: str) -> Markup:
    """Return the texts under the two ends of a plot."""
    return element("p", element("span", left), element("span", right), class_="ends")


def part(share: float) -> Markup:
    """Return a bar that is filled to ``share`` and illustrates the number next to it."""
    filled = element("rect", x=0, y=0, width=round(100 * share, 1), height=6, class_="filled")
    whole = element("rect", x=0, y=0, width=100, height=6, class_="whole")
    return element(
        "svg", whole, filled, viewBox="0 0 100 6", preserveAspectRatio="none", class_="part", aria_hidden="true"
    )


def _height(value: float, most: float) -> float:
    return round(HEIGHT - 1 - (HEIGHT - 3) * (value / most if most else 0.0), 1)


def _line(points: Sequence[tuple[float, float | None]]) -> tuple[Markup, ...]:
    path = "L".join(f"{x} {y}" for x, y in points)
    left, right = points[0][0], points[-1][0]
    if len(points) == 1:  # zero length: only the round ends are drawn
        return (element("path", d=f"M{path}h0", class_="dot"),)
    area = element("path", d=f"M{path}L{right} {HEIGHT}L{left} {HEIGHT}Z", class_="area")
    return area, element("path", d=f"M{path}", class_="line")


def _drawing(label: str, kind: str, *drawn: Markup) -> Markup:
    return element(
        "svg",
        joined(*drawn),
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        preserveAspectRatio="none",
        role="img",
        aria_label=label,
        class_=kind,
    )
