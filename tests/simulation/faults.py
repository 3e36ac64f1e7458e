"""What goes wrong in a run, by kind."""

from collections import Counter
from random import Random  # noqa: TID251 (draws what ends with the faults, no noise)
from typing import TYPE_CHECKING, Final

import orjson

from tests.cluster.client import BACKOFF_SECONDS
from tests.cluster.transactions import Identity
from tests.simulation.life import ENDS, REQUESTS, Lost
from tests.simulation.plans.schedule import BUSY_SECONDS, HOLES, LOSSES, Fault, Kind
from tests.simulation.witness import PARTITION_ROW

if TYPE_CHECKING:
    from tests.simulation.life import Life
    from tests.simulation.world import World

_RECOVERS_SECONDS: Final = 15.0
_SHARE_OF_A_TAIL: Final = 0.5
_STARTS_SECONDS: Final = 12.0


class Faults:
    """Triggers faults, and counts those that had an effect."""

    def __init__(self, world: "World") -> None:
        """Let nothing happen yet."""
        self._world = world
        self._changed = [0, 0]
        self.happened: Counter[str] = Counter()
        self.cut: dict[int, Identity] = {}
        """What had fenced each partition when the changelog last lost anything."""

    def happen(self, fault: Fault) -> None:
        """Apply a fault; it misses a worker that is dead or frozen."""
        world = self._world
        if fault.kind in LOSSES:
            self._lose(fault)
        elif fault.kind in HOLES:
            if not self._make_hole(fault):
                return
        elif fault.kind == "producer id expired":
            if not world.cluster.transactions.expire(f"{world.names.changelog.partition('-')[0]}-{fault.partition}"):
                return
            world.witness.faults[fault.partition].add(fault.kind)
        else:
            life = world.lives[fault.worker]
            if life is None or not life.runs:
                return
            self._trouble(fault, life)
        world.note(*fault)
        self.happened[fault.kind] += 1

    def _trouble(self, fault: Fault, life: "Life") -> None:  # noqa: C901, PLR0912 (one case a kind)
        world, until = self._world, self._world.loop.time() + fault.amount
        life.troubled_until = max(life.troubled_until, until + _RECOVERS_SECONDS)
        match fault.kind:
            case "kill" | "wipe" | "power lost" | "key" | "configuration":
                self._kill(life, fault)
            case "kill at a write":
                life.dies = "before a write" if fault.amount < 6 else "after a write"
                world.restart_at[fault.worker] = until
            case "rows damaged":
                world.disks[fault.worker].damage(fault.partition)
            case "freeze":
                world.loop.freeze(life.process)
                world.later(fault.amount, self._wake, life)
            case "cut off":
                life.cut_until = until
                self._everywhere(fault.kind)
            case "slow":
                life.slow_until = until
            case "request lost":
                life.loses = Lost("request")
            case "answer lost":
                life.loses = Lost("answer")
            case "request late" | "end late":
                points = REQUESTS - {"connect"} if fault.kind == "request late" else ENDS
                life.loses = Lost("late", points, BACKOFF_SECONDS + fault.amount * world.schedule.latency)
            case "leave":
                life.ask_to_end()
                world.restart_at[fault.worker] = until
            case "rebalance":
                life.feed.rejoins = True
            case "clock":
                life.skew_seconds = fault.amount
            case _:
                raise ValueError(fault.kind)

    def _kill(self, life: "Life", fault: Fault) -> None:
        world = self._world
        world.loop.kill(life.process)
        world.restart_at[fault.worker] = world.loop.time() + fault.amount
        disk = world.disks[fault.worker]
        for partition in range(world.schedule.partitions):
            if fault.kind == "wipe":
                disk.discard(partition)
            if fault.kind == "power lost":
                disk.lose_last(partition, int(fault.amount))
        if fault.kind in {"key", "configuration"}:
            self._changed[fault.kind == "configuration"] += 1
            world.installed = (self._changed[0] % 3, self._changed[1] % 3)
            self._everywhere(fault.kind)

    def _wake(self, life: "Life") -> None:
        if life.process.state == "frozen":
            self._world.loop.wake(life.process)

    def _everywhere(self, kind: Kind) -> None:
        for faults in self._world.witness.faults:
            faults.add(kind)

    def _lose(self, fault: Fault) -> None:
        world = self._world
        log_name, _, how = fault.kind.partition(" ")
        topic = getattr(world.names, log_name)
        if log_name == "changelog":
            self.cut = dict(world.fences)
        if how == "remade":
            world.cluster.remake(topic)
            self._everywhere(fault.kind)
            for partition in range(world.schedule.partitions):
                world.witness.lost(fault.kind, topic, partition, [])
            if log_name == "events":
                for record in reversed(world.schedule.records[: len(world.schedule.records) // 2]):
                    world.send(record)
            return
        world.witness.faults[fault.partition].add(fault.kind)
        log = world.cluster.log(topic, fault.partition)
        before = log.visible(log.first, log.end, "read_uncommitted")
        if how == "head":
            log.delete_before(log.first + int(fault.amount * (log.end - log.first)))
        else:
            log.lose_tail(log.end - int(fault.amount * _SHARE_OF_A_TAIL * (log.end - log.first)))
        gone = [record.value for record in before if not log.first <= record.offset < log.end and record.value]
        world.witness.lost(fault.kind, topic, fault.partition, gone)

    def _make_hole(self, fault: Fault) -> bool:
        """Kill all workers and their disks, and lose an output of input that the rows then do not cover.

        Return whether there was such an output that is not the last of its log: then nobody may continue.
        """
        world, partition = self._world, fault.partition
        topic = getattr(world.names, fault.kind.partition(" ")[0])
        log, changelog = world.cluster.log(topic, partition), world.cluster.log(world.names.changelog, partition)
        rows = [
            (record.offset, orjson.loads(record.value)["next_offset"])
            for record in changelog.visible(changelog.first, changelog.end, "read_committed")
            if record.key == PARTITION_ROW and record.value is not None
        ]
        outputs = [
            (record, int(value))
            for record in log.visible(log.first, log.end, "read_committed")
            for name, value in record.headers
            if name == "input"
        ]
        lost = [(record, offset) for record, offset in outputs if rows and rows[0][1] <= offset < outputs[-1][1]]
        if not lost:
            return False
        gone, offset = lost[int(fault.amount * len(lost))]
        last_row = max(at for at, next_offset in rows if next_offset <= offset)
        marker = next(batch.end for batch in changelog.batches_from(last_row + 1) if batch.marker)
        for worker, life in enumerate(world.lives):
            if life is not None and life.process.state != "dead":
                world.loop.kill(life.process)
            world.restart_at[worker] = world.loop.time() + fault.amount * _STARTS_SECONDS
            for number in range(world.schedule.partitions):
                world.disks[worker].discard(number)
        self._everywhere("wipe")
        self.cut = dict(world.fences)
        changelog.lose_tail(marker)
        log.lose_within(gone.offset, gone.offset + 1)
        for kind, name, values in (
            ("changelog tail", world.names.changelog, []),
            (fault.kind, topic, [gone.value or b""]),
        ):
            world.witness.faults[partition].add(kind)
            world.witness.lost(kind, name, partition, values)
        return True

    def cease(self) -> None:
        """End all faults; half of the workers restart, or all after a loss, or none without faults."""
        world, draw = self._world, Random(f"end {self._world.schedule.seed}")
        share = 1.0 if any(kind in LOSSES + HOLES for kind in self.happened) else 0.5
        for worker, life in enumerate(world.lives):
            world.restart_at[worker] = BUSY_SECONDS
            if life is None:
                continue
            life.cut_until = life.slow_until = 0.0
            life.loses = life.dies = None
            self._wake(life)
            if world.schedule.faults and life.runs and (draw.random() < share or life.stops()):
                world.loop.kill(life.process)
            if self.happened["changelog head"]:  # a copy of the rows would hide what the changelog lost
                for partition in range(world.schedule.partitions):
                    world.disks[worker].discard(partition)
