"""A member of a consumer group: it joins each generation, and commits its progress."""

import asyncio
from collections.abc import Mapping

from aiokafka.errors import IllegalGenerationError, RebalanceInProgressError, UnknownMemberIdError

from tests.cluster.client import Client
from tests.cluster.cluster import MemoryCluster
from tests.cluster.group import Assignment, Place

_POLL_SECONDS = 0.05


class MemoryMember:
    """One client's membership; its user sends the heartbeats, so a member whose user does not is expelled.

    Every call raises a `KafkaError` of the cluster's hook, and then changes nothing that this member knows of.
    """

    def __init__(
        self,
        cluster: MemoryCluster,
        client: str,
        group: str,
        topics: tuple[str, ...],
        session_ms: int = 10_000,
        poll_ms: int = 300_000,
    ) -> None:
        """Begin as no member; ``session_ms`` is how long the group waits for a sign of life.

        A client without a call of `poll` for more than ``poll_ms`` hangs: its member leaves the group, as aiokafka's
        does.
        """
        self._client, self._cluster = Client(cluster, client), cluster
        self._group = cluster.group(group)
        self.topics, self._session_ms = topics, session_ms
        self._assignment: Assignment | None = None
        self._poll_ms, self._polled_ms = poll_ms, self._now_ms

    @property
    def generation(self) -> int:
        """The last generation that this member joined, or -1 for none."""
        return -1 if self._assignment is None else self._assignment.generation

    @property
    def places(self) -> tuple[Place, ...]:
        """The member's places in that generation."""
        return () if self._assignment is None else self._assignment.places

    async def join(self) -> Assignment:
        """Become a member of the next generation, and return this member's assignment in it.

        A member that the group has expelled meanwhile joins as a new one. A member that is not polled does not join.
        """
        while self._hangs():  # noqa: ASYNC110 (it passes with time, and by no event)
            await asyncio.sleep(_POLL_SECONDS)
        known = None if self._assignment is None else self._assignment.member
        while True:
            try:
                found = await self._join(known)
            except UnknownMemberIdError:
                known = None
            else:
                self._assignment = found
                return found

    async def _join(self, known: str | None) -> Assignment:
        member = await self._client.ask(
            "join",
            lambda: self._group.join(known, self._client.name, self.topics, self._session_ms, self._now_ms),
        )
        while True:
            found = await self._client.ask("sync", lambda: self._group.assignment(member))
            if found is not None:
                return found
            await asyncio.sleep(_POLL_SECONDS)

    async def stays(self) -> bool:
        """Send a heartbeat; return whether the generation continues. If not, the member has to join the next one."""
        if self._assignment is None:
            return False
        member, generation, _ = self._assignment
        try:
            await self._client.ask("heartbeat", lambda: self._group.heartbeat(member, generation, self._now_ms))
        except (UnknownMemberIdError, IllegalGenerationError, RebalanceInProgressError):
            return False
        if self._hangs():
            await self.leave()
        return self._assignment is not None

    def poll(self) -> None:
        """Ask for records, whether there are any or not."""
        self._polled_ms = self._now_ms

    def _hangs(self) -> bool:
        return self._now_ms - self._polled_ms > self._poll_ms

    async def commit(self, offsets: Mapping[Place, int]) -> bool:
        """Ask the group to store offsets; return whether it did: it accepts none from an old generation."""
        if self._assignment is None:
            return False
        member, generation, _ = self._assignment
        try:
            await self._client.ask(
                "commit offsets", lambda: self._group.commit(member, generation, offsets, self._now_ms)
            )
        except (UnknownMemberIdError, IllegalGenerationError):
            return False
        return True

    async def leave(self) -> None:
        """Be no member any more."""
        if self._assignment is not None:
            member = self._assignment.member
            await self._client.ask("leave", lambda: self._group.leave(member, self._now_ms))
            self._assignment = None

    @property
    def _now_ms(self) -> int:
        return self._cluster.now_ms()
