"""Compares the logs with the outputs of input after the partition row, and writes only the missing ones.

Such outputs exist for one of two reasons. Either the end of the changelog was lost, including the row, or a late copy
of an earlier request committed a partly written batch (KIP-890). In the second case, each log contains only the
beginning of the batch's outputs, or none of them. The input is processed once more, starting at the row. Outputs that
exist are skipped. Outputs that are missing after the end of their log are published now, with the same bytes.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import filterfalse
from typing import Any, Final, NamedTuple, TypeVar

from stream_app.deciding.decider import Append, Headers
from stream_app.formats import encoding
from stream_app.kafka.brokers import Reader
from stream_app.kafka.client.topics import TopicNames
from stream_app.kafka.evidence.claim import is_claim
from stream_app.kafka.evidence.ends import NOTHING, AnsweredInput, Ends, Shortage
from stream_app.kafka.evidence.foreign import entry_of, input_offset
from stream_app.kafka.evidence.row import PartitionRow
from stream_app.kafka.stops import PartitionStoppedError, StopReason

Name = TypeVar("Name")
_OUTPUTS: Final[Mapping[StopReason, str]] = {
    "ledger-short": "ledger entry",
    "releases-short": "release",
    "rejects-short": "reject",
}


class CommittedOutputs:
    """The committed outputs of one log by their input offsets, until they are recomputed."""

    def __init__(
        self, partition: int, reason: StopReason, whole: int, gone: int, found: Mapping[int, list[str]]
    ) -> None:
        """Store digests by input offset; a missing output of input below ``whole`` stops the partition.

        ``reason`` is the reason for the stop. Outputs of input below ``gone`` may be missing: they expired, or their
        loss was accepted.
        """
        self._partition, self._reason = partition, reason
        self._whole, self._gone, self._found = whole, gone, dict(found)

    def holds(self, offset: int, digest: str) -> bool:
        """Return whether input ``offset`` has this output, and count it; raise if the output differs or is lost."""
        left = self._found.get(offset)
        if left is not None and digest in left:
            left.remove(digest)
            if not left:
                del self._found[offset]
            return True
        if offset < self._gone:
            return True
        # The entry was recomputed with the same result before its release is looked up, so the release is missing, not
        # different.
        if left is not None and self._reason == "ledger-short":
            raise self._stopped(
                "tail-differs", f"the recomputed output of input {offset}", "a different output in its place"
            )
        if left is not None or offset < self._whole:
            found = "none, although a later output exists"
            raise self._stopped(self._reason, f"the {_OUTPUTS[self._reason]} for input {offset}", found)
        return False

    def left(self, before: int) -> int | None:
        """Return the first input below ``before`` with an output that was not recomputed, or None."""
        first = next(iter(self._found), before)
        return first if first < before else None

    def _stopped(self, reason: StopReason, asked: str, found: str) -> PartitionStoppedError:
        return PartitionStoppedError(self._partition, reason, asked, found)


class Outputs(NamedTuple):
    """The outputs in all three logs."""

    ledger: CommittedOutputs
    releases: CommittedOutputs
    rejects: CommittedOutputs
    before: int  # the offset after the last with output

    def left(self, before: int) -> int | None:
        """Return the first input below ``before`` with an output that was not recomputed, or None."""
        found = [left for log in (self.ledger, self.releases, self.rejects) if (left := log.left(before)) is not None]
        return min(found, default=None)


async def outputs_of(
    reader: Reader, names: TopicNames, partition: int, row: PartitionRow, answered: AnsweredInput, ends: Ends
) -> Outputs:
    """Return the committed outputs for input from ``row`` on; ``reader`` reads committed records."""
    start = row.next_offset
    entries = await _found(reader, names.ledger, partition, start, _digest)
    released = await _found(reader, names.releases, partition, start, _digest)
    rejected = await _found(reader, names.rejects, partition, start, _digest)
    # Entries are acknowledged before anything else is sent, so any other output implies all entries of its batch.
    whole = max(answered.entry, answered.release + 1, answered.reject + 1)
    lost = row.releases_lost + 1
    if ends.releases.first > 0:
        lost = max(lost, min(released, default=answered.before if answered.release == NOTHING else 0))
    expired = row.rejects_lost + 1
    if ends.rejects.first > 0:
        expired = max(expired, min(rejected, default=answered.before if answered.reject == NOTHING else 0))
    refused = {offset: [""] * len(found) for offset, found in rejected.items()}
    return Outputs(
        CommittedOutputs(partition, "ledger-short", whole, 0, entries),
        CommittedOutputs(partition, "releases-short", answered.release, lost, released),
        # Versions may word a reason differently; only the rejected input is compared.
        CommittedOutputs(partition, "rejects-short", answered.reject, expired, refused),
        answered.before,
    )


async def first_lacking(reader: Reader, names: TopicNames, partition: int, start: int, answered: AnsweredInput) -> int:
    """Return the first input from ``start`` on that may lack an output.

    ``reader`` reads committed records. Input without any output may have been rejected, unless there is a later reject.
    If nothing is missing, the result is the input after the last one with outputs.
    """
    wanted = await _found(reader, names.ledger, partition, start, lambda one: entry_of(one).get("release", ""))
    released = await _found(reader, names.releases, partition, start, _digest)
    first, _ = await reader.bounds(names.events, partition)
    inputs = set(wanted)
    async for records in reader.records(names.events, partition, max(first, start, answered.reject + 1)):
        inputs.update(record.offset for record in records)
        if records[-1].offset >= answered.before:
            break
    # Entries are acknowledged before anything else is sent, so only those of the last input may be incomplete.
    part = answered.entry if answered.entry > max(answered.release, answered.reject) else NOTHING
    for offset in sorted(inputs):
        there = {"", *released.get(offset, ())}
        if offset == part or offset not in wanted or not there.issuperset(wanted[offset]):
            return min(offset, answered.before)
    return answered.before


class LostRelease(NamedTuple):
    """A missing release that is followed by a later one in its log."""

    offset: int  # the input of the release
    series: str


async def lost_releases(
    reader: Reader, names: TopicNames, partition: int, start: int, answered: AnsweredInput, ends: Ends
) -> list[LostRelease]:
    """Return the missing releases of input from ``start`` on that are followed by a later release.

    If an input's release is missing before another release of the same input, all missing releases of that input are
    returned. ``reader`` reads committed records.
    """
    entries = await _found(reader, names.ledger, partition, start, _promised)
    released = await _found(reader, names.releases, partition, start, _digest)
    expired = min(released, default=answered.before) if ends.releases.first > 0 else 0
    lost: list[LostRelease] = []
    for offset, promised in entries.items():
        there = [not digest or digest in released.get(offset, ()) for digest, _ in promised]
        # The next owner appends only what is missing after the last release of the log.
        is_end = offset > answered.release or (offset == answered.release and there == sorted(there, reverse=True))
        if offset >= expired and not is_end:
            lost += [LostRelease(offset, series) for (_, series), held in zip(promised, there, strict=True) if not held]
    return lost


def missing_before(lost: Sequence[LostRelease], answered: AnsweredInput) -> Shortage:
    """Return the reason to stop recovery when releases are missing before later ones.

    The next owner could recompute these releases from the input, which still exists. But each log is in the order of
    its input: this order shows readers which record is the latest, and shows workers and `recover` what is missing at
    the end. Writing a release after later ones would break that order permanently. So the release is abandoned once the
    operator agrees: its entry and its cost remain, and the next owner skips it while it rebuilds the state from the
    input.
    """
    steps, series = len(lost), len({one.series for one in lost})
    asked = f"the release for input {lost[0].offset}, whose ledger entry exists"
    found = (
        f"no release, although later releases exist, up to input {answered.release}: the releases of {steps} steps of "
        f"{series} series are lost, and would be out of order if they were published now. `recover "
        "--accept-lost-releases` gives up these steps"
    )
    return Shortage("releases-short", asked, found)


def _promised(record: Any) -> tuple[str, str]:
    """Return the digest of the release that an entry names, or an empty string, and the entry's series."""
    entry = entry_of(record)
    return entry.get("release", ""), entry["series"]


def unless_held(committed: CommittedOutputs, append: Append, *, named: bool = True) -> Append:
    """Wrap ``append`` to omit existing outputs; without ``named``, outputs are compared by input only."""

    def appended(key: bytes | None, value: bytes, timestamp_ms: int, headers: Headers) -> None:
        """Append an output unless it exists."""
        ((_, offset),) = headers
        if not committed.holds(int(offset), encoding.digest(value) if named else ""):
            append(key, value, timestamp_ms, headers)

    return appended


async def first_of(reader: Reader, topic: str, partition: int, start: int) -> int:
    """Return the first offset in a log from which all outputs belong to input at or after ``start``."""
    if start <= 0:
        return 0
    before = await reader.last(topic, partition, lambda one: not is_claim(one) and input_offset(one) < start)
    return 0 if before is None else int(before.offset) + 1


def _digest(record: Any) -> str:
    return encoding.digest(record.value)


async def _found(
    reader: Reader, topic: str, partition: int, start: int, named: Callable[[Any], Name]
) -> dict[int, list[Name]]:
    """Return the names of a log's outputs for input from ``start`` on, in the order of that input."""
    found: dict[int, list[Name]] = {}
    async for records in reader.records(topic, partition, await first_of(reader, topic, partition, start)):
        for record in filterfalse(is_claim, records):
            found.setdefault(input_offset(record), []).append(named(record))
    return found
