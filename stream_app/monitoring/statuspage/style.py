"""The page's only style sheet; the page's Content-Security-Policy names its hash, so no other style takes effect."""

from base64 import b64encode
from hashlib import sha256
from typing import Final

STYLE: Final = """
:root { color-scheme: light dark; --ground: #f4f6f8; --card: #fff; --text: #17212b; --muted: #55626f; --line: #d9e0e6;
  --accent: #1f5fa8; --good: #1c6b41; --wait: #7a5200; --bad: #ab2f20; --goodbed: #e3f3e9; --waitbed: #fdf0d3;
  --badbed: #fbe5e1; --edge: #9aa5b1; }
@media (prefers-color-scheme: dark) { :root { --ground: #10161c; --card: #182129; --text: #e6ebf0; --muted: #9dabb8;
  --line: #2c3843; --accent: #74b0f4; --good: #7fd3a3; --wait: #eec169; --bad: #ff9a8a; --goodbed: #15301f;
  --waitbed: #372a0c; --badbed: #431c16; --edge: #74828f; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--text);
  font: 16px/1.45 system-ui, "Segoe UI", "DejaVu Sans", sans-serif; }
header, main, footer { max-width: 74rem; margin: 0 auto; padding: 0 1.25rem; }
header { padding-top: 1.4rem; display: flex; flex-wrap: wrap; align-items: center; gap: .4rem 1rem; }
header p { margin: 0; color: var(--muted); font-size: .875rem; }
header p.by { margin-left: auto; }
h1 { font-size: 1.3rem; margin: 0; letter-spacing: -.01em; }
h1 small { font-weight: 400; color: var(--muted); font-size: 1rem; }
h2 { font-size: 1rem; margin: 0 0 .6rem; }
a { color: var(--accent); text-underline-offset: .15em; }
a:focus-visible, [tabindex]:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
.state { display: inline-block; padding: .1rem .65rem; border-radius: 1rem; font-size: .875rem; font-weight: 600;
  white-space: nowrap; }
.good { color: var(--good); background: var(--goodbed); }
.wait { color: var(--wait); background: var(--waitbed); }
.bad { color: var(--bad); background: var(--badbed); }
main { display: grid; grid-template-columns: repeat(12, minmax(0, 1fr)); gap: 1rem; margin-top: 1.1rem; }
section { grid-column: span 12; background: var(--card); border: 1px solid var(--line); border-radius: .6rem;
  padding: 1rem 1.1rem; }
section.figure { grid-column: span 4; padding-bottom: .8rem; display: flex; flex-direction: column; }
section.half { grid-column: span 6; }
section.trouble { border-color: var(--bad); border-left-width: .35rem; }
section.figure h2 { font-size: .875rem; font-weight: 500; color: var(--muted); margin: 0; }
section.figure p { margin: 0; font-size: .8125rem; color: var(--muted); }
section.figure p.now { font-size: 1.75rem; line-height: 1.3; font-weight: 600; color: var(--text);
  font-variant-numeric: tabular-nums; }
section.figure p.now small { font-size: .9375rem; font-weight: 400; color: var(--muted); }
section.figure svg { margin-top: auto; }
p { margin: .4rem 0; }
p.note { color: var(--muted); font-size: .8125rem; margin: .6rem 0 0; }
p.note + .wide { margin-top: 1rem; }
td:nth-child(2) > code { white-space: nowrap; }
svg { display: block; width: 100%; height: 2.75rem; overflow: visible; }
svg path { fill: none; vector-effect: non-scaling-stroke; }
.line, .dot { stroke: var(--accent); stroke-width: 1.75; stroke-linejoin: round; stroke-linecap: round; }
.dot { stroke-width: 4; }
svg .area { fill: var(--accent); opacity: .13; stroke: none; }
.base { stroke: var(--line); stroke-width: 1; }
.bars rect { fill: var(--accent); opacity: .85; }
svg.part { height: .3rem; min-width: 4rem; margin-top: .15rem; }
.whole { fill: var(--line); }
.filled { fill: var(--accent); }
p.ends, section.figure p.ends { display: flex; justify-content: space-between; color: var(--muted); font-size: .75rem;
  margin: .2rem 0 .9rem; }
section.figure p.ends { margin: .2rem 0 0; }
.wide { overflow-x: auto; background:
  linear-gradient(to right, var(--card) 50%, transparent) left / 1.5rem 100% no-repeat local,
  linear-gradient(to left, var(--card) 50%, transparent) right / 1.5rem 100% no-repeat local,
  linear-gradient(to right, var(--edge), transparent) left / .6rem 100% no-repeat,
  linear-gradient(to left, var(--edge), transparent) right / .6rem 100% no-repeat; }
table { border-collapse: collapse; width: 100%; font-size: .875rem; }
th, td { text-align: left; vertical-align: top; padding: .35rem .9rem .35rem 0; border-top: 1px solid var(--line); }
thead th { border-top: 0; padding-top: 0; color: var(--muted); font-weight: 500; vertical-align: bottom; }
tbody th { font-weight: 500; white-space: nowrap; }
tr > :last-child { padding-right: 0; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; }
td.number { white-space: nowrap; }
em { font-style: normal; color: var(--muted); }
code { font-family: ui-monospace, "DejaVu Sans Mono", monospace; font-size: .92em; }
dl { display: grid; grid-template-columns: repeat(auto-fill, minmax(9rem, 1fr)); gap: .7rem 1.2rem; margin: 0; }
dt { color: var(--muted); font-size: .8125rem; }
dd { margin: 0; overflow-wrap: anywhere; font-variant-numeric: tabular-nums; }
footer { color: var(--muted); font-size: .8125rem; padding-top: 1rem; padding-bottom: 2rem; }
@media (max-width: 60rem) { section.figure, section.half { grid-column: span 6; } }
@media (max-width: 44rem) { section.half { grid-column: span 12; } header p.by { margin-left: 0; width: 100%; }
  main, header, footer { padding-left: .8rem; padding-right: .8rem; } main { gap: .7rem; }
  section { padding: .8rem .85rem; } section.figure p.now { font-size: 1.4rem; }
  section.figure p.ends span:first-child { display: none; } th, td { padding-right: .6rem; } }
@media (max-width: 22rem) { section.figure { grid-column: span 12; } }
"""

_DIGEST: Final = b64encode(sha256(STYLE.encode()).digest()).decode()
POLICY: Final = (
    f"default-src 'none'; style-src 'sha256-{_DIGEST}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""Content-Security-Policy that allows this style sheet and nothing else from anywhere."""
