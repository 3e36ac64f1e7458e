"""Compares the beginnings and ends of a partition's logs with those that its row requires.

If the beginning or end of a log is lost, no budget may be given back and nothing may be processed twice:

* A changelog that begins later than the row allows lacks rows of idle series, which would start over.
* A ledger that begins later, or ends sooner, lacks entries, and `recover` would not know what the entries spent.
* Releases may expire, so only the end of their log shows whether some are lost.
* Entries, releases and rejects name their input. Ledger entries are written first. A release without an entry therefore
  shows that the end of the ledger was lost, and an entry without its release shows that the end of the releases topic
  was lost.
"""

from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

from stream_app.deciding.decider import INPUT_HEADER
from stream_app.kafka.brokers import Reader
from stream_app.kafka.client.topics import TopicNames
from stream_app.kafka.evidence.foreign import entry_of, input_offset
from stream_app.kafka.evidence.row import PARTITION_KEY, UNKNOWN, PartitionRow
from stream_app.kafka.stops import PartitionStoppedError, StopReason

NOTHING: Final = -1  # the last record's input in a log without records


class Bounds(NamedTuple):
    """The first retained offset in a partition's log, and the offset after the last record."""

    first: int
    end: int


class Ends(NamedTuple):
    """The bounds of one partition's logs, including uncommitted records and markers."""

    changelog: Bounds
    ledger: Bounds
    releases: Bounds
    rejects: Bounds = Bounds(0, 0)


class AnsweredInput(NamedTuple):
    """The input offset of the last committed record of each log; `NOTHING` if there is no such record."""

    entry: int  # of the last ledger entry
    decided: int  # of the last ledger entry with a release, of input that the partition row covers
    release: int  # of the last release
    reject: int  # of the last reject

    @property
    def before(self) -> int:
        """Return the offset after the last input that has an output."""
        return max(self.entry, self.release, self.reject) + 1


@dataclass(frozen=True, slots=True)
class Shortage:
    """A log that lacks required content."""

    reason: StopReason
    asked: str
    found: str

    def stopped(self, partition: int) -> PartitionStoppedError:
        """Return the error that stops a partition because of the shortage."""
        return PartitionStoppedError(partition, self.reason, self.asked, self.found)


def shortage(row: PartitionRow | None, ends: Ends) -> Shortage | None:
    """Return the first place where a partition's logs fall short of what its row requires, or None."""
    if row is None:
        return _late("ledger-short", "ledger", 0, ends.ledger.first)
    return begins_late(row, ends) or ledger_shortage(row, ends.ledger) or releases_shortage(row, ends.releases)


def begins_late(row: PartitionRow, ends: Ends) -> Shortage | None:
    """Return what is missing from the beginning of the changelog or the ledger."""
    found = _late("changelog-short", "changelog", row.changelog_first, ends.changelog.first)
    return found or _late("ledger-short", "ledger", row.ledger_first, ends.ledger.first)


def ledger_shortage(row: PartitionRow, ledger: Bounds) -> Shortage | None:
    """Return the entries missing from the end of the ledger."""
    if ledger.end >= row.ledger_offset:
        return None
    asked, found = f"a ledger up to offset {row.ledger_offset}", f"that it ends at {ledger.end}"
    return Shortage("ledger-short", asked, f"{found}: entries are lost")


def releases_shortage(row: PartitionRow, releases: Bounds) -> Shortage | None:
    """Return the records missing from the end of the releases topic."""
    if releases.end >= row.releases_offset:
        return None
    asked, found = f"releases up to offset {row.releases_offset}", f"that they end at {releases.end}"
    return Shortage("releases-short", asked, f"{found}: published releases are lost")


def _late(reason: StopReason, log: str, whole_from: int, first: int) -> Shortage | None:
    if whole_from == UNKNOWN or first <= whole_from:
        return None
    return Shortage(reason, f"a {log} that is complete from offset {whole_from}", f"that it begins at {first}")


def disagreement(answered: AnsweredInput, ends: Ends, accepted: int, last_reject: int = NOTHING) -> Shortage | None:
    """Return the records that the end of one output log shows to be missing from another, or None.

    Releases of input up to ``accepted`` may be missing. ``last_reject`` is the input of the last reject according to
    the partition row.
    """
    if answered.release > answered.entry:
        asked = f"the ledger entry of the release for input {answered.release}"
        return Shortage("ledger-short", asked, f"that entries end with input {answered.entry}")
    expired = answered.release == NOTHING and ends.releases.first > 0
    if answered.decided > max(answered.release, accepted) and not expired:
        asked = f"the release for input {answered.decided}, whose ledger entry exists"
        return Shortage("releases-short", asked, f"that releases end with input {answered.release}")
    expired = answered.reject == NOTHING and ends.rejects.first > 0
    if last_reject > answered.reject and not expired:
        asked = f"the reject for input {last_reject}"
        return Shortage("rejects-short", asked, f"that rejects end with input {answered.reject}")
    return None


def input_short(next_offset: int, end: int) -> Shortage:
    """Return the shortage for input that ends too early, at ``end``: new input below ``next_offset`` would be lost."""
    asked = f"input up to offset {next_offset}, which was processed"
    return Shortage("input-short", asked, f"that the log ends at {end}")


def input_lost(next_offset: int, first: int) -> Shortage:
    """Return the shortage for input that begins at ``first``, after ``next_offset``, the next offset to process."""
    found = f"that the log starts at {first}: events were deleted before they were processed"
    return Shortage("input-lost", f"input from offset {next_offset} on", found)


def counts_lost(recall_offset: int, first: int) -> Shortage:
    """Return the shortage for input that begins at ``first``, later than ``recall_offset``.

    Open steps are counted from ``recall_offset`` on.
    """
    asked = f"input from offset {recall_offset} on, from which open steps are counted"
    found = f"that the log starts at {first}: the count of the remaining records would look complete"
    return Shortage("input-lost", asked, found)


def torn(changelog: Bounds, committed_end: int) -> Shortage | None:
    """Return the shortage for a changelog that ends inside an open transaction, which the next commit would end."""
    if committed_end >= changelog.end:
        return None
    asked, found = (
        f"a changelog with no transaction open before offset {changelog.end}",
        f"a transaction open from offset {committed_end} on",
    )
    return Shortage("changelog-short", asked, f"{found}: its end is lost")


async def cut_short(reader: Reader, names: TopicNames, partition: int) -> Shortage | None:
    """Return what a changelog lacks that does not end with the partition row, although every batch ends with it.

    ``reader`` reads committed records. The rows after the partition row include input that the partition row does not
    cover.
    """
    last = await reader.last(names.changelog, partition)
    if last is None or last.key == PARTITION_KEY:
        return None
    found = f"that it ends with a series row at offset {last.offset}: only part of a batch was committed"
    return Shortage("changelog-short", "a changelog that ends with the partition row", found)


def adopted(row: PartitionRow, ends: Ends) -> tuple[PartitionRow, tuple[str, ...]]:
    """Return the row and warnings; bounds that an earlier version did not store get their current values."""
    late = tuple(
        f"{log} begins at offset {first}, and the partition row, written by an earlier version, does not show whether "
        "the log ever held more"
        for log, known, first in (
            ("the changelog", row.changelog_first, ends.changelog.first),
            ("the ledger", row.ledger_first, ends.ledger.first),
        )
        if known == UNKNOWN and first > 0
    )
    whole = replace(
        row,
        changelog_first=ends.changelog.first if row.changelog_first == UNKNOWN else row.changelog_first,
        ledger_first=ends.ledger.first if row.ledger_first == UNKNOWN else row.ledger_first,
        releases_offset=ends.releases.end if row.releases_offset == UNKNOWN else row.releases_offset,
    )
    return whole, late


async def ends_of(reader: Reader, names: TopicNames, partition: int) -> Ends:
    """Return the bounds of a partition's logs; ``reader`` must read uncommitted records to see the ends."""
    topics = (names.changelog, names.ledger, names.releases, names.rejects)
    return Ends(*[Bounds(*await reader.bounds(topic, partition)) for topic in topics])


async def answered_of(reader: Reader, names: TopicNames, partition: int, covered: int | None = None) -> AnsweredInput:
    """Return the input of the last outputs; ``reader`` reads committed records.

    The partition row covers input below ``covered``, or is missing if ``covered`` is None. Missing outputs of later
    input will still be published.
    """
    logs = (names.ledger, names.releases, names.rejects)
    # Outputs are written in the order of their input, so the last record of a log has the highest input.
    entry, release, reject = [_input(await reader.last(log, partition, _answers)) for log in logs]

    def settles(record: Any) -> bool:
        """Return whether an entry counts as ``decided``."""
        if not _answers(record):
            return False
        entry = entry_of(record)
        offset = _input(record)
        return offset <= release or (entry["entry"] == "release" and (covered is None or offset < covered))

    decided = await reader.last(names.ledger, partition, settles) if entry > release else None
    return AnsweredInput(entry, _input(decided), release, reject)


def _answers(record: Any) -> bool:
    return any(name == INPUT_HEADER for name, _ in record.headers)


def _input(record: Any | None) -> int:
    return NOTHING if record is None else input_offset(record)
