"""The series that changed last, as their last committed batch left them; their number is bounded."""

from collections.abc import Iterable, Mapping

from stream_app.deciding.rows import SeriesRow


class Recent:
    """Rows by series, the half that changed longest ago forgotten when the newer half is full.

    Apart from `RowCache`, which holds rows of batches that are not committed yet, and perhaps never will be.
    """

    __slots__ = ("_half", "_newer", "_older")

    def __init__(self, series: int) -> None:
        """Hold about ``series`` rows: up to as many more as a batch changes."""
        self._half = max(1, series // 2)
        self._newer: dict[str, SeriesRow] = {}
        self._older: dict[str, SeriesRow] = {}

    def take(self, changed: Mapping[str, SeriesRow]) -> None:
        """Take in what a committed batch changed."""
        if len(self._newer) >= self._half:
            self._older, self._newer = self._newer, {}
        self._newer.update(changed)

    def rows(self) -> Iterable[SeriesRow]:
        """Return the rows, each series once, in no order."""
        return (self._older | self._newer).values()
