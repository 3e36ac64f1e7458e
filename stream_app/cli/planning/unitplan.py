"""Unit statistics in ``plan`` and ``check``: the table by unit and window, and notes based on data."""

import argparse
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path

from rich.console import Console
from rich.table import Table

from stream_app.calendar.words import duration_in_words
from stream_app.cli import UsageError
from stream_app.cli.shared.eventfile import EventFile, add_columns
from stream_app.cli.shared.policytimes import PolicyTimes
from stream_app.cli.shared.terminal import say
from stream_app.formats import wire
from stream_app.formats.records import Observation
from stream_app.mapping.members import MEMBERS
from stream_app.outlook.units.request import UnitPlan, UnitsError, unit_plan
from stream_app.outlook.units.table import Planned, SpanError, spans_of
from stream_app.privacy.values import NANO, Raw

Data = dict[str, list[tuple[int, Raw]]]
WIDTH = 100  # minimum width of the table in a pipe, in characters


def add_data(parser: argparse.ArgumentParser) -> None:
    """Add ``--data``, which names a file of events, and the column options for CSV."""
    data = (
        "FILE of events, JSON Lines or CSV: show how long values stay similar, and the constant baseline; both depend "
        "on raw values, so keep the output private"
    )
    parser.add_argument("--data", type=Path, metavar="FILE", help=data)
    add_columns(parser)


def data_of(arguments: argparse.Namespace) -> Data | None:
    """Return the readings by series from ``--data``, or None without that option. Raises `UsageError`."""
    if arguments.data is None:
        if any(getattr(arguments, name) is not None for name in ("mapping", *MEMBERS)):
            raise UsageError("--data: missing, although columns are specified; specify the file of events")
        return None
    found: Data = {}
    for event in EventFile(argparse.Namespace(**{**vars(arguments), "file": arguments.data})):
        record = wire.decode(event)
        if isinstance(record, Observation):
            # PRIVACY: raw values affect only the figures, which anyone who has the file may see.
            found.setdefault(record.series, []).append((record.timestamp_ms, record.value))
    return found


def matching(times: PolicyTimes, data: Data | None) -> Data | None:
    """Return the series in the data that match the policy's name or glob."""
    if data is None:
        return None
    return {
        series: found for series, found in data.items() if series == times.series or fnmatchcase(series, times.series)
    }


def planned(
    times: PolicyTimes,
    data: Data | None,
    span: str | None = None,
    error: float | None = None,
    statistic: Planned | None = None,
) -> UnitPlan:
    """Return a policy's plan for units; raise `UsageError` if the policy or the options do not allow one."""
    try:
        found = unit_plan(times.policy, span, error, matching(times, data), statistic)
    except UnitsError as wrong:
        raise UsageError(f"--{wrong.member}: {wrong}") from None
    if found is None:
        option = "--step" if span is not None else "--data" if statistic is None else "--statistic"
        raise UsageError(f"{option}: only for series of numbers or statistics of units; {times.whose} is neither")
    return found


def memory_notes(times: PolicyTimes, data: Data) -> Iterator[str]:
    """Yield a note if values stay similar for longer than the time that the policy protects.

    Yields nothing for a policy without units, or without data for its series.
    """
    readings = matching(times, data)
    if times.policy.units is None or not readings:
        return
    try:
        found = unit_plan(times.policy, data=readings)
    except UnitsError as wrong:
        raise UsageError(f"--{wrong.member}: {wrong}") from None
    if found is not None and found.warning:
        yield found.warning


def lines_of(plan: UnitPlan) -> Iterator[str]:
    """Yield the lines of text below the table."""
    yield (
        "* the policy's own unit. Errors are mean absolute errors of one release, before the clamp. All units of a "
        "window are protected together."
    )
    if plan.series:
        several = f"{plan.series:,} series" if plan.series > 1 else "the data"
        yield (
            "Next to each error is the error of the constant baseline (the best constant in hindsight, which "
            f"publishes nothing) for {several}. A statistic says little unless its error is much smaller."
        )
    else:
        yield (
            "This assumes that each unit has a reading. With --data, the constant baseline is shown next to each error."
        )
    if plan.sentence:
        yield f"{plan.sentence}."
    if plan.warning:
        yield f"note: {plan.warning}."


def print_units(plan: UnitPlan) -> None:
    """Print a plan as a table with an explanation."""
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = max(console.width, WIDTH)
    asked = plan.asked
    say(f"Error of a {asked.kind.statistic}, {asked.kind.error_unit}, at epsilon {asked.spend_nano / NANO:g}, by unit")
    spans = list(spans_of(asked))
    table = Table()
    for name in ("unit", "window"):
        table.add_column(name, no_wrap=True)
    for name in spans:
        table.add_column(duration_in_words(asked.step_ms) if name == "step" else name, justify="right")
    for row in plan.rows:
        cells = {each.span: _cell(each) for each in row.spans}
        own = " *" if row.own else ""
        table.add_row(
            duration_in_words(row.unit_ms) + own, f"{row.window:,}", *(cells.get(span, "-") for span in spans)
        )
    console.print(table)
    for line in lines_of(plan):
        say(line)


def _cell(found: SpanError) -> str:
    error = f"{found.error:.3g}" if found.error < 1_000 else f"{found.error:,.0f}"
    return error if found.constant is None else f"{error} ({found.constant:.3g})"
