"""What an operator does beside the workers: run a second application by mistake, and rebuild lost rows."""

from typing import TYPE_CHECKING, Final

from stream_app.kafka.parts import Site
from stream_app.kafka.rebuild.recover import Rebuilding
from stream_app.kafka.rebuild.survey import AcceptedLosses
from stream_app.kafka.stops import PartitionStoppedError, StopReason
from tests.cluster.rows import DiskRows
from tests.simulation.books import ViolationError
from tests.simulation.life import Life
from tests.simulation.network import SIGNING_KEY, DistantBrokers, settings_for
from tests.simulation.plans.schedule import TROUBLES

if TYPE_CHECKING:
    from tests.simulation.world import World

STRANGER: Final = "other"
"""The second application, which has the same prefix as the first."""
_ROWS_LOST: Final[frozenset[StopReason]] = frozenset({"changelog-short", "row-missing", "row-behind"})
_RECOVERABLE: Final[frozenset[str]] = frozenset(
    {"second application", *TROUBLES, "changelog head", "changelog tail", "changelog remade"}
) - {"key", "configuration"}
"""Events that leave ledger, releases, rejects and input whole, and what decides them unchanged."""
_HOLES: Final[dict[str, StopReason]] = {"releases hole": "releases-short", "rejects hole": "rejects-short"}
"""Outputs that are given up if they are missing, and the reasons why partitions stop without them."""
_CLAIM: Final = b""
_SENT_AGAIN: Final = 5


class Operator:
    """Does to a world what its schedule says, and checks the results."""

    def __init__(self, world: "World") -> None:
        """Do nothing yet."""
        self._world = world
        self._stranger: Life | None = None
        self._recovers: Life | None = None

    def intrude(self) -> None:
        """Start a worker of a second application, once the first has claimed every partition of the ledger."""
        world, names = self._world, self._world.names
        for partition in range(world.schedule.partitions):
            if not any(record.key == _CLAIM for record in world.cluster.records(names.ledger, partition)):
                return
        self._stranger = world.lives_by_name[STRANGER] = Life(world, STRANGER, world.context(), DiskRows(), STRANGER)
        world.note("starts", STRANGER)
        world.faults.happened["second application"] += 1
        self._stranger.begin()

    def check_stranger(self) -> None:
        """Check that every partition of the second application stopped.

        Raises:
            ViolationError: if one did not.
        """
        if self._stranger is None:
            return
        wanted = dict.fromkeys(range(self._world.schedule.partitions), "foreign-writer")
        if (found := self._stranger.partitions.owned) != wanted:
            raise ViolationError("a second application stops", f"its partitions: {found}")
        self._stranger.ask_to_end()

    def is_writer(self, life: Life) -> bool:
        """Return whether `recover` was the writer."""
        return life is self._recovers

    def can_recover(self) -> bool:
        """Return whether partitions stopped for lost rows or a hole, and their other sources are whole."""
        world = self._world
        reasons = set(world.stopped().values())
        recoverable = _RECOVERABLE | _HOLES.keys()
        return (
            bool(reasons) and reasons <= _ROWS_LOST | {*_HOLES.values()} and set(world.faults.happened) <= recoverable
        )

    def check_recovered(self) -> None:
        """Check that no partition stops again.

        Raises:
            ViolationError: if one does.
        """
        if stopped := self._world.stopped():
            raise ViolationError("every partition goes on after recover", f"it stops: {stopped}")

    async def recover(self) -> None:
        """Rebuild the rows of every partition, and send some more records."""
        world, schedule = self._world, self._world.schedule
        life = self._recovers = world.lives_by_name["recover"] = Life(world, "recover", world.context(), DiskRows())
        brokers = DistantBrokers(life)
        site = Site(
            settings=settings_for(schedule, life.application),
            context=life.context,
            names=world.names,
            brokers=brokers,
            now_ms=world.now_ms,
            secret=world.secret,
        )
        recovery = Rebuilding(site, await brokers.facts(), SIGNING_KEY if schedule.signed else None)
        for partition in range(schedule.partitions):
            await self._recover(recovery, partition)
        for partition in range(schedule.partitions):
            end = world.cluster.log(world.names.changelog, partition).end
            for disk in world.disks:
                if disk.reopen(partition) is None and (disk.offset(partition) or 0) >= end:
                    disk.discard(partition)  # a copy that is newer than the changelog, as the page on backups says
        world.note("recovered")
        world.faults.happened["recover"] += 1
        for record in schedule.records[-_SENT_AGAIN:]:
            world.send(record)

    async def _recover(self, recovery: Rebuilding, partition: int) -> None:
        """Rebuild the rows of a partition; give up what a hole took, which `recover` has to name first."""
        world = self._world
        wanted = {_HOLES[kind] for kind in world.witness.faults[partition] & _HOLES.keys()}
        accepted, told = AcceptedLosses(), ""
        while True:
            try:
                recovered = await recovery.recover(partition, accepted, lambda *_: None)
            except PartitionStoppedError as error:
                if error.reason == "transaction-open":
                    world.cluster.abort_open(partition)
                elif error.reason in wanted and not accepted.lost_releases:
                    accepted, told = AcceptedLosses(lost_releases=True), str(error)
                else:
                    raise ViolationError("recover mends what workers stopped for", str(error)) from error
                continue
            if accepted.lost_releases or not world.witness.must_stop(partition):
                break
            if "rejects-short" not in wanted or not recovered.unanswered.unanswered:
                raise ViolationError("recover names what is missing", f"{recovered} of partition {partition}")
            accepted = AcceptedLosses(lost_releases=True)
        if accepted.lost_releases:
            world.witness.accept(partition)
            world.note("accepted", partition, told)
