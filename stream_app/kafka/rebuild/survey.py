"""Looking over a partition's logs before its rows are rebuilt: what they tell, and whether a series is missing."""

from typing import NamedTuple

from stream_app.deciding.context import Context
from stream_app.heads.signing import SigningKey
from stream_app.kafka.client.log import LogReader
from stream_app.kafka.client.topics import TopicNames
from stream_app.kafka.evidence.ends import (
    NOTHING,
    Answered,
    Ends,
    Shortage,
    adopted,
    begins_late,
    disagreement,
    ledger_shortage,
    releases_shortage,
)
from stream_app.kafka.evidence.logends import answered_of, ends_of
from stream_app.kafka.evidence.placement import last_row
from stream_app.kafka.evidence.row import PartitionRow
from stream_app.kafka.rebuild.folding import Folded, Progress, fold, stored_rows
from stream_app.kafka.rebuild.witness import Witness, covered, missing, vouched
from stream_app.setup.settings import Settings


class Accepted(NamedTuple):
    """Which losses the operator accepts (``recover --accept-...``)."""

    lost_input: bool = False
    skipped_input: bool = False
    lost_ledger: bool = False
    lost_releases: bool = False


class Surveyed(NamedTuple):
    """What the logs of a partition tell, once it is known that no series is missing."""

    told: Folded
    ends: Ends
    witness: Witness
    releases_lost: int
    """Releases of input up to here may be missing."""


class Survey:
    """Looks at one partition after the other."""

    def __init__(
        self, settings: Settings, context: Context, names: TopicNames, changelog: str, signing_key: SigningKey | None
    ) -> None:
        """Take the id of the changelog; without ``signing_key`` the heads tell nothing."""
        self._settings, self._context, self._names = settings, context, names
        self._changelog, self._signing_key = changelog, signing_key

    async def look(self, partition: int, accepted: Accepted, progress: Progress) -> Surveyed:
        """Fold a partition's logs.

        Where the ledger lost its beginning, or the releases their end, folding begins with the rows that the changelog
        still holds; elsewhere all rows come from the ledger.

        Raises:
            PartitionStoppedError: if a series is missing, or nobody can tell, or releases are; unless that is accepted.
            RebuildError: if the ledger does not follow from itself.
        """
        names = self._names
        async with (
            LogReader.opened(self._settings, "read_uncommitted") as logs,
            LogReader.opened(self._settings, "read_committed") as reader,
        ):
            ends = await ends_of(logs, names, partition)
            row = await self._row(reader, partition)
            answered = await answered_of(reader, names, partition)
            lost = _lost(row, ends, answered)
            if lost is not None and not (lost.reason == "releases-short" and accepted.lost_releases):
                raise lost.stopped(partition)
            base = None
            if ends.ledger.first > 0 or lost is not None:
                base = {} if row is None else await stored_rows(reader, names, partition)
            heads = await covered(reader, names, partition, self._signing_key)
        told = await fold(self._settings, self._context, names, partition, base, progress)
        if base and row is not None:  # what the state covers was decided, whatever outputs are left of it
            told = told._replace(last_input=max(told.last_input, row.next_offset - 1))
        expected = row is not None and begins_late(adopted(row, ends)[0], ends) is None
        lacking = len(missing(told, heads))
        held = None if row is None else row.ledger_offset
        witness = vouched(ends, heads, lacking, held=held, expected=expected, accepted=accepted.lost_ledger)
        if isinstance(witness, Shortage):
            raise witness.stopped(partition)
        accepted_before = NOTHING if row is None else row.releases_lost
        return Surveyed(told, ends, witness, answered.decided if lost else accepted_before)

    async def _row(self, reader: LogReader, partition: int) -> PartitionRow | None:
        row = await last_row(reader, self._names, partition)
        return row if row is not None and row.changelog == self._changelog else None


def _lost(row: PartitionRow | None, ends: Ends, answered: Answered) -> Shortage | None:
    """Return what ledger or releases lack at their end."""
    if row is None:
        return disagreement(answered, ends.releases, NOTHING)
    short = disagreement(answered, ends.releases, row.releases_lost)
    return ledger_shortage(row, ends.ledger) or short or releases_shortage(row, ends.releases)
