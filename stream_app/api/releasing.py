"""`release`: a frame decided into a folder, under the rules of `replay`; and what came of it."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from stream_app.api.errors import Error, told
from stream_app.api.events import Columns, events_of
from stream_app.api.policy import Policy, as_defaults
from stream_app.api.reading import Releases, read_folder
from stream_app.api.tables import Frame, Row, library_of, rows_of
from stream_app.api.views import Html, Page, paragraph
from stream_app.replaying.folder import ReplayFolder, ReplayFolderError
from stream_app.replaying.run import Answered, Wanted, replay
from stream_app.setup.settings import Settings


class Released(Page):
    """What a run came to: its ``releases``, the ``folder`` with ledger and releases, and what was used and rejected."""

    def __init__(self, folder: Path, releases: Releases, answered: Answered) -> None:
        self.folder: Final = folder
        self.releases: Final = releases
        self._answered: Final = answered

    @property
    def frame(self) -> Any:
        """The releases in the library of the input, as `Table.frame`."""
        return self.releases.frame

    @property
    def totals(self) -> dict[str, Any]:
        """Counts of events and decisions, and amounts in nano-epsilon, as `replay --json` has them."""
        return dict(self._answered.document())

    @property
    def rejected(self) -> Mapping[str, int]:
        """How many records were refused, by reason."""
        return {str(reason): count for reason, count in self._answered.rejected.items()}

    def __str__(self) -> str:
        met = self._answered.met.sentence
        return "\n".join([*self._answered.notes, *([met] if met else []), *self._answered.lines()])

    def __repr__(self) -> str:
        return f"<Released: {len(self.releases):,} releases in {self.folder}>"

    def html(self) -> Html:
        """Return what the run came to, and the first releases, as HTML."""
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
) -> Released:
    """Decide the rows of a frame, in their order, into the folder ``out``: releases, ledger and rejects.

    The rules are those of `landmark-stream replay`. The noise is made of the folder's own key and of the whole input:
    the same rows again, or with more behind them, go on under it byte for byte and spend nothing twice. A folder takes
    no input in which an earlier row was changed, unless ``replace`` moves its files aside; then both budgets are spent.

    ``policy`` rules the series that its glob matches, the first of several that does; a mapping is one by series.
    ``series`` is that of all rows where no column has it. Several ``value_columns`` are a location, counts, or the
    parts of a vector. ``contributor_column`` makes rows the items of contributors, for policies that collect; a row
    with a ``type`` is an event record as it stands, such as a watermark. ``config`` is a settings file, ``key`` the key
    file of a worker.

    Raises:
        Error: for columns, times or policies that cannot be used, for a folder that takes no such input, and when every
            row was refused.
    """
    columns = Columns(series_column, timestamp_column, value_columns, contributor_column)
    # PRIVACY: raw values go from here into the records alone that the decisions read; no error shows one.
    rows = rows_of(frame)
    events = events_of(rows, columns, series, seeds=key is None)
    folder_path = Path(out)
    try:
        with told():
            settings = Settings.load(Path(config)) if config is not None else Settings.model_construct()
            wanted = Wanted(settings, as_defaults(policy), None if key is None else Path(key), replace)
            with ReplayFolder.claimed(folder_path) as folder:
                answered = replay(folder, lambda: iter(events), wanted, lambda records, _: records)
    except ReplayFolderError as error:
        remedy = "name another folder, or replace=True, which moves the old files aside: then both budgets are spent"
        raise Error.of("out", f"{folder_path}: {error.why or error}; {remedy}") from None
    if answered.unruled:
        raise Error.of("policy", "no row was decided: no policy is for any of the series; write both alike")
    if answered.refused:
        raise Error.of("frame", f"no row was decided: {'; '.join([*answered.refusals(), *_texts(rows, columns)])}")
    return Released(folder_path, read_folder(folder_path, library_of(frame)), answered)


def _texts(rows: Sequence[Row], columns: Columns) -> Iterator[str]:
    """Yield what to do about columns of the value that hold text alone, as readers of CSV files give it."""
    found = [name for name in columns.values if all(isinstance(row.get(name), str) for row in rows)]
    if found:
        remedy = "make numbers of it, as float() does, if the policy takes numbers"
        yield f"{', '.join(found)} holds text in every row; {remedy}"
