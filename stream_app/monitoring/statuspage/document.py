"""The page around its sections: its subject, the subject's state, and the refresh interval."""

from collections.abc import Iterable, Sequence
from typing import Final, Literal, NamedTuple

from stream_app import __version__
from stream_app.monitoring.snapshot import Snapshot
from stream_app.monitoring.statuspage.history import EVERY_SECONDS, History
from stream_app.monitoring.statuspage.markup import Markup, element, void
from stream_app.monitoring.statuspage.style import STYLE

Level = Literal["good", "wait", "bad"]

_SIGNS: Final[dict[Level, str]] = {
    "good": "✓",
    "wait": "…",
    "bad": "✗",
}  # for people who cannot see the colour


class PageState(NamedTuple):
    """The state shown on a page: a colour and a few words."""

    level: Level
    text: str


class View(NamedTuple):
    """The data that a page shows: the snapshot, the history, and whether the page reloads itself."""

    snapshot: Snapshot
    history: History
    refreshes: bool  # whether the page reloads itself


def page(subject: str, name: str, state: PageState, view: View, sections: Iterable[Markup]) -> str:
    """Return the whole page; `subject` is worker or audit, and `name` is the application."""
    title = f"{_SIGNS[state.level]} {state.text} · Landmark Stream {subject}"
    every = f"{EVERY_SECONDS:.0f}"
    again = (void("meta", http_equiv="refresh", content=every),) if view.refreshes else ()
    head = element(
        "head",
        void("meta", charset="utf-8"),
        void("meta", name="viewport", content="width=device-width, initial-scale=1"),
        *again,
        element("title", title),
        Markup(f"<style>{STYLE}</style>"),
    )
    header = element(
        "header",
        element("h1", "Landmark Stream ", element("small", f"{subject} of {name}")),
        pill(state),
        element("p", *_refreshing(view, every), class_="by"),
    )
    footer = element(
        "footer",
        element(
            "p",
            "This page never shows raw values. ",
            *joined_by(" · ", [element("a", path, href=path) for path in ("/metrics", "/healthz", "/readyz")]),
            f" · landmark-stream {__version__}",
        ),
    )
    body = element("body", header, element("main", *sections), footer)
    return f"<!doctype html>\n{element('html', head, body, lang='en')}\n"


def pill(state: PageState) -> Markup:
    """Return a state as coloured text with its sign."""
    return element("span", f"{_SIGNS[state.level]} {state.text}", class_=f"state {state.level}")


def section(title: str, *children: str, kind: str = "") -> Markup:
    """Return a part of the page with its title."""
    named = {"class_": kind} if kind else {}
    return element("section", element("h2", title), *children, **named)


Row = tuple[str, Sequence[str]]
"""A row of a table: its heading, then its cells."""


def table(name: str, heads: Sequence[str], rows: Iterable[Row], numbers: Iterable[int] = ()) -> Markup:
    """Return a table, which scrolls if it is too wide.

    `numbers` are the indices of the columns that contain figures; the first cell after the heading is column 0.
    """
    right = set(numbers)

    def cell(kind: str, place: int, text: str, **scope: str) -> Markup:
        return element(kind, text, **scope, **({"class_": "number"} if place in right else {}))

    first = cell("th", -1, heads[0], scope="col")
    top = element("tr", first, *(cell("th", place, head, scope="col") for place, head in enumerate(heads[1:])))
    body = [
        element("tr", element("th", heading, scope="row"), *(cell("td", *each) for each in enumerate(cells)))
        for heading, cells in rows
    ]
    whole = element("table", element("thead", top), element("tbody", *body))
    return element("div", whole, class_="wide", tabindex=0, role="region", aria_label=name)


def facts(pairs: Iterable[tuple[str, str]]) -> Markup:
    """Return a list of names with their figures."""
    return element("dl", *(element("div", element("dt", name), element("dd", found)) for name, found in pairs))


def joined_by(between: str, parts: Sequence[Markup]) -> list[str]:
    """Return the parts, separated by ``between``."""
    return [each for part in parts for each in (between, part)][1:]


def _refreshing(view: View, every: str) -> Sequence[str]:
    if view.refreshes:
        return f"Refreshed every {every} s · ", element("a", "pause", href="/?refresh=off")
    return "Paused · ", element("a", "resume", href="/")
