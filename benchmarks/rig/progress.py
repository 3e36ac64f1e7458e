"""How many records a worker has committed over time, as it says itself: where not every record has an output."""

import time
from dataclasses import dataclass

from benchmarks.result import Show
from benchmarks.rig import health
from benchmarks.rig.process import Client, ClientError
from benchmarks.rig.watch import PATIENCE_SECONDS, Rate

_COMMITTED = "landmark_events_total"
_POLL_SECONDS = 0.1
"""The worker writes all its measures at each look, which takes milliseconds of its time."""


@dataclass(frozen=True, slots=True)
class Moment:
    """What was committed by then, by partition, and the worker's processor time."""

    seconds: float
    records: dict[int | None, float]
    cpu_seconds: float

    @property
    def committed(self) -> int:
        """How many records were committed on all partitions."""
        return int(sum(self.records.values()))


class Progress:
    """The records that a running worker commits, from now on."""

    def __init__(self, port: int, client: Client) -> None:
        """Begin with what it has committed by now; it is ready."""
        self._port, self._client = port, client
        self._moments = [self._look()]

    def until(self, records: int, what: str, show: Show) -> Rate:
        """Wait until so many more records were committed; return the rate from the first batches to the last one.

        Raises:
            ClientError: if the worker ends, nothing moves for minutes, or all came at once.
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
        if not records:
            raise ClientError("too few commits for a rate; ask for more events")
        return Rate(
            records / (last.seconds - first.seconds), (last.cpu_seconds - first.cpu_seconds) / records * 1_000_000
        )


def _moved(records: dict[int | None, float], before: dict[int | None, float]) -> int:
    """Return how many partitions have committed anything since."""
    return sum(number > before.get(partition, 0) for partition, number in records.items())
