"""The tail rule: ledger entries beyond the restored state are binding, aborted ones too.

An aborted record still lies in the log for whoever reads uncommitted. Its release may have been read, so drawing
another one for the same step would spend twice. The worker writes a batch's ledger entries before its releases:
whatever was released, its entry is found here.

Committed entries beyond the restored state bind as well: the changelog lost its end, and the state with it. Input whose
outputs are there (*answered* input) is decided once more to rebuild the state: nothing of it is written again, and each
of its entries must be one that the ledger holds.
"""

from collections.abc import Callable, Sequence
from typing import Any

from stream_app.formats.encoding import Sealed
from stream_app.kafka.brokers import Reader
from stream_app.kafka.evidence.claim import is_claim
from stream_app.kafka.evidence.foreign import entry_of, input_offset
from stream_app.kafka.stops import PartitionStoppedError

_UNCHANGED = (
    "key and configuration are those that the state was made with: a version of the program that decides otherwise may "
    "have written it"
)


class Tail:
    """Binding entries that have not been recomputed yet."""

    def __init__(self, partition: int, changes: Sequence[str], answered: int = 0) -> None:
        """Bind nothing yet; ``changes`` say what differs from when the state was made.

        Input below offset ``answered`` has its outputs.
        """
        self.answered = answered
        self._partition = partition
        self._changes = changes
        self._hashes: dict[tuple[bytes, int], str] = {}
        self._inputs: dict[tuple[bytes, int], int] = {}

    async def read(self, reader: Reader, topic: str, start: int, sequence_of: Callable[[str], int]) -> None:
        """Read the ledger partition from ``start``, uncommitted records too.

        ``sequence_of`` gives a series' restored sequence.

        Raises:
            PartitionStoppedError: if two entries bind the same place of a chain, or a record is no entry.
        """
        async for records in reader.records(topic, self._partition, start):
            for record in records:
                if is_claim(record):
                    continue
                self._bind(record, sequence_of)

    def _bind(self, record: Any, sequence_of: Callable[[str], int]) -> None:
        entry = entry_of(record)
        place = (record.key, entry["sequence"])
        if entry["sequence"] <= sequence_of(entry["series"]):
            return
        if self._hashes.setdefault(place, entry["hash"]) != entry["hash"]:
            raise self._stopped("one entry for each place of a chain", f"two different ones, sequence {place[1]}")
        self._inputs[place] = input_offset(record)

    def __len__(self) -> int:
        return len(self._hashes)

    def settle(self, key: bytes, entries: tuple[Sealed, ...]) -> None:
        """Compare recomputed entries of the series whose record key is ``key`` with the binding ones.

        Raises:
            PartitionStoppedError: if one differs.
        """
        for entry in entries:
            place = (key, entry.sequence)
            bound = self._hashes.pop(place, None)
            if bound is not None and bound != entry.hash:
                raise self._stopped(
                    f"entry {entry.sequence} of a series recomputed with hash {bound}", f"hash {entry.hash}"
                )
            self._inputs.pop(place, None)

    def confirm(self, key: bytes, entries: tuple[Sealed, ...]) -> None:
        """Compare the recomputed entries of answered input with the binding ones, of which each must be one.

        Raises:
            PartitionStoppedError: if one differs, or the ledger does not hold it.
        """
        strange = [entry for entry in entries if (key, entry.sequence) not in self._hashes]
        if strange:
            asked = f"entry {strange[0].sequence} of a series in the ledger, whose input has its outputs"
            if self._changes:
                raise self._stopped(asked, "none")
            raise PartitionStoppedError(self._partition, "ledger-short", asked=asked, found="none: entries are lost")
        self.settle(key, entries)

    def binds(self, next_offset: int) -> bool:
        """Tell whether anything of input from ``next_offset`` on is bound, or answered."""
        return bool(self._hashes) or next_offset < self.answered

    def overdue(self, next_offset: int) -> None:
        """Check that nothing is left to be recomputed from input below ``next_offset``.

        Raises:
            PartitionStoppedError: if an entry was not recomputed although its input was decided.
        """
        left = [place for place, offset in self._inputs.items() if offset < next_offset]
        if left:
            raise self._stopped(
                f"{len(left)} ledger entries recomputed from the same input, the first with sequence {left[0][1]}",
                "that the input gives none any more",
            )

    def _stopped(self, asked: str, found: str) -> PartitionStoppedError:
        return PartitionStoppedError(
            self._partition,
            "tail-differs",
            asked=asked,
            found=f"{found}; {' and '.join(self._changes) or _UNCHANGED}",
        )
