"""Processes a batch: records together if possible and otherwise one by one, with outputs in order."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Final, final

import numpy as np

from stream_app.deciding.collection import Collection
from stream_app.deciding.columns.counting import Counting
from stream_app.deciding.columns.deciding import Round, decided, links, outputs, stored
from stream_app.deciding.columns.sorting import FEWEST, NOTHING, Source, together
from stream_app.deciding.context import Context
from stream_app.deciding.decider import INPUT_HEADER, Append, Decider, Headers, Outlets, input_of
from stream_app.deciding.members import FindMember, no_member
from stream_app.formats import wire
from stream_app.formats.encoding import Output
from stream_app.formats.records import InputRecord, Records
from stream_app.privacy.amounts import Ints

SLICE = 128
"""The number of records, a few milliseconds of work, processed one by one before other tasks may run.

Outputs are written in slices four times as large.
"""

Put = tuple[int, Callable[[], None]]
"""The offset of a record, and a function that writes one of its outputs when it is the record's turn."""
_BEHIND_ALL: Final = 1 << 63
"""A number larger than any record's offset; all Kafka offsets are smaller."""


@final
class BatchDecider:
    """Processes the records of one batch, and then reports all changes and counts.

    If a group has fewer than ``fewest`` events, they are processed one by one.
    """

    def __init__(
        self,
        context: Context,
        source: Source,
        outlets: Outlets,
        collection: Collection,
        find_member: FindMember = no_member,
        fewest: int = FEWEST,
    ) -> None:
        self.end = 0
        """The number of records processed."""
        self.enough = False
        """If set during processing, records that still have to be processed one by one go to the next batch."""
        self._context: Final = context
        self._collection: Final = collection
        self._source: Final = source
        self._states: Final = source.states
        self._fewest: Final = fewest
        self._outlets: Final = outlets
        self._puts: Final[list[Put]] = []  # of records processed one by one, until it is their turn
        self._decider: Final = partial(Decider, context, source.find, collection=collection, find_member=find_member)
        self.alone: Decider = self._decider(outlets=outlets)
        """The results of the records that were processed one by one."""
        self._rounds: list[Round] = []
        self.places: Ints = np.zeros(0, np.int64)
        """The indices in `States` of the series that were changed together."""

    def decide(self, records: Records) -> Iterator[None]:
        """Process records in order, as many as a batch accepts; other tasks may run at each yield.

        Raises:
            LostCountersError: if a row has an open step whose counters are not in the collection.
        """
        self._states.begin_batch()
        if records.parsed is None:
            records = records.read(wire.parsed_all(records.values))
        chosen = NOTHING
        if self._outlets.settle is None:  # binding entries are looked up one by one
            collected = frozenset(map(str.encode, self._collection.collected))
            chosen = together(self._context, self._source, records, self._fewest, collected)
        numbers: Sequence[int] = range(len(records))
        if len(chosen.at):
            apart = np.ones(len(records), np.bool_)
            apart[chosen.at] = False
            numbers = np.flatnonzero(apart).tolist()
            hold, outlets = partial(_hold, self._puts), self._outlets
            held = Outlets(hold(outlets.ledger), hold(outlets.release), hold(outlets.reject), None)
            self.alone = self._decider(outlets=held)
        counting = Counting(self._context, self.alone.lookup, self._collection)
        for start in range(0, len(numbers), SLICE):
            more = self.alone.decide(self._singles(counting, records, numbers[start : start + SLICE]))
            yield
            if not more or self.enough:
                chosen = chosen.before(self.end)
                break
        else:
            self.end = len(records)
        for done in decided(self._context.keys, self._states, chosen):
            self._rounds.append(done)
            yield
        self.places = np.unique(chosen.places)
        yield from self._put_out(records, chosen.at)

    def _singles(self, counting: Counting, records: Records, numbers: Sequence[int]) -> Iterator[InputRecord]:
        """Yield the records that are processed one by one, and count the contributions between them."""
        some = records.some(numbers)
        others = counting.others(some.keys, some.parsed or ())
        if isinstance(others, range):
            for number, record in zip(numbers, some, strict=True):
                self.end = number + 1
                yield record
            return
        for nth in others:
            self.end = numbers[nth] + 1
            yield some[nth]
        self.end = numbers[-1] + 1

    def _put_out(self, records: Records, chosen: Ints) -> Iterator[None]:
        """Write all pending outputs in the order of the records."""
        made = outputs(self._states, self._rounds, self.places, self._context.keys.fingerprint)
        offsets = list(map(records.offsets.__getitem__, chosen.tolist()))
        done, room = 0, 4 * SLICE
        for offset, put in (*self._puts, (_BEHIND_ALL, None)):
            until = bisect_left(offsets, offset, done)
            while done < until:
                some = offsets[done : min(until, done + room)]
                self._put_together(islice(made, len(some)), some)
                done, room = done + len(some), room - len(some)
                if not room:
                    yield
                    room = 4 * SLICE
            if put is not None:
                put()
        for _ in made:  # exhausting it returns the hashes to the states
            raise ValueError("there are more processed steps than chosen records")

    def _put_together(self, made: Iterable[Output], offsets: list[int]) -> None:
        """Write the outputs of the records at these offsets."""
        keys, times_ms, entries, releases = zip(*made, strict=True)
        headers = [[(INPUT_HEADER, b"%d" % offset)] for offset in offsets]
        ledger, release = self._outlets.many
        ledger(keys, entries, times_ms, headers)
        release(keys, releases, times_ms, headers)

    def stored(self) -> list[tuple[bytes, bytes]]:
        """Return the changed table rows to write, except for sealed rows."""
        return stored(self._states, self.places) + self.alone.stored()

    def links(self) -> Iterator[tuple[str, int, str]]:
        """Yield each changed series with the sequence and hash of its last entry."""
        states, places = self._states, self.places
        names = [states.names[place] for place in places.tolist()]
        yield from zip(names, states.figures["sequence"][places].tolist(), links(states, places), strict=True)
        for series, row in self.alone.changed.items():
            yield series, row.sequence, row.previous

    @property
    def together(self) -> int:
        """The number of records processed together, as columns."""
        return sum(len(done.nth) for done in self._rounds)

    @property
    def decisions(self) -> dict[tuple[str, str, str], int]:
        """The number of decisions, by decision, scheme and digest of the default policy."""
        found = Counter(self.alone.decisions)
        for done in self._rounds:
            for decision, count in Counter(done.decisions).items():
                found[decision, *done.group.payer] += count
        return found

    @property
    def spent(self) -> dict[tuple[str, str], int]:
        """Nano-epsilon spent, by scheme and digest of the default policy."""
        found = Counter(self.alone.spent)
        for done in self._rounds:
            found[done.group.payer] += done.spent_nano
        return found

    @property
    def used(self) -> dict[tuple[str, str], int]:
        """The increase in used budget, in nano-epsilon, by scheme and digest of the default policy."""
        found = Counter(self.alone.used())
        for done in self._rounds:
            if done.group.rule.protection.exhaustible and done.used_nano:
                found[done.group.payer] += done.used_nano
        return found


def _hold(puts: list[Put], append: Append) -> Append:
    """Return a function that keeps a record's outputs until the record's turn comes."""

    def put(key: bytes | None, value: bytes, timestamp_ms: int, headers: Headers) -> None:
        puts.append((input_of(headers), partial(append, key, value, timestamp_ms, headers)))

    return put
