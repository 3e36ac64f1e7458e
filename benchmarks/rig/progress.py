"""How many records a worker reports as committed over time; used if records may have no output."""

import time
from dataclasses import dataclass

from benchmarks.result import Show
from benchmarks.rig import health
from benchmarks.rig.process import Client, ClientError
from benchmarks.rig.watch import PATIENCE_SECONDS, Rate

_COMMITTED = "landmark_events_total"
_POLL_SECONDS = 0.1
"""Each request makes the worker write all its metrics, which takes it milliseconds."""


@dataclass(frozen=True, slots=True)
class Moment:
    """Committed records by partition at one moment, and the worker's processor time."""

    seconds: float
    records: dict[int | None, float]
    cpu_seconds: float

    @property
    def committed(self) -> int:
        """The number of records committed on all partitions."""
        return int(sum(self.records.values()))


class Progress:
    """The records that a running worker commits from now on."""

    def __init__(self, port: int, client: Client) -> None:
        """Start from the records committed so far; the worker must be ready."""
        self._port, self._client = port, client
        self._moments = [self._look()]

    def until(self, records: int, what: str, show: Show) -> Rate:
        """Wait for ``records`` more committed records; return the rate from the first batches to the last.

        Raises:
            ClientError: if the worker ends, nothing changes for minutes, or all commits came at the same moment.
        """
        start = self._moments[0].committed
        while (found := self._look()).committed < start + records:
            last = self._moments[-1]
            if found.records != last.records:
                self._moments.append(found)
                show(what, found.committed - start, records)
            elif found.seconds - last.seconds > PATIENCE_SECONDS:
                raise ClientError(f"{what}: nothing after {last.committed - start}:\n{self._client.last_words()}")
            self._client.check()
            time.sleep(_POLL_SECONDS)
        self._moments.append(found)
        return self._rate()

    def _look(self) -> Moment:
        records = health.measure(self._port, _COMMITTED)
        return Moment(time.perf_counter(), records, self._client.cpu_seconds())

    def _rate(self) -> Rate:
        before, last = self._moments[0].records, self._moments[-1]
        # Partitions take turns: when one of them commits first, much of the others' first batches is done too.
        first = next(one for one in self._moments if _moved(one.records, before) == _moved(last.records, before))
        records = last.committed - first.committed
        return Rate.of(records, last.seconds - first.seconds, last.cpu_seconds - first.cpu_seconds)


def _moved(records: dict[int | None, float], before: dict[int | None, float]) -> int:
    """Return how many partitions have committed anything since ``before``."""
    return sum(number > before.get(partition, 0) for partition, number in records.items())
