"""Stored rows that become columns at once, without an object for any of them; the others are told.

What is taken in is the same as `States.put` takes of the row that `rows.load` makes of those bytes.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from stream_app.deciding.columns.carried import CELLS, DERIVED, FIGURES, PERIOD, WHOLE, Figures
from stream_app.deciding.columns.states import Group, Period, States
from stream_app.deciding.layout import PLAIN, StoredRow, picked
from stream_app.deciding.rows import SeriesRow
from stream_app.formats import wire
from stream_app.formats.encoding import HASH_BYTES
from stream_app.privacy.amounts import Doubles
from stream_app.privacy.level import NUMBER_WIDTH
from stream_app.privacy.parameters import LAST_TIMESTAMP_MS
from stream_app.privacy.policy import Policy
from stream_app.privacy.state import NEVER

_default_of: Final = picked("default")
_period_of: Final = picked(*PERIOD)
_WHOLE: Final = (*(name for name in WHOLE if name not in CELLS), *DERIVED)


class Arrivals(NamedTuple):
    """Series of one group with their columns, in equal order."""

    group: Group
    names: list[str]
    rows: list[Sequence[Any]]
    """The fields of their stored rows."""
    figures: Figures
    levels: Doubles


def arrivals(
    states: States, stored: Mapping[str, bytes], policy_of: Callable[[str], Policy]
) -> tuple[list[Arrivals], list[str]]:
    """Part series by the bytes of their stored rows: those to be taken in at once, and the others.

    ``policy_of`` returns the default policy that has a name.
    """
    by_default: dict[str, list[str]] = {}
    others: list[str] = []
    found: dict[str, Any] = {name: wire.load(value) for name, value in stored.items()}
    for name, fields in found.items():
        if len(fields) == PLAIN and (default := _default_of(fields)):
            by_default.setdefault(default, []).append(name)
        else:
            others.append(name)
    parted: list[Arrivals] = []
    for default, names in by_default.items():
        policy = policy_of(default)
        made = None
        if policy.rule is not None and not policy.renew:
            group = states.joined(policy.rule, default)
            made = _arrivals(group, names, [found[name] for name in names])
        if made is None:
            others.extend(names)
            continue
        parted.append(made)
        if len(made.names) < len(names):
            others.extend(set(names) - set(made.names))
    return parted, others


def take_in(states: States, arrived: Arrivals, load: Callable[[str], SeriesRow]) -> None:
    """Let series stand as columns; ``load`` makes a row of one, of those that share a period."""
    known: dict[tuple[Any, ...], Period] = {}
    periods: list[Period] = []
    for name, fields in zip(arrived.names, arrived.rows, strict=True):
        shared = _period_of(fields)
        period = known.get(shared)
        if period is None:
            period = known[shared] = states.period(load(name), arrived.group)
        periods.append(period)
    states.put_all(arrived.names, periods, arrived.group, arrived.figures, arrived.levels)


def _arrivals(group: Group, names: list[str], rows: list[Sequence[Any]]) -> Arrivals | None:
    """Return the columns of those rows that `States.group_of` has a group for; None where a field is no integer."""
    step_ms, filtered = group.rule.step_ms, group.rule.filtered
    fields: list[Any] = list(zip(*rows, strict=True))
    columns: Any = StoredRow(*fields)
    found = {name: getattr(columns, name) for name in _WHOLE}
    # What is not written is zero here and below: no release has come yet.
    found |= {name: [cells[0] if cells else 0 for cells in getattr(columns, name)] for name in CELLS}
    whole = np.array(list(found.values()))
    if whole.dtype != np.int64:
        return None
    of = dict(zip(found, whole, strict=True))
    lengths = np.fromiter(map(len, columns.measurement), np.int64, len(rows))
    level_lengths = np.fromiter(map(len, columns.level), np.int64, len(rows))
    links = list(map(bytes.fromhex, columns.previous))
    known = (
        np.array([closed is False for closed in columns.closed])
        & np.array([len(link) == HASH_BYTES for link in links])
        & (of["last_step"] != NEVER)
        & (of["decided_ms"] == of["last_step"] * step_ms)
        & (of["decided_end_ms"] == of["decided_ms"] + step_ms)
        & (lengths == (of["source_ms"] != NEVER))
        & (level_lengths == np.where(lengths > 0, NUMBER_WIDTH if filtered else 0, 0))
    )
    if not known.all():
        some = np.flatnonzero(known).tolist()
        return _arrivals(group, [names[at] for at in some], [rows[at] for at in some]) if some else None
    figures = np.zeros(len(rows), FIGURES)
    for name in WHOLE:
        figures[name] = of[name]
    figures["due_ms"] = LAST_TIMESTAMP_MS + 1  # no renewal is to come
    figures["previous"] = np.frombuffer(b"".join(links), FIGURES["previous"])
    return Arrivals(group, names, rows, figures, _levels(columns.level) if filtered else np.zeros((0, NUMBER_WIDTH)))


def _levels(levels: Sequence[Sequence[float]]) -> npt.NDArray[np.float64]:
    return np.array([level or (0.0,) * NUMBER_WIDTH for level in levels], np.float64).reshape(-1, NUMBER_WIDTH)
