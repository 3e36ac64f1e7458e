"""The coordinator of transactions: who may write under a transactional id, and what it has open."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from aiokafka.errors import InvalidProducerEpoch, InvalidProducerIdMapping, InvalidTxnState

from tests.cluster.group import Place

Kind = Literal["commit", "abort"]


class Identity(NamedTuple):
    """What the coordinator gives to whoever fences: the producer id, and the epoch that older ones lack."""

    producer: int
    epoch: int


@dataclass(slots=True)
class _Held:
    """One transactional id."""

    producer: int
    epoch: int
    timeout_ms: int
    began_ms: int | None = None
    """When the open transaction got its first partition; None: none is open."""
    places: dict[Place, None] = field(default_factory=dict)
    ended: Kind | None = None
    """How the last transaction ended."""


class _Marker(NamedTuple):
    due_ms: int
    identity: str
    place: Place
    producer: int
    epoch: int
    kind: Kind


class Transactions:
    """All transactional ids of a cluster; `elapse` must be called before anything is asked."""

    def __init__(self, mark: Callable[[Place, int, int, Kind], None]) -> None:
        """Know of no id; ``mark`` writes a marker into a log, for producer and epoch."""
        self._mark = mark
        self._held: dict[str, _Held] = {}
        self._markers: list[_Marker] = []
        self._given = 0

    def fence(self, identity: str, timeout_ms: int) -> Identity:
        """Return a newer epoch of a transactional id; the open transaction of the one before is aborted."""
        self._settle(identity)
        held = self._held.get(identity)
        if held is None:
            held = self._held[identity] = _Held(self._given, 0, timeout_ms)
            self._given += 1
            return Identity(held.producer, 0)
        if held.began_ms is not None:
            self._abort(identity, held)
        held.epoch += 1
        held.timeout_ms = timeout_ms
        return Identity(held.producer, held.epoch)

    def add(self, identity: str, given: Identity, places: Iterable[Place], now_ms: int) -> None:
        """Begin a transaction, or go on with it, with these partitions too.

        Raises:
            InvalidProducerEpoch: if somebody fenced since, or the transaction took too long.
            InvalidProducerIdMapping: if the transactional id expired since.
        """
        held = self._checked(identity, given)
        self._settle(identity)
        held.began_ms = now_ms if held.began_ms is None else held.began_ms
        held.places.update(dict.fromkeys(places))

    def verify(self, given: Identity, place: Place) -> None:
        """Check that a producer has a transaction open to which a partition was added.

        Raises:
            InvalidProducerEpoch: if somebody fenced since, or the transaction took too long.
            InvalidProducerIdMapping: if the transactional id expired since.
            InvalidTxnState: if it has none, or one without that partition.
        """
        identity = next((name for name, held in self._held.items() if held.producer == given.producer), "")
        if place not in self._checked(identity, given).places:
            raise InvalidTxnState

    def end(self, identity: str, given: Identity, kind: Kind, due_ms: Callable[[], int]) -> None:
        """End the open transaction; ``due_ms`` gives for each of its partitions when the marker is written.

        To ask again changes nothing while no other transaction is open; a copy that comes later ends that one.

        Raises:
            InvalidProducerEpoch: if somebody fenced since, or the transaction took too long.
            InvalidProducerIdMapping: if the transactional id expired since.
            InvalidTxnState: if none is open.
        """
        held = self._checked(identity, given)
        if held.began_ms is not None:
            self._end(identity, held, kind, due_ms)
        elif held.ended != kind:
            raise InvalidTxnState

    def expire(self, identity: str) -> bool:
        """Forget a transactional id that was idle for long; return False, and keep it, while it has anything open."""
        held = self._held.get(identity)
        if held is None or held.began_ms is not None:
            return False
        self._settle(identity)
        del self._held[identity]
        return True

    def elapse(self, now_ms: int) -> None:
        """Write the markers that are due, and abort what has been open for too long, which fences its producer."""
        for marker in [marker for marker in self._markers if marker.due_ms <= now_ms]:
            self._write(marker)
        for identity, held in self._held.items():
            if held.began_ms is not None and now_ms - held.began_ms > held.timeout_ms:
                self._abort(identity, held)

    def _abort(self, identity: str, held: _Held) -> None:
        held.epoch += 1
        self._end(identity, held, "abort", lambda: 0)
        self._settle(identity)

    def _end(self, identity: str, held: _Held, kind: Kind, due_ms: Callable[[], int]) -> None:
        self._markers += [_Marker(due_ms(), identity, place, held.producer, held.epoch, kind) for place in held.places]
        held.places.clear()
        held.began_ms, held.ended = None, kind

    def _settle(self, identity: str) -> None:
        """Write every marker of an id: until they are there, its coordinator answers nothing else."""
        for marker in [marker for marker in self._markers if marker.identity == identity]:
            self._write(marker)

    def _write(self, marker: _Marker) -> None:
        self._markers.remove(marker)
        self._mark(marker.place, marker.producer, marker.epoch, marker.kind)

    def _checked(self, identity: str, given: Identity) -> _Held:
        held = self._held.get(identity)
        if held is None or held.producer != given.producer:
            raise InvalidProducerIdMapping
        if held.epoch != given.epoch:
            raise InvalidProducerEpoch
        return held
