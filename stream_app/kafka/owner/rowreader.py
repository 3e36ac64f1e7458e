"""Finding the row of a series: in the cache, in the batch that commits, in RocksDB."""

from collections.abc import Mapping

from stream_app.deciding import rows
from stream_app.deciding.rows import SeriesRow
from stream_app.kafka.owner.brokers import Rows
from stream_app.kafka.owner.cache import RowCache
from stream_app.privacy.policy import Policy


class RowReader:
    """The rows of one partition as its last decided batch left them."""

    def __init__(self, stored: Rows, partition: int, cached_series: int) -> None:
        """Read from ``stored``; keep at most ``cached_series`` rows decoded."""
        self._stored, self._partition = stored, partition
        self._cache = RowCache(cached_series)
        self._flying: Mapping[str, SeriesRow] = {}
        self._defaults: dict[str, Policy] = {}

    def find(self, series: str) -> SeriesRow | None:
        """Return the row of a series, or None; raises `LookupError` when the stored one is not whole."""
        row = self._cache.get(series) or self._flying.get(series)
        if row is None:
            row = rows.load(self._read, series, self._defaults)
            if row is not None:
                self._cache.put(series, row)
        return row

    def take(self, changed: Mapping[str, SeriesRow]) -> None:
        """Take in what a batch changed."""
        put = self._cache.put
        for series, row in changed.items():
            put(series, row)

    def fly(self, changed: Mapping[str, SeriesRow]) -> None:
        """Hold a batch's rows, cached or not, until RocksDB has them."""
        self._flying = changed

    def land(self) -> None:
        """Let them go: RocksDB has them."""
        self._flying = {}

    def clear(self) -> None:
        """Know of nothing but what is stored."""
        self._cache.clear()
        self._flying = {}

    def _read(self, key: bytes) -> bytes | None:
        return self._stored.read(self._partition, key)

    def __len__(self) -> int:
        return len(self._cache)
