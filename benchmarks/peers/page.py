"""Creates the peers' page from the JSON of a run: ``python -m benchmarks.peers.page``.

A run writes docs/peers.json first. This writes the table of docs/benchmarks.md and its picture.
"""

import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from benchmarks.peers.programs import ROOT
from benchmarks.peers.roster import PEERS, WORKERS, of_tree
from stream_app.formats import wire
from stream_app.pictures import LANDMARK_COLOUR, REGULAR_COLOUR, Draw, picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DOCS: Final = ROOT / "docs"
FIGURES, PAGE, PICTURE = DOCS / "peers.json", DOCS / "benchmarks.md", DOCS / "pictures" / "peers.png"
BEGIN, END = "<!-- figures: python -m benchmarks.peers.page -->", "<!-- end of figures -->"
QUIET: Final = 0.7
"""Maximum load average before a run; above it, the figures do not count."""
TITLES: Final = {peer.name: peer.title for peer in (*PEERS, of_tree(ROOT))}
COLUMNS: Final = {
    "rate": "events/s",
    "cpu": "CPU, µs per event",
    "2000": "p50 / p99 ms at 2,000/s",
    "12000": "at 12,000/s",
    "half": "at half its own speed",
    "resident": "resident MB",
}
_PLOTS: Final = {"rate": "Events per second", "cpu": "Processor time, µs per event", "p99_12000": "p99 at 12,000/s, ms"}


def rows(result: Mapping[str, Any]) -> list[list[str]]:
    """Return the table's cells, header first: medians, with the spread of the last column in brackets."""
    figures = result["figures"]
    found = [["client", *COLUMNS.values()]]
    for name, title in TITLES.items():
        if f"{name}_rate" in figures:
            found.append([title, *(_cell(figures, name, column) for column in COLUMNS)])
    return found


def markdown(document: Mapping[str, Any]) -> str:
    """Return the text between the markers of the page."""
    (result,) = (each for each in document["results"] if each["bench"] == "peers")
    head, *body = rows(result)
    lines = [_line(head), "|---|" + "---:|" * (len(head) - 1), *map(_line, body)]
    sizes, machine = result["sizes"], document["machine"]
    said = (
        f"{machine['cpu']}, {machine['cores']} cores, Python {machine['python']}, load {machine['load']} at the start. "
        f"{sizes['events']:,} events of {sizes['series']:,} series, {sizes['partitions']} partitions, "
        f"rounds: {sizes['repeats']}. Medians, with the minimum and maximum of all rounds in brackets."
    )
    if machine["load"] > QUIET:
        said += (
            "\n\n**Other programs kept the machine busy, so speeds and latencies mean little, "
            "but processor times are still meaningful.**"
        )
    ratios = [
        f"* {target['figure'].replace('_', ' ')}: {_short(result['figures'][target['figure']])} "
        f"(aim: {target['bound']} {target['value']:g})"
        for target in result["targets"]
    ]
    return "\n".join([said, "", *lines, *(["", "As ratios within a round:", "", *ratios] if ratios else [])])


def draw(document: Mapping[str, Any], path: Path) -> None:
    """Draw the picture: bars of medians, with the spread of the rounds."""
    (result,) = (each for each in document["results"] if each["bench"] == "peers")
    picture(path, [(title, _bars(result["figures"], figure)) for figure, title in _PLOTS.items()])


def main(arguments: Sequence[str]) -> int:
    """Write the table and picture from a file of figures, and store it as docs/peers.json (the default)."""
    document: Any = wire.load(Path(arguments[0] if arguments else FIGURES).read_bytes())
    document["machine"].pop("system", None)  # a page does not name somebody's kernel
    FIGURES.write_bytes(wire.dump(document) + b"\n")
    between = f"{BEGIN}\n{markdown(document)}\n{END}"
    page = re.sub(f"{re.escape(BEGIN)}.*{re.escape(END)}", lambda _: between, PAGE.read_text(), flags=re.DOTALL)
    PAGE.write_text(page)
    draw(document, PICTURE)
    return 0


def _bars(figures: Mapping[str, Any], which: str) -> Draw:
    def on(axes: "Axes") -> None:
        names = [name for name in TITLES if f"{name}_{which}" in figures][::-1]
        found = [figures[f"{name}_{which}"] for name in names]
        medians = [each["median"] for each in found]
        spread = [[each["median"] - each["min"] for each in found], [each["max"] - each["median"] for each in found]]
        colours = [LANDMARK_COLOUR if name in WORKERS else REGULAR_COLOUR for name in names]
        axes.barh([TITLES[name] for name in names], medians, xerr=spread, color=colours, ecolor="black", capsize=3)
        axes.bar_label(axes.containers[-1], [f" {value:,.0f}" for value in medians], padding=8)  # type: ignore[arg-type]
        axes.margins(x=0.12)

    return on


def _cell(figures: Mapping[str, Any], name: str, column: str) -> str:
    if f"{name}_{column}" in figures:
        return _short(figures[f"{name}_{column}"])
    half, most = (figures.get(f"{name}_{share}_{column}") for share in ("p50", "p99"))
    return "-" if half is None or most is None else f"{_number(half['median'])} / {_short(most)}"


def _short(figure: Mapping[str, Any]) -> str:
    spread = "" if len(figure["runs"]) == 1 else f" ({_number(figure['min'])}-{_number(figure['max'])})"
    return f"{_number(figure['median'])}{spread}"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
