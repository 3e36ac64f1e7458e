"""One run: a history through the real decisions under a fresh key, and all that an observer sees of it, as integers."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_app.deciding.context import Context
from stream_app.deciding.counters import Collection
from stream_app.deciding.decision import Lookup, decide
from stream_app.deciding.outcome import Advanced, Decided, Outcome, Rejected
from stream_app.deciding.rows import SeriesRow
from stream_app.formats import encoding, wire
from stream_app.formats.records import InputRecord
from stream_app.privacy.kinds import HiddenMean, Kind
from stream_app.privacy.noise.key import SECRET_BYTES, KeyRing
from stream_app.privacy.policy import Policy
from stream_app.privacy.values import NANO, ReleasedCells
from stream_app.verify.neighbours import SEED, SERIES, Output, Pair, Sent

Decide = Callable[[Context, Lookup, Collection, InputRecord], Outcome]
Seen = NDArray[np.int64]
"""A row a run: for each output its decision, its spend, the watched cells measured, and those published."""
MISSING = -(2**62)
"""Where an output has no such cell: below every cell that has a double."""
FINGERPRINT = "0" * 16
DECISIONS = {"withheld": 0, "approximated": 1, "perturbed": 2}
REJECTED, LOOKED = -1, 3
HEAD = 3
"""Columns of an output before its cells: decision, spend, and the rate at which it was published or not."""


class Subject(NamedTuple):
    """What is verified: a series under the policy that rules it, and what decides its records."""

    row: SeriesRow
    decide: Decide = decide


class UnusableError(ValueError):
    """A policy that decides nothing; ``reason`` is the code of its reject."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(f"the worker would reject the policy as {reason}; `check` says more")


def ruled(parameters: Mapping[str, object], secret: bytes) -> SeriesRow:
    """Return the row of a series that the policy of ``parameters`` begins to rule; its dummies are drawn by ``secret``.

    Raises:
        UnusableError: if the worker would reject the policy.
    """
    record = wire.dump({"type": "policy", "series": SERIES, "version": 1, **parameters})
    context = Context(KeyRing(FINGERPRINT, 0, secret))
    outcome = decide(context, lambda _: None, Collection(secret), InputRecord(SERIES, 0, 0, 0, None, record))
    if isinstance(outcome, Rejected):
        raise UnusableError(outcome.reason)
    assert isinstance(outcome, Decided), "a policy is adopted or rejected"
    return outcome.row


def derived(secret: bytes, *numbers: int) -> bytes:
    """Return a secret that is as random as ``secret``, another for each ``numbers``."""
    message = b"".join(number.to_bytes(8, "big") for number in numbers)
    return blake2b(message, key=secret, digest_size=SECRET_BYTES, person=b"landmark-verify1").digest()


def seen_of(subject: Subject, pair: Pair, side: int, secrets: Iterator[bytes]) -> Seen:
    """Return what is seen of one history of the pair, a run for each of the secrets."""
    rows = [_run(subject, pair, side, secret) for secret in secrets]
    return np.array(rows, dtype=np.int64).reshape(len(rows), -1)


class Answer(NamedTuple):
    """What came of one record of a history."""

    accepted: bool
    releases: Sequence[bytes] = ()
    looked: Sequence[int] = ()
    """The columns of a look at the counters before it was decided."""


def _run(subject: Subject, pair: Pair, side: int, secret: bytes) -> list[int]:
    return row_of(subject.row.policy, pair, side, _answers(subject, pair, side, secret))


def row_of(policy: Policy, pair: Pair, side: int, answers: Iterable[Answer]) -> list[int]:
    """Return the row of one run: what is seen of a history whose records, in order, had these answers."""
    observer = Observer(policy, pair)
    seen: list[int] = []
    for sent, answer in zip(pair.histories[side], answers, strict=True):
        seen += answer.looked
        if sent.needed and not answer.accepted:
            # The two histories are neighbours only if this is accepted. All runs in which it is refused count as one
            # outcome: that is post-processing, so the bound stays a lower one.
            return [MISSING] * (len(pair.outputs) * _width(pair))
        for nth in range(sent.releases):
            seen += observer.seen(answer.releases[nth] if nth < len(answer.releases) else None)
    return seen


def _answers(subject: Subject, pair: Pair, side: int, secret: bytes) -> Iterator[Answer]:
    context, collection = Context(KeyRing(FINGERPRINT, 0, secret)), Collection(secret)
    rows = {SERIES: subject.row}
    for offset, sent in enumerate(pair.histories[side]):
        looked = list(_looked(collection, pair)) if sent.looked else []
        value = sown(sent, secret, offset)
        outcome = subject.decide(context, rows.get, collection, InputRecord(SERIES, 0, offset, 0, None, value))
        if accepted := isinstance(outcome, Decided | Advanced):
            rows[SERIES] = outcome.row
        yield Answer(accepted, list(_releases(outcome)), looked)


def _width(pair: Pair) -> int:
    return HEAD + 2 * len(pair.watched)


def sown(sent: Sent, secret: bytes, offset: int) -> bytes:
    """Return a record as one run sends it: with a seed of its own, if it takes one."""
    return sent.value.replace(SEED, derived(secret, offset).hex().encode()) if sent.seeded else sent.value


def _releases(outcome: Outcome) -> Iterator[bytes]:
    steps = outcome.steps if isinstance(outcome, Advanced) else (outcome,) if isinstance(outcome, Decided) else ()
    yield from (step.release for step in steps if step.release is not None)


def _looked(collection: Collection, pair: Pair) -> Iterator[int]:
    (output,) = (output for output in pair.outputs if output.look_nano is not None)
    counters = next(iter(collection.opened(SERIES).values()))
    yield from (LOOKED, output.look_nano or 0, NANO)
    yield from (counters.cells[nth] for nth in pair.watched)
    yield from (MISSING for _ in pair.watched)


class Observer:
    """Whoever reads the releases of one history, in order; of those before, it remembers what a rate depends on."""

    def __init__(self, policy: Policy, pair: Pair) -> None:
        self._policy, self._watched = policy, pair.watched
        self._rate_nano, self._before = NANO, ReleasedCells(())

    def seen(self, release: bytes | None) -> list[int]:
        """Return the columns of the next release; None: it did not come."""
        nothing = [MISSING] * len(self._watched)
        if release is None:
            return [REJECTED, 0, self._rate_nano, *nothing, *nothing]
        found: Any = wire.load(release)
        kind, rate_nano, spend_nano = self._policy.kind, self._rate_nano, found.get("epsilon_nano", 0)
        measured, published = nothing, nothing
        if "measurement" in found:
            cells, estimate = encoding.released_cells(kind, found)
            measured, published = ([each[nth] for nth in self._watched] for each in (cells, estimate))
            self._publish(cells, spend_nano)
        elif "value" in found:
            cells = _repeated(kind, found["value"])
            published = [cells[nth] for nth in self._watched]
        return [DECISIONS[found["decision"]], spend_nano, rate_nano, *measured, *published]

    def _publish(self, cells: ReleasedCells, spend_nano: int) -> None:
        sampling = self._policy.sampling
        if sampling is not None and self._before:
            still = self._policy.kind.still(self._before, cells, spend_nano)
            self._rate_nano = sampling.next_rate(self._rate_nano, still=still)
        self._before = cells


def _repeated(kind: Kind, value: object) -> ReleasedCells:
    """Return the cells of a value that was published before; of a mean, over whatever number, its nearest cell."""
    if isinstance(kind, HiddenMean):
        return ReleasedCells((*kind.item.read(value), 0))
    return kind.read(value)


def cell_columns(pair: Pair, place: int) -> tuple[slice, slice]:
    """Return the columns of an output's measured and of its published cells."""
    start = place * _width(pair) + HEAD
    middle = start + len(pair.watched)
    return slice(start, middle), slice(middle, middle + len(pair.watched))


def head_columns(pair: Pair) -> list[int]:
    """Return the columns of decisions and spends."""
    return [place * _width(pair) + nth for place in range(len(pair.outputs)) for nth in range(HEAD - 1)]


def reference(output: Output, pair: Pair, side: int) -> NDArray[np.float64]:
    """Return the watched raw cells that an output has under one of the histories."""
    return np.array([output.cells[side][nth] for nth in pair.watched], dtype=np.float64)
