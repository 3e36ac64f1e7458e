"""A run: workers, a cluster, an input and faults, from the first record to the end of the last worker."""

import asyncio
from collections.abc import Callable
from contextvars import copy_context
from functools import partial
from hashlib import blake2b
from random import Random  # noqa: TID251 (draws latencies, no noise)
from typing import Any, Final, TypeVar

from stream_app.deciding.context import Context
from stream_app.kafka.client.routing import router
from stream_app.kafka.client.topics import TopicNames
from stream_app.kafka.owner.partitions import Partitions
from stream_app.kafka.parts import WorkerParts
from stream_app.kafka.stops import StopReason
from tests.cluster.group import Place
from tests.cluster.log import Draft, Log
from tests.cluster.rows import DiskRows
from tests.cluster.transactions import Identity
from tests.simulation.books import ViolationError
from tests.simulation.faults import Faults
from tests.simulation.life import APPLICATION, Life
from tests.simulation.loop import VirtualLoop
from tests.simulation.network import QUIET, SIGNING_KEY, DistantBrokers, DistantCluster, settings_for
from tests.simulation.operator import STRANGER, Operator
from tests.simulation.plans.schedule import BUSY_SECONDS, Schedule
from tests.simulation.plans.workload import START_MS, Sent, context_of
from tests.simulation.witness import Witness

_T = TypeVar("_T")
_LOOK_SECONDS: Final = 0.5
_RESTART_SECONDS: Final = 2.0
_SETTLE_SECONDS: Final = 400.0
_END_SECONDS: Final = 90.0
_SLOWER: Final = 12
_ENDS: Final = frozenset({"commit", "abort", "fence"})


async def _inline(call: Callable[..., None], *arguments: Any) -> None:
    """Run a call immediately: a thread would take real time."""
    call(*arguments)


class World:
    """Everything of one run."""

    def __init__(self, schedule: Schedule, loop: VirtualLoop) -> None:
        """Create the topics; `run` does the rest."""
        self.schedule, self.loop, self.metrics = schedule, loop, QUIET
        self.names = TopicNames.of(APPLICATION, APPLICATION)
        self._around = copy_context()
        self._secrets = Random(f"secrets {schedule.seed}")
        self._network = Random(f"network {schedule.seed}")
        self._trace = blake2b(digest_size=16)
        self._route = router(schedule.partitions)
        self._broken: asyncio.Future[None] = loop.create_future()
        self.cluster = DistantCluster(self)
        for name in (*self.names, TopicNames.of(APPLICATION, STRANGER).changelog):
            self.cluster.make(name, schedule.partitions, append_time=name == self.names.events)
        self.witness = Witness(self, self.names, schedule.partitions)
        self.disks = [DiskRows() for _ in range(schedule.workers)]
        self.installed = (0, 0)
        self.lives: list[Life | None] = [None] * schedule.workers
        self.lives_by_name: dict[str, Life] = {}
        self.fences: dict[int, Identity] = {}
        self.fencers: dict[int, Life] = {}
        """The last to fence each partition: no other worker's view of it counts."""
        self.restart_at = [0.0] * schedule.workers
        self.faults = Faults(self)
        self.operator = Operator(self)

    # What workers are made of

    def partitions_of(self, life: Life) -> Partitions:
        """Return the partitions of a new worker."""
        schedule = self.schedule
        return Partitions(
            WorkerParts(
                settings=settings_for(schedule, life.application),
                context=life.context,
                names=TopicNames.of(APPLICATION, life.application),
                brokers=DistantBrokers(life),
                now_ms=life.now_ms,
                secret=self.secret,
                signing_key=SIGNING_KEY if schedule.signed else None,
                metrics=self.metrics,
                rows=life.rows,
                feed=life.feed,
                fewest=(3, 1, 1, 1)[schedule.seed % 4],  # batches have a few records here
                aside=_inline,
                accept_new_key=True,  # a new key is one of the faults here, and each is meant
            )
        )

    def context(self) -> Context:
        """Return the context with which workers starting now decide."""
        return context_of(*self.installed, self._route, members=self.schedule.members)

    def secret(self) -> bytes:
        """Return 32 random bytes."""
        return self._secrets.randbytes(32)

    def start(self, worker: int) -> None:
        """Start a worker anew."""
        name = f"worker {worker}.{len(self.lives_by_name)}"
        life = self.lives[worker] = Life(self, name, self.context(), self.disks[worker])
        self.lives_by_name[name] = life
        self.note("starts", name)
        life.begin()

    # Time and the network

    def now_ms(self) -> int:
        """Return the time by the brokers' clock."""
        return START_MS + int(self.loop.time() * 1000)

    def latency(self, life: Life) -> float:
        """Return how long a message takes to arrive."""
        slow = _SLOWER if self.loop.time() < life.slow_until else 1
        return self.schedule.latency * self._network.uniform(0.1, 1.9) * slow

    def later(self, seconds: float, callback: Callable[..., None], *arguments: Any) -> None:
        """Call a function of the world's after so many seconds."""
        self.loop.call_later(seconds, callback, *arguments, context=self._around)

    def effect(self, life: Life, point: str, effect: Callable[[], _T]) -> _T:
        """Let a request take effect, and look at the result."""
        self.cluster.elapse()
        self._look(None, "time")
        try:
            answer = effect()
        except Exception as error:
            self.note(life.name, point, type(error).__name__)
            raise
        self.note(life.name, point)
        if point in _ENDS:
            self.cluster.elapse()
        self._look(life, point)
        return answer

    def _look(self, life: Life | None, point: str) -> None:
        if not self.cluster.grown:
            return
        self.cluster.grown = False
        try:
            self.witness.look(life, point)
        except ViolationError as error:
            self.break_off(error)

    def break_off(self, error: Exception) -> None:
        """End the run because a guarantee was broken."""
        if not self._broken.done():
            self._broken.set_exception(error)

    def note(self, *words: object) -> None:
        """Add something to the trace."""
        self._trace.update(f"{self.loop.time():.6f} {' '.join(map(str, words))}\n".encode())

    @property
    def trace(self) -> str:
        """A digest of everything that happened, in order."""
        return self._trace.hexdigest()

    # Input

    def events(self, partition: int) -> Log:
        """Return the log of the input."""
        return self.cluster.log(self.names.events, partition)

    @property
    def events_id(self) -> str:
        """The id of the events topic."""
        found = self.cluster.facts(self.names.events)
        assert found is not None, "it is never away"
        return found[0]

    def send(self, record: Sent) -> None:
        """Append a record to the input."""
        partition = self._route(record.key)
        self.cluster.append(Place(self.names.events, partition), [Draft(record.key, record.value, 0)])
        self.look_for_input()

    def look_for_input(self) -> None:
        """Let every worker fetch again."""
        for life in self.lives:
            if life is not None and life.process.state != "dead":
                life.feed.look()

    def was_given(self, partition: int) -> bool:
        """Return whether a worker was given input that its log no longer contains."""
        end = self.events(partition).end
        return any(life.given_behind(partition, end) for life in self.lives_by_name.values())

    # The run

    async def run(self) -> None:
        """Live through the schedule.

        Raises:
            ViolationError: if a guarantee was broken.
        """
        course = self.loop.create_task(self._course())
        await asyncio.wait({course, self._broken}, return_when=asyncio.FIRST_COMPLETED)
        if self._broken.done():
            course.cancel()
            self._broken.result()
        course.result()

    async def _course(self) -> None:
        looking = self.loop.create_task(self._look_after_workers())
        happenings: list[tuple[float, Callable[[], None]]] = [
            (record.at, partial(self.send, record)) for record in self.schedule.records
        ]
        happenings += [(fault.at, partial(self.faults.happen, fault)) for fault in self.schedule.faults]
        if self.schedule.stranger is not None:
            happenings.append((self.schedule.stranger, self.operator.intrude))
        for at, happen in sorted(happenings, key=lambda one: one[0]):
            await asyncio.sleep(at - self.loop.time())
            happen()
        await asyncio.sleep(max(0.0, BUSY_SECONDS - self.loop.time()))
        self.faults.cease()
        await asyncio.sleep(_RESTART_SECONDS)
        await self._until(self._settled, _SETTLE_SECONDS, "every partition goes on, or stops")
        looking.cancel()
        if self.operator.can_recover():
            await self.end_workers()
            await self.operator.recover()
            looking = self.loop.create_task(self._look_after_workers())
            await asyncio.sleep(_RESTART_SECONDS)
            await self._until(self._settled, _SETTLE_SECONDS, "every partition goes on after recover")
            looking.cancel()
            self.operator.check_recovered()
        self.operator.check_stranger()
        stopped = self.stopped()
        await self.end_workers()
        await asyncio.sleep(_LOOK_SECONDS)
        self.cluster.elapse()  # the last markers
        self._look(None, "end")
        for partition in range(self.schedule.partitions):
            if partition not in stopped:
                self.witness.end(partition)
        self.witness.check_heads(set(range(self.schedule.partitions)) - set(stopped))

    async def end_workers(self) -> None:
        """Let every worker end in an orderly way."""
        for life in self.lives:
            if life is not None:
                life.ask_to_end()
        await self._until(self._over, _END_SECONDS, "every started worker ends")

    async def _until(self, done: Callable[[], bool], seconds: float, promise: str) -> None:
        deadline = self.loop.time() + seconds
        while not done():
            if self.loop.time() > deadline:
                raise ViolationError(promise, self._told())
            await asyncio.sleep(_LOOK_SECONDS)

    def _told(self) -> str:
        ends = [(self.witness.decided(number), self.events(number).end) for number in range(self.schedule.partitions)]
        owned = {life.name: life.partitions.owned for life in self.lives if life is not None}
        return f"decided and end of the input: {ends}; {owned}"

    def _settled(self) -> bool:
        stopped = self.stopped()
        working = {number for life in self._alive() for number in life.partitions.working}
        return all(
            number in stopped or (number in working and self.witness.decided(number) >= self.events(number).end)
            for number in range(self.schedule.partitions)
        )

    def _alive(self) -> list[Life]:
        return [life for life in self.lives if life is not None and life.runs]

    def _over(self) -> bool:
        return all(life is None or life.ended or life.process.state == "dead" for life in self.lives)

    def stopped(self) -> dict[int, StopReason]:
        """Return why partitions of the workers stopped."""
        return {number: reason for life in self._alive() for number, reason in life.stops().items()}

    async def _look_after_workers(self) -> None:
        while True:
            for worker, life in enumerate(self.lives):
                gone = life is None or life.ended or life.process.state == "dead"
                if gone and self.loop.time() >= self.restart_at[worker]:
                    self.start(worker)
                elif life is not None:
                    self._judge(life)
            await asyncio.sleep(_LOOK_SECONDS)

    def _judge(self, life: Life) -> None:
        try:
            self.witness.stopped(life)
        except ViolationError as error:
            self.break_off(error)
        if (failed := life.failed()) is not None:
            self.break_off(ViolationError("nothing fails unseen", repr(failed)))
