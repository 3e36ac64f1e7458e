"""Contributions counted without an object for each: those that a step takes up. All others are decided one by one.

What an open step counts changes no row, so what is asked of a series is asked once for its next contributions.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple, final

from stream_app.deciding.context import Context
from stream_app.deciding.counters import Collection, Counters
from stream_app.deciding.decision import Lookup
from stream_app.deciding.members import misnamed
from stream_app.formats.wire import LARGEST_MEMBER_BYTES, LARGEST_RECORD_BYTES, load
from stream_app.privacy.parameters import LAST_TIMESTAMP_MS


class _Series(NamedTuple):
    """Where the contributions of a series are counted."""

    key: bytes | None
    """That of its records."""
    step_ms: int
    steps: dict[int, Counters]
    """Those that take contributions."""


_NOWHERE: Final = _Series(None, 1, {})


@final
class Counting:
    """Counts contributions to the open steps of a partition; ``lookup`` finds the rows of series as they are now."""

    def __init__(self, context: Context, lookup: Lookup, collection: Collection) -> None:
        self._context: Final = context
        self._lookup: Final = lookup
        self._collection: Final = collection
        self._known: Final[dict[str, _Series]] = {}  # since the last record that was decided one by one

    def others(self, keys: Sequence[bytes | None], values: Sequence[bytes | None]) -> Iterable[int]:
        """Return the numbers of the records to be decided one by one, in order; count the contributions before each.

        Whoever takes a number decides that record, or recalls it, before the next one: it finds every counter as it
        is when all before it were decided one by one. A range: there is nothing to count, all are decided so.
        """
        # PRIVACY: whether records are read here depends on open steps, not on what the records hold.
        if not self._collection.series():
            self._known.clear()
            return range(len(values))
        return self._others(keys, values)

    def _others(self, keys: Sequence[bytes | None], values: Sequence[bytes | None]) -> Iterator[int]:
        known, routed = self._known, self._context.partition_of is not None
        for number, (key, value) in enumerate(zip(keys, values, strict=True)):
            if value is not None and len(value) <= LARGEST_RECORD_BYTES:
                try:
                    found: Any = load(value)
                    series, member, timestamp_ms = found["series"], found["member"], found["timestamp"]
                    record_type, item = found["type"], found["value"]
                except (KeyError, TypeError, ValueError):  # no JSON, no object, or one that lacks a member
                    series = member = timestamp_ms = record_type = item = None
                if record_type == "contribution" and type(series) is str and type(member) is str:
                    own_key, step_ms, steps = known[series] if series in known else self._find(series)
                    if (
                        type(timestamp_ms) is int
                        and timestamp_ms <= LAST_TIMESTAMP_MS
                        and (key == own_key or not routed)
                        and (counters := steps.get(timestamp_ms // step_ms)) is not None
                        and 0 < len(name := member.encode()) <= LARGEST_MEMBER_BYTES
                        and counters.count(name, item) is None
                    ):
                        continue
            known.clear()
            yield number

    def _find(self, series: str) -> _Series:
        found = self._known[series] = self._where(series)
        return found

    def _where(self, series: str) -> _Series:
        """Return where the contributions of a series are counted: nowhere, if they would be refused for its series."""
        opened, separator = self._collection.opened(series), self._context.limits.member_separator
        row = self._lookup(series) if opened else None
        if row is None or row.policy.collect is None or row.state.closed or row.open_steps is None:
            return _NOWHERE
        if separator is not None and misnamed(series, separator):
            return _NOWHERE
        key = row.key if separator is None else self._context.key_of(series)
        untimely = row.open_steps.untimely
        steps = {index: counters for index, counters in opened.items() if untimely(index) is None}
        return _Series(key, row.policy.step_ms, steps)
