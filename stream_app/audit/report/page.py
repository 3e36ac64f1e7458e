"""The report as one self-contained HTML page: first the verdict, then findings, figures and plots."""

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, Final, NamedTuple

from stream_app import pictures
from stream_app.audit.books.guarantee import SeriesLoss
from stream_app.audit.finding import CODES, REMARKS, Kind, kind_of
from stream_app.audit.report.curve import Curve, Flow
from stream_app.audit.report.report import Report

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SHOWN: Final = 200
"""Maximum number of integrity errors, and of remarks, that the page lists; it lists all violations."""

STYLE: Final = """
:root { color-scheme: light dark; --ground: #fff; --text: #1d2733; --muted: #5a6673; --line: #e3e7eb;
  --good: #2e7d4f; --goodbed: #eef7f1; --bad: #b2432f; --badbed: #fbeeeb; --shade: #b2432f; --edge: #9aa5b1; }
@media screen and (prefers-color-scheme: dark) { :root { --ground: #10161c; --text: #e6ebf0; --muted: #9dabb8;
  --line: #2c3843; --good: #7fd3a3; --goodbed: #15301f; --bad: #ff9a8a; --badbed: #431c16;
  --shade: #ff9a8a; --edge: #74828f; } }
body { font: 16px/1.5 system-ui, "DejaVu Sans", sans-serif; color: var(--text); background: var(--ground);
  max-width: 62rem; margin: 2rem auto; padding: 0 1rem; overflow-wrap: break-word; }
h1 { font-size: 1.7rem; padding: .6rem 1rem; border-left: .5rem solid; }
h1.holds { border-color: var(--good); background: var(--goodbed); }
h1.fails { border-color: var(--bad); background: var(--badbed); }
h2 { font-size: 1.15rem; margin: 2.2rem 0 .3rem; }
p { margin: .3rem 0 .6rem; max-width: 52rem; }
p.note { color: var(--muted); font-size: .9rem; }
table { border-collapse: collapse; width: 100%; font-size: .9rem; }
th, td { text-align: left; vertical-align: top; padding: .25rem 1.2rem .25rem 0; border-bottom: 1px solid var(--line); }
td { overflow-wrap: break-word; min-width: 4rem; max-width: 26rem; }
th { font-weight: 600; white-space: nowrap; }
th.number, td.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
div.wide { overflow-x: auto; background:
  linear-gradient(to right, var(--ground) 50%, transparent) left / 1.5rem 100% no-repeat local,
  linear-gradient(to left, var(--ground) 50%, transparent) right / 1.5rem 100% no-repeat local,
  linear-gradient(to right, var(--edge), transparent) left / .6rem 100% no-repeat,
  linear-gradient(to left, var(--edge), transparent) right / .6rem 100% no-repeat; }
svg { display: block; width: 100%; min-width: 44rem; height: auto; }
code { font-family: ui-monospace, "DejaVu Sans Mono", monospace; font-size: .9em; }
@media (max-width: 44rem) { body { margin-top: 1rem; } h1 { font-size: 1.3rem; } th, td { padding-right: .7rem; } }
"""


class Section(NamedTuple):
    """A part of the page: a title, a note for the reader, and its content as HTML."""

    title: str
    note: str
    content: str


def page(report: Report, sections: Iterable[Section], origin: str) -> str:
    """Return the whole page; texts are escaped and scripts forbidden, so the ledger cannot inject code.

    `origin` says what was audited, and by what.
    """
    verdict = escape(report.verdict)
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">",
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{verdict}</title><style>{STYLE}</style></head><body>",
        f'<h1 class="{"holds" if report.holds else "fails"}">{verdict}</h1>',
        f'<p class="note">{escape(origin)}</p>',
        *(f"<p>{escape(line)}</p>" for line in (*report.judgement(), *report.summary())),
    ]
    if report.found:
        parts += ["<h2>Findings</h2>", f'<div class="wide">{_findings(report)}</div>']
    if report.remarks:
        parts += ["<h2>Remarks</h2>", f'<div class="wide">{_remarks(report)}</div>']
    for title, note, content in sections:
        parts += [f"<h2>{escape(title)}</h2>", f'<p class="note">{escape(note)}</p>' if note else ""]
        parts.append(f'<div class="wide">{content}</div>')
    return "\n".join([*parts, "</body></html>", ""])


def table(head: Sequence[str], rows: Iterable[Sequence[str]], numbers: int = 0) -> str:
    """Return a table; the last `numbers` cells of each row are numbers."""
    lines = ["<table><thead><tr>"]
    lines += [f"<th>{escape(cell)}</th>" for cell in head[: len(head) - numbers]]
    lines += [f'<th class="number">{escape(cell)}</th>' for cell in head[len(head) - numbers :]]
    lines.append("</tr></thead><tbody>")
    for row in rows:
        texts = [f"<td>{escape(cell)}</td>" for cell in row[: len(row) - numbers]]
        figures = [f'<td class="number">{escape(cell)}</td>' for cell in row[len(row) - numbers :]]
        lines.append(f"<tr>{''.join(texts + figures)}</tr>")
    return "\n".join([*lines, "</tbody></table>"])


def _remarks(report: Report) -> str:
    rows = [
        (remark.code, remark.series, str(remark.sequence), f"{remark.message}. ({REMARKS[remark.code]}.)")
        for remark in report.remarks[:SHOWN]
    ]
    unshown = report.remarked - len(rows)
    more = f"<p>{unshown} further remarks: see the text report.</p>" if unshown else ""
    return table(("code", "series", "entry", "what an auditor should know"), rows) + more


_FAULTS: Final[dict[Kind, str]] = {"promise": "guarantee violated", "books": "integrity error"}


def _findings(report: Report) -> str:
    listed = [finding for finding in report.findings if finding.code != "unlisted"]
    broken = [finding for finding in listed if kind_of(finding.code) == "promise"]
    others = [finding for finding in listed if kind_of(finding.code) == "books"][:SHOWN]
    rows = [
        (
            f"{_FAULTS[kind_of(finding.code)]}: {finding.code}",
            finding.series,
            str(finding.sequence or ""),
            f"{finding.message}. ({CODES[finding.code]}.)",
        )
        for finding in (*broken, *others)
    ]
    unshown = report.found - len(rows)
    more = f"<p>{unshown:,} further findings: see the text report.</p>" if unshown else ""
    return table(("fault", "series", "entry", "what was found"), rows) + more


FAR: Final = 20
"""Ratio of the largest to the smallest amount spent; above this ratio, the axis is logarithmic.

The axis then shows a power of ten.
"""
_ANY_COLOUR: Final = pictures.INK  # legend markers for all series


def flow(spends: Flow, axes: "Axes") -> None:
    """Plot the epsilon spent by all series together, by time bin."""
    numbers = spends.numbers
    left = [number * spends.width_ms / pictures.DAY_MS for number in numbers]
    width = spends.width_ms / pictures.DAY_MS
    regular = [spends.regular.get(number, 0) / pictures.NANO for number in numbers]
    landmark = [spends.landmark.get(number, 0) / pictures.NANO for number in numbers]
    if any(regular):
        axes.bar(left, regular, width, align="edge", color=pictures.REGULAR_COLOUR, label="regular steps")
    if any(landmark):
        axes.bar(left, landmark, width, align="edge", bottom=regular, color=pictures.LANDMARK_COLOUR, label="landmarks")
    _over_time(axes, f"epsilon spent in {_duration(spends.width_ms)}")


def shares_left(losses: Sequence[SeriesLoss], axes: "Axes") -> None:
    """Plot the distribution of the series' remaining shares of their current budgets."""
    shares = [100 * loss.share_left for loss in losses]
    axes.hist(
        shares, bins=[5 * edge for edge in range(21)], color=pictures.REGULAR_COLOUR, edgecolor="none", rwidth=0.96
    )
    axes.set_xlim(0, 100)
    axes.locator_params(axis="y", integer=True)
    axes.set_xlabel("remaining budget in the current period (%)")
    axes.set_ylabel("number of series")


def shares_over_time(curves: Sequence[Curve], axes: "Axes") -> None:
    """Plot the remaining share of the budget after each step, with one line per series."""
    for curve in curves:
        places = pictures.thinned(len(curve.times_ms))
        left = [
            100 * max(0.0, 1 - curve.used_nano[at] / curve.budgets_nano[at]) if curve.budgets_nano[at] > 0 else 0.0
            for at in places
        ]
        times = [curve.times_ms[at] / pictures.DAY_MS for at in places]
        axes.step(times, left, where="post", lw=1.2, label=pictures.label_of(curve.series))
    axes.set_ylim(-2, 102)
    _over_time(axes, "remaining budget (%)", curves)


def spends_over_time(curves: Sequence[Curve], axes: "Axes") -> None:
    """Plot the epsilon of each perturbed release, with one colour per series; diamonds mark landmarks."""
    seen = set()
    for nth, curve in enumerate(curves):
        label: str | None = pictures.label_of(curve.series)
        for landmark, marker, size in ((0, ".", 6), (1, "D", 4)):
            kinds = zip(curve.spends_nano, curve.landmarks, strict=True)
            chosen = [at for at, (spend, kind) in enumerate(kinds) if spend > 0 and kind == landmark]
            places = [chosen[at] for at in pictures.peaks([curve.spends_nano[at] for at in chosen])]
            times = [curve.times_ms[at] / pictures.DAY_MS for at in places]
            spends = [curve.spends_nano[at] / pictures.NANO for at in places]
            if places:
                axes.plot(times, spends, marker, ms=size, color=f"C{nth % 10}", label=label)
                label = None
                seen.add(landmark)
    if 1 in seen:
        axes.plot([], [], "D", ms=4, color=_ANY_COLOUR, label="landmark")
    spent = [spend for curve in curves for spend in curve.spends_nano if spend > 0]
    if spent and max(spent) > FAR * min(spent):
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter("{x:g}")
        axes.yaxis.set_minor_formatter("")
    else:
        axes.set_ylim(bottom=0)
    _over_time(axes, "epsilon of one release", curves)


def worst(losses: Sequence[SeriesLoss], axes: "Axes") -> None:
    """Plot losses, largest first, split into earlier periods, landmarks, one other step, and the rest."""
    rows = range(len(losses))
    begin = [0.0] * len(losses)
    for label, colour, parts in (
        ("earlier policy versions", "#6d5a8c", [loss.closed_nano for loss in losses]),
        ("landmarks", pictures.LANDMARK_COLOUR, [loss.landmark_nano for loss in losses]),
        ("costliest other step", pictures.REGULAR_COLOUR, [loss.peak_nano for loss in losses]),
        ("remaining budget", "#e3e7eb", [loss.left_nano for loss in losses]),
    ):
        widths = [part / pictures.NANO for part in parts]
        if not any(widths):
            continue
        axes.barh(rows, widths, left=begin, color=colour, label=label)
        begin = [before + width for before, width in zip(begin, widths, strict=True)]
    axes.set_yticks(rows, [pictures.label_of(loss.series) for loss in losses])
    axes.margins(y=0.02)
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")
    axes.set_xlabel("loss: epsilon over all policy versions")
    pictures.legend_below(axes)


def _over_time(axes: "Axes", label: str, curves: Sequence[Curve] = ()) -> None:
    """Finish a plot over time; shade landmarks only if all series share them, so that the shading is unambiguous."""
    axes.set_ylabel(label)
    spans = {tuple(sorted(set(curve.spans_ms))) for curve in curves}
    if len(spans) == 1:
        pictures.shade_landmarks(axes, spans.pop())
    pictures.time_axis(axes)
    pictures.legend_below(axes)


def _duration(width_ms: int) -> str:
    for unit, length_ms in (("day", 86_400_000), ("hour", 3_600_000), ("minute", 60_000), ("second", 1_000)):
        if width_ms >= length_ms:
            count = width_ms // length_ms
            return f"{count} {unit}s" if count > 1 else f"1 {unit}"
    return f"{width_ms} ms"
