"""The newest series in memory, decoded, in front of RocksDB; its size is bounded."""

from stream_app.deciding.rows import SeriesRow


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

    def clear(self) -> None:
        """Forget every row."""
        self._newer = {}
        self._older = {}

    def __len__(self) -> int:
        return len(self._newer.keys() | self._older.keys())
