"""The report's page and plots are readable on light and dark backgrounds, and on narrow screens."""

import re
from typing import Any

import pytest

from stream_app.audit.report import page
from stream_app.monitoring.statuspage import style
from stream_app.pictures import (
    INK,
    LANDMARK_COLOUR,
    REGULAR_COLOUR,
    SERIES_COLOURS,
    SHADE,
    legend_below,
    shade_landmarks,
    svg,
)

LEAST_OF_PARTS, LEAST_OF_LETTERS = 3.0, 4.5
"""Contrast that WCAG 2.2 requires for parts of pictures (1.4.11) and for text (1.4.3)."""
LEAST_OF_SHADES = 1.2
"""Minimum contrast of shading behind curves, which it must not hide."""


def _grounds_and_letters(html: str) -> list[dict[str, str]]:
    """Return the colours by name, first for the light page and then for the dark one."""
    found = re.findall(r":root \{([^}]*)\}", html)
    assert len(found) == 2
    return [dict(re.findall(r"--(\w+): (#\w+)", block)) for block in found]


def _luminance(colour: str) -> float:
    digits = colour[1:] if len(colour) == 7 else "".join(2 * digit for digit in colour[1:])
    parts = [int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _contrast(one: str, other: str) -> float:
    darker, lighter = sorted((_luminance(one), _luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def test_contrasts_of_light_and_dark() -> None:
    """Text and drawings stand out from both backgrounds; print is light."""
    assert "@media screen and (prefers-color-scheme: dark)" in page.STYLE
    for colours in _grounds_and_letters(page.STYLE):
        for letters, ground in (("text", "ground"), ("muted", "ground"), ("text", "goodbed"), ("text", "badbed")):
            assert _contrast(colours[letters], colours[ground]) >= LEAST_OF_LETTERS, (letters, ground)
        for drawn in (*SERIES_COLOURS, LANDMARK_COLOUR, REGULAR_COLOUR, colours["good"], colours["bad"]):
            assert _contrast(drawn, colours["ground"]) >= LEAST_OF_PARTS, drawn


def test_plots_take_ground_and_letters_of_their_page() -> None:
    """A plot has no background of its own, and no text or axis has a colour of its own."""
    pytest.importorskip("matplotlib")

    def draw(axes: Any) -> None:
        axes.plot([1, 2], label="one")
        axes.set_xlabel("time")
        legend_below(axes)

    drawn = svg(draw)
    assert "currentColor" in drawn
    assert INK not in drawn
    fills = set(re.findall(r"(?:fill|stroke): (#\w+)", drawn))
    assert not fills & {"#ffffff", "#000000"}, fills


def test_landmarks_are_seen_on_both_grounds() -> None:
    """The shading behind the curves stands out from the background, and its colour comes from the page."""
    pytest.importorskip("matplotlib")
    for colours in _grounds_and_letters(page.STYLE):
        ground = colours["ground"] if len(colours["ground"]) == 7 else "#ffffff"
        over, under = (bytes.fromhex(colour[1:]) for colour in (colours["shade"], ground))
        mixed = "#" + bytes(round(SHADE * a + (1 - SHADE) * b) for a, b in zip(over, under, strict=True)).hex()
        assert _contrast(mixed, ground) >= LEAST_OF_SHADES, mixed

    def draw(axes: Any) -> None:
        axes.plot([0, 10])
        shade_landmarks(axes, [(0, 20_000_000)])

    assert f"fill: var(--shade); opacity: {SHADE}" in svg(draw)


@pytest.mark.parametrize("sheet", [page.STYLE, style.STYLE], ids=["report", "status page"])
def test_what_is_wider_than_the_screen_has_an_edge(sheet: str) -> None:
    """A scrolling box is shaded on the side where it continues; the shade disappears where its content ends."""
    boxes = re.findall(r"\{ overflow-x: auto;([^}]*)\}", sheet)
    assert boxes
    for box in boxes:
        assert box.count("var(--edge)") == box.count("no-repeat local") == 2
