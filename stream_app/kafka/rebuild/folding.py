"""What the ledger and the releases of a partition tell of its series, entry after entry."""

from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

from stream_app.deciding import rows
from stream_app.deciding.members import Member, load_member, member_of
from stream_app.deciding.rebuild import RebuildError, Rebuilt
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
    """The releases of one input offset after the other, by their hashes; each must be named by an entry."""

    def __init__(self, batches: AsyncIterator[list[Any]], partition: int, *, whole: bool) -> None:
        """Begin; not ``whole``: the ledger lost its beginning, so entries may lack up to the first that is there."""
        self._batches, self._partition, self._whole = batches, partition, whole
        self._waiting: list[Any] = []
        self._offset = -1
        self._at_hand: dict[str, bytes] = {}
        self._unnamed: set[str] = set()
        self._series: set[bytes] = set()

    async def of(self, offset: int) -> Mapping[str, bytes]:
        """Return the releases of an input offset; offsets never go back. Raises as `fold` does."""
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
        """Take notice of an entry of the input offset at hand."""
        self._unnamed.discard(entry.get("release", ""))

    def check(self) -> None:
        """Check that entries name all releases of the input offset at hand; raises as `fold` does."""
        if self._unnamed and self._whole:
            raise _without_entry(self._partition, self._offset)
        self._unnamed.clear()

    async def series(self) -> set[str]:
        """Read the rest, and return the series of all releases."""
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
    """Return why nobody rebuilds rows beside a release without its entry: what it spent would be forgotten."""
    asked = f"the ledger entry of a release for input {offset}"
    return PartitionStoppedError(partition, "ledger-short", asked, "none, although the release exists")


Progress = Callable[[int, int], None]  # told the ledger offset that was read and the ledger's end


class Folded(NamedTuple):
    """What the committed logs of a partition tell."""

    rows: dict[str, SeriesRow]
    members: dict[str, Member]  # by the names of their chains
    adopted: dict[str, int]
    """Input offset of each series' policy, or of the one before it that its open steps belong to as well."""
    released: dict[str, int]  # input offset of each series' last release
    read_from: dict[str, int]
    """Input offset of each series with units: no reading of its open steps, nor of those to come, is before it."""
    last_input: int  # the highest input offset that an entry came of; -1: there is no entry
    cut: set[str]
    """Series whose first entries are gone with the beginning of the ledger, and whose rows are nowhere else.

    Members too, by the names of their chains, whose rows are gone or hold less than their series claim.
    """
    published: set[str]  # series that the releases name
    several: set[str]  # series of which a step ever took several records, also under policies that were left out
    key: str = ""  # fingerprint of the noise key of the last entry; empty: there is no entry


class Stored(NamedTuple):
    """The rows of series and members that a changelog holds."""

    rows: dict[str, SeriesRow]
    members: dict[str, Member]


async def fold(
    site: Site, partition: int, base: Stored | None, progress: Progress, given_up: GivenUp, before: int | None = None
) -> Folded:
    """Fold the committed ledger; releases are read beside it, for both lie in the order of their input.

    ``base`` holds rows to go on from where the beginning of the ledger is gone; None: it is whole. ``given_up`` says
    which releases may be missing. Entries of input from ``before`` on are left out; None: none is.

    Raises `RebuildError` if the ledger does not follow from itself, and `PartitionStoppedError` if a release has no
    entry, or a record of ledger or releases is none that this application writes.
    """
    rebuilt = Rebuilt(site.context, *(base or ({}, {})))
    cut = _forgotten(base, site.context.limits.member_separator) if base else set()
    several = {series for series, row in rebuilt.rows.items() if row.policy.takes_several}
    told = Folded(rebuilt.rows, rebuilt.members, {}, {}, {}, -1, cut, set(), several)
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
    """A step that was decided, and the input that closed it."""

    step: int
    offset: int


def note(
    told: Folded, closings: dict[str, deque[Closing]], before: Policy | None, entry: Mapping[str, Any], offset: int
) -> None:
    """Note which input an entry came of; ``closings`` are the last steps of series with units.

    Whoever opened step s had closed all steps up to ``s - open_steps``. Behind step i those from ``i + 1`` on may be
    open: no reading of them came before the input that closed the last step up to ``i + 1 - open_steps``.
    """
    series, policy = entry["series"], told.rows[entry["series"]].policy
    if entry["entry"] == "policy":
        # Whether steps that are open stay so under the version that the entry begins.
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
    """Return whether a step takes several records under the policy of an entry; also where that is not known."""
    try:
        return stored_policy_of(entry["parameters"], entry["policy"]).takes_several
    except PolicyError:
        return True


def _forgotten(base: Stored, separator: str | None) -> set[str]:
    """Return the members whose rows are not among those stored, or lack claims of series that are."""
    claims = Counter[str]()
    for series, row in base.rows.items():
        if separator is not None and (claim_nano := row.state.promise.claim_nano) is not None:
            claims[member_of(series, separator) + separator] += claim_nano
    known = base.members
    return {chain for chain, nano in claims.items() if chain not in known or known[chain].claimed_nano < nano}


async def stored_rows(reader: Reader, names: TopicNames, partition: int) -> Stored:
    """Return the rows that the changelog holds whole; ``reader`` reads committed records."""
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
            continue  # its policy stood in a part that is gone
        if row is not None:
            found[series] = row
    members = {chain: load_member(read, chain) for chain in copy.members(partition)}
    return Stored(found, {chain: member for chain, member in members.items() if member is not None})
