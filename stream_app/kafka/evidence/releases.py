"""The releases read beside their ledger: those of one input offset after the other."""

from collections.abc import AsyncIterator, Mapping
from typing import Any

from stream_app.formats import encoding
from stream_app.kafka.evidence.foreign import input_offset, stray


class Releases:
    """The releases of one input offset after the other, by their hashes."""

    def __init__(self, batches: AsyncIterator[list[Any]]) -> None:
        """Take the releases in lists, in the order of the log."""
        self._batches = batches
        self._waiting: list[Any] = []
        self._offset = -1
        self._at_hand: dict[str, bytes] = {}
        self._series: set[bytes] = set()

    async def of(self, offset: int) -> Mapping[str, bytes]:
        """Return the releases of an input offset; offsets never go back.

        Raises:
            PartitionStoppedError: if a record is no release.
        """
        if offset == self._offset:
            return self._at_hand
        self._offset, self._at_hand = offset, {}
        while True:
            if not self._waiting:
                batch = await self._next()
                if batch is None:
                    return self._at_hand
                self._waiting = batch[::-1]
            place = input_offset(self._waiting[-1])
            if place > offset:
                return self._at_hand
            record = self._waiting.pop()
            if place == offset:
                self._at_hand[encoding.digest(record.value)] = record.value

    async def series(self) -> set[str]:
        """Read the rest, and return the series of all releases."""
        while await self._next() is not None:
            pass
        return {series.decode() for series in self._series}

    async def _next(self) -> list[Any] | None:
        batch = await anext(self._batches, None)
        if batch is not None:
            for record in batch:
                if record.key is None or input_offset(record) < 0:
                    raise stray(record)
            self._series.update(record.key for record in batch)
        return batch
