"""One life of a worker: the real partitions over a distant cluster, from its start until it is killed or ends."""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeVar

from aiokafka.errors import KafkaConnectionError, RequestTimedOutError

from stream_app.deciding.context import Context
from stream_app.formats.records import InputRecord
from stream_app.kafka.stops import StopReason
from tests.cluster.rows import DiskRows
from tests.simulation.books import ViolationError
from tests.simulation.expected import check_copy
from tests.simulation.feed import Feed
from tests.simulation.loop import Process

if TYPE_CHECKING:
    from stream_app.kafka.owner.partitions import Partitions
    from tests.simulation.world import World

_T = TypeVar("_T")
APPLICATION: Final = "sim"
_CUT_SECONDS = 1.5
_LOST_SECONDS = 2.0
_RECOVERS_SECONDS = 15.0
_WELL_LATENCY = 0.05
ENDS: Final = frozenset({"commit", "abort"})
REQUESTS: Final = ENDS | {"add", "send", "fence", "connect", "commit offsets"}


class Lost(NamedTuple):
    """What is to happen to the next one of some requests."""

    how: Literal["request", "answer", "late"]
    """Late: when it finally arrives, its sender has given it up, and sent it again or sent something else."""
    points: frozenset[str] = REQUESTS
    seconds: float = 0.0
    """How much later than that."""


class KilledError(BaseException):
    """Ends what a process was doing when it was killed within a call that awaits nothing."""


class Life:
    """Everything that runs between two starts of one worker."""

    def __init__(
        self, world: "World", name: str, context: Context, rows: DiskRows, application: str = APPLICATION
    ) -> None:
        """Run nothing yet."""
        self.world, self.name, self.context, self.application = world, name, context, application
        self.group = world.cluster.group(application)
        self.process = Process(name)
        self.rows = rows
        rows.at = self.perhaps_die
        self.skew_seconds = 0.0
        self.cut_until = self.slow_until = self.troubled_until = 0.0
        self.loses: Lost | None = None
        self.dies: str | None = None  # at which moment
        self.ended = False
        self._end = asyncio.Event()
        self._beside: list[asyncio.Task[None]] = []
        self.feed = Feed(self)
        self.partitions: Partitions = world.partitions_of(self)
        self._delivered: dict[tuple[int, int], dict[tuple[str, int], InputRecord]] = {}

    @property
    def runs(self) -> bool:
        """Whether it is not dead, frozen or ended."""
        return self.process.state == "runs" and not self.ended

    def __repr__(self) -> str:
        return self.name

    def is_well(self) -> bool:
        """Return whether it had time to let its transaction end before its partitions went to others."""
        now = self.world.loop.time()
        quick = self.world.schedule.latency <= _WELL_LATENCY and now > self.slow_until
        return quick and self.runs and now > self.troubled_until

    def begin(self) -> None:
        """Run from now on."""
        self.world.loop.start(self.process, self._live())

    def ask_to_end(self) -> None:
        """Let it end as on SIGTERM."""
        self._end.set()

    async def _live(self) -> None:
        beside = self._beside = [
            asyncio.create_task(part())
            for part in (self.feed.fetch, self.feed.commit, self.feed.belong)
            + ((self.feed.follower.follow,) if self.world.schedule.standbys else ())
        ]
        await self._end.wait()
        await self.partitions.close()
        await self.feed.commit_acked()
        for task in beside:
            task.cancel()
        await self.feed.leave()
        self.ended = True

    def failed(self) -> BaseException | None:
        """Return what ended a part of it that should have continued."""
        errors = (task.exception() for task in self._beside if task.done() and not task.cancelled())
        return next((error for error in errors if error is not None and not isinstance(error, KilledError)), None)

    def perhaps_die(self, moment: str) -> None:
        """Die if this is the chosen moment."""
        if self.dies == moment:
            self.world.loop.kill(self.process)
            raise KilledError

    def now_ms(self) -> int:
        """Return the time by this machine's clock."""
        return self.world.now_ms() + int(self.skew_seconds * 1000)

    # The network

    async def ask(self, point: str, effect: Callable[[], _T]) -> _T:
        """Ask the cluster once, and return its answer.

        Raises:
            KafkaError: if request or answer is lost, or the cluster refuses.
        """
        return await self.world.cluster.request(point, self.name, effect)

    async def exchange(self, point: str, effect: Callable[[], _T]) -> _T:
        """Do the same as `ask`, but a request under way takes effect even if this process dies meanwhile."""
        loop = self.world.loop
        found: asyncio.Future[_T] = loop.create_future()
        lost = self.loses if self.loses is not None and point in self.loses.points else None
        how, _, late_seconds = lost or (None, (), 0.0)
        if lost is not None:
            self.loses = None
        if self._is_cut or lost is not None:
            self.troubled_until = max(loop.time() + late_seconds + _RECOVERS_SECONDS, self.troubled_until)
        if self._is_cut or how == "request":
            self.world.later(_CUT_SECONDS, _fail, found, KafkaConnectionError("cut off"))
        elif how == "late":
            self.world.later(_LOST_SECONDS, _fail, found, RequestTimedOutError())
            self.world.later(_LOST_SECONDS + late_seconds, self._arrive, point, effect, found, how)
        else:
            self.world.later(self.world.latency(self), self._arrive, point, effect, found, how)
        return await found

    @property
    def _is_cut(self) -> bool:
        return self.world.loop.time() < self.cut_until

    def _arrive(self, point: str, effect: Callable[[], _T], found: "asyncio.Future[_T]", lost: str | None) -> None:
        """Let a request take effect, and send the answer on its way."""
        world = self.world
        try:
            result = world.effect(self, point, effect)
        except Exception as error:  # noqa: BLE001 (whatever it is, it is the answer)
            world.later(world.latency(self), _fail, found, error)
            return
        if lost == "answer":
            world.later(_LOST_SECONDS, _fail, found, RequestTimedOutError())
        else:
            world.later(world.latency(self), self._answer, found, result)

    def _answer(self, found: "asyncio.Future[_T]", result: _T) -> None:
        if self._is_cut:
            self.world.later(_CUT_SECONDS, _fail, found, KafkaConnectionError("cut off"))
        elif not found.done():
            found.set_result(result)

    # What it was given

    def takes_input(self, partition: int) -> bool:
        """Return whether a partition accepts input."""
        return partition in self.partitions.running

    def delivered(self, partition: int, topic_id: str, records: list[InputRecord]) -> None:
        """Remember what was handed on."""
        for record in records:
            versions = self._delivered.setdefault((partition, record.offset), {})
            versions[topic_id, record.timestamp_ms] = record

    def was_given(self, partition: int, offset: int) -> dict[str, list[InputRecord]]:
        """Return the records handed on at an offset, by topic id; a log that lost its end has several."""
        found: dict[str, list[InputRecord]] = {}
        for (topic_id, _), record in self._delivered.get((partition, offset), {}).items():
            found.setdefault(topic_id, []).append(record)
        return found

    def given_behind(self, partition: int, end: int) -> bool:
        """Return whether a record at or after an offset was handed on."""
        return any(number == partition and offset >= end for number, offset in self._delivered)

    def took_over(self, partition: int) -> None:
        """Check a partition's rows that were read back, if nobody else fenced it and nothing was lost since."""
        world = self.world
        changed = world.fencers.get(partition) is not self or world.faults.cut.get(partition) == world.fences[partition]
        if not changed and "changelog head" not in world.witness.faults[partition]:
            try:
                check_copy(self.rows, world.cluster.log(world.names.changelog, partition))
            except ViolationError as error:
                world.break_off(error)

    def stops(self) -> dict[int, StopReason]:
        """Return why partitions stopped."""
        return dict(self.partitions.stopped)


def _fail(found: "asyncio.Future[Any]", error: Exception) -> None:
    if not found.done():
        found.set_exception(error)
        found.exception()  # who was killed does not take it up
