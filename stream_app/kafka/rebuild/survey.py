"""Surveys a partition's logs before its rows are rebuilt: their contents, and any missing series.

Rows are rebuilt from the ledger. If all entries of a series were in a lost part, the series would be forgotten and
start over with its whole budget. If the beginning of the ledger is lost, two sources can show that no series is
missing. Signed checkpoints (heads) name the last entry of every series below the offset that they cover, and releases
name every series that published something. A series that has a policy but no release is known only from checkpoints.
"""

from collections.abc import Mapping
from itertools import filterfalse
from typing import Any, Final, Literal, NamedTuple

from stream_app.formats import wire
from stream_app.heads.records import Tree, decode
from stream_app.heads.signing import SigningKey
from stream_app.kafka.brokers import Reader
from stream_app.kafka.client.topics import TopicNames
from stream_app.kafka.evidence import ends as log_ends
from stream_app.kafka.evidence.claim import holds_entries, is_claim
from stream_app.kafka.evidence.ends import NOTHING, AnsweredInput, Ends, Shortage
from stream_app.kafka.evidence.foreign import entry_of
from stream_app.kafka.evidence.outputs import first_lacking, lost_releases, missing_before
from stream_app.kafka.evidence.row import PartitionRow, last_row
from stream_app.kafka.owner.restore import separator_changed
from stream_app.kafka.parts import Site
from stream_app.kafka.rebuild.folding import FoldedLogs, Progress, StoredRows, fold, stored_rows
from stream_app.kafka.rebuild.given_up import ALL, GivenUp
from stream_app.kafka.rebuild.unanswered import UnansweredInputs, unanswered

Witness = Literal["ledger", "heads", "releases", "nobody"]
"""Evidence that no series is missing; "nobody" if no evidence was required."""

TOLD: Final[Mapping[Witness, str]] = {
    "ledger": "",
    "heads": "; the beginning of the ledger is lost, but signed heads show that no series is missing",
    "releases": "; the beginning of the ledger is lost, but the releases show that no series with releases is missing",
    "nobody": "; the beginning of the ledger is lost, and nobody can tell whether series are missing",
}

_PUBLISHED_AGAIN: Final = frozenset({"releases-short", "rejects-short"})
"""Lost outputs that the same input produces again."""


class Coverage(NamedTuple):
    """What the signed checkpoints of a partition cover."""

    offset: int  # all series below this ledger offset are named
    sequences: Mapping[str, int]  # the sequence of each series' last entry


async def covered(reader: Reader, names: TopicNames, partition: int, key: SigningKey | None) -> Coverage | None:
    """Return what committed checkpoints cover; None if there are none, or one is missing or not signed by ``key``."""
    if key is None:
        return None
    sequences: dict[str, int] = {}
    number = offset = 0
    tree, leaves = Tree(), list[Any]()
    async for records in reader.records(names.heads, partition, 0):
        for record in records:
            found: Any = wire.load(record.value)
            if found["type"] == "leaves":
                leaves += found["leaves"]
                continue
            for leaf in leaves:
                tree.add(wire.dump(leaf))
            head = decode(record.value, key)
            place = (number + 1, names.ledger, partition, key.fingerprint, tree.root().hex())
            if head is None or (head.number, head.topic, head.partition, head.key, head.root) != place:
                return None
            sequences.update((series, sequence) for series, sequence, _ in leaves)
            number, offset = head.number, head.ledger_offset
            tree, leaves = Tree(), []
    return Coverage(offset, sequences) if number else None


def missing(told: FoldedLogs, heads: Coverage | None) -> set[str]:
    """Return the known series that have no row, or an older row than the signed checkpoints show.

    Series are known from checkpoints, releases or entries; persons are known from chain names and from series rows.
    """
    signed = heads.sequences if heads is not None else {}
    known = {name: row.sequence for name, row in (told.rows | told.members).items()}
    behind = {name for name, sequence in signed.items() if name in known and known[name] < sequence}
    return ((signed.keys() | told.published) - known.keys()) | told.cut | behind


def vouched(
    ends: Ends, heads: Coverage | None, lacking: int, *, held: int | None, expected: bool, accepted: bool
) -> Witness | Shortage:
    """Return the evidence that no series is missing, or the reason why there is none.

    ``lacking`` is the number of missing series. ``held`` is the ledger offset up to which the base rows cover the
    ledger, or None if there were none. ``expected`` means that the state is complete and says that the ledger may begin
    where it currently begins. ``accepted`` means that the operator chose to continue without proof.
    """
    ledger, releases = ends.ledger, ends.releases
    # If so, rows and ledger both lack what a series spent in between. A release names the series, but not its progress.
    stale = held is not None and ledger.first > held
    if lacking:
        asked = "a row for every series in heads, releases or entries, and for its person"
        return Shortage("ledger-short", asked, f"no row for {lacking} of them, whose entries are missing")
    if ledger.first == 0 or (expected and not stale):
        return "ledger"
    if heads is not None and heads.offset >= ledger.first:
        return "heads"
    if releases.first == 0 < releases.end and not stale:
        return "releases"
    if accepted:
        return "nobody"
    if stale:
        asked = (
            f"a ledger that begins at offset {held} or earlier, because the remaining rows cover it only up to there, "
            "or signed heads that reach its beginning"
        )
        found = f"a ledger that begins at {ledger.first}, and no such heads: what was spent in between is lost"
        return Shortage("ledger-short", asked, found)
    asked = "a ledger that begins at offset 0, or signed heads or complete releases that cover every series"
    return Shortage("ledger-short", asked, f"a ledger that begins at {ledger.first}, and neither of these")


class AcceptedLosses(NamedTuple):
    """The losses that the operator accepts (``recover --accept-...``)."""

    lost_input: bool = False
    skipped_input: bool = False
    lost_ledger: bool = False
    lost_releases: bool = False


class Again(NamedTuple):
    """Input that a worker processes again to publish its missing outputs."""

    start: int  # first input offset
    opened: int  # no step open before that input was opened before this offset
    inputs: int  # number of inputs, up to the last one with an output


class LogContents(NamedTuple):
    """The contents of a partition's logs, after the check that no series is missing."""

    told: FoldedLogs
    ends: Ends
    witness: Witness
    releases_lost: int  # releases of input up to here may be missing
    rejects_lost: int  # rejects of input up to here may be missing
    unanswered: UnansweredInputs
    given_up: GivenUp  # steps given up because their releases are missing
    again: Again | None = None  # None: input continues after all outputs


class Survey:
    """Surveys partitions one after another."""

    def __init__(self, site: Site, changelog: str, signing_key: SigningKey | None) -> None:
        self._site, self._names = site, site.names
        self._changelog, self._signing_key = changelog, signing_key

    async def look(self, partition: int, accepted: AcceptedLosses, progress: Progress) -> LogContents:
        """Fold a partition's logs.

        If the beginning of the ledger or the end of the releases topic is lost, folding begins with the rows that the
        changelog still holds; otherwise all rows come from the ledger. If outputs are missing but their input still
        exists, folding ends before that input.

        Raises `RebuildError` as `fold` does. Raises `PartitionStoppedError` if a series or releases are missing or may
        be missing, unless that is accepted.
        """
        names = self._names
        async with (
            self._site.brokers.reader("read_uncommitted") as logs,
            self._site.brokers.reader("read_committed") as reader,
        ):
            ends = await log_ends.ends_of(logs, names, partition)
            row = await last_row(reader, names, partition)
            if row is not None and row.changelog != self._changelog:
                row = None
            separator = self._site.settings.member_separator or ""
            if row is not None and row.separator != separator and await holds_entries(reader, names.ledger, partition):
                raise separator_changed(partition, row.separator, separator)
            first, _ = await reader.bounds(names.events, partition)
            # Missing outputs of input beyond the row will still be published, unless some of that input is gone.
            kept = None if row is None or row.next_offset < first else row.next_offset
            answered = await log_ends.answered_of(reader, names, partition, kept)
            lost = _lost(row, ends, answered)
            before, rejects_before = (NOTHING, NOTHING) if row is None else (row.releases_lost, row.rejects_lost)
            # Expired releases are not a loss, so if releases expired, only those missing at the end count.
            since = answered.release + 1 if ends.releases.first > 0 else 0
            given_up = GivenUp(since, ALL if accepted.lost_releases else before + 1)
            again = await self._again(reader, partition, row, ends, answered, lost)
            if again is not None:
                told, again, given_up = await self._before(partition, again, given_up, answered, first, progress)
                found = await lost_releases(reader, names, partition, again.start, answered, ends)
                if (fresh := [one for one in found if one.offset > before]) and not accepted.lost_releases:
                    raise missing_before(fresh, answered).stopped(partition)
                for one in found:
                    given_up.add(one.series, one.offset)
                lost_rejects = await self._unanswered(partition, row, told, answered, ends, accepted)
                await self._compare(reader, partition, lost_rejects)
                # The next owner finds the missing rejects, and skips none whose loss was not accepted.
                gone = answered.reject if accepted.lost_releases else rejects_before
                return LogContents(told, ends, "ledger", before, gone, lost_rejects, given_up, again)
            if lost is not None and not (lost.reason in _PUBLISHED_AGAIN and accepted.lost_releases):
                raise lost.stopped(partition)
            base = None
            if ends.ledger.first > 0 or lost is not None:
                base = StoredRows({}, {}) if row is None else await stored_rows(reader, names, partition)
            heads = await covered(reader, names, partition, self._signing_key)
        told = await fold(self._site, partition, base, progress, given_up)
        if base and base.rows and row:  # input that the state covers was processed, whatever outputs remain
            told = told._replace(last_input=max(told.last_input, row.next_offset - 1))
        expected = row is not None and log_ends.begins_late(log_ends.adopted(row, ends)[0], ends) is None
        lacking, held = len(missing(told, heads)), None if row is None else row.ledger_offset
        witness = vouched(ends, heads, lacking, held=held, expected=expected, accepted=accepted.lost_ledger)
        if isinstance(witness, Shortage):
            raise witness.stopped(partition)
        holes = await self._unanswered(partition, row, told, answered, ends, accepted)
        return LogContents(told, ends, witness, answered.decided if lost else before, rejects_before, holes, given_up)

    async def _before(
        self,
        partition: int,
        again: Again,
        given_up: GivenUp,
        answered: AnsweredInput,
        first: int,
        progress: Progress,
    ) -> tuple[FoldedLogs, Again, GivenUp]:
        """Return the rows before the input to process again, the start of that input, and the given-up steps.

        Rows without a step's measurement would lead to outputs that differ from the existing ones. Processing therefore
        starts with the first given-up step whose input, from ``first`` on, is kept.
        """
        told = await fold(self._site, partition, None, progress, given_up, again.start)
        kept = min((offset for offset in given_up.inputs if offset >= first), default=again.start)
        if kept < again.start:
            again, given_up = Again(kept, 0, answered.before - kept), given_up.again()
            told = await fold(self._site, partition, None, progress, given_up, again.start)
        return told, again, given_up

    async def _unanswered(
        self,
        partition: int,
        row: PartitionRow | None,
        told: FoldedLogs,
        answered: AnsweredInput,
        ends: Ends,
        accepted: AcceptedLosses,
    ) -> UnansweredInputs:
        """Return input newer than the row that may lack a reject; raises if one is missing, unless accepted."""
        start = 0 if row is None else max(row.next_offset, row.rejects_lost + 1)
        found = await unanswered(self._site, partition, start, answered, ends, told.several)
        if found.lost_rejects and not accepted.lost_releases:
            raise found.refused(answered.reject).stopped(partition)
        return found

    async def _compare(self, reader: Reader, partition: int, found: UnansweredInputs) -> None:
        """Raise if the ledger lacks signed entries and some input without output may not be processed again."""
        key = self._signing_key
        if found == UnansweredInputs() or (heads := await covered(reader, self._names, partition, key)) is None:
            return
        last: dict[str, int] = {}
        async for records in reader.records(self._names.ledger, partition, 0):
            last.update((entry["series"], entry["sequence"]) for entry in map(entry_of, filterfalse(is_claim, records)))
        if lacking := sum(last.get(name, 0) < sequence for name, sequence in heads.sequences.items()):
            asked = "the last signed entry of every series"
            unfound = f"an older entry, or no entry, for {lacking} series, whose entries are missing"
            raise Shortage("ledger-short", asked, unfound).stopped(partition)

    async def _again(
        self,
        reader: Reader,
        partition: int,
        row: PartitionRow | None,
        ends: Ends,
        answered: AnsweredInput,
        lost: Shortage | None,
    ) -> Again | None:
        """Return the input whose missing outputs can be published again, or None.

        None means that nothing is missing or that it is too late. Earlier rows are folded from the whole ledger.
        """
        if lost is not None and lost.reason in _PUBLISHED_AGAIN:
            # This includes the input of the last reject if the row names a later one.
            rejects = row is not None and row.last_reject > answered.reject
            since, opened = max(0, min(answered.release, answered.reject) if rejects else answered.release), 0
        elif lost is None and row is not None:
            since, opened = row.next_offset, row.recall_offset
        else:
            return None
        first, _ = await reader.bounds(self._names.events, partition)
        start = await first_lacking(reader, self._names, partition, since, answered)
        can = (lost is not None or start < answered.before) and first <= start and ends.ledger.first == 0
        return Again(start, opened, answered.before - start) if can else None


def _lost(row: PartitionRow | None, ends: Ends, answered: AnsweredInput) -> Shortage | None:
    if row is None:
        return log_ends.disagreement(answered, ends, NOTHING)
    short = log_ends.disagreement(answered, ends, row.releases_lost, row.last_reject)
    return log_ends.ledger_shortage(row, ends.ledger) or short or log_ends.releases_shortage(row, ends.releases)
