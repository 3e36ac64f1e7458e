"""Processes an input's records as a worker does, and counts what was released, spent and rejected."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple, final

from stream_app.deciding.columns.batch import BatchDecider
from stream_app.deciding.context import Context
from stream_app.deciding.decider import Append, Headers, Outlets, input_of
from stream_app.deciding.landmarksmet import LandmarksMet
from stream_app.deciding.used import MostUsed
from stream_app.formats import wire
from stream_app.formats.records import Intrusion, Parsed, Records, Watermark
from stream_app.kafka.memory.partition import MemoryPartition
from stream_app.privacy.noise.key import KeyRing
from stream_app.privacy.reason import REASONS, Reason
from stream_app.replaying.doubts import CheckedRows, Doubt, PolicyOf
from stream_app.setup import keyfile
from stream_app.words.amount import summed

_TOPIC: Final = "landmark.events"
"""The name of the events topic in rejects; no such topic needs to exist."""
MOST_RECORDS: Final = 2048
"""The number of records in a batch.

For 200,000 events of 10,000 series, batches of 2,048 to 16,384 records take the same time within 4 %, but their peak
memory grows from 114 to 159 MB. Batches of 512 records contain too few events of each policy to process them together
if there are 40 policies, and then take 1.7 times as long as those of 8,192.
"""
_MOST_BYTES: Final = 16 * 1024 * 1024


class RunResult(NamedTuple):
    """The result of a run; amounts are in nano-epsilon."""

    totals: dict[str, int]
    rejected: Mapping[Reason, int]
    met: LandmarksMet
    used: MostUsed
    rows: CheckedRows  # what was found in the rows that no earlier run had
    notes: tuple[str, ...] = ()  # further information for the user

    @property
    def doubts(self) -> list[Doubt]:
        """The checks of the input that failed."""
        return list(self.rows.doubts(self.met, self.steps))

    @property
    def steps(self) -> int:
        """The number of steps that were processed."""
        return sum(self.totals[decision] for decision in ("perturbed", "approximated", "withheld"))

    @property
    def refused(self) -> bool:
        """Whether there were records, and all of them were rejected."""
        return self.totals["rejected"] == self.totals["events"] > 0

    @property
    def unruled(self) -> bool:
        """Whether there were events, and none of them had a policy."""
        return self.rejected.get("no-policy", 0) == self.totals["events"] > 0

    def document(self) -> dict[str, object]:
        """Return the result for programs, in nano-epsilon."""
        return {**self.totals, **self.met.document(), **self.used.document()}

    def lines(self) -> Iterator[str]:
        """Yield the lines of the result: the largest loss first, and the sum that no guarantee limits last."""
        if self.used.sentence:
            yield self.used.sentence
        yield ", ".join(f"{count} {name}" for name, count in self.totals.items() if name != "spent_nano")
        yield from self.refusals()
        yield summed(self.totals["spent_nano"], self.steps)

    def refusals(self) -> Iterator[str]:
        """Yield how many records were rejected for each reason, with its meaning and the remedy."""
        for reason, count in self.rejected.items():
            yield f"{count} {reason}: {REASONS[reason].meaning}; what to do: {REASONS[reason].remedy}"


def processed(
    context: Context,
    events: Iterable[bytes],
    rows: CheckedRows,
    met: LandmarksMet,
    outputs: Iterable[Append],
    *,
    mixes: bool,
    most_records: int = MOST_RECORDS,
) -> RunResult:
    """Process events in order and write ledger, releases and rejects to ``outputs``.

    With ``mixes``, the seeds of collected steps are mixed with the key. A batch has at most ``most_records`` records;
    this does not affect the result.
    """
    written, totals = _BatchOutputs(*outputs), _Totals(rows, met)
    partition = MemoryPartition(context, keyfile.fresh_secret())
    for records in _batches(events, context.keys if mixes else None, most_records):
        done = 0
        for batch in partition.decide(records, written.outlets):
            totals.take(batch)
            totals.take_records(records[done : done + batch.end], written, partition.policy_of)
            done += batch.end
            written.clear()
    return totals.result(_left_open(partition.waiting))


@final
class _BatchOutputs:
    """Writes a batch's outputs, and keeps those that are counted afterwards, keyed by the record that caused them."""

    def __init__(self, ledger: Append, releases: Append, rejects: Append) -> None:
        self.outlets: Final = Outlets(self._entry, releases, self._reject, None)
        self._ledger: Final = ledger
        self._rejects: Final = rejects
        # As bytes, because the garbage collector would look through the fields of thousands of entries.
        self._entries: Final[defaultdict[int, list[bytes]]] = defaultdict(list)
        self._reasons: Final[defaultdict[int, dict[str | None, Reason]]] = defaultdict(dict)

    def entries(self, offset: int) -> Iterator[Any]:
        """Yield the ledger entries that a record caused."""
        return map(wire.load, self._entries.get(offset, ()))

    def reasons(self, offset: int) -> Mapping[str | None, Reason]:
        """Return why a record was rejected, by series: each view rejects by itself."""
        return self._reasons.get(offset, {})

    def clear(self) -> None:
        """Keep the outputs of the next batch instead."""
        self._entries.clear()
        self._reasons.clear()

    def _entry(self, key: bytes | None, value: bytes, timestamp_ms: int, headers: Headers) -> None:
        self._entries[input_of(headers)].append(value)
        self._ledger(key, value, timestamp_ms, headers)

    def _reject(self, key: bytes | None, value: bytes, timestamp_ms: int, headers: Headers) -> None:
        found: Any = wire.load(value)
        self._reasons[input_of(headers)][found["series"]] = found["reason"]
        self._rejects(key, value, timestamp_ms, headers)


@final
class _Totals:
    """The result of all batches so far."""

    def __init__(self, rows: CheckedRows, met: LandmarksMet) -> None:
        self._rows: Final = rows
        self._met: Final = met
        self._used: Final = MostUsed()
        self._decisions: Final = Counter[str]()
        self._rejected: Final = Counter[Reason]()
        self._renewals: Final = Counter[str]()
        self._records = self._spent_nano = 0

    def take(self, batch: BatchDecider) -> None:
        """Add the counts of a batch."""
        for (decision, _, _), count in batch.decisions.items():
            self._decisions[decision] += count
        self._rejected.update(batch.alone.rejected)
        self._renewals.update(batch.alone.renewals)
        self._spent_nano += sum(batch.spent.values())

    def take_records(self, records: Records, written: _BatchOutputs, policy_of: PolicyOf) -> None:
        """Add what a batch's records did; ``policy_of`` returns the policy of a series after the batch."""
        self._records += len(records)
        for number, event, parsed in zip(records.offsets, records.values, records.parsed or (), strict=True):
            assert event is not None, "an input has no record without a value"
            for entry in written.entries(number):
                self._met.written(entry)
                self._used.written(entry)
            reasons = written.reasons(number)
            self._rows.take(number, event, parsed, next(iter(reasons.values()), None), policy_of)
            if type(parsed) is tuple and parsed[0] not in reasons:
                self._met.taken(parsed[0], parsed[1])

    def result(self, notes: Iterable[str]) -> RunResult:
        """Return the result, with further information for the user."""
        names = ("perturbed", "approximated", "withheld")
        totals = {"events": self._records} | {name: self._decisions[name] for name in names}
        totals |= {"rejected": self._rejected.total(), "spent_nano": self._spent_nano}
        if self._renewals:
            totals |= {"renewed": self._renewals["begun"], "not_renewed": self._renewals["refused"]}
        return RunResult(totals, self._rejected, self._met, self._used, self._rows, tuple(notes))


def _batches(events: Iterable[bytes], mixing: KeyRing | None, most_records: int) -> Iterator[Records]:
    """Yield events in batches, parsed; seeds are mixed with the key of ``mixing``, if given.

    In a batch, each policy comes before all other records of its series. The policy after the batch is therefore also
    the policy of each of its events, except for the landmarks and bounds that a renewal drops.
    """
    start = 0
    for values in _parts(events, most_records):
        parsed = wire.parsed_all(values)
        if mixing is not None:
            parsed = [_mixed(mixing, found) if type(found) is dict else found for found in parsed]
        count = len(values)
        offsets = list(range(start, start + count))
        records = Records(_TOPIC, 0, offsets, [0] * count, [None] * count, [*values], parsed)
        begin = 0
        for end in (*_ends(parsed), count):
            yield records[begin:end]
            begin = end
        start += count


def _ends(parsed: list[Parsed]) -> Iterator[int]:
    """Yield the number of each record before which a batch must end: a policy of a series that the batch contains."""
    seen = set[object]()  # the series of the batch's records
    begin = 0
    for number in [number for number, found in enumerate(parsed) if _is_policy(found)]:
        seen.update(map(_series_of, parsed[begin:number]))
        begin = number
        if _series_of(parsed[number]) in seen:
            yield number
            seen.clear()


def _parts(events: Iterable[bytes], most_records: int) -> Iterator[list[bytes]]:
    values: list[bytes] = []
    size_bytes = 0
    for event in events:
        values.append(event)
        size_bytes += len(event)
        if len(values) >= most_records or size_bytes >= _MOST_BYTES:
            yield values
            values, size_bytes = [], 0
    if values:
        yield values


def _is_policy(parsed: Parsed) -> bool:
    return type(parsed) is dict and parsed.get("type") == "policy"


def _series_of(parsed: Parsed) -> str | None:
    if type(parsed) is tuple:
        return parsed[0]
    found = parsed.get("series") if type(parsed) is dict else None
    return found if type(found) is str else None


def _left_open(steps: int) -> Iterator[str]:
    """Yield a note on steps with several readings that are still open when the input ends.

    Steps of collected data are omitted, because one is always open.
    """
    # PRIVACY: how many are open follows from timestamps and watermarks alone, as does which have a release.
    if steps:
        counted = "1 step is still open and has" if steps == 1 else f"{steps:,} steps are still open and have"
        record = '{"type":"watermark","series":..,"timestamp":..}'
        yield f"{counted} no release yet; a later reading or the record {record} closes open steps"


def _mixed(keys: KeyRing, found: dict[str, Any]) -> dict[str, Any]:
    """Return a record with its seed mixed with the key, so that no two runs draw the same values from a seed."""
    match wire.record_of(found):
        case Watermark(seed=bytes() as seed) | Intrusion(seed=seed):
            return {**found, "seed": keys.mixed(seed).hex()}
        case _:
            return found
