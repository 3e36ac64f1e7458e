"""The rows of series that are in memory, decoded, in front of the stored ones; their number is bounded."""

from collections.abc import Iterable, Mapping

from stream_app.deciding import rows
from stream_app.deciding.members import Member, load_member
from stream_app.deciding.rows import SeriesRow
from stream_app.kafka.brokers import Rows
from stream_app.privacy.policy import Policy


class RowCache:
    """Rows by series, the least recently used half forgotten when the newer half is full.

    Two plain dictionaries instead of a linked list: an access costs one lookup, and nothing moves for a series that is
    in the newer one already.
    """

    __slots__ = ("_half", "_newer", "_older")

    def __init__(self, series: int) -> None:
        """Hold at most ``series`` rows."""
        self._half = max(1, series // 2)
        self._newer: dict[str, SeriesRow] = {}
        self._older: dict[str, SeriesRow] = {}

    def get(self, series: str) -> SeriesRow | None:
        """Return the row, or None when it is not here."""
        row = self._newer.get(series)
        if row is None and (row := self._older.get(series)) is not None:
            self.put(series, row)
        return row

    def put(self, series: str, row: SeriesRow) -> None:
        """Remember the row in place of the one before."""
        newer = self._newer
        if len(newer) >= self._half and series not in newer:
            self._older = newer
            newer = self._newer = {}
        newer[series] = row

    def take(self, changed: Mapping[str, SeriesRow]) -> None:
        """Remember all that a batch changed."""
        if len(self._newer) + len(changed) <= self._half:
            self._newer.update(changed)
            return
        for series, row in changed.items():
            self.put(series, row)

    def rows(self) -> Iterable[SeriesRow]:
        """Return the rows, each series once, in no order."""
        return (self._older | self._newer).values()

    def __len__(self) -> int:
        return len(self._newer.keys() | self._older.keys())


class RowReader:
    """The rows of one partition as its last decided batch left them."""

    def __init__(self, stored: Rows, partition: int, cached_series: int) -> None:
        """Read from ``stored``; keep at most ``cached_series`` rows decoded."""
        self._stored, self._partition = stored, partition
        self._cache = RowCache(cached_series)
        self._held: Mapping[str, SeriesRow] = {}
        self._members: Mapping[str, Member] = {}  # of the batch that commits
        self._defaults: dict[str, Policy] = {}

    def find(self, series: str) -> SeriesRow | None:
        """Return the row of a series, or None; raises `LookupError` when the stored one is not whole."""
        row = self._cache.get(series) or self._held.get(series)
        if row is None:
            row = rows.load(self._read, series, self._defaults)
            if row is not None:
                self._cache.put(series, row)
        return row

    def find_member(self, chain: str) -> Member | None:
        """Return the row of a member by the name of its chain, or None; it is read for first policies alone."""
        return self._members.get(chain) or load_member(self._read, chain)

    def take(self, changed: Mapping[str, SeriesRow]) -> None:
        """Take in what a batch changed."""
        self._cache.take(changed)

    def hold(self, changed: Mapping[str, SeriesRow], members: Mapping[str, Member]) -> None:
        """Keep a batch's rows, cached or not, while it commits."""
        self._held, self._members = changed, members

    def let_go(self) -> None:
        """Forget them: the commit has stored them."""
        self._held, self._members = {}, {}

    def _read(self, key: bytes) -> bytes | None:
        return self._stored.read(self._partition, key)

    def __len__(self) -> int:
        return len(self._cache)
