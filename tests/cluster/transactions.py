"""The transaction coordinator: who may write under a transactional id, and its open transaction."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from aiokafka.errors import InvalidProducerEpoch, InvalidProducerIdMapping, InvalidTxnState

from tests.cluster.group import Place

Kind = Literal["commit", "abort"]


class Identity(NamedTuple):
    """The coordinator's answer to a fence: the producer id, and an epoch newer than those of earlier owners."""

    producer: int
    epoch: int


@dataclass(slots=True)
class _Held:
    """One transactional id."""

    producer: int
    epoch: int
    timeout_ms: int
    began_ms: int | None = None
    """When the open transaction got its first partition, or None if no transaction is open."""
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
        """Begin without ids; ``mark`` writes a marker for a producer and epoch into a log."""
        self._mark = mark
        self._held: dict[str, _Held] = {}
        self._markers: list[_Marker] = []
        self._given = 0

    def fence(self, identity: str, timeout_ms: int) -> Identity:
        """Return a newer epoch of a transactional id; the previous epoch's open transaction is aborted."""
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
        """Begin or continue a transaction, and add these partitions.

        Raises:
            InvalidProducerEpoch: if somebody has fenced since, or the transaction took too long.
            InvalidProducerIdMapping: if the transactional id has expired since.
        """
        held = self._checked(identity, given)
        self._settle(identity)
        held.began_ms = now_ms if held.began_ms is None else held.began_ms
        held.places.update(dict.fromkeys(places))

    def verify(self, given: Identity, place: Place) -> None:
        """Check that a producer has an open transaction to which a partition was added.

        Raises:
            InvalidProducerEpoch: if somebody has fenced since, or the transaction took too long.
            InvalidProducerIdMapping: if the transactional id has expired since.
            InvalidTxnState: if it has none, or one without that partition.
        """
        identity = next((name for name, held in self._held.items() if held.producer == given.producer), "")
        if place not in self._checked(identity, given).places:
            raise InvalidTxnState

    def end(self, identity: str, given: Identity, kind: Kind, due_ms: Callable[[], int]) -> None:
        """End the open transaction; ``due_ms`` returns when the marker is written to each of its partitions.

        A repeated request changes nothing while no other transaction is open; a later copy ends such a transaction.

        Raises:
            InvalidProducerEpoch: if somebody has fenced since, or the transaction took too long.
            InvalidProducerIdMapping: if the transactional id has expired since.
            InvalidTxnState: if none is open.
        """
        held = self._checked(identity, given)
        if held.began_ms is not None:
            self._end(identity, held, kind, due_ms)
        elif held.ended != kind:
            raise InvalidTxnState

    def expire(self, identity: str) -> bool:
        """Forget a transactional id that was idle for long; return False and keep it if it has anything open."""
        held = self._held.get(identity)
        if held is None or held.began_ms is not None:
            return False
        self._settle(identity)
        del self._held[identity]
        return True

    def elapse(self, now_ms: int) -> None:
        """Write the markers that are due; abort transactions open for too long, which fences their producers."""
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
        """Write every marker of an id: until they are written, its coordinator answers no other request."""
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
