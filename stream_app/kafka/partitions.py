"""All input partitions that this worker owns."""

import asyncio
import logging
from collections.abc import Iterable, Mapping
from typing import Any

from faust.types import TP

from stream_app.context import Context
from stream_app.kafka.metrics import Metrics
from stream_app.kafka.partition import Partition
from stream_app.kafka.restore import Restorer
from stream_app.kafka.shell import Shell
from stream_app.kafka.stopped import StopReason
from stream_app.kafka.table import StateStore
from stream_app.kafka.topicid import describe
from stream_app.kafka.topics import TopicNames
from stream_app.rows import SeriesRow
from stream_app.settings import Settings
from stream_app.signing import SigningKey

logger = logging.getLogger(__name__)

_CLOSE_SHARE = 0.3  # of the session timeout: a rebalance waits for us this long


class Partitions:
    """Follows assignments; a partition's trouble is its own."""

    def __init__(
        self,
        settings: Settings,
        context: Context,
        signing_key: SigningKey | None,
        names: TopicNames,
        metrics: Metrics,
    ) -> None:
        """Own nothing yet; ``attach`` gives the consumer and the store once they exist."""
        self._settings, self._context, self._names, self._metrics = settings, context, names, metrics
        self._signing_key = signing_key
        self._owned: dict[int, Partition] = {}
        self._shell: Shell | None = None
        self.prepared = False

    def attach(self, consumer: Any, store: StateStore) -> None:
        """Take what the Faust app made."""
        self._shell = Shell(
            self._settings, self._context, self._signing_key, self._names, self._metrics, store, consumer
        )

    async def assign(self, numbers: Iterable[int]) -> None:
        """Own these partitions and no others; every earlier owner is fenced when this returns."""
        await self.close()
        shell = self._attached()
        facts = await describe(self._settings, (self._names.events, self._names.changelog))
        for number in sorted(numbers):
            self._owned[number] = Partition(number, shell, Restorer(shell, facts, number))
        await asyncio.gather(*(partition.fence() for partition in self._owned.values()))
        logger.info("owns partitions %s", sorted(self._owned))

    async def prepare(self) -> None:
        """Read every partition back and start it."""
        committed = await self._attached().consumer.committed(partition.tp for partition in self._owned.values())
        await asyncio.gather(*(partition.prepare(committed[partition.tp]) for partition in self._owned.values()))
        for partition in self._owned.values():
            partition.start()
        self.prepared = True

    def runs(self, tp: TP) -> bool:
        """Tell whether a partition takes input."""
        partition = self._owned.get(tp.partition)
        return partition is not None and partition.runs

    def positions(self) -> Mapping[TP, int]:
        """Return where each running partition goes on."""
        return {partition.tp: partition.next_offset for partition in self._owned.values() if partition.runs}

    def put(self, event: Any) -> None:
        """Give a fetch to its partition."""
        partition = self._owned.get(event.message.partition)
        if partition is not None:
            partition.put(event)

    async def close(self) -> None:
        """Let every running transaction end, and own nothing."""
        self.prepared = False
        owned, self._owned = self._owned, {}
        seconds = self._settings.session_timeout_ms / 1000 * _CLOSE_SHARE
        await asyncio.gather(*(partition.close(seconds) for partition in owned.values()))

    def _attached(self) -> Shell:
        assert self._shell is not None, "attach() comes first"
        return self._shell

    @property
    def running(self) -> list[int]:
        """The partitions that work."""
        return [number for number, partition in self._owned.items() if partition.runs]

    def recent(self) -> list[SeriesRow]:
        """Return the rows of the series that changed last."""
        return [row for partition in self._owned.values() for row in partition.recent.rows()]

    @property
    def stopped(self) -> dict[int, StopReason]:
        """The partitions that stopped, with their reason codes."""
        return {number: reason for number, reason in self.owned.items() if reason is not None}

    @property
    def owned(self) -> dict[int, StopReason | None]:
        """The partitions that are this worker's, with why those stopped that did."""
        return {
            number: None if partition.stopped is None else partition.stopped.reason
            for number, partition in self._owned.items()
        }
