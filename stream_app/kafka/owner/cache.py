"""A bounded cache of decoded series rows, and a reader of stored and cached rows."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from stream_app.deciding import rows
from stream_app.deciding.columns.states import States, arrive
from stream_app.deciding.members import Member, load_member
from stream_app.deciding.rows import SeriesRow
from stream_app.kafka.brokers import Rows
from stream_app.privacy.policy import Policy

_STATES_OF_A_ROW = 10
"""The number of states in columns that take as much memory as one decoded row."""


class RowCache:
    """Rows by series, in two halves: once full, the newer half replaces the older; access takes at most two lookups."""

    __slots__ = ("_half", "_newer", "_older")

    def __init__(self, series: int) -> None:
        self._half = max(1, series // 2)
        self._newer: dict[str, SeriesRow] = {}
        self._older: dict[str, SeriesRow] = {}

    def get(self, series: str) -> SeriesRow | None:
        """Return the row, or None if it is not cached."""
        row = self._newer.get(series)
        if row is None and (row := self._older.get(series)) is not None:
            self.put(series, row)
        return row

    def put(self, series: str, row: SeriesRow) -> None:
        """Store a row, replacing the previous one."""
        newer = self._newer
        if len(newer) >= self._half and series not in newer:
            self._older = newer
            newer = self._newer = {}
        newer[series] = row

    def forget(self, series: str) -> None:
        """Remove a row, if it is cached."""
        self._newer.pop(series, None)
        self._older.pop(series, None)

    def rows(self) -> Iterable[SeriesRow]:
        """Return the rows, each series once, in no particular order."""
        return (self._older | self._newer).values()

    def __len__(self) -> int:
        return len(self._newer.keys() | self._older.keys())


class RowReader:
    """The rows of one partition after its last processed batch.

    In memory, each row is either in columns (`States`) or decoded, but never both. A row is decoded if its series is
    processed individually.
    """

    def __init__(self, stored: Rows, partition: int, cached_series: int, fewest: int) -> None:
        """Read from ``stored``; keep at most ``cached_series`` series in columns, and a share of that number as rows.

        Groups with fewer than ``fewest`` series are kept as rows.
        """
        self.states = States(cached_series)
        self.fewest = fewest
        self._stored, self._partition = stored, partition
        self._cache = RowCache(max(2, cached_series // _STATES_OF_A_ROW))
        self._held: Mapping[str, SeriesRow] = {}
        self._members: Mapping[str, Member] = {}  # of the committing batch
        self._sealed: Mapping[bytes, bytes | None] = {}  # likewise
        self._defaults: dict[str, Policy] = {}
        self._ahead: dict[str, bytes] = {}  # read ahead for the current batch, not yet decoded

    def find(self, series: str) -> SeriesRow | None:
        """Return the row of a series, or None; raises `LookupError` if the stored row is incomplete."""
        place = self.states.index.get(series)
        return self.elsewhere(series) if place is None else self.states.row(place)

    def policy_of(self, series: str) -> Policy | None:
        """Return the policy of a series, or None if it has no row; raises as `find` does."""
        place = self.states.index.get(series)
        if place is not None:
            return self.states.periods[place].policy
        row = self.elsewhere(series)
        return None if row is None else row.policy

    def elsewhere(self, series: str) -> SeriesRow | None:
        """Return the row of a series that is not in columns; raises as `find` does."""
        row = self._cache.get(series) or self._held.get(series)
        if row is None:
            stored = self._ahead.pop(series, None)
            row = rows.load(self._read, series, self._defaults) if stored is None else self._load(series, stored)
            if row is not None:
                self._cache.put(series, row)
        return row

    def arrive(self, series: Iterable[str], fewest: int) -> None:
        """Move series into columns if possible and if their group has at least ``fewest``; raises as `find` does."""
        cache, held = self._cache, self._held
        found: dict[str, SeriesRow] = {}
        stored: list[str] = []
        for name in series:
            if (row := cache.get(name) or held.get(name)) is None:
                stored.append(name)
            else:
                found[name] = row
        values = self._stored.read_all(self._partition, list(map(rows.table_key, stored)))
        read = {name: value for name, value in zip(stored, values, strict=True) if value is not None}
        self._arrive(found, read, fewest)
        self._ahead = {
            name: value for name, value in read.items() if name not in found and name not in self.states.index
        }

    def _arrive(self, found: dict[str, SeriesRow], read: Mapping[str, bytes], fewest: int) -> None:
        decoded = set(found)
        arrive(self.states, found, read, self._default_policy, lambda name: self._load(name, read[name]), fewest)
        for name in decoded - found.keys():
            self._cache.forget(name)
        for name, row in found.items():
            self._cache.put(name, row)

    def find_member(self, chain: str) -> Member | None:
        """Return a person's row by chain name, or None; the row is needed only for a series' first policy."""
        return self._members.get(chain) or load_member(self._read, chain)

    def take(self, changed: Mapping[str, SeriesRow]) -> None:
        """Store the rows that a batch changed individually."""
        self._ahead = {}
        self.states.forget(changed)
        # Values that many series share are stored once.
        kept = {series: replace(row, state=row.state.compact()) for series, row in changed.items()}
        self._arrive(kept, {}, self.fewest)

    def sealed(self, key: bytes) -> bytes | None:
        """Return a sealed row of an open step, or None; such rows are not cached, so memory does not grow with them."""
        return self._sealed[key] if key in self._sealed else self._read(key)

    def hold(
        self, changed: Mapping[str, SeriesRow], members: Mapping[str, Member], sealed: Mapping[bytes, bytes | None]
    ) -> None:
        """Keep the rows that a batch changed individually, cached or not, while the batch commits."""
        self._held, self._members, self._sealed = changed, members, sealed

    def let_go(self) -> None:
        """Release the held rows, which are now stored."""
        self._held, self._members, self._sealed = {}, {}, {}

    def rows(self) -> Iterable[SeriesRow]:
        """Return the decoded rows, in no particular order."""
        return self._cache.rows()

    def _default_policy(self, name: str) -> Policy:
        return rows.default_policy(self._read, name, self._defaults)

    def _load(self, series: str, value: bytes) -> SeriesRow:
        return rows.load_read(self._read, series, value, self._defaults)

    def _read(self, key: bytes) -> bytes | None:
        return self._stored.read(self._partition, key)

    def __len__(self) -> int:
        return len(self._cache) + len(self.states)
