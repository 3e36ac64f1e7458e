"""Runs: a history processed many times at once, as a worker would process it, and an observer's view, as integers.

Each run is one series, and several runs share one fresh key. The bits of each run come from a keyed hash of a message
that names its series, so no two runs share a message. To the extent that the hash is pseudo-random, the runs are as
independent as runs under separate keys. The noise of a worker's series relies on the same assumption. Each record is
processed in all these runs before the next record is processed in any of them. Whatever a worker processes as columns
is processed as columns here; the rest is processed one by one.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from hashlib import blake2b
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_app.deciding.collection import Collection
from stream_app.deciding.context import Context
from stream_app.deciding.decider import Headers, Outlets, input_of
from stream_app.deciding.decision import decide
from stream_app.deciding.outcome import ProcessedRecord, RejectedRecord
from stream_app.deciding.rows import SeriesRow
from stream_app.formats import wire
from stream_app.formats.records import InputRecord, Records
from stream_app.kafka.memory.partition import MemoryPartition
from stream_app.privacy.noise.key import SECRET_BYTES, KeyRing
from stream_app.privacy.policy import Policy
from stream_app.privacy.values import NANO, ReleasedCells
from stream_app.verify.neighbours import SEED, SERIES, HistoryRecord, Output, Pair

Seen = NDArray[np.int64]
"""A row per run: each output's decision, spend, rate, watched measured cells and published cells."""
MISSING = -(2**62)
"""Marks a missing cell of an output: below every cell that has a double."""
FINGERPRINT = "0" * 16
DECISIONS = {"withheld": 0, "approximated": 1, "perturbed": 2}
REJECTED, LOOKED = -1, 3
HEAD = 3
"""Columns of an output before its cells: decision, spend and sampling rate."""
_OWN_SERIES: Final = wire.dump({"series": SERIES})[1:-1]


class UnusableError(ValueError):
    """A policy that would be rejected; ``reason`` is the code of its rejection."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(f"the worker would reject the policy as {reason}; run `check` for details")


def ruled(parameters: Mapping[str, object], secret: bytes) -> SeriesRow:
    """Return a series' row when a policy takes effect; the policy's dummies are drawn with ``secret``.

    Raises `UnusableError`.
    """
    record = wire.dump({"type": "policy", "series": SERIES, "version": 1, **parameters})
    context = Context(KeyRing(FINGERPRINT, 0, secret))
    outcome = decide(context, lambda _: None, Collection(secret), InputRecord(SERIES, 0, 0, 0, None, record))
    if isinstance(outcome, RejectedRecord):
        raise UnusableError(outcome.reason)
    assert isinstance(outcome, ProcessedRecord), "a policy is adopted or rejected"
    return outcome.row


def derived(secret: bytes, *numbers: int) -> bytes:
    """Return a secret that is as random as ``secret``, and different for different ``numbers``."""
    message = b"".join(number.to_bytes(8, "big") for number in numbers)
    return blake2b(message, key=secret, digest_size=SECRET_BYTES, person=b"landmark-verify1").digest()


class RecordOutcome(NamedTuple):
    """The outcome of one record of a history."""

    accepted: bool
    releases: Sequence[bytes] = ()
    looked: Sequence[int] = ()
    """The columns of a look at the counters before the record was processed."""


def seen_of(row: SeriesRow, pair: Pair, side: int, secrets: Sequence[bytes]) -> Seen:
    """Return what is seen of one history in one run per secret; the first secret is the key of all runs.

    Each run is a series that begins with ``row``.
    """
    names = [series_of(number) for number in range(len(secrets))]
    answers = zip(*_answers(row, pair, side, names, secrets), strict=True)
    rows = [row_of(row.policy, pair, side, each) for each in answers]
    return np.array(rows, dtype=np.int64).reshape(len(rows), -1)


def series_of(number: int) -> str:
    """Return the series of a run; all names are equally long, so that only the names differ."""
    return f"run{number:012d}"


def row_of(policy: Policy, pair: Pair, side: int, answers: Iterable[RecordOutcome]) -> list[int]:
    """Return the row of one run: what is seen of a history whose records had these outcomes, in order."""
    observer = Observer(policy, pair)
    seen: list[int] = []
    for sent, answer in zip(pair.histories[side], answers, strict=True):
        seen += answer.looked
        if sent.needed and not answer.accepted:
            # The two histories are neighbours only if this is accepted. All runs in which it is rejected count as one
            # outcome. That is post-processing, so the result remains a lower bound.
            return [MISSING] * (len(pair.outputs) * _width(pair))
        for nth in range(sent.releases):
            seen += observer.seen(answer.releases[nth] if nth < len(answer.releases) else None)
    return seen


def _answers(
    row: SeriesRow, pair: Pair, side: int, names: list[str], secrets: Sequence[bytes]
) -> Iterator[list[RecordOutcome]]:
    """Yield, for each record of a history, its outcome in each of the given runs."""
    partition = _Partition(row, names, secrets[0])
    for place, sent in enumerate(pair.histories[side]):
        looked = [list(_looked(partition.collection, pair, name)) if sent.looked else [] for name in names]
        found = partition.decide([sown(sent, *run, place) for run in zip(names, secrets, strict=True)])
        yield [answer._replace(looked=seen) for answer, seen in zip(found, looked, strict=True)]


class _Partition:
    """Series that all begin with the same row, processed like those of a worker's partition."""

    def __init__(self, row: SeriesRow, names: Sequence[str], key: bytes) -> None:
        context = Context(KeyRing(FINGERPRINT, 0, key), partition_of=lambda _: 0)
        self._partition = MemoryPartition(context, key)
        self.collection = self._partition.collection
        self._keys = [name.encode() for name in names]
        self._end = 0
        self._partition.take({name: replace(row, series=name, key=name.encode()) for name in names})

    def decide(self, values: list[bytes]) -> list[RecordOutcome]:
        """Process one record per series, and return the outcomes."""
        start, self._end = self._end, self._end + len(values)
        offsets, rejected = range(start, self._end), set[int]()
        releases: dict[int, list[bytes]] = {offset: [] for offset in offsets}

        def release(_key: bytes | None, value: bytes, _timestamp_ms: int, headers: Headers) -> None:
            releases[input_of(headers)].append(value)

        def reject(_key: bytes | None, _value: bytes, _timestamp_ms: int, headers: Headers) -> None:
            rejected.add(input_of(headers))

        outlets = Outlets(lambda *_: None, release, reject, None)
        records = Records("events", 0, [*offsets], [0] * len(values), [*self._keys], [*values])
        for _ in self._partition.decide(records, outlets):
            pass
        return [RecordOutcome(offset not in rejected, releases[offset]) for offset in offsets]


def _width(pair: Pair) -> int:
    return HEAD + 2 * len(pair.watched)


def sown(sent: HistoryRecord, series: str, secret: bytes, place: int) -> bytes:
    """Return a record as one run sends it: with the run's series, and with its own seed if it takes a seed."""
    value = sent.value.replace(_OWN_SERIES, wire.dump({"series": series})[1:-1])
    return value.replace(SEED, derived(secret, place).hex().encode()) if sent.seeded else value


def _looked(collection: Collection, pair: Pair, series: str) -> Iterator[int]:
    (output,) = (output for output in pair.outputs if output.look_nano is not None)
    counters = next(iter(collection.counted(series).values()))
    yield from (LOOKED, output.look_nano or 0, NANO)
    yield from (counters.cells[nth] for nth in pair.watched)
    yield from (MISSING for _ in pair.watched)


class Observer:
    """A reader of one history's releases, in order; it remembers what the sampling rate depends on."""

    def __init__(self, policy: Policy, pair: Pair) -> None:
        self._policy, self._watched = policy, pair.watched
        self._rate_nano, self._before = NANO, ReleasedCells(())
        self._count: object = None  # of items or units, in the release that is repeated

    def seen(self, release: bytes | None) -> list[int]:
        """Return the columns of the next release; ``release`` is None if there was none."""
        nothing = [MISSING] * len(self._watched)
        if release is None:
            return [REJECTED, 0, self._rate_nano, *nothing, *nothing]
        found: Any = wire.load(release)
        kind, rate_nano, spend_nano = self._policy.kind, self._rate_nano, found.get("epsilon_nano", 0)
        measured, published = nothing, nothing
        if "measurement" in found:
            cells, estimate = kind.released(found)
            measured, published = ([each[nth] for nth in self._watched] for each in (cells, estimate))
            self._publish(cells, spend_nano)
            self._count = found.get("count")
        elif "value" in found:
            cells = kind.read_value(found["value"], self._count)
            published = [cells[nth] for nth in self._watched]
        return [DECISIONS[found["decision"]], spend_nano, rate_nano, *measured, *published]

    def _publish(self, cells: ReleasedCells, spend_nano: int) -> None:
        sampling = self._policy.sampling
        if sampling is not None and self._before:
            still = self._policy.kind.still(self._before, cells, spend_nano)
            self._rate_nano = sampling.next_rate(self._rate_nano, still=still)
        self._before = cells


def cell_columns(pair: Pair, place: int) -> tuple[slice, slice]:
    """Return the columns of an output's measured cells and of its published cells."""
    start = place * _width(pair) + HEAD
    middle = start + len(pair.watched)
    return slice(start, middle), slice(middle, middle + len(pair.watched))


def head_columns(pair: Pair) -> list[int]:
    """Return the columns of decisions and spends."""
    return [place * _width(pair) + nth for place in range(len(pair.outputs)) for nth in range(HEAD - 1)]


def reference(output: Output, pair: Pair, side: int) -> NDArray[np.float64]:
    """Return the watched raw cells of an output under one of the histories."""
    return np.array([output.cells[side][nth] for nth in pair.watched], dtype=np.float64)
