"""Folds a partition's ledger and releases, entry by entry, to rebuild the partition's series."""

from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

from stream_app.deciding import rows
from stream_app.deciding.members import Member, load_member, member_of
from stream_app.deciding.rebuild import RebuildError, RebuiltRows
from stream_app.deciding.rows import SeriesRow
from stream_app.formats import encoding
from stream_app.kafka.brokers import Reader
from stream_app.kafka.client.topics import TopicNames
from stream_app.kafka.evidence.claim import is_claim
from stream_app.kafka.evidence.foreign import entry_of, input_offset, stray
from stream_app.kafka.memory.rows import MemoryRows
from stream_app.kafka.parts import Site
from stream_app.kafka.rebuild.given_up import GivenUp
from stream_app.kafka.stops import PartitionStoppedError
from stream_app.privacy.collected.plain import stays_open
from stream_app.privacy.policy import Policy, PolicyError, stored_policy_of
from stream_app.privacy.units.steps import takes_over


class Releases:
    """The releases of successive input offsets, by hash; each must be named by an entry."""

    def __init__(self, batches: AsyncIterator[list[Any]], partition: int, *, whole: bool) -> None:
        """Start; if ``whole`` is false, the beginning of the ledger is lost, and early entries may be missing."""
        self._batches, self._partition, self._whole = batches, partition, whole
        self._waiting: list[Any] = []
        self._offset = -1
        self._at_hand: dict[str, bytes] = {}
        self._unnamed: set[str] = set()
        self._series: set[bytes] = set()

    async def of(self, offset: int) -> Mapping[str, bytes]:
        """Return the releases of an input offset, by hash; offsets never decrease. Raises as `fold` does."""
        if offset == self._offset:
            return self._at_hand
        self.check()
        self._whole = self._whole or self._offset >= 0
        self._offset, self._at_hand = offset, {}
        while True:
            if not self._waiting:
                batch = await self._next()
                if batch is None:
                    return self._at_hand
                self._waiting = batch[::-1]
            place = input_offset(self._waiting[-1])
            if place > offset:
                return self._at_hand
            record = self._waiting.pop()
            if place == offset:
                digest = encoding.digest(record.value)
                self._at_hand[digest] = record.value
                self._unnamed.add(digest)
            elif self._whole:
                raise _without_entry(self._partition, place)

    def named(self, entry: Mapping[str, Any]) -> None:
        """Note that an entry of the current input offset names its release."""
        self._unnamed.discard(entry.get("release", ""))

    def check(self) -> None:
        """Check that entries name all releases of the current input offset; raises as `fold` does."""
        if self._unnamed and self._whole:
            raise _without_entry(self._partition, self._offset)
        self._unnamed.clear()

    async def series(self) -> set[str]:
        """Read the remaining releases, and return the series of all releases."""
        while await self._next() is not None:
            pass
        return {series.decode() for series in self._series}

    async def _next(self) -> list[Any] | None:
        batch = await anext(self._batches, None)
        if batch is not None:
            for record in batch:
                if record.key is None or input_offset(record) < 0:
                    raise stray(record)
            self._series.update(record.key for record in batch)
        return batch


def _without_entry(partition: int, offset: int) -> PartitionStoppedError:
    """Return the error for a release without an entry: rebuilt rows would omit the epsilon that the release spent."""
    asked = f"the ledger entry of a release for input {offset}"
    return PartitionStoppedError(partition, "ledger-short", asked, "none, although the release exists")


Progress = Callable[[int, int], None]  # called with the ledger offset reached and ledger's end


class FoldedLogs(NamedTuple):
    """The contents of a partition's committed logs."""

    rows: dict[str, SeriesRow]
    members: dict[str, Member]  # by the names of their chains
    adopted: dict[str, int]
    """For each series, the input offset of its policy, or of an earlier policy to which its open steps also belong."""
    released: dict[str, int]  # input offset of each series' last release
    read_from: dict[str, int]
    """For each series with units, the input offset before which there are no readings of open or later steps."""
    last_input: int  # highest input offset of any entry; -1 without entries
    cut: set[str]
    """Series that have no row and whose first entries were lost with the start of the ledger.

    The set also contains the chain names of persons whose rows are lost or reserve less than their series do.
    """
    published: set[str]  # series that the releases name
    several: set[str]  # series with a step that ever took several records, even under omitted policies
    key: str = ""  # fingerprint of the last entry's noise key; empty without entries


class StoredRows(NamedTuple):
    """The rows of series and persons in a changelog."""

    rows: dict[str, SeriesRow]
    members: dict[str, Member]


async def fold(
    site: Site,
    partition: int,
    base: StoredRows | None,
    progress: Progress,
    given_up: GivenUp,
    before: int | None = None,
) -> FoldedLogs:
    """Fold the committed ledger, with the releases read alongside; both are in the order of their input.

    ``base`` holds the rows to continue from if the beginning of the ledger is gone; None means the ledger is whole.
    ``given_up`` says which releases may be missing. Entries of input from ``before`` on are omitted; if ``before`` is
    None, no entries are omitted.

    Raises `RebuildError` if the entries of the ledger do not follow from each other, and `PartitionStoppedError` if a
    release has no entry, or a record of the ledger or the releases was not written by this application.
    """
    rebuilt = RebuiltRows(site.context, *(base or ({}, {})))
    cut = _forgotten(base, site.context.limits.member_separator) if base else set()
    several = {series for series, row in rebuilt.rows.items() if row.policy.takes_several}
    told = FoldedLogs(rebuilt.rows, rebuilt.members, {}, {}, {}, -1, cut, set(), several)
    closings: dict[str, deque[Closing]] = {}
    last_input, key = -1, ""
    names = site.names
    async with site.brokers.reader("read_committed") as ledger, site.brokers.reader("read_committed") as reader:
        first, end = await ledger.bounds(names.ledger, partition)
        releases = Releases(reader.records(names.releases, partition, 0), partition, whole=first == 0)
        async for records in ledger.records(names.ledger, partition, 0):
            for record in records:
                if is_claim(record):
                    continue
                offset, entry = input_offset(record), entry_of(record)
                if entry["entry"] == "policy" and _takes_several(entry):
                    told.several.add(entry["series"])
                at_hand = await releases.of(offset)
                releases.named(entry)
                if before is not None and offset >= before:
                    continue
                last_input = max(last_input, offset)
                series, key = entry["series"], entry["key"]
                if series in told.cut:
                    continue
                known = rebuilt.rows.get(series)
                try:
                    rebuilt.take(record.value, given_up.or_given_up(entry, offset, at_hand))
                except RebuildError:
                    if base is None or rebuilt.place(series)[0]:
                        raise
                    told.cut.add(series)
                if series in rebuilt.rows:
                    note(told, closings, None if known is None else known.policy, entry, offset)
            progress(records[-1].offset + 1, end)
        releases.check()
        told.published.update(await releases.series())
    return told._replace(last_input=last_input, key=key)


class Closing(NamedTuple):
    """A processed step, and the input offset that closed it."""

    step: int
    offset: int


def note(
    told: FoldedLogs, closings: dict[str, deque[Closing]], before: Policy | None, entry: Mapping[str, Any], offset: int
) -> None:
    """Note which input an entry came from; ``closings`` holds the last steps of each series with units.

    The input that opened step s had closed all steps up to ``s - open_steps``. After step i, the steps from ``i + 1``
    on may be open; none of their readings came before the input that closed the last step up to ``i + 1 - open_steps``.
    """
    series, policy = entry["series"], told.rows[entry["series"]].policy
    if entry["entry"] == "policy":
        # Whether open steps stay open under the policy version that the entry begins.
        if before is None or not (
            stays_open(policy, before) or (takes_over(policy, before) and not entry.get("weaker", False))
        ):
            told.adopted[series] = told.read_from[series] = offset
            closings.pop(series, None)
    elif entry["entry"] == "release":
        told.released[series] = offset
        if policy.units is not None:
            closing, last = Closing(policy.index_of(entry["timestamp"]), offset), closings.setdefault(series, deque())
            last.append(closing)
            while last and last[0].step <= closing.step + 1 - policy.units.open_steps:
                told.read_from[series] = last.popleft().offset


def _takes_several(entry: Mapping[str, Any]) -> bool:
    """Return whether a step accepts several records under the policy of an entry; True if unknown."""
    try:
        return stored_policy_of(entry["parameters"], entry["policy"]).takes_several
    except PolicyError:
        return True


def _forgotten(base: StoredRows, separator: str | None) -> set[str]:
    """Return the persons whose rows are missing or reserve less than the stored series do."""
    claims = Counter[str]()
    for series, row in base.rows.items():
        if separator is not None and (claim_nano := row.state.promise.claim_nano) is not None:
            claims[member_of(series, separator) + separator] += claim_nano
    known = base.members
    return {chain for chain, nano in claims.items() if chain not in known or known[chain].claimed_nano < nano}


async def stored_rows(reader: Reader, names: TopicNames, partition: int) -> StoredRows:
    """Return the complete rows of the changelog; ``reader`` reads committed records."""
    copy = MemoryRows()
    async for records in reader.rows(names.changelog, partition, 0):
        copy.write(partition, records.pairs(), records.offsets[-1])
    defaults: dict[str, Policy] = {}
    found: dict[str, SeriesRow] = {}
    read = partial(copy.read, partition)
    for series in copy.series(partition):
        try:
            row = rows.load(read, series, defaults)
        except LookupError:
            continue  # its policy is in a part that is gone
        if row is not None:
            found[series] = row
    members = {chain: load_member(read, chain) for chain in copy.members(partition)}
    return StoredRows(found, {chain: member for chain, member in members.items() if member is not None})
