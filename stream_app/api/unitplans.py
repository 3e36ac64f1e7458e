"""The plan for a statistic of units: error by unit, window and span, and the cost of a target error."""

from collections.abc import Iterator, Mapping
from datetime import timedelta
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, Final

from stream_app.api.given import Error, length_of, path_of
from stream_app.api.policy import Policy, compiled
from stream_app.api.tables import Columns, Frame, Table, events_of, rows_of
from stream_app.api.views import Html, Page, paragraph
from stream_app.calendar.words import duration_in_words
from stream_app.formats import wire
from stream_app.formats.records import Observation
from stream_app.outlook.plots import errors_by_unit, title
from stream_app.outlook.units.request import UnitPlan, UnitsError, unit_plan
from stream_app.outlook.units.table import Planned, UnitRow
from stream_app.pictures import PlotError, picture
from stream_app.privacy.values import Raw


class PlanOfUnits(Page):
    """The error of a statistic of units; ``table`` has one row per unit and window, and a column per span."""

    def __init__(self, policy: Policy, found: UnitPlan) -> None:
        self.policy: Final = policy
        self._found: Final = found
        heading = f"Error of a {found.asked.kind.statistic}, {found.asked.kind.error_unit} (* the policy's own unit)"
        self.table: Final = Table(map(_row, found.rows), title=heading)

    @property
    def answer(self) -> Mapping[str, float | None] | None:
        """The ``epsilon`` or ``unit_ms`` needed for the requested error; None if no error was requested."""
        return None if self._found.answer is None else self._found.answer._asdict()

    @property
    def warning(self) -> str:
        """A warning if values stay similar for longer than the protected time; empty otherwise, or without data."""
        return self._found.warning

    def picture(self, path: str | Path) -> Path:
        """Plot the errors by unit to a file, in the format of its suffix, and return its path.

        Raises `Error` if that fails.
        """
        target = path_of(path, "path", "a file for the picture")
        try:
            picture(target, [(title(self._found), partial(errors_by_unit, self._found))])
        except (PlotError, OSError) as error:
            raise Error.of("path", str(error)) from None
        return target

    def __str__(self) -> str:
        return "\n".join([str(self.policy), *self._lines(), str(self.table)])

    def __repr__(self) -> str:
        return f"<PlanOfUnits of {self.policy!r}: {len(self.table)} rows>"

    def html(self) -> Html:
        """Return, as HTML, the policy in words and the table."""
        return Html(paragraph(repr(self.policy), "\n".join([str(self.policy), *self._lines()])) + self.table.html())

    def _lines(self) -> Iterator[str]:
        yield from (f"{line}." for line in (self._found.sentence, self._found.warning) if line)


def plan_of_units(
    policy: Policy,
    statistic: Planned | None,
    step: str | timedelta | None,
    error: Fraction | None,
    data: Frame | None,
) -> PlanOfUnits:
    """Return the plan for a policy with units or with single numbers; raise `Error` for any other policy."""
    if step is not None and error is None:
        raise Error.of("step", "needs a target error; add one, such as error=5")
    span = f"{length_of(step, 'step')} ms" if isinstance(step, timedelta) else step
    if span is not None and not isinstance(span, str):
        raise Error.of("step", 'is not a span; use "day", "week", "30 days" or a length of time')
    try:
        found = unit_plan(compiled(policy), span, None if error is None else float(error), _readings(data), statistic)
    except UnitsError as wrong:
        raise Error.of(wrong.member, str(wrong)) from None
    if found is None:
        remedy = "is for neither single numbers nor statistics of units; omit statistic, step and data"
        raise Error.of("policy", remedy)
    return PlanOfUnits(policy, found)


def _readings(data: Frame | None) -> dict[str, list[tuple[int, Raw]]] | None:
    if data is None:
        return None
    rows = rows_of(data)
    # PRIVACY: raw values go only into figures for the caller who supplied the values.
    found: dict[str, list[tuple[int, Raw]]] = {}
    for event in events_of(rows, Columns(), None if any("series" in row for row in rows) else "data", seeds=False):
        record = wire.decode(event)
        if isinstance(record, Observation):
            found.setdefault(record.series, []).append((record.timestamp_ms, record.value))
    return found


def _row(row: UnitRow) -> dict[str, Any]:
    own = " *" if row.own else ""
    found: dict[str, Any] = {"unit": f"{duration_in_words(row.unit_ms)}{own}", "window": row.window}
    for span in row.spans:
        found[span.span] = span.error
        if span.constant is not None:
            found[f"{span.span}: constant"] = span.constant
    return found
