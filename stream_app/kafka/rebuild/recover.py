"""Recovery of a partition's state from the ledger and releases, if the state table is lost.

If the beginning of the ledger or the end of the releases is lost, folding begins with the rows still in the changelog
(`survey.py`).

Every output record names its input offset in a header, so the outputs also show where to continue. Rows are written
under the partition's transactional id, so a worker that is still running can no longer commit. The outputs do not show
the open steps of collected series, so the watermarks that opened them are read again from the input.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, filterfalse
from typing import NamedTuple

from stream_app.deciding import rows
from stream_app.deciding.decider import INPUT_HEADER
from stream_app.deciding.outcome import ProcessedRecord
from stream_app.deciding.units.sealed import PREFIX
from stream_app.deciding.views.refusals import told_again
from stream_app.formats import encoding
from stream_app.heads.signing import SigningKey
from stream_app.kafka.brokers import Pages, TopicFacts, Writer
from stream_app.kafka.evidence import claim as claims
from stream_app.kafka.evidence.claim import FoundClaim, is_claim
from stream_app.kafka.evidence.foreign import entry_of
from stream_app.kafka.evidence.row import PARTITION_KEY, PartitionRow
from stream_app.kafka.parts import Site, new_life
from stream_app.kafka.rebuild.folding import FoldedLogs, Progress
from stream_app.kafka.rebuild.given_up import close, closed
from stream_app.kafka.rebuild.open_steps import (
    LOST,
    AbortedRecords,
    FoundSteps,
    Loss,
    abort_open,
    aborted_entries,
    adopt,
)
from stream_app.kafka.rebuild.open_units import FoundUnits, check_key
from stream_app.kafka.rebuild.place import InputPlace, place_of
from stream_app.kafka.rebuild.refused import all_refused, more_accepted
from stream_app.kafka.rebuild.survey import AcceptedLosses, LogContents, Survey, Witness
from stream_app.kafka.rebuild.unanswered import UnansweredInputs
from stream_app.kafka.stops import PartitionStoppedError

_ROWS = 20_000  # rows per transaction; few enough to finish before its timeout


@dataclass(frozen=True, slots=True)
class RebuiltPartition:
    """The rebuilt state of a partition."""

    partition: int
    series: int
    next_offset: int
    ledger_offset: int
    open_steps: int
    """Number of open steps, which still accept contributions or readings; their contents are reread from the input."""
    lost_counts: int
    """The number of series whose open steps were given up, now or before, because some of their input was deleted.

    These steps are never released. Series with a release after an earlier loss are past the steps given up for that
    loss.
    """
    told_by: Witness  # what shows that the ledger misses no series
    again: int  # inputs from ``next_offset`` on that are processed again: some of their outputs are missing
    unanswered: UnansweredInputs  # input that may lack its reject, which is not published again
    given_up: Mapping[str, int]  # number of steps by series whose releases are lost
    closed: Sequence[str]
    """Series that were closed because every measurement of their current policy version is given up."""


class _Plan(NamedTuple):
    """Everything that recovery will write, complete before the first write, so a refusal leaves the logs unchanged."""

    surveyed: LogContents
    told: FoldedLogs  # with all the fields below
    place: InputPlace
    left: AbortedRecords | None  # abandoned entries that count; None if input continues from them
    ended: list[ProcessedRecord]  # outcomes of the closed series
    open_steps: FoundSteps
    units: FoundUnits


class Rebuilding:
    """Rebuilds partitions one after another."""

    def __init__(self, site: Site, facts: Mapping[str, TopicFacts], signing_key: SigningKey | None) -> None:
        self._site, self._context, self._names, self._facts = site, site.context, site.names, facts
        self._topic = facts[site.names.events].id
        self._survey = Survey(site, facts[site.names.changelog].id, signing_key)

    async def recover(self, partition: int, accepted: AcceptedLosses, progress: Progress) -> RebuiltPartition:
        """Rebuild a partition's rows and write them to the changelog.

        Raises `RebuildError` as `fold` does. Raises `PartitionStoppedError` if another application wrote the outputs,
        if the ledger lost its beginning and a series may therefore be missing, if the end of an output log is lost, or
        if input is lost or skipped (that input may be the only way to a release), unless the loss was accepted.
        """
        writer = await self._site.brokers.fence(partition)
        try:
            await abort_open(self._site.brokers, writer, self._names, partition)
            claim = await claims.find(self._site, partition)
            plan = await self._planned(partition, accepted, progress)
            return await self._done(writer, partition, plan, claim)
        except PartitionStoppedError as error:
            raise await self._all_refused(partition, accepted, error, progress) from None
        finally:
            await writer.stop()

    async def _all_refused(
        self, partition: int, accepted: AcceptedLosses, first: PartitionStoppedError, progress: Progress
    ) -> PartitionStoppedError:
        """Return one refusal with all the reasons that keep a partition from being rebuilt."""
        found = [first]
        while (more := more_accepted(accepted, found[-1].reason)) is not None:
            accepted = more
            try:
                await self._planned(partition, accepted, progress)
            except PartitionStoppedError as error:
                found.append(error)
            except Exception:  # noqa: BLE001 (whatever else is wrong, the operator has to know of the first)
                return first
            else:
                return all_refused(found, accepted)
        return first

    async def _planned(self, partition: int, accepted: AcceptedLosses, progress: Progress) -> _Plan:
        """Read everything that recovery needs before it writes; raises as `recover` does."""
        surveyed = await self._survey.look(partition, accepted, progress)
        told = surveyed.told
        check_key(partition, told, self._context.keys)
        place = await place_of(self._site, partition, told, surveyed.again, accepted)
        told.rows.update(told_again(told.rows, place.named, self._context))
        left = None
        if accepted.lost_input or place.skips:
            async with self._site.brokers.reader("read_uncommitted") as reader:
                found = (partition, place.next_offset, told, surveyed.given_up)
                left = await aborted_entries(reader, self._context, self._names, *found)
            told = told._replace(rows=left.told.rows, members=left.told.members)
        ended = closed(self._context, told.rows.values(), self._site.now_ms())
        told.rows.update((outcome.row.series, outcome.row) for outcome in ended)
        open_steps, units = await self._reopened(partition, told, place, accepted)
        told.rows.update(open_steps.rows() | units.rows())
        return _Plan(surveyed, told, place, left, ended, open_steps, units)

    async def _done(self, writer: Writer, partition: int, plan: _Plan, claim: FoundClaim) -> RebuiltPartition:
        """Write the plan and return the rebuilt partition."""
        surveyed, told, place, open_steps, units = plan.surveyed, plan.told, plan.place, plan.open_steps, plan.units
        ends, given_up, again = surveyed.ends, surveyed.given_up, surveyed.again
        if plan.left is not None and plan.left.entries:
            await adopt(writer, self._names, plan.left)
        await close(writer, self._names, plan.ended, place.next_offset - 1)
        lost = place.lost if place.skips or (place.lost and open_steps.given_up(place.lost.line)) else None
        row = PartitionRow(
            topic=self._topic,
            changelog=self._facts[self._names.changelog].id,
            partitions=self._facts[self._names.events].partitions,
            next_offset=place.next_offset,
            recall_offset=open_steps.floor(place.next_offset),
            ledger_offset=await self._covered(partition, told),
            key=told.key or self._context.keys.fingerprint,  # this command's own key file does not matter
            configuration=self._context.fingerprint,
            # All rows are written after this offset, and local copies of earlier rows are worthless.
            changelog_first=ends.changelog.first,
            ledger_first=ends.ledger.first,
            releases_offset=ends.releases.end,
            last_reject=place.last_reject,
            group_offset=place.group,
            releases_lost=max(surveyed.releases_lost, given_up.last),
            rejects_lost=surveyed.rejects_lost,
            life=new_life(self._site),
            claim=claim.offset,
            separator=self._site.settings.member_separator or "",
        )
        stale = await self._stale(partition, units, all_rows=again is not None)
        losses = [*([lost] if lost else ()), *(Loss(place.gap, place.next_offset, one) for one in units.given_up)]
        await self._write(writer, partition, told, row, losses, stale, units.sealed())
        return RebuiltPartition(
            partition,
            len(told.rows),
            place.next_offset,
            row.ledger_offset,
            open_steps=open_steps.steps + units.steps,
            lost_counts=len(open_steps.given_up()) + len(units.given_up),
            told_by=surveyed.witness,
            again=0 if again is None else again.inputs,
            unanswered=surveyed.unanswered,
            given_up=dict(sorted(given_up.steps.items())),
            closed=sorted(outcome.row.series for outcome in plan.ended),
        )

    async def _reopened(
        self, partition: int, told: FoldedLogs, place: InputPlace, accepted: AcceptedLosses
    ) -> tuple[FoundSteps, FoundUnits]:
        """Find the open steps; read nothing if there can be none."""
        losses = [*place.losses, place.lost] if place.lost else place.losses
        in_memory = [loss for loss in losses if loss.series is None]
        open_steps = FoundSteps(told, in_memory, place.rejected)
        partly = accepted.lost_input and not place.skips
        ring, folder = self._context.keys, self._site.settings.data_folder
        units = FoundUnits(told, ring, self._topic, losses, place.gap, place.next_offset, partly=partly, folder=folder)
        if place.lost and open_steps.given_up(place.lost.line) and not (accepted.lost_input or place.skips):
            count = len(open_steps.given_up(place.lost.line))
            asked = f"input from offset {place.start} on, from which open steps are counted"
            found = f"that the log starts at {place.first}: the counts of {count} series are lost"
            raise PartitionStoppedError(partition, "input-lost", asked, found)
        begin = open_steps.begin(place.start) if open_steps.collects else place.next_offset
        start = max(place.first, min(begin, units.begin(place.next_offset)))
        if start < place.next_offset:
            async with self._site.brokers.reader("read_committed") as reader:
                async for records in reader.records(self._names.events, partition, start, place.next_offset):
                    for record in records:
                        if record.offset < place.next_offset:
                            open_steps.take(record.offset, record.value)
                            units.take(record.offset, record.value, place.rejected)
                    units.settle()
        return open_steps, units

    async def _covered(self, partition: int, told: FoldedLogs) -> int:
        """Return the ledger offset below which no entry is binding.

        That is the offset of the first aborted entry newer than the rows, or the end.
        """
        async with self._site.brokers.reader("read_uncommitted") as reader:
            async for records in reader.records(self._names.ledger, partition, 0):
                for record in filterfalse(is_claim, records):
                    entry = entry_of(record)
                    row = told.rows.get(entry["series"]) or told.members.get(entry["series"])
                    if row is None or entry["sequence"] > row.sequence:
                        return int(record.offset)
            return (await reader.bounds(self._names.ledger, partition))[1]

    async def _stale(self, partition: int, units: FoundUnits, *, all_rows: bool) -> set[bytes]:
        """Return the keys of changelog rows that must be deleted because they may reflect later input.

        Keys of sealed rows are passed to ``units`` instead, because those may not fit in memory.
        """
        found: set[bytes] = set()
        if not (all_rows or len(units)):
            return found
        async with self._site.brokers.reader("read_committed") as reader:
            async for records in reader.rows(self._names.changelog, partition, 0):
                keys = [key for key in records.keys if key]
                units.forget(key for key in keys if key.startswith(PREFIX))
                found.update(key for key in keys if all_rows and not key.startswith(PREFIX))
        return found - {PARTITION_KEY}

    async def _write(
        self,
        writer: Writer,
        partition: int,
        told: FoldedLogs,
        row: PartitionRow,
        losses: Iterable[Loss],
        stale: set[bytes],
        sealed: Iterable[tuple[bytes, bytes | None]],
    ) -> None:
        # The old partition row is deleted first and the new one written last, so half a recovery leaves no valid state.
        pages = writer.pages()
        now_ms = self._site.now_ms()
        pages.append(PARTITION_KEY, None, now_ms, [])
        shared: set[str] = set()
        # These rows are deleted first, and written again if they are rebuilt.
        deleted: Iterable[tuple[bytes, bytes | None]] = ((key, None) for key in stale)
        stored = (pair for one in told.rows.values() for pair in rows.dump(one, None, shared))
        members = (member.dump() for member in told.members.values())
        for key, value in chain(deleted, stored, members, sealed):
            pages.append(key, value, now_ms, [])
            if pages.records >= _ROWS:
                await self._commit(writer, pages)
                pages = writer.pages()
        await self._commit(writer, pages)
        pages, rejects = writer.pages(), writer.pages()
        pages.append(PARTITION_KEY, row.encode(), now_ms, [])
        for lost in losses:  # in one transaction: no worker starts from rows whose given-up steps are not in the logs
            gone = encoding.encode_reject(lost.series, None, LOST, self._names.events, partition, lost.first - 1)
            of = None if lost.series is None else lost.series.encode()
            rejects.append(of, gone, now_ms, [(INPUT_HEADER, b"%d" % (lost.line - 1))])
        await self._commit(writer, pages, rejects)

    async def _commit(self, writer: Writer, pages: Pages, rejects: Pages | None = None) -> None:
        if pages.records:
            await writer.begin()
            await writer.send(self._names.changelog, pages)
            if rejects is not None and rejects.records:
                await writer.send(self._names.rejects, rejects)
            await writer.commit()
