"""A consumer group: its members, the assignment of each one, and the group's progress."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from aiokafka.errors import IllegalGenerationError, RebalanceInProgressError, UnknownMemberIdError


class Place(NamedTuple):
    """A partition of a topic."""

    topic: str
    partition: int


class Assignment(NamedTuple):
    """A member's partitions in one generation of its group."""

    member: str
    generation: int
    places: tuple[Place, ...]


@dataclass(slots=True)
class _Member:
    client: str
    topics: tuple[str, ...]
    session_ms: int
    heard_ms: int
    joined: bool
    """Whether the member takes part in the generation that is forming now or formed last."""
    places: tuple[Place, ...] = ()


class Group:
    """The coordinator's side of one group; `elapse` must be called before anything is asked."""

    def __init__(self, rebalance_ms: int) -> None:
        """Begin empty; ``rebalance_ms`` is how long a rebalance waits for members of the previous generation."""
        self.generation = 0
        self.offsets: dict[Place, int] = {}
        self._rebalance_ms = rebalance_ms
        self._members: dict[str, _Member] = {}
        self._forming_since: int | None = None
        self._counts: Mapping[str, int] = {}
        self._made = 0

    @property
    def members(self) -> dict[str, tuple[Place, ...]]:
        """The places of each member, by its client's name."""
        return {member.client: member.places for member in self._members.values()}

    def elapse(self, now_ms: int, counts: Mapping[str, int]) -> None:
        """Drop members that were silent for too long, and form the next generation once all are present.

        ``counts`` has the number of partitions of each topic; a change in a subscribed topic is a reason to rebalance.
        """
        for name, member in list(self._members.items()):
            # Who waits for the others to join is heard of: it waits for the answer to its request.
            waits = member.joined and self._forming_since is not None
            if not waits and now_ms - member.heard_ms > member.session_ms:
                self._drop(name, now_ms)
        subscribed = {topic for member in self._members.values() for topic in member.topics}
        seen = {topic: counts.get(topic, 0) for topic in sorted(subscribed)}
        if self._members and self._forming_since is None and seen != self._counts:
            self._rebalance(now_ms)
        self._counts = seen
        if self._forming_since is None:
            return
        late = [name for name, member in self._members.items() if not member.joined]
        if late and now_ms - self._forming_since < self._rebalance_ms:
            return
        for name in late:
            del self._members[name]
        self._form(now_ms)

    def join(self, member: str | None, client: str, topics: tuple[str, ...], session_ms: int, now_ms: int) -> str:
        """Take part in the next generation and return the member's id, a new one for None; see `assignment`.

        Raises:
            UnknownMemberIdError: if the group has dropped this member.
        """
        if member is None:
            self._made += 1
            member = f"{client}-{self._made:04}"
            self._members[member] = _Member(client, topics, session_ms, now_ms, joined=False)
        found = self._found(member)
        if self._forming_since is None:
            self._rebalance(now_ms)
        found.heard_ms, found.joined = now_ms, True
        return member

    def assignment(self, member: str) -> Assignment | None:
        """Return the current assignment of a member that joined, or None while the generation is forming.

        Raises:
            UnknownMemberIdError: if the group has dropped this member.
        """
        found = self._found(member)
        return None if self._forming_since is not None else Assignment(member, self.generation, found.places)

    def heartbeat(self, member: str, generation: int, now_ms: int) -> None:
        """Record a member's sign of life.

        Raises:
            UnknownMemberIdError: if the group has dropped it.
            IllegalGenerationError: if the generation is not the current one.
            RebalanceInProgressError: if it has to join again.
        """
        found = self._found(member)
        self._check(generation)
        found.heard_ms = now_ms
        if self._forming_since is not None:
            raise RebalanceInProgressError

    def commit(self, member: str, generation: int, offsets: Mapping[Place, int], now_ms: int) -> None:
        """Store offsets; a member may still commit while the next generation forms.

        Raises:
            UnknownMemberIdError: if the group has dropped it.
            IllegalGenerationError: if the generation is not the current one.
        """
        found = self._found(member)
        self._check(generation)
        found.heard_ms = now_ms
        self.offsets.update(offsets)

    def leave(self, member: str, now_ms: int) -> None:
        """Remove a member and rebalance."""
        if member in self._members:
            self._drop(member, now_ms)

    def _found(self, member: str) -> _Member:
        if member not in self._members:
            raise UnknownMemberIdError
        return self._members[member]

    def _check(self, generation: int) -> None:
        if generation != self.generation:
            raise IllegalGenerationError

    def _drop(self, member: str, now_ms: int) -> None:
        del self._members[member]
        if self._members and self._forming_since is None:
            self._rebalance(now_ms)

    def _rebalance(self, now_ms: int) -> None:
        self._forming_since = now_ms
        for member in self._members.values():
            member.joined = False

    def _form(self, now_ms: int) -> None:
        """Begin the next generation: assign each topic's partitions in ranges, in order of the members' ids."""
        self._forming_since = None
        self.generation += 1
        places: dict[str, list[Place]] = {name: [] for name in self._members}
        for topic, count in self._counts.items():
            names = sorted(name for name, member in self._members.items() if topic in member.topics)
            share, more = divmod(count, len(names)) if names else (0, 0)
            start = 0
            for index, name in enumerate(names):
                end = start + share + (index < more)
                places[name] += [Place(topic, partition) for partition in range(start, end)]
                start = end
        for name, member in self._members.items():
            member.heard_ms, member.places = now_ms, tuple(places[name])
