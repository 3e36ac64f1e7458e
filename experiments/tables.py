"""Readable tables of the experiments' results."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from rich.box import SIMPLE
from rich.console import Group
from rich.table import Table
from rich.text import Text

from experiments.experiment import BESIDE, Row
from experiments.setting import CONSTANT, NOTHING, UNRELEASED
from experiments.units import YESTERDAY

Cell = Callable[[Row], str]
HELD_AGAINST: Mapping[str, str] = {NOTHING: "guessed", CONSTANT: "best constant", YESTERDAY: "the span before"}
"""The names of the baselines in tables."""
NOTE = (
    "guessed and best constant publish nothing: guessed always gives the middle of the range (the first category), "
    "and best constant always gives the single value with the smallest error in hindsight"
)
SPAN_NOTE = "the span before is the true statistic of the previous span, which may not be published either"
UNBOUNDED = "unbounded"  # instead of the bounds of a ratio: too few seeds


class Pivot(NamedTuple):
    """Functions that return the table, line, column and cell text of a row."""

    title: Cell
    line: Cell
    column: Cell
    cell: Cell


def tables(experiments: Mapping[str, Sequence[Row]]) -> list[Group]:
    """Return the tables of all experiments, one or more each, below their titles."""
    made = []
    for name, rows in experiments.items():
        made += _pivoted(rows, _PIVOTS[name])
        if name == "compare":
            made += _pivoted(_errors_of(rows), _PIVOTS["share"]._replace(title=_error("of the compared methods")))
    return made


def _errors_of(comparison: Sequence[Row]) -> list[Row]:
    """Return the errors of the compared methods and of the baselines as rows."""
    made: list[Row] = []
    for row in comparison:
        made += ({**row, "method": name, "share": None, "error": row[f"{name}_error"]} for name in UNRELEASED)
        made += ({**row, "method": row[nth], "error": row[f"{nth}_error"]} for nth in ("first", "second"))
    return [{**row, "high": None} for row in made]


def _pivoted(rows: Sequence[Row], pivot: Pivot) -> list[Group]:
    by_title: dict[str, list[Row]] = {}
    for row in rows:
        by_title.setdefault(pivot.title(row), []).append(row)
    made = []
    for name, found in by_title.items():
        columns = list(dict.fromkeys(pivot.column(row) for row in found))
        cells: dict[str, dict[str, str]] = {}
        for row in found:
            cells.setdefault(pivot.line(row), {})[pivot.column(row)] = pivot.cell(row)
        table = Table(box=SIMPLE, padding=(0, 0, 0, 1))
        table.add_column("", no_wrap=True, min_width=max(map(len, cells)))
        for heading in columns:
            # A narrow terminal breaks a cell between figures, never within a figure.
            figures = [figure for shown in cells.values() for figure in shown.get(heading, "").split()]
            table.add_column(heading, justify="right", min_width=max(map(len, [heading, *figures])))
        for label, shown in cells.items():
            table.add_row(label, *(shown.get(heading, "") for heading in columns))
        made.append(Group(Text(name, "italic"), table))  # the table's own title would wrap at its width
    return made


def _figure(name: str) -> Cell:
    return lambda row: _number(row[name]) + _half(row[name], row["high"])


def _ratio(row: Row) -> str:
    if row["ratio"] is None:
        return "-"
    bounds = UNBOUNDED if row["low"] is None else f"{_number(row['low'])}..{_number(row['high'])}"
    return f"{_number(row['ratio'])} {bounds}"


def _share(row: Row) -> str:
    return "any" if row["share"] is None else f"{row['share']} %"


def _varied(row: Row, cell: str) -> str:
    """Return the column of a row: "any" if nothing is released, else ``cell``."""
    return "any" if row["method"] in UNRELEASED else cell


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def _half(middle: float, high: float | None) -> str:
    """Return the upper half of the confidence interval, or "" if it is unknown or has no width."""
    return "" if high is None or high == middle else f" ±{_number(high - middle)}"


def _error(of: str) -> Cell:
    return lambda row: f"Mean error ({row['unit']}) {of}: {row['data']}, epsilon {row['epsilon']:g}"


def _method(row: Row) -> str:
    return HELD_AGAINST.get(row["method"], str(row["method"]))


def _disguised(row: Row) -> str:
    return HELD_AGAINST.get(row["method"], f"{row['method']}, {row['dummies']}")


_PIVOTS: Mapping[str, Pivot] = {
    "share": Pivot(_error("by share of landmarks"), _method, _share, _figure("error")),
    "compare": Pivot(
        lambda row: (
            f"Error of {row['first']} divided by the error of {row['second']}, by share of landmarks: {row['data']}"
        ),
        _share,
        lambda row: f"epsilon {row['epsilon']:g}",
        _ratio,
    ),
    "window": Pivot(
        _error("by window length in steps"), _method, lambda row: _varied(row, str(row["window"])), _figure("error")
    ),
    "beside": Pivot(
        _error(f"with a window of {BESIDE} steps, by share of landmarks"),
        _method,
        lambda row: _varied(row, "w-event" if row["share"] is None else _share(row)),
        _figure("error"),
    ),
    "dummies": Pivot(_error("with dummies, by share of true landmarks"), _disguised, _share, _figure("error")),
    "dummies-budget": Pivot(
        lambda row: f"{_error('by the share of the budget spent on drawing dummies')(row)}, {row['share']} % landmarks",
        _disguised,
        lambda row: _varied(row, f"{100 * (row['fraction'] or 0):g} %"),
        _figure("error"),
    ),
    "correlation": Pivot(
        lambda row: (
            f"Landmark temporal loss (an estimate): {row['correlation']} correlation, "
            f"strength {row['strength']:.3g}, {row['data']}, epsilon {row['epsilon']:g}"
        ),
        lambda row: f"{row['method']}, {row['distribution']}",
        _share,
        _figure("estimate"),
    ),
    "statistics": Pivot(
        lambda row: f"Mean error of statistics ({row['unit']}), by epsilon: {row['data']}, {row['span']}",
        _method,
        lambda row: "any" if row["epsilon"] is None else f"{row['epsilon']:g}",
        _figure("error"),
    ),
    "time": Pivot(
        lambda _: "Processor time per decision (microseconds)",
        _method,
        lambda row: str(row["data"]),
        _figure("microseconds"),
    ),
}
"""The table layout of each experiment."""
