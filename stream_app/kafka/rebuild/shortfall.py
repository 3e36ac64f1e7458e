"""What a partition would lose without the keys of old epochs: what waits is decided with them and without, beside.

Nothing is put out. No loss hides behind a gain: releases are compared step by step, and records one by one. Where no
record is decided otherwise and no release is missing, both runs came to the same: the first difference is either a
record that only one of them rejects, or a collected step that only one passes over.
"""

from collections.abc import Iterable, Iterator, Sequence

from stream_app.deciding.collection import Collection
from stream_app.deciding.context import Context
from stream_app.deciding.decider import Decider, Headers, Outlets, Settle
from stream_app.deciding.decision import Lookup
from stream_app.formats.records import InputRecord

Step = tuple[bytes | None, int]
"""Series in UTF-8, and where the step begins, in milliseconds: what a release is of."""


class Run:
    """Records decided under one context; which are rejected and which steps are released is kept, for a batch each."""

    def __init__(self, context: Context, find: Lookup, collection: Collection, settle: Settle | None = None) -> None:
        """Take what a worker would have read back; ``settle`` sees every entry."""
        self.releases: set[Step] = set()
        self.rejects: set[int] = set()
        self._keys, self._find = context.keys, find
        self._decider = Decider(context, find, Outlets(_drop, self._release, self._reject, settle), collection)

    @property
    def changed(self) -> Iterable[str]:
        """The series whose rows are not those of before."""
        return self._decider.changed

    def decide(self, records: Sequence[InputRecord]) -> None:
        """Decide ``records`` in order; raises what stops a partition."""
        self.releases, self.rejects = set(), set()
        left = iter(records)
        while not self._decider.decide(left):
            pass  # nothing is sent: batches need no end

    def to_come(self, series: Iterable[str]) -> Iterator[Step]:
        """Yield the open steps of these series, but not those that will be passed over."""
        keys = self._keys
        for name in series:
            row = self._decider.changed.get(name) or self._find(name)
            if row is None or row.open_steps is None:
                continue
            for index in row.open_steps.counted:
                start_ms = index * row.policy.step_ms
                if keys.secret_of(keys.epoch_of(start_ms)) is not None:
                    yield row.key, start_ms

    def _release(self, key: bytes | None, value: bytes, timestamp_ms: int, headers: Headers) -> None:  # noqa: ARG002
        self.releases.add((key, timestamp_ms))

    def _reject(self, key: bytes | None, value: bytes, timestamp_ms: int, headers: Headers) -> None:  # noqa: ARG002
        ((_, offset),) = headers
        self.rejects.add(int(offset))


class Shortfall:
    """Two runs over the same records, with the whole key and with what is left of it, and how they differ."""

    def __init__(self, whole: Run, later: Run) -> None:
        """Begin before any record; ``otherwise`` counts those that only one of the runs rejects."""
        self.otherwise = 0
        self._whole, self._later = whole, later
        self._missing: set[Step] = set()
        self._gained: set[Step] = set()

    def decide(self, records: Sequence[InputRecord]) -> None:
        """Decide ``records`` in both; raises what stops a partition."""
        self._whole.decide(records)
        self._later.decide(records)
        self.otherwise += len(self._whole.rejects ^ self._later.rejects)
        self._missing |= self._whole.releases - self._later.releases
        self._gained |= self._later.releases - self._whole.releases

    def lost(self, stored: Iterable[str]) -> int:
        """Return how many steps are released, or open, with the whole key and will never be released without.

        ``stored`` names the series whose rows may have had open steps before the first record.
        """
        series = {*stored, *self._whole.changed, *self._later.changed}
        # By another record than with the whole key, or later, is not lost.
        return len(self._missing.union(self._whole.to_come(series)) - self._gained.union(self._later.to_come(series)))


def _drop(key: bytes | None, value: bytes, timestamp_ms: int, headers: Headers) -> None:
    """Put out nothing."""
