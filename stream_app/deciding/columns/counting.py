"""Counts contributions to open steps without creating an object for each; others are processed one by one.

Counting a contribution in an open step changes no row, so one check covers all of a series' next contributions.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple, final

from stream_app.deciding.checks import countable, due_key
from stream_app.deciding.collection import Collection, Counters
from stream_app.deciding.context import Context
from stream_app.deciding.rows import Lookup
from stream_app.formats.records import Parsed
from stream_app.formats.wire import contributed


class _Series(NamedTuple):
    """Where the contributions of a series are counted."""

    key: bytes | None
    """The key of the series' records."""
    step_ms: int
    steps: dict[int, Counters]
    """The steps that accept contributions."""


_NOWHERE: Final = _Series(None, 1, {})


@final
class Counting:
    """Counts contributions to a partition's open steps; ``lookup`` finds the current rows of series."""

    def __init__(self, context: Context, lookup: Lookup, collection: Collection) -> None:
        self._context: Final = context
        self._lookup: Final = lookup
        self._collection: Final = collection
        self._known: Final[dict[str, _Series]] = {}  # since the last record that was processed alone

    def others(self, keys: Sequence[bytes | None], parsed: Sequence[Parsed]) -> Iterable[int]:
        """Return the numbers of the records to process one by one, and count the contributions before each.

        The numbers are in order. The caller must process or recall each record before it takes the next number, so that
        every counter has the value it would have if all earlier records had been processed one by one. A range means
        that there is nothing to count and all records are processed one by one.
        """
        # PRIVACY: whether contributions are counted here depends on open steps, not on what the records contain.
        if not self._collection.collected:
            self._known.clear()
            return range(len(parsed))
        return self._others(keys, parsed)

    def _others(self, keys: Sequence[bytes | None], parsed: Sequence[Parsed]) -> Iterator[int]:
        known, routed = self._known, self._context.partition_of is not None
        for number, (key, found) in enumerate(zip(keys, parsed, strict=True)):
            item = contributed(found)
            if item is not None:
                series, timestamp_ms, member, value = item
                own_key, step_ms, steps = known.get(series) or known.setdefault(series, self._where(series))
                if (
                    (key == own_key or not routed)
                    and (counters := steps.get(timestamp_ms // step_ms)) is not None
                    and counters.count(member.encode(), value) is None
                ):
                    continue
            known.clear()
            yield number

    def _where(self, series: str) -> _Series:
        """Return where to count a series' contributions, or nowhere if the checks of the series would refuse them."""
        opened = self._collection.counted(series)
        row = self._lookup(series) if opened else None
        if row is None or row.policy.collect is None or row.open_steps is None:
            return _NOWHERE
        if not countable(self._context, row):
            return _NOWHERE
        untimely = row.open_steps.untimely
        steps = {index: counters for index, counters in opened.items() if untimely(index) is None}
        return _Series(due_key(self._context, row, series), row.policy.step_ms, steps)
