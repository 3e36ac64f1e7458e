"""The fields of a stored row that can be stored in columns: some as figures, the others in the series' period.

Columns cannot restore any field of a stored row that is not named here. A series that needs such a field is processed
one by one (`arrive`).
"""

from collections.abc import Sequence
from itertools import groupby, islice
from math import prod
from mmap import MAP_ANONYMOUS, MAP_PRIVATE, mmap
from typing import Any, Final, Literal, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from stream_app.deciding.rows import state_in
from stream_app.formats import wire
from stream_app.formats.encoding import HASH_BYTES
from stream_app.formats.layout import PLAIN, StoredRow, picked, written
from stream_app.privacy.amounts import Doubles, Flag, Ints, where
from stream_app.privacy.guard import Guard
from stream_app.privacy.kinds.number import NUMBER_WIDTH
from stream_app.privacy.rule import Rule
from stream_app.privacy.state import NEVER, Promise, State, last_decided
from stream_app.privacy.values import LevelState

Figures = npt.NDArray[np.void]
"""Columns of `SeriesFigures`, by field name."""


class SeriesFigures(NamedTuple):
    """The figures of one series; all except the last three are fields of its stored row."""

    budget_nano: int
    spare_left: int
    landmark_spent_nano: int
    regular_peak_nano: int
    decided_ms: int
    first_step: int
    rate_nano: int
    source_ms: int
    measurement: int
    """One cell; like ``estimate``, it is 0 before the first release."""
    estimate: int
    sequence: int
    previous: bytes
    """The hash of the last entry."""
    due_ms: int
    """The time of the next renewal bound, in ms."""
    group: int
    """The number of the series' group."""
    used: int
    """The number of the last batch that contained an event of the series."""


FIGURES: Final = np.dtype([(name, f"V{HASH_BYTES}" if name == "previous" else "i8") for name in SeriesFigures._fields])
_BYTES: Final = np.dtype(f"V{FIGURES.itemsize}")

WHOLE: Final = tuple(name for name in SeriesFigures._fields if name in StoredRow._fields and name != "previous")
"""Figures that a stored row contains as integers, or as the first of a list of integers (`CELLS`)."""
CELLS: Final = ("measurement", "estimate")
DERIVED: Final = tuple(last_decided(0, 1))
"""Fields that follow from the last processed step."""
PERIOD: Final = ("budget_nano", "spare_left", "prior_nano", "first_budget_nano", "period_start_ms")
"""Fields that stay the same until the next version or late landmark; like the policy, they are in `Period`."""
KEPT: Final = ("claim_nano",)
"""More such fields, which have a default; in columns, every other field with a default has its default value."""
Part = Literal["figures", "period", "cells", "link"]
_PARTS: Final[dict[str, Part]] = {
    **dict.fromkeys((*WHOLE, *DERIVED), "figures"),
    **dict.fromkeys((*PERIOD, "default", "closed", *StoredRow._field_defaults), "period"),
    **dict.fromkeys((*CELLS, "level"), "cells"),
    "previous": "link",
}
RUNS: Final = tuple((part, tuple(names)) for part, names in groupby(StoredRow._fields, _PARTS.__getitem__))
"""The fields of a stored row, in order, grouped into runs that are each written at once."""
_PERIOD_RUNS: Final = tuple(
    slice(at := StoredRow._fields.index(names[0]), at + len(names)) for part, names in RUNS if part == "period"
)


_FOREIGN: Final = {name: value for name, value in StoredRow._field_defaults.items() if name not in KEPT}
_foreign_of: Final = picked(*_FOREIGN)
_BARE: Final = tuple(_FOREIGN.values())
_WHOLE: Final = (*(name for name in WHOLE if name not in CELLS), *DERIVED)
_Entered = tuple[list[int], Figures, Doubles]
_NOTHING: Final[_Entered] = ([], np.zeros(0, FIGURES), np.zeros((0, NUMBER_WIDTH)))


def period_texts(stored: StoredRow) -> tuple[str, ...]:
    """Return the JSON, without brackets, of each run of fields in a stored row that is part of the period."""
    kept = written(stored)
    return tuple(wire.dump(kept[run])[1:-1].decode() for run in _PERIOD_RUNS)


def gathered(figures: Figures, places: Ints) -> Figures:
    """Return a copy of the figures at the given places."""
    return figures.view(_BYTES).take(places).view(FIGURES)  # as bytes; copying by field costs twenty times as much


def put_back(figures: Figures, places: Ints, own: Figures) -> None:
    """Set the figures at the given places."""
    figures.view(_BYTES)[places] = own.view(_BYTES)


_C = TypeVar("_C", Figures, Doubles)


def grown(figures: _C, length: int) -> _C:
    """Return the figures extended with zeros, in separate memory pages.

    The system provides a page when the page is first written to, and gets all pages back once they are released. On the
    heap, each extension would leave a hole, and together the holes would be as large as the figures.
    """
    shape = (length, *figures.shape[1:])
    pages = mmap(-1, prod(shape) * figures.itemsize, flags=MAP_PRIVATE | MAP_ANONYMOUS)
    made = np.frombuffer(pages, figures.dtype).reshape(shape)
    made[: len(figures)] = figures
    return made


_ELSEWHERE: Final[dict[str, Any]] = {
    "previous": "", "default": "", "prior_nano": 0, "first_budget_nano": 0, "closed": False
}  # fmt: skip
"""Fields that are not in a series' state, or that its promise contains; no closed series is in columns."""


def guard_of(figures: Figures, places: Ints) -> Guard:
    """Return the guards at the given places, as columns."""
    columns: list[Any] = [figures[name][places] for name in _GUARDED]
    return Guard(*columns)


_GUARDED: Final = ("budget_nano", "landmark_spent_nano", "regular_peak_nano")


def state_of(figures: SeriesFigures, level: LevelState, promise: Promise, start_ms: int, rule: Rule) -> State:
    """Return the state of one series, or of many as columns; ``level`` is the filter's state, if any.

    If a series has no release, neither do its columns, and the filter is in its initial state.
    """
    released: Flag = figures.source_ms != NEVER
    begun = rule.kind.level_begun if level else ()
    reached = () if released is False else tuple([where(released, *pair) for pair in zip(level, begun, strict=True)])
    found = figures._asdict()
    stored: dict[str, Any] = {name: found[name] for name in WHOLE}
    stored |= {name: () if released is False else (found[name],) for name in CELLS}
    stored |= last_decided(figures.decided_ms, rule.step_ms)
    return state_in(StoredRow(**stored, **_ELSEWHERE, period_start_ms=start_ms, level=reached), promise)


def entered(rule: Rule, rows: list[Sequence[Any]]) -> _Entered:
    """Return which stored rows (given as fields) can be restored exactly from columns, and the columns for them."""
    step_ms, filtered = rule.step_ms, rule.filtered
    fields_of: list[Any] = list(islice(zip(*rows, strict=False), PLAIN))  # a row may have more fields
    columns: Any = StoredRow(*fields_of)
    found = {name: getattr(columns, name) for name in _WHOLE}
    # Fields not written here or below are zero, because there is no release yet.
    found |= {name: [cells[0] if cells else 0 for cells in getattr(columns, name)] for name in CELLS}
    whole = np.array(list(found.values()))
    if whole.dtype != np.int64:
        return _NOTHING
    of = dict(zip(found, whole, strict=True))
    released = of["source_ms"] != NEVER
    links = [bytes.fromhex(link) for link in columns.previous]
    known = (
        np.array([closed is False for closed in columns.closed])
        & np.array([len(fields) == PLAIN or _foreign_of(fields) == _BARE for fields in rows])
        & np.array([len(link) == HASH_BYTES for link in links])
        & (of["last_step"] != NEVER)  # the first step of a period is processed alone
        & (of["decided_ms"] % step_ms == 0)
        & np.all([of[name] == derived for name, derived in last_decided(of["decided_ms"], step_ms).items()], axis=0)
        & (_lengths(columns.measurement) == released)
        & (_lengths(columns.estimate) == released)
        & (_lengths(columns.level) == np.where(released, NUMBER_WIDTH if filtered else 0, 0))
    )
    if not known.all():
        at = np.flatnonzero(known).tolist()
        return at, *(entered(rule, [rows[nth] for nth in at]) if at else _NOTHING)[1:]
    figures = np.zeros(len(rows), FIGURES)
    for name in WHOLE:
        figures[name] = of[name]
    figures["previous"] = np.frombuffer(b"".join(links), FIGURES["previous"])
    levels = [level or (0.0,) * NUMBER_WIDTH for level in columns.level] if filtered else []
    return list(range(len(rows))), figures, np.array(levels, np.float64).reshape(-1, NUMBER_WIDTH)


def _lengths(lists: Sequence[Sequence[Any]]) -> Ints:
    return np.fromiter(map(len, lists), np.int64, len(lists))
