"""Faust's consumer as the owner of a partition sees it."""

from typing import cast

import faust
from faust.types import TP

from stream_app.kafka.faust.consumer import Consumer


class FaustFeed:
    """`stream_app.kafka.brokers.Feed` over an app's consumer, which Faust makes when it starts."""

    def __init__(self, app: faust.App, events_topic: str) -> None:
        self._app = app
        self._events_topic = events_topic

    @property
    def _consumer(self) -> Consumer:
        return cast("Consumer", self._app.consumer)

    def _tp(self, partition: int) -> TP:
        return TP(self._events_topic, partition)

    async def start(self, partition: int, offset: int) -> None:
        """Begin at an offset; Faust assigns partitions paused."""
        await self.seek(partition, offset)
        self._consumer.resume_partitions({self._tp(partition)})
        self.resume(partition)

    async def seek(self, partition: int, offset: int) -> None:
        """Seek to an offset."""
        await self._consumer.seek_partitions({self._tp(partition): offset})

    def pause(self, partition: int) -> None:
        """Stop fetching until `resume`."""
        self._consumer.on_buffer_full(self._tp(partition))

    def resume(self, partition: int) -> None:
        """Fetch again."""
        self._consumer.on_buffer_drop(self._tp(partition))

    async def earliest(self, partition: int) -> int:
        """Return the first input offset kept."""
        tp = self._tp(partition)
        return int((await self._consumer.earliest_offsets(tp))[tp])

    async def owns(self, partition: int, offset: int) -> bool:
        """Tell whether the group still counts this worker as the owner."""
        return await self._consumer.owns(self._tp(partition), offset)

    def keep(self, partition: int, offset: int) -> None:
        """Bound the group's offset of a partition."""
        self._consumer.keep(self._tp(partition), offset)

    async def committed(self, partition: int) -> int | None:
        """Return the group's offset of a partition."""
        tp = self._tp(partition)
        return (await self._consumer.committed([tp]))[tp]
