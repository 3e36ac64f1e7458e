"""The page and the picture: verdict first, nothing loaded, nothing from the ledger active, true figures."""

import sys
from collections.abc import Callable, Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from stream_app import __version__
from stream_app.audit.report.curve import MOST_BINS, Curve, Curves, Flow
from stream_app.audit.report.page import shares_over_time, spends_over_time
from stream_app.cli import main
from stream_app.pictures import DRAWN_PEAKS, peaks
from tests.audit.written import LEDGERS, write
from tests.command import Cli

HOSTILE = "$\\frac{1}{2}$ <script>alert('home')</script> & \"\n"


class Page(HTMLParser):
    """The parts of a page."""

    def __init__(self, text: str) -> None:
        """Read a page."""
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep a tag."""
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        """Keep a text."""
        self.texts.append(data.strip())

    def after(self, tag: str) -> list[str]:
        """Return the names of the tags after the first one with this name."""
        names = [name for name, _ in self.tags]
        return names[names.index(tag) + 1 :]


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    """Return a file with the ledgers of several series, one of them with a hostile id."""
    pytest.importorskip("matplotlib")
    path = tmp_path / "ledger.jsonl"
    names = [HOSTILE, *(f"home-{nth}" for nth in range(1, len(LEDGERS)))]
    texts = zip(LEDGERS.values(), names, strict=True)
    path.write_bytes(b"".join(line + b"\n" for text, name in texts for line in write(text, name).lines()))
    return path


def page(ledger: Path, *arguments: str) -> Page:
    """Return the page of a ledger."""
    out = ledger.with_name("page.html")
    main(["audit", "--ledger", str(ledger), "--html", str(out), *arguments])
    return Page(out.read_text(encoding="utf-8"))


def test_the_verdict_is_the_title_and_the_first_line(ledger: Path) -> None:
    """This is so whether it holds or not."""
    shown = page(ledger)
    assert [text for text in shown.texts if text.startswith("HOLDS")] == ["HOLDS: no findings"] * 2
    assert ("h1", {"class": "holds"}) in shown.tags
    lines = ledger.read_bytes().splitlines(keepends=True)
    ledger.write_bytes(b"".join(lines[:3] + lines[4:]))
    shown = page(ledger)
    assert ("h1", {"class": "fails"}) in shown.tags
    assert "integrity error: gap" in shown.texts
    assert HOSTILE.strip() in shown.texts  # in the table of findings, as a text


def test_it_loads_nothing_and_runs_nothing(ledger: Path) -> None:
    """It has no script, link or external image, and also forbids browsers to use them."""
    shown = page(ledger)
    assert not {"script", "link", "img", "iframe", "object", "embed", "form", "a"} & {tag for tag, _ in shown.tags}
    for _, attributes in shown.tags:
        assert not [name for name in attributes if name.startswith("on")]
        links = [value for name, value in attributes.items() if name.split(":")[-1] in {"href", "src"}]
        assert all(value is not None and value.startswith("#") for value in links)
        assert "url(http" not in (attributes.get("style") or "")
    policy = next(attributes for tag, attributes in shown.tags if attributes.get("http-equiv"))
    assert policy["content"] == "default-src 'none'; style-src 'unsafe-inline'"


def test_there_is_a_plot_under_each_title(ledger: Path) -> None:
    """After remarks and answers come five titles, each with a plot; every drawing gives the same bytes."""
    shown = page(ledger)
    titles = [name for name in shown.after("h1") if name in {"h2", "svg"}]
    assert titles == ["h2"] * 6 + ["h2", "svg"] * 5, "remarks come first, then five answers"
    assert {"Remarks", "weaker-unmarked"} <= set(shown.texts)
    first = ledger.with_name("page.html").read_bytes()
    page(ledger)
    assert ledger.with_name("page.html").read_bytes() == first


def test_a_histogram_is_of_many(tmp_path: Path) -> None:
    """None is drawn for one series; the page says what it covers, and no legend names anything absent."""
    path = tmp_path / "ledger.jsonl"
    path.write_bytes(b"\n".join(write(LEDGERS["uniform"]).lines()))
    shown = page(path)
    assert "Share of the budget remaining, all series" not in shown.texts
    assert f"Audit of the ledger {path}, by landmark-stream {__version__}" in shown.texts


def test_legends_name_what_is_drawn() -> None:
    """Diamonds are shown if there are landmarks, and each series once, with or without regular steps."""
    pytest.importorskip("matplotlib")
    from matplotlib.figure import Figure  # noqa: PLC0415 - an optional extra

    def legend(*names: str) -> list[str]:
        curves = Curves(names)
        for name in names:
            curves.entries(write(LEDGERS[name], name).lines())
        axes = Figure().subplots()
        spends_over_time(curves.curves, axes)
        return axes.get_legend_handles_labels()[1]

    assert legend("uniform", "user") == ["uniform", "user", "landmark"]
    assert legend("event") == ["event"]


def test_landmarks_that_all_series_have_are_shaded() -> None:
    """They are shaded once, within the times drawn; if series differ, none are, as it would be unclear whose."""
    pytest.importorskip("matplotlib")
    from matplotlib.figure import Figure  # noqa: PLC0415 - an optional extra

    def shaded(draw: Callable[[Sequence[Curve], Any], None], *names: str) -> int:
        curves = Curves(names)
        for name in names:
            curves.entries(write(LEDGERS[name.partition("-")[0]], name).lines())
        axes = Figure().subplots()
        draw(curves.curves, axes)
        first, last = axes.get_xlim()
        assert all(
            first <= patch.get_extents().transformed(axes.transData.inverted()).x0 < last for patch in axes.patches
        )
        return len(axes.patches)

    for draw in (spends_over_time, shares_over_time):
        assert shaded(draw, "uniform", "uniform-2") == shaded(draw, "uniform")
        assert shaded(draw, "uniform") > 0
        assert shaded(draw, "event") == shaded(draw, "uniform", "user") == 0


def test_an_empty_ledger_has_a_page(tmp_path: Path) -> None:
    """The page has a verdict and no drawings."""
    empty = tmp_path / "ledger.jsonl"
    empty.write_bytes(b"")
    assert "svg" not in page(empty).after("h1")


def test_without_matplotlib_the_remedy_is_told_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli
) -> None:
    """The error comes before the ledger, which does not even exist, is opened."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    said = cli("audit", "--ledger", "no-such-file", "--html", tmp_path / "page.html", code=2).err
    assert "pip install matplotlib" in said


def test_series_can_be_chosen(ledger: Path, cli: Cli) -> None:
    """The named series are examined; a missing one is reported."""
    shown = page(ledger, "--series", "home-1", "--series", "home-2").texts
    assert any(text.startswith(f"2 of {len(LEDGERS)} series, data of ") and ". At 0, " in text for text in shown)
    out = ledger.with_name("other.html")
    said = cli("audit", "--ledger", ledger, "--html", out, "--series", "stranger", code=2).err
    assert "--series: 'stranger' is not in the ledger" in said
    assert not out.exists()


def test_curves_hold_what_the_ledger_says() -> None:
    """Columns are the entries' figures, copies count once, and other series are not included."""
    lines = write(LEDGERS["uniform"]).lines()
    curves = Curves(["home-7"])
    curves.entries([*lines[:6], *lines[2:], *write(LEDGERS["user"], "other").lines()])
    (curve,) = curves.curves
    assert list(curve.spends_nano) == [16, 16, 14, 16, 14, 18, 18, 9, 9, 18]
    assert list(curve.used_nano) == [16, 16, 30, 30, 44, 62, 64, 91, 100, 100]
    assert [at for at, landmark in zip(curve.times_ms, curve.landmarks, strict=True) if landmark] == [
        3000,
        6000,
        8000,
        10000,
        11000,
    ]
    assert set(curve.spans_ms) >= {(6000, 9000), (10000, 12000), (1000, 2000)}


def test_bins_hold_every_spend_however_wide_they_grow() -> None:
    """Sums stay the same, and there are never more bins than fit on the page."""
    names = (
        "uniform",
        "adaptive",
        "skip",
        "balanced",
        "event",
        "user",
        "distributed",
        "absorbed",
        "dummies",
        "padding",
    )
    lines = [line for name in names for line in write(LEDGERS[name]).lines()]
    for factor in (1, 1000, 10**6, 10**10):
        flow = Flow()
        for line in lines:
            stretched = line
            if b'"timestamp":' in line:
                head, tail = line.split(b'"timestamp":')
                timestamp, rest = tail.split(b",", 1)
                stretched = head + b'"timestamp":%d,' % (int(timestamp) * factor) + rest
            flow.entries([stretched])
        assert 1 <= len(flow.numbers) <= MOST_BINS
        assert flow.landmark.keys() | flow.regular.keys() <= set(flow.numbers)
        # The rows of each, in the order of the names.
        landmark = [14 + 14 + 18 + 9 + 9, 50 + 8, 0, 23 + 23, 0, 25 + 25 + 50, 0, 0, 33 + 33, 80]
        regular = [16 * 3 + 18 * 2, 34 * 2 + 8 * 2, 2 * 100, 32 * 2 + 55, 7 * 3, 0, 2 * 50 + 25 + 12 + 6 * 3]
        regular += [20 * 3 + 40 + 60, 33 * 2, 20]
        assert sum(flow.landmark.values()) == sum(landmark)
        assert sum(flow.regular.values()) == sum(regular)


def test_no_peak_is_lost_when_many_points_are_drawn_as_few() -> None:
    """A large value among a hundred thousand is drawn, wherever it is; if there are only a few values, all are."""
    for place in (0, 54_321, 99_999):
        values = [1.0] * 100_000
        values[place] = 2.0
        drawn = peaks(values)
        assert place in drawn
        assert drawn == sorted(drawn)
        assert len(drawn) <= DRAWN_PEAKS
    assert peaks([3.0, 1.0, 2.0]) == [0, 1, 2]
    assert peaks([]) == []
