"""A network of clients and brokers that loses answers, holds requests, delivers copies late, by API key.

The brokers advertise the ports on which the proxy listens. TCP delivers each connection's bytes once and in order; what
arrives late, after being repeated, is a request on an older connection that the client gave up.
"""

import asyncio
import struct
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum
from types import TracebackType
from typing import Final, Self

from stream_app.localbroker.machine import HOST

PRODUCE: Final = 0
FETCH: Final = 1
METADATA: Final = 3
OFFSET_COMMIT: Final = 8
FIND_COORDINATOR: Final = 10
INIT_PRODUCER_ID: Final = 22
ADD_PARTITIONS: Final = 24
END_TRANSACTION: Final = 26

_SETTLE_SECONDS: Final = 0.2
"""A coordinator answers once it knows that a transaction ends; its markers reach the logs a moment later."""


class Deed(Enum):
    """What the proxy does with a request."""

    LATE = "late"
    """Keep it and close the connection, as if it were in flight; deliver it when the rule's trigger comes."""
    SILENT = "late, connection open"
    """The same, but the client is not informed: it waits until its own time-out."""
    COPY = "copy"
    """Deliver it, and once more when the rule's trigger comes."""
    LOSE_ANSWER = "answer lost"
    """Deliver it, then close the connection instead of returning the answer."""
    RESET = "reset"
    """Close the connection and deliver nothing."""
    HOLD = "held"
    """Deliver it after the rule's seconds, whether or not the client still waits."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What the proxy reads from a request."""

    api: int
    frame: bytes
    writer: str | None = None
    """The transactional id."""
    topics: tuple[str, ...] = ()
    """Of a `Produce` request."""
    commits: bool | None = None
    """For an `EndTxn` request: true to commit, false to abort."""

    @classmethod
    def read(cls, frame: bytes) -> Self:
        """Read a request; members of API keys and versions that no rule needs stay empty."""
        api, version = struct.unpack_from(">hh", frame)
        reader = _Reader(frame, 8)
        reader.text()  # the client's name
        if api == PRODUCE and 3 <= version <= 8:
            writer = reader.text()
            reader.take(">hi")
            return cls(api, frame, writer, tuple(reader.produced()))
        if api in (INIT_PRODUCER_ID, ADD_PARTITIONS, END_TRANSACTION) and version <= 1:
            writer = reader.text()
            if api != END_TRANSACTION:
                return cls(api, frame, writer)
            _, _, commits = reader.take(">qhb")
            return cls(api, frame, writer, commits=bool(commits))
        return cls(api, frame)


class _Reader:
    """Reads the fields of a request in order."""

    def __init__(self, frame: bytes, start: int) -> None:
        self._frame, self._at = frame, start

    def take(self, form: str) -> tuple[int, ...]:
        """Return the fields that a format of `struct` names."""
        found = struct.unpack_from(form, self._frame, self._at)
        self._at += struct.calcsize(form)
        return found

    def text(self) -> str | None:
        """Return a nullable string."""
        (length,) = self.take(">h")
        if length < 0:
            return None
        self._at += length
        return self._frame[self._at - length : self._at].decode()

    def produced(self) -> list[str]:
        """Return the topics of a `Produce` request."""
        topics = []
        for _ in range(self.take(">i")[0]):
            topics.append(self.text() or "")
            for _ in range(self.take(">i")[0]):
                _, size = self.take(">ii")
                self._at += size
        return topics


Matches = Callable[[Asked], bool]


@dataclass
class Rule:
    """How the proxy treats which requests: of the matching ones, the ``first`` and each ``every``-th after it."""

    matches: Matches
    deed: Deed
    first: int = 3
    every: int = 6
    most: int | None = None
    seconds: float = 0.0
    trigger: Matches = lambda _: False
    """For a kept request: the same writer's request before which it is delivered."""
    skipped: int = 0
    """The number of requests matching the trigger that pass beforehand."""
    seen: Counter[str | None] = field(default_factory=Counter)
    done: int = 0
    answers: list[int] = field(default_factory=list)
    """Error codes of the answers to kept copies of `EndTxn`, in order."""
    delivered: int = 0
    """How many kept requests were delivered."""
    after: Callable[[], None] = lambda: None
    """Called after a kept request is delivered, before its trigger is."""

    def takes(self, asked: Asked) -> bool:
        """Return whether the rule applies to this request, and count the request."""
        if not self.matches(asked):
            return False
        self.seen[asked.writer] += 1
        beyond = self.seen[asked.writer] - self.first
        if beyond < 0 or beyond % self.every or self.done == self.most:
            return False
        self.done += 1
        return True


@dataclass
class _Kept:
    """A request that waits for its trigger."""

    rule: Rule
    asked: Asked
    port: int
    left: int
    """The number of requests matching the trigger that pass before it is delivered."""


class Proxy:
    """Listens on one port per broker while its block runs."""

    def __init__(self, routes: Mapping[int, int], rules: Sequence[Rule] = ()) -> None:
        """Take the broker's port for each port that the brokers advertise."""
        self.rules = list(rules)
        self.asked: Counter[int] = Counter()
        """The number of requests that arrived, by API key."""
        self._routes = routes
        self._servers: list[asyncio.Server] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._kept: list[_Kept] = []
        self._changed = asyncio.Condition()
        """Notified when a request is kept or delivered."""

    async def __aenter__(self) -> Self:
        """Listen."""
        for front, port in self._routes.items():

            async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, port: int = port) -> None:
                await self._serve(reader, writer, port)

            self._servers.append(await asyncio.start_server(serve, HOST, front))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close everything; requests that are still kept never arrive."""
        for server in self._servers:
            server.close()
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def deliver_kept(self) -> int:
        """Deliver the kept requests now; return their number."""
        kept, self._kept = self._kept, []
        for one in kept:
            await self._deliver(one)
        return len(kept)

    async def until_kept(self, *, some: bool) -> None:
        """Wait until some request waits for its trigger, or until none does."""
        async with self._changed:
            await self._changed.wait_for(lambda: bool(self._kept) == some)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, port: int) -> None:
        task = asyncio.current_task()
        assert task is not None, "a server's callback is a task"
        self._tasks.add(task)
        try:
            # A broker that is down refuses; a client that is gone resets.
            with suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
                await self._relay(reader, writer, port)
        finally:
            writer.close()
            self._tasks.discard(task)

    async def _relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, port: int) -> None:
        from_broker, to_broker = await asyncio.open_connection(HOST, port)
        unanswered: set[bytes] = set()
        answers = asyncio.create_task(_relay_answers(from_broker, writer, unanswered))
        self._tasks.add(answers)
        answers.add_done_callback(self._tasks.discard)
        try:
            while True:
                asked = Asked.read(await _frame(reader))
                self.asked[asked.api] += 1
                await self._release(asked)
                rule = next((rule for rule in self.rules if rule.takes(asked)), None)
                if rule is not None:
                    if rule.deed in (Deed.LATE, Deed.SILENT, Deed.COPY):
                        await self._keep(_Kept(rule, asked, port, rule.skipped))
                    if rule.deed is Deed.HOLD:
                        await asyncio.sleep(rule.seconds)
                    if rule.deed in (Deed.LATE, Deed.RESET):
                        return
                    if rule.deed is Deed.SILENT:
                        continue
                    if rule.deed is Deed.LOSE_ANSWER:
                        unanswered.add(asked.frame[4:8])
                _send(to_broker, asked.frame)
                await to_broker.drain()
        finally:
            answers.cancel()
            to_broker.close()

    async def _release(self, asked: Asked) -> None:
        """Deliver the requests that were kept for this request, before the request itself."""
        for one in list(self._kept):
            if one.asked.writer == asked.writer and one.asked is not asked and one.rule.trigger(asked):
                one.left -= 1
                if one.left < 0 and one in self._kept:
                    self._kept.remove(one)
                    await self._deliver(one)

    async def _keep(self, one: _Kept) -> None:
        async with self._changed:
            self._kept.append(one)
            self._changed.notify_all()

    async def _deliver(self, one: _Kept) -> None:
        reader, writer = await asyncio.open_connection(HOST, one.port)
        try:
            _send(writer, one.asked.frame)
            answer = await _frame(reader)
        finally:
            writer.close()
        one.rule.delivered += 1
        if one.asked.api == END_TRANSACTION:
            one.rule.answers += struct.unpack_from(">h", answer, 8)
        await asyncio.sleep(_SETTLE_SECONDS)
        one.rule.after()
        async with self._changed:
            self._changed.notify_all()


async def _frame(reader: asyncio.StreamReader) -> bytes:
    (size,) = struct.unpack(">i", await reader.readexactly(4))
    return await reader.readexactly(size)


def _send(writer: asyncio.StreamWriter, frame: bytes) -> None:
    writer.write(struct.pack(">i", len(frame)) + frame)


async def _relay_answers(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, unanswered: set[bytes]) -> None:
    """Pass on answers until one of them is to be lost, or the broker closes the connection."""
    with suppress(OSError, asyncio.IncompleteReadError):
        while True:
            answer = await _frame(reader)
            if answer[:4] in unanswered:
                break
            _send(writer, answer)
            await writer.drain()
    writer.close()
