"""Series that become columns at once; of those whose stored bytes were read, without an object for any of them.

Closed by default: a series stands as columns only where they carry all that is known of it.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from stream_app.deciding.columns.carried import CELLS, DERIVED, FIGURES, KEPT, PERIOD, WHOLE, Figures
from stream_app.deciding.columns.states import Group, Period, States
from stream_app.deciding.renewal import next_bound_ms
from stream_app.deciding.rows import SeriesRow, stored_of
from stream_app.formats import wire
from stream_app.formats.encoding import HASH_BYTES
from stream_app.formats.layout import PLAIN, StoredRow, picked
from stream_app.privacy.amounts import Doubles, Ints
from stream_app.privacy.level import NUMBER_WIDTH
from stream_app.privacy.parameters import LAST_TIMESTAMP_MS
from stream_app.privacy.policy import Policy
from stream_app.privacy.state import NEVER

_default_of: Final = picked("default")
_period_of: Final = picked(*PERIOD)
_FOREIGN: Final = {name: value for name, value in StoredRow._field_defaults.items() if name not in KEPT}
_foreign_of: Final = picked(*_FOREIGN)
_BARE: Final = tuple(_FOREIGN.values())
_WHOLE: Final = (*(name for name in WHOLE if name not in CELLS), *DERIVED)
_NO_BOUND: Final = LAST_TIMESTAMP_MS + 1
_Entered = tuple[list[int], Figures, Doubles]
_NOTHING: Final[_Entered] = ([], np.zeros(0, FIGURES), np.zeros((0, NUMBER_WIDTH)))


def arrive(
    states: States,
    rows: dict[str, SeriesRow],
    stored: Mapping[str, bytes],
    policy_of: Callable[[str], Policy],
    load: Callable[[str], SeriesRow],
    fewest: int,
) -> None:
    """Let those of some series stand as columns that can, at least ``fewest`` of a group; they leave ``rows``.

    ``rows`` are those that are decoded, ``stored`` the bytes of others, and ``load`` makes a row of one of these;
    ``rows`` takes up those that only so can be told about. ``policy_of`` returns the default policy that has a name.
    """
    plain: dict[str, list[str]] = {}
    found: dict[str, Any] = {name: wire.load(value) for name, value in stored.items()}
    for name, fields in found.items():
        if len(fields) == PLAIN and (default := _default_of(fields)):
            plain.setdefault(default, []).append(name)
        else:
            rows[name] = load(name)
    groups: dict[Group, tuple[list[str], list[SeriesRow]]] = {}
    for default, names in plain.items():
        policy = policy_of(default)
        if policy.rule is not None and not policy.renew:
            groups[states.joined(policy.rule, default)] = (names, [])
        else:
            rows.update((name, load(name)) for name in names)
    for row in rows.values():
        if (rule := row.policy.rule) is not None and row.key == row.series.encode():  # no other key stands in columns
            groups.setdefault(states.joined(rule, row.default), ([], []))[1].append(row)
    for group, (names, decoded) in groups.items():
        if group.series + len(names) + len(decoded) >= fewest:
            for series in _taken(states, group, {name: found[name] for name in names}, decoded, load, fewest):
                rows.pop(series, None)


def _taken(
    states: States,
    group: Group,
    plain: dict[str, Any],
    decoded: list[SeriesRow],
    load: Callable[[str], SeriesRow],
    fewest: int,
) -> list[str]:
    """Take in what columns carry whole of the series of a group, if it is enough; return its names.

    ``plain`` has the fields of those that are not decoded: what they share need be loaded of one alone.
    """
    at, figures, levels = _entered(group, [*plain.values(), *map(stored_of, decoded)])
    if group.series + len(at) < fewest:
        return []
    known: dict[tuple[Any, ...], Period] = {}
    periods: list[Period] = []
    names, dues_ms = [*plain, *(row.series for row in decoded)], np.full(len(at), _NO_BOUND)
    for number, nth in enumerate(at):
        if nth >= len(plain):
            row = decoded[nth - len(plain)]
            period, due_ms = states.period(row, group), next_bound_ms(row.policy, row.state)
            dues_ms[number] = _NO_BOUND if due_ms is None else due_ms
        else:
            shared = _period_of(plain[names[nth]])
            period = known.get(shared) or known.setdefault(shared, states.period(load(names[nth]), group))
        periods.append(period)
    figures["due_ms"] = dues_ms
    taken = [names[nth] for nth in at]
    states.put_all(taken, periods, group, figures, levels)
    return taken


def _entered(group: Group, rows: list[Sequence[Any]]) -> _Entered:
    """Return which of some stored rows, by their fields, columns give back as they were, and their columns."""
    step_ms, filtered = group.rule.step_ms, group.rule.filtered
    fields_of: list[Any] = list(zip(*[fields[:PLAIN] for fields in rows], strict=True))
    columns: Any = StoredRow(*fields_of)
    found = {name: getattr(columns, name) for name in _WHOLE}
    # What is not written is zero here and below: no release has come yet.
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
        & (of["last_step"] != NEVER)  # the first step of a period is decided by itself
        & (of["decided_ms"] == of["last_step"] * step_ms)
        & (of["decided_end_ms"] == of["decided_ms"] + step_ms)
        & (_lengths(columns.measurement) == released)
        & (_lengths(columns.estimate) == released)
        & (_lengths(columns.level) == np.where(released, NUMBER_WIDTH if filtered else 0, 0))
    )
    if not known.all():
        at = np.flatnonzero(known).tolist()
        return at, *(_entered(group, [rows[nth] for nth in at]) if at else _NOTHING)[1:]
    figures = np.zeros(len(rows), FIGURES)
    for name in WHOLE:
        figures[name] = of[name]
    figures["previous"] = np.frombuffer(b"".join(links), FIGURES["previous"])
    levels = [level or (0.0,) * NUMBER_WIDTH for level in columns.level] if filtered else []
    return list(range(len(rows))), figures, np.array(levels, np.float64).reshape(-1, NUMBER_WIDTH)


def _lengths(lists: Sequence[Sequence[Any]]) -> Ints:
    return np.fromiter(map(len, lists), np.int64, len(lists))
