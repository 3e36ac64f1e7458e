"""The tail rule: ledger entries beyond the restored state are binding, even aborted ones.

An aborted record remains visible to anyone who reads uncommitted records. Its release may have been read, so drawing
another release for the same step would spend budget twice. The worker writes a batch's ledger entries before its
releases, so the entry for every release is found here.

Committed entries beyond the restored state are binding as well. They exist if the end of the changelog was lost
together with the state, or if only part of a batch was committed. Input with committed outputs (*answered* input) is
processed once more to rebuild the state; only outputs missing from the logs are written
(`stream_app.kafka.evidence.outputs`).
"""

from collections.abc import Callable, Sequence
from itertools import filterfalse

from stream_app.deciding.decider import Append, Outlets
from stream_app.formats.encoding import SealedEntry
from stream_app.kafka.brokers import Reader
from stream_app.kafka.evidence.claim import is_claim
from stream_app.kafka.evidence.foreign import entry_of, input_offset
from stream_app.kafka.evidence.outputs import Outputs, unless_held
from stream_app.kafka.stops import PartitionStoppedError

_UNCHANGED = (
    "key and configuration are the same as those of the state: a version of the program that decides differently may "
    "have written the entries"
)


class Tail:
    """Binding entries not yet recomputed; recomputing one differently raises `PartitionStoppedError`."""

    def __init__(self, partition: int, changes: Sequence[str], outputs: Outputs | None = None) -> None:
        """Start without binding entries; ``changes`` happened after the state, ``outputs`` are newer than it."""
        self.answered = 0 if outputs is None else outputs.before
        self._outputs = outputs
        self._partition = partition
        self._changes = changes
        self._hashes: dict[tuple[bytes, int], str] = {}
        self._inputs: dict[tuple[bytes, int], int] = {}

    async def read(self, reader: Reader, topic: str, start: int, sequence_of: Callable[[str], int]) -> None:
        """Read the ledger partition from ``start``, including uncommitted records.

        ``sequence_of`` returns a series' restored sequence. Raises if two entries bind the same position of a chain, or
        if a record is not an entry.
        """
        async for records in reader.records(topic, self._partition, start):
            for record in filterfalse(is_claim, records):
                entry = entry_of(record)
                place = (record.key, entry["sequence"])
                if entry["sequence"] <= sequence_of(entry["series"]):
                    continue
                if self._hashes.setdefault(place, entry["hash"]) != entry["hash"]:
                    raise self._stopped(
                        "one entry for each place in a chain", f"two different entries with sequence {place[1]}"
                    )
                self._inputs[place] = input_offset(record)

    def __len__(self) -> int:
        return len(self._hashes)

    def settle(self, key: bytes, entries: tuple[SealedEntry, ...]) -> None:
        """Compare a series' recomputed entries with the binding ones; ``key`` is the series' key.

        Raises if any entry differs.
        """
        for entry in entries:
            place = (key, entry.sequence)
            bound = self._hashes.pop(place, None)
            if bound is not None and bound != entry.hash:
                asked = f"a recomputed entry {entry.sequence} of a series with hash {bound}"
                raise self._stopped(asked, f"hash {entry.hash}")
            self._inputs.pop(place, None)

    def outlets(self, ledger: Append, release: Append, reject: Append) -> Outlets:
        """Return the outlets for answered input, which omit outputs that the logs already contain."""
        outputs = self._outputs
        if outputs is None:
            raise AssertionError("no input was answered")
        return Outlets(
            unless_held(outputs.ledger, ledger),
            unless_held(outputs.releases, release),
            unless_held(outputs.rejects, reject, named=False),
            self.settle,
        )

    def binds(self, next_offset: int) -> bool:
        """Return whether any entry is binding, or whether input from ``next_offset`` on is answered."""
        return bool(self._hashes) or next_offset < self.answered

    def overdue(self, next_offset: int) -> None:
        """Check that all entries and outputs of input below ``next_offset`` were recomputed; raises if any were not."""
        left = [place for place, offset in self._inputs.items() if offset < next_offset]
        none = "that the input no longer gives any"
        if left:
            entries = f"{len(left)} ledger entries recomputed from the same input, the first with sequence {left[0][1]}"
            raise self._stopped(entries, none)
        if self._outputs is not None and (offset := self._outputs.left(next_offset)) is not None:
            raise self._stopped(f"a committed output of input {offset} when it is recomputed", none)

    def _stopped(self, asked: str, found: str) -> PartitionStoppedError:
        found = f"{found}; {' and '.join(self._changes) or _UNCHANGED}"
        return PartitionStoppedError(self._partition, "tail-differs", asked, found)
