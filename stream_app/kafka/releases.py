"""The releases read beside their ledger: those of one input offset after the other."""

from collections.abc import AsyncIterator, Mapping
from typing import Any

from stream_app import encoding
from stream_app.kafka.tail import input_offset


class Releases:
    """The releases of one input offset after the other, by their hashes."""

    def __init__(self, batches: AsyncIterator[list[Any]]) -> None:
        """Take the releases in lists, in the order of the log."""
        self._batches = batches
        self._waiting: list[Any] = []
        self._offset = -1
        self._at_hand: dict[str, bytes] = {}

    async def of(self, offset: int) -> Mapping[str, bytes]:
        """Return the releases of an input offset; offsets never go back."""
        if offset == self._offset:
            return self._at_hand
        self._offset, self._at_hand = offset, {}
        while True:
            if not self._waiting:
                try:
                    self._waiting = list(reversed(await anext(self._batches)))
                except StopAsyncIteration:
                    return self._at_hand
            place = input_offset(self._waiting[-1])
            if place > offset:
                return self._at_hand
            record = self._waiting.pop()
            if place == offset:
                self._at_hand[encoding.digest(record.value)] = record.value
