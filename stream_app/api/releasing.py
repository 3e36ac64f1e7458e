"""`release`: processes a frame by the rules of `replay`, writes the result to a folder, and returns it."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal, assert_never

from stream_app.api.given import Error, path_of, told
from stream_app.api.policy import Policy, as_defaults
from stream_app.api.reading import Releases, read_folder
from stream_app.api.tables import Columns, Frame, Library, Row, events_of, library_of, rows_of
from stream_app.api.views import Html, Page, paragraph
from stream_app.formats import wire
from stream_app.privacy.policy import Fault
from stream_app.replaying.doubts import ALIASES, CHECKS, Check, Doubt, unaccepted
from stream_app.replaying.folder import BusyFolderError, ReplayFolder, ReplayFolderError
from stream_app.replaying.processing import RunResult
from stream_app.replaying.run import SHARED_KEY, RunRequest, replay
from stream_app.setup.settings import Settings


class Released(Page):
    """The result of a run: its ``releases``, the ``folder`` with ledger and releases, and the counts."""

    def __init__(self, folder: Path, releases: Releases, answered: RunResult) -> None:
        self.folder: Final = folder
        self.releases: Final = releases
        self._answered: Final = answered

    @property
    def frame(self) -> Any:
        """The releases as an object of the input's library, like `Table.frame`."""
        return self.releases.frame

    @property
    def totals(self) -> dict[str, Any]:
        """Counts of events and decisions, and amounts in nano-epsilon, as in `replay --json`."""
        return dict(self._answered.document())

    @property
    def rejected(self) -> Mapping[str, int]:
        """The number of rejected records, by reason."""
        return {str(reason): count for reason, count in self._answered.rejected.items()}

    @property
    def clamped(self) -> int:
        """The number of new rows with a value outside the policy's range; an end of the range replaces the value.

        The number is computed from raw values: keep it as private as those values. Nothing else reveals the number.
        """
        return self._answered.rows.ranges.outside

    @property
    def substituted(self) -> int:
        """The number of new rows whose value is not of the policy's kind and is therefore replaced by ``invalid``.

        The number is computed from raw values, like ``clamped``.
        """
        return self._answered.rows.ranges.substituted

    @property
    def notes(self) -> tuple[str, ...]:
        """Further notes, for example on a step that looks too short for the readings."""
        met = self._answered.met
        told = (met.sentence, met.step_sentence(self._answered.rejected.get("duplicate", 0)))
        return (*self._answered.notes, *(sentence for sentence in told if sentence))

    def __str__(self) -> str:
        return "\n".join([*self.notes, *self._answered.lines()])

    def __repr__(self) -> str:
        return f"<Released: {len(self.releases):,} releases in {self.folder}>"

    def html(self) -> Html:
        """Return a summary of the run and the first releases as HTML."""
        return Html(paragraph("Released", str(self)) + self.releases.html())


def release(  # noqa: PLR0913 - as many as `replay` has options, all but two by name
    frame: Frame,
    policy: Policy | Sequence[Policy] | Mapping[str, Policy],
    *,
    out: str | Path,
    series: str | None = None,
    series_column: str = "series",
    timestamp_column: str = "timestamp",
    value_columns: str | Sequence[str] = "value",
    contributor_column: str | None = None,
    config: str | Path | None = None,
    key: str | Path | None = None,
    replace: bool = False,
    late: Literal["refuse", "reject"] = "refuse",
    accept: Check | Sequence[Check] = (),
) -> Released:
    """Process the rows of a frame in order, and write releases, ledger and rejected records to the folder ``out``.

    The rules are those of `landmark-stream replay`. The noise depends on the folder's own key and on the whole input:
    giving the same rows again, alone or with more rows after them, continues the run byte for byte and spends nothing
    twice. A folder rejects input in which an earlier row was changed, unless ``replace`` moves its files aside; then
    both budgets are spent.

    ``policy`` applies to the series that its glob matches; if there are several policies, the first match applies. A
    mapping gives one policy per series. ``series`` is the series of all rows if no column contains it. Several
    ``value_columns`` are a location, counts, or the parts of a vector. ``contributor_column`` turns rows into items of
    contributors, for policies of collected data. A row with a ``type`` is already an event record, such as a watermark.
    ``config`` is a configuration file, and ``key`` is the key file of a worker.

    New rows that look wrong as a whole are refused, unless ``accept`` names the reason:

    * ``"landmarks"``: no landmark step of a series has an event.
    * ``"times"``: the times look like seconds or digits of a date, are before 1990 or after tomorrow, or are all in one
      open step.
    * ``"order"``: a row's time precedes that of an earlier row in its series, so workers would reject it. Sort by time.
    * ``"substituted"``: the policy's ``invalid`` replaces more than 1 % of the values.
    * ``"clamped"``: most values are beyond one end of their range.
    * ``"refused"``: more than 1 % of the rows are refused for another reason.

    ``late="reject"`` accepts ``"order"``.

    Raises:
        Error: for columns, times or policies that cannot be used, for a folder that rejects the input, for rows that
            ``accept`` does not allow, and if there is no row or every row was refused; then nothing is written.
    """
    folder_path = path_of(out, "out", "the folder for the releases and the ledger")
    if late not in {"refuse", "reject"}:
        raise Error.of("late", 'is neither "refuse" nor "reject"; omit it to refuse a frame with late rows')
    accepted = _accepted(accept) | ({"order"} if late == "reject" else set())
    columns = Columns(series_column, timestamp_column, value_columns, contributor_column)
    # PRIVACY: from here, raw values go only into the records that the decisions read; no error shows a raw value.
    rows = rows_of(frame)
    events = events_of(rows, columns, series, seeds=key is None)
    if not events:
        raise Error.of("frame", "has no rows to process; use a frame with rows")

    def checked(answered: RunResult) -> None:
        if answered.unruled and "refused" not in accepted:
            raise Error.of(
                "policy", "no row was processed: no policy matches any series; correct the series or the policy's glob"
            )
        if answered.refused and "refused" not in accepted:
            raise Error.of(
                "frame", f"no row was processed: {'; '.join([*answered.refusals(), *_texts(rows, columns)])}"
            )
        if found := unaccepted(answered.doubts, accepted):
            raise Error(_fault(doubt, answered, rows, events, library_of(frame), columns) for doubt in found)

    try:
        with told():
            named = None if config is None else path_of(config, "config", "a settings file")
            settings = Settings.model_construct() if named is None else Settings.load(named)
            given = None if key is None else path_of(key, "key", "a worker's key file")
            wanted = RunRequest(settings, as_defaults(policy), given, replace)
            with ReplayFolder.claimed(folder_path) as folder:
                answered = replay(folder, lambda: iter(events), wanted, lambda records, _: records, checked)
    except BusyFolderError:
        busy = "another run is using the folder; wait for it, then run this again"
        raise Error.of("out", f"{folder_path}: {busy}") from None
    except ReplayFolderError as error:
        remedy = (
            "use another folder, or set replace=True, which moves the old files aside; the budget is then spent twice"
        )
        raise Error.of("out", f"{folder_path}: {error.why or error}; {remedy}") from None
    if given is not None:
        answered = answered._replace(notes=(f"key: {SHARED_KEY}", *answered.notes))
    return Released(folder_path, read_folder(folder_path, library_of(frame)), answered)


def _accepted(accept: Check | Sequence[Check]) -> set[str]:
    found: set[str] = {accept} if isinstance(accept, str) else set(accept)
    if strange := sorted(map(repr, found - set(CHECKS) - set(ALIASES))):
        raise Error.of("accept", f"{', '.join(strange)}: unknown check; known checks are {', '.join(CHECKS)}")
    return found


def _fault(
    doubt: Doubt, answered: RunResult, rows: Sequence[Row], events: Sequence[bytes], library: Library, columns: Columns
) -> Fault:
    match doubt.check:
        case "order":
            return Fault(f"row {doubt.row}", _late(answered, events, library, columns))
        case "refused":
            told = "; ".join([doubt.found, *answered.refusals(), *_texts(rows, columns)])
        case "times" | "landmarks" | "substituted" | "clamped":
            told = doubt.found
        case _:
            assert_never(doubt.check)
    member = "frame" if doubt.row is None else f"row {doubt.row}"
    return Fault(member, f'{told}; if this is intended, use accept="{doubt.check}"')


def _late(answered: RunResult, events: Sequence[bytes], library: Library, columns: Columns) -> str:
    """Return a message that says which rows were late, and how to sort a frame so that its rows are in order."""
    # PRIVACY: which rows are late follows only from series and times, which releases show.
    count, seen, repeated = answered.rows.refused["late"], set[tuple[str, ...]](), 0
    for event in events:
        found: Any = wire.load(event)
        place = tuple(str(found.get(name)) for name in ("type", "series", "timestamp", "member"))
        repeated += place in seen
        seen.add(place)
    name = columns.timestamp
    sort = {
        "pandas": f'frame.sort_values("{name}", kind="stable")',
        "polars": f'frame.sort("{name}", maintain_order=True)',
        "rows": f'sorted(rows, key=lambda row: row["{name}"])',
    }[library]
    drop = f"; {repeated:,} repeat the time of an earlier row of their series, so drop duplicates" if repeated else ""
    return (
        f"is earlier than a processed row of its series ({count:,} of {answered.rows.count:,} rows are{drop}); rows "
        f'are processed in the order given, so sort them by time, for example with {sort}, or use accept="order" if '
        "a worker received them in this order"
    )


def _texts(rows: Sequence[Row], columns: Columns) -> Iterator[str]:
    """Yield remedies for value columns that contain only text, as from CSV, and for name columns without any text."""
    whose = [name for name in (columns.series, columns.contributor) if name and any(name in row for row in rows)]
    for name in whose:
        if not any(isinstance(row.get(name), str) for row in rows):
            yield f"{name} contains no strings; convert it to strings, for example with str()"
    found = [name for name in columns.of_value if all(isinstance(row.get(name), str) for row in rows)]
    if found:
        remedy = "if the policy expects numbers, convert it, for example with float()"
        yield f"{', '.join(found)} contains only strings; {remedy}"
