"""The report as one HTML page that loads nothing: verdict first, findings, figures, plots."""

from collections.abc import Iterable, Sequence
from html import escape
from typing import Final, NamedTuple

from stream_app.audit.finding import CODES, kind_of
from stream_app.audit.remark import REMARKS
from stream_app.audit.report.report import Report

SHOWN: Final = 200
"""Findings on the page that say that the books are wrong, and remarks; those that break a promise all stand there."""

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
    """A part of the page: a title, what the reader must know of it, and its content as HTML."""

    title: str
    note: str
    content: str


def page(report: Report, sections: Iterable[Section], origin: str) -> str:
    """Return the whole page; nothing of the ledger can act in it: all texts are escaped and scripts are forbidden.

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
    """Return a table; of each row the last `numbers` cells are figures."""
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


def _findings(report: Report) -> str:
    listed = [finding for finding in report.findings if finding.code != "unlisted"]
    broken = [finding for finding in listed if kind_of(finding.code) == "promise"]
    others = [finding for finding in listed if kind_of(finding.code) == "books"][:SHOWN]
    rows = [
        (
            f"{kind_of(finding.code)}: {finding.code}",
            finding.series,
            str(finding.sequence or ""),
            f"{finding.message}. ({CODES[finding.code]}.)",
        )
        for finding in (*broken, *others)
    ]
    unshown = report.found - len(rows)
    more = f"<p>{unshown:,} further findings: see the text report.</p>" if unshown else ""
    return table(("what is wrong", "series", "entry", "what was found"), rows) + more
