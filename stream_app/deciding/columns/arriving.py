"""Stored rows that become columns at once, without an object for any of them; the others are told.

What is taken in is the same as `States.put` takes of the row that `rows.load` makes of those bytes.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from stream_app.deciding.columns.states import GROUP, LINK, UNTIL, WIDTH, Group, Matrix, Period, States
from stream_app.deciding.rows import SeriesRow
from stream_app.formats import wire
from stream_app.formats.encoding import HASH_BYTES
from stream_app.privacy.amounts import Doubles
from stream_app.privacy.level import NUMBER_WIDTH
from stream_app.privacy.parameters import LAST_TIMESTAMP_MS
from stream_app.privacy.policy import Policy
from stream_app.privacy.state import NEVER

_DEFAULT: Final = 2
_FIELDS: Final = 20
"""Of a stored row without backward loss, open steps, window and claim: `rows.dump` writes no other then."""
_PERIOD: Final = (3, 6, 7, 8, 9)
"""Budget, spare left, what earlier periods used, first budget, start of the period: a `Period`, with the policy."""


class Arrivals(NamedTuple):
    """Series of one group with their columns, in equal order."""

    group: Group
    names: list[str]
    rows: list[Sequence[Any]]
    """The fields of their stored rows."""
    figures: Matrix
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
        if len(fields) == _FIELDS and fields[_DEFAULT]:
            by_default.setdefault(fields[_DEFAULT], []).append(name)
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
        shared = tuple(fields[at] for at in _PERIOD)
        period = known.get(shared)
        if period is None:
            period = known[shared] = states.period(load(name), arrived.group)
        periods.append(period)
    states.put_all(arrived.names, periods, arrived.group, arrived.figures, arrived.levels)


def _arrivals(group: Group, names: list[str], rows: list[Sequence[Any]]) -> Arrivals | None:
    """Return the columns of those rows that `States.group_of` has a group for; None where a field is no integer."""
    step_ms, filtered = group.rule.step_ms, group.rule.filtered
    columns: list[tuple[Any, ...]] = list(zip(*rows, strict=True))
    measurements, estimates, levels = columns[16:19]
    sequences, budgets, spent, peaks, spares = (columns[at] for at in (0, 3, 4, 5, 6))
    # What is not written is zero here and below: no release has come yet.
    measured, estimated = ([cells[0] if cells else 0 for cells in column] for column in (measurements, estimates))
    whole = np.array((budgets, spares, spent, peaks, *columns[10:16], sequences, measured, estimated))
    if whole.dtype != np.int64:
        return None
    budget, spare, landmark_spent, peak, decided_ms, end_ms, first, last, rate, source, sequence, value, estimate = (
        whole
    )
    lengths = np.fromiter(map(len, measurements), np.int64, len(rows))
    level_lengths = np.fromiter(map(len, levels), np.int64, len(rows))
    links = list(map(bytes.fromhex, columns[1]))
    known = (
        np.array([closed is False for closed in columns[19]])
        & np.array([len(link) == HASH_BYTES for link in links])
        & (last != NEVER)
        & (decided_ms == last * step_ms)
        & (end_ms == decided_ms + step_ms)
        & (lengths == (source != NEVER))
        & (level_lengths == np.where(lengths > 0, NUMBER_WIDTH if filtered else 0, 0))
    )
    if not known.all():
        some = np.flatnonzero(known).tolist()
        return _arrivals(group, [names[at] for at in some], [rows[at] for at in some]) if some else None
    figures = np.empty((len(rows), WIDTH), np.int64)
    figures[:, :UNTIL] = np.stack(
        (budget, spare, landmark_spent, peak, decided_ms, first, rate, source, value, estimate, sequence), 1
    )
    figures[:, UNTIL] = LAST_TIMESTAMP_MS + 1  # no renewal is to come
    figures[:, GROUP:LINK] = 0
    figures[:, LINK:] = np.frombuffer(b"".join(links), np.int64).reshape(len(rows), -1)
    return Arrivals(group, names, rows, figures, _levels(levels) if filtered else np.zeros((0, NUMBER_WIDTH)))


def _levels(levels: Sequence[Sequence[float]]) -> npt.NDArray[np.float64]:
    return np.array([level or (0.0,) * NUMBER_WIDTH for level in levels], np.float64).reshape(-1, NUMBER_WIDTH)
