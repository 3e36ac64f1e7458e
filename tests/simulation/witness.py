"""An omniscient witness: reads each log as it grows, and judges every record, transaction and stop."""

from typing import TYPE_CHECKING, Any, Final

import orjson
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from stream_app.audit.finding import Finding
from stream_app.audit.heads.check import HeadsCheck
from stream_app.audit.heads.publickey import PublicKeys
from stream_app.formats.records import InputRecord
from stream_app.kafka.client.topics import TopicNames
from tests.simulation.books import Books, ViolationError, check_chains
from tests.simulation.expected import Expected, Output, check_sealed, observations
from tests.simulation.life import APPLICATION
from tests.simulation.plans.schedule import HOLES
from tests.simulation.plans.stops import JUSTIFIED, STOPPING

if TYPE_CHECKING:
    from tests.simulation.life import Life
    from tests.simulation.world import World

PARTITION_ROW: Final = b"\x00partition"
CLAIM: Final = b""
_PUBLIC_KEY: Final = Ed25519PrivateKey.from_private_bytes(bytes(32)).public_key()
"""That of `network.SIGNING_KEY`."""


class _Account:
    """What is known about one partition."""

    def __init__(self) -> None:
        self.books = Books()
        self.read: dict[str, int] = {}  # by topic: up to where it was read
        self.open: dict[tuple[str, int], list[Any]] = {}  # by topic and producer: records of its transaction
        self.closed: dict[tuple[str, int], list[Any]] = {}  # committed here, but not in the changelog yet
        self.expected: Expected | None = None
        self.topic: str | None = None
        """The id of the events topic that is decided, according to the last partition row."""
        self.decided = -1
        """The first input offset that is not decided, according to the last partition row."""
        self.committed: dict[str, list[bytes]] = {}
        self.answers: dict[int, int] = {}
        self.must_stop: dict[str, int] = {}
        """The former end of each essential log, by topic; 0 unless it is the log's end that is lost."""
        self.holes: list[tuple[str, bytes]] = []
        """What is missing in the middle of a log, by topic."""
        self.rebuilt: dict[bytes | None, bytes | None] = {}
        """The rows that `recover` wrote, until it writes the partition's row."""
        self.blind = False
        """Whether records of a running transaction were lost: its result cannot be predicted."""


class Witness:
    """Judges a run while it is under way."""

    def __init__(self, world: "World", names: TopicNames, partitions: int) -> None:
        """Know of nothing yet."""
        self._world, self._names = world, names
        self._accounts = [_Account() for _ in range(partitions)]
        self._outputs = (names.ledger, names.releases, names.rejects)
        self._writers: dict[tuple[int, int], Life] = {}
        self.faults: list[set[str]] = [set() for _ in range(partitions)]
        self.transactions = 0

    def look(self, life: "Life | None", point: str) -> None:
        """Read what has come since the last look, by a request of ``life``; None: only time has passed.

        Raises:
            ViolationError: if a guarantee is broken.
        """
        if life is not None and life.application != APPLICATION:
            raise ViolationError("a second application writes nothing", f"{life} wrote: {point}")
        for number, account in enumerate(self._accounts):
            for topic in (*self._outputs, self._names.changelog):
                self._read(account, topic, number, life, point)

    def _read(self, account: _Account, topic: str, partition: int, life: "Life | None", point: str) -> None:
        log = self._world.cluster.log(topic, partition)
        at = account.read.get(topic, 0)
        if log.end == at:
            return
        account.read[topic] = log.end
        fresh = []
        for batch in reversed(log.batches):
            if batch.base < at:
                break
            fresh.append(batch)
        for batch in reversed(fresh):
            place = (topic, batch.producer)
            if batch.marker is None:
                if life is not None:
                    self._writers.setdefault((batch.producer, batch.epoch), life)
                self._see(account, topic, batch.records, self._writers.get((batch.producer, batch.epoch)))
                account.open.setdefault(place, []).extend((record, batch.epoch) for record in batch.records)
            elif batch.marker == "abort":
                records = account.open.pop(place, [])
                if topic == self._names.ledger and point == "fence":
                    self._abort(records, life)
            elif topic == self._names.changelog:
                self._commit(account, partition, batch.producer)
            else:
                account.closed.setdefault(place, []).extend(account.open.pop(place, []))

    def _see(self, account: _Account, topic: str, records: Any, writer: "Life | None") -> None:
        if topic == self._names.ledger:
            for record in records:
                account.books.enter(record.key, record.value)
        if topic == self._names.releases:
            for record in records:
                account.books.publish(record.value)
                given = writer.was_given(record.partition, _output(record).offset) if writer is not None else {}
                if given and account.topic not in {None, *given}:
                    raise ViolationError("nothing of another topic is released", f"{writer} released {record.value!r}")

    def _commit(self, account: _Account, partition: int, producer: int) -> None:
        rows = account.open.pop((self._names.changelog, producer), [])
        found = [self._ended(account, topic, producer) for topic in self._outputs]
        if not rows and not any(found):
            return  # a late copy had added the changelog to a transaction that wrote nothing to it
        self.transactions += 1
        row = _partition_row(rows)
        if row is not None:
            account.decided = max(account.decided, row["next_offset"])
            account.topic = row["topic"]
        if account.blind:
            return
        if rows and self._world.operator.is_writer(self._writers[producer, rows[-1][1]]):
            self._recovered(account, rows, row, found)
            return
        if row is None:
            raise ViolationError("each batch has its partition row", f"a transaction of producer {producer} without")
        life = self._writers[producer, rows[-1][1]]
        expected = account.expected = account.expected or Expected(row["next_offset"])
        # A changelog made again, and nothing but rejects before it: nobody can know of these any more.
        account.blind |= row["next_offset"] == 0 < expected.next_offset and account.books.empty
        account.blind |= {"events head", "changelog remade"} <= self.faults[partition] and account.books.empty
        fresh = range(expected.next_offset, row["next_offset"]) if not account.blind else range(0)
        given = [self._given(life, partition, offset, row) for offset in fresh]
        records = [record for record in given if record is not None]
        if len(records) < len(given):
            account.blind = True
            return
        expected.next_offset = max(expected.next_offset, row["next_offset"])
        wanted = expected.decide(life.context, records)
        row_lost = "changelog tail" in self.faults[partition]
        found[2] = account.books.without_lost_rejects(found[2], wanted[2], row_lost=row_lost)
        for topic, ours, theirs in zip(self._outputs, wanted, found, strict=True):
            if ours != theirs:
                raise ViolationError("committed bytes are those of replay", f"{topic}: wanted {ours}, found {theirs}")
        for output in (*found[1], *found[2]):
            account.answers[output.offset] = account.answers.get(output.offset, 0) + 1

    def _ended(self, account: _Account, topic: str, producer: int) -> list[Output]:
        """Return what a committed transaction wrote to an output topic."""
        records = account.closed.pop((topic, producer), []) + account.open.pop((topic, producer), [])
        found = [_output(record) for record, _ in records if record.key != CLAIM or topic != self._names.ledger]
        account.committed.setdefault(topic, []).extend(output.value for output in found)
        return found

    @staticmethod
    def _recovered(account: _Account, rows: list[Any], row: Any, found: list[list[Output]]) -> None:
        """Judge a transaction of `recover`: only rows, and not beyond what was decided."""
        decided = account.expected.next_offset if account.expected is not None else 0
        account.rebuilt.update({record.key: record.value for record, _ in rows})
        if account.expected is not None and row is not None:
            account.expected.recovered(row["next_offset"], account.rebuilt.get)
        if any(found) or (row is not None and row["next_offset"] > decided):
            raise ViolationError("recover writes what was decided", f"{row} of {decided} decided, with outputs {found}")

    @staticmethod
    def _given(life: "Life", partition: int, offset: int, row: Any) -> InputRecord | None:
        given = life.was_given(partition, offset)
        if not given:
            raise ViolationError("every input is decided", f"{life.name} passed over offset {offset} of {partition}")
        versions = given.get(row["topic"])
        if versions is None:
            raise ViolationError("offsets are of one topic", f"{life.name} decided offset {offset} of another topic")
        # The log lost its end meanwhile: nobody knows which one was decided.
        return versions[0] if len(versions) == 1 else None

    def _abort(self, records: list[Any], by: "Life | None") -> None:
        """Check that whoever fenced a partition did not abort what its owner had time to end."""
        entries = [(record.producer, epoch) for record, epoch in records if record.key != CLAIM]
        owner = self._writers.get(entries[-1]) if entries else None
        if by is not None and owner is not None and owner is not by and owner.is_well() and by.is_well():
            raise ViolationError("a rebalance aborts nothing", f"{by} fences {owner}")

    def lost(self, kind: str, topic: str, partition: int, values: list[bytes]) -> None:
        """Note that a log lost records."""
        account = self._accounts[partition]
        if topic == self._names.ledger and kind.endswith("tail"):
            account.books.lose(values)
        if kind in HOLES:
            account.holes += [(topic, value) for value in values]
        elif topic == self._names.rejects:
            account.books.rejects_lost += values
        if kind in STOPPING and set(account.committed.get(topic, ())).intersection(values):
            account.must_stop[topic] = account.read[topic] if kind.endswith("tail") else 0
        if kind.endswith(("head", "hole")):
            return
        # A worker that runs does not notice that input which it decided is lost, and recalls what grew there since.
        account.blind |= kind == "events tail" and self._world.was_given(partition)
        account.read[topic] = self._world.cluster.log(topic, partition).end
        for place in [place for place in account.open if place[0] == topic]:
            del account.open[place]
            account.blind = True

    def must_stop(self, partition: int) -> bool:
        """Return whether nobody may continue a partition unless somebody accepts the loss."""
        return bool(self._accounts[partition].must_stop)

    def accept(self, partition: int) -> None:
        """Note that what holes took from releases and rejects is given up: it is never published again."""
        account = self._accounts[partition]
        for topic, value in account.holes:
            if topic in account.must_stop:
                account.committed[topic].remove(value)
        account.must_stop.clear()

    def stopped(self, life: "Life") -> None:
        """Judge why partitions of a worker stopped.

        Raises:
            ViolationError: if nothing justifies it.
        """
        for partition, reason in sorted(life.stops().items()):
            if self._world.fencers.get(partition) is not life:
                continue  # it read logs that its successor had written on; the group takes the partition from it
            justified = JUSTIFIED.get(reason, frozenset())
            if justified.isdisjoint(self.faults[partition]):
                raise ViolationError("a partition stops for a loss alone", f"{life.name}: {partition} ({reason})")

    def decided(self, partition: int) -> int:
        """Return the first input offset that is not decided, according to what was committed."""
        return self._accounts[partition].decided

    def end(self, partition: int) -> None:
        """Judge a partition whose input is decided.

        Raises:
            ViolationError: if something is missing or duplicated.
        """
        account = self._accounts[partition]
        for topic, end in account.must_stop.items():
            # Who lost its end and has grown as long again is not told from a whole one: the audit finds the gap.
            if end == 0 or self._world.cluster.log(topic, partition).end < end:
                raise ViolationError("a loss is noticed", f"partition {partition} goes on without a part of {topic}")
            return
        if account.blind:
            return
        check_chains(account.committed.get(self._names.ledger, []))
        if not any(fault.startswith("changelog") for fault in self.faults[partition]):
            check_sealed(self._world.cluster.log(self._names.changelog, partition))
        for topic in self._outputs:
            if not self.faults[partition] & {f"{topic.rpartition('.')[2]} {end}" for end in ("head", "tail")}:
                records = self._world.cluster.records(topic, partition)
                kept = [record.value for record in records if record.key != CLAIM or topic != self._names.ledger]
                if kept != account.committed.get(topic, []):
                    raise ViolationError("what was committed stays", f"{topic} of {partition}")
        if any(fault.startswith("events") for fault in self.faults[partition]):
            return
        observed = observations(self._world.events(partition))
        wrong = {offset: account.answers.get(offset, 0) for offset in observed if account.answers.get(offset, 0) != 1}
        if wrong:
            raise ViolationError("every input is answered once", f"answers by offset: {wrong}")

    def check_heads(self, partitions: set[int]) -> None:
        """Check that signed heads vouch for every ledger entry, like the audit, which shares no code.

        Raises:
            ViolationError: if one is missing, or does not agree.
        """
        lost = {"ledger head", "ledger tail", "ledger hole"}
        whole = [number for number in sorted(partitions) if not self.faults[number] & lost]
        if not self._world.schedule.signed or not whole:
            return
        findings: list[Finding] = []
        check = HeadsCheck(PublicKeys([_PUBLIC_KEY]), findings.append)
        entries = [entry for number in whole for entry in self._accounts[number].committed.get(self._names.ledger, [])]
        for number in whole:
            for record in self._world.cluster.records(self._names.heads, number):
                check.record(record.value or b"", number)
        check.expected.entries(entries)
        read = check.finish()
        # Other partitions stopped, or lost entries: their heads were not looked at.
        wrong = [finding for finding in findings if not finding.message.startswith("no head of")]
        if wrong or read.partitions < len(whole) or read.entries_signed != len(entries):
            told = f"{wrong}; {read.entries_signed} of {len(entries)} entries in {read.partitions} of {len(whole)}"
            raise ViolationError("heads vouch for the ledger", told)


def _partition_row(rows: list[Any]) -> Any:
    values = (record.value for record, _ in reversed(rows) if record.key == PARTITION_ROW)
    return next((orjson.loads(value) for value in values if value is not None), None)


def _output(record: Any) -> Output:
    offset = next(int(value) for name, value in record.headers if name == "input")
    return Output(record.key, record.value, record.timestamp, offset)
