"""The results of experiments as tables for people."""

from collections.abc import Callable, Mapping, Sequence

from rich.box import SIMPLE
from rich.table import Table

from stream_app.evaluation.experiment import Row

Cell = Callable[[Row], str]


def tables(experiments: Mapping[str, Sequence[Row]]) -> list[Table]:
    """Return the tables of all experiments, a few a piece."""
    made = {
        "share": _errors,
        "compare": _ratios,
        "window": _windows,
        "dummies": _dummies,
        "dummies-budget": _draws,
        "correlation": _losses,
        "time": _times,
    }
    return [table for name, rows in experiments.items() for table in made[name](rows)]


def _errors(rows: Sequence[Row]) -> list[Table]:
    return _pivots(
        rows,
        title=lambda row: (
            f"Mean error ({row['unit']}) by share of landmarks: {row['data']}, epsilon {row['epsilon']:g}"
        ),
        line=lambda row: row["method"],
        column=_share,
        cell=lambda row: _number(row["error"]) + _half(row["error"], row["high"]),
    )


def _ratios(rows: Sequence[Row]) -> list[Table]:
    return _pivots(
        rows,
        title=lambda row: f"Error of {row['first']} over that of {row['second']}: {row['data']}",
        line=lambda row: f"epsilon {row['epsilon']:g}",
        column=_share,
        cell=_ratio,
    )


def _windows(rows: Sequence[Row]) -> list[Table]:
    return _pivots(
        rows,
        title=lambda row: f"Mean error ({row['unit']}) by steps of a window: {row['data']}, epsilon {row['epsilon']:g}",
        line=lambda row: row["method"],
        column=lambda row: str(row["window"]),
        cell=lambda row: _number(row["error"]) + _half(row["error"], row["high"]),
    )


def _dummies(rows: Sequence[Row]) -> list[Table]:
    return _pivots(
        rows,
        title=lambda row: (
            f"Mean error ({row['unit']}) with dummies, by share of true landmarks: {row['data']}, "
            f"epsilon {row['epsilon']:g}"
        ),
        line=lambda row: f"{row['method']}, {row['dummies']}",
        column=_share,
        cell=lambda row: _number(row["error"]) + _half(row["error"], row["high"]),
    )


def _draws(rows: Sequence[Row]) -> list[Table]:
    return _pivots(
        rows,
        title=lambda row: (
            f"Mean error ({row['unit']}) by what of the budget draws dummies: {row['data']}, "
            f"epsilon {row['epsilon']:g}, {row['share']} % landmarks"
        ),
        line=lambda row: f"{row['method']}, {row['dummies']}",
        column=lambda row: f"{100 * row['fraction']:g} %",
        cell=lambda row: _number(row["error"]) + _half(row["error"], row["high"]),
    )


def _losses(rows: Sequence[Row]) -> list[Table]:
    return _pivots(
        rows,
        title=lambda row: (
            f"Landmark temporal loss (an estimate): {row['correlation']} correlation, "
            f"strength {row['strength']:.3g}, {row['data']}, epsilon {row['epsilon']:g}"
        ),
        line=lambda row: f"{row['method']}, {row['distribution']}",
        column=_share,
        cell=lambda row: _number(row["estimate"]) + _half(row["estimate"], row["high"]),
    )


def _times(rows: Sequence[Row]) -> list[Table]:
    return _pivots(
        rows,
        title=lambda _: "Processor time of a decision (microseconds)",
        line=lambda row: row["method"],
        column=lambda row: row["data"],
        cell=lambda row: _number(row["microseconds"]) + _half(row["microseconds"], row["high"]),
    )


def _pivots(rows: Sequence[Row], *, title: Cell, line: Cell, column: Cell, cell: Cell) -> list[Table]:
    """Return a table a title, with its lines and columns in the order of the rows."""
    by_title: dict[str, list[Row]] = {}
    for row in rows:
        by_title.setdefault(title(row), []).append(row)
    made = []
    for name, found in by_title.items():
        columns = list(dict.fromkeys(column(row) for row in found))
        cells: dict[str, dict[str, str]] = {}
        for row in found:
            cells.setdefault(line(row), {})[column(row)] = cell(row)
        table = Table(title=name, box=SIMPLE, title_justify="left", padding=(0, 0, 0, 1))
        table.add_column("")
        for heading in columns:
            table.add_column(heading, justify="right", no_wrap=True)
        for label, shown in cells.items():
            table.add_row(label, *(shown.get(heading, "") for heading in columns))
        made.append(table)
    return made


def _ratio(row: Row) -> str:
    """Return the ratio and its bounds, which do not lie alike about it."""
    if row["ratio"] is None:
        return "-"
    bounds = "" if row["low"] is None else f" {_number(row['low'])}..{_number(row['high'])}"
    return f"{_number(row['ratio'])}{bounds}"


def _share(row: Row) -> str:
    return "any" if row["share"] is None else f"{row['share']} %"


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def _half(middle: float, high: float | None) -> str:
    """Return the upper half of the confidence interval, or nothing where it is not known or has no width."""
    return "" if high is None or high == middle else f" ±{_number(high - middle)}"
