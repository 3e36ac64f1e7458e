"""Input that has no output although later input was rejected: its own reject may be lost.

No other topic refers to rejects, so only the content of an input shows which output it must have. If a series' steps
accept one observation each, every observation results in a release or a reject. A record that cannot be read is
rejected. Any other record may need no output: a contribution, a reading, or a watermark that closes no step.
"""

from collections.abc import AsyncIterator, Container
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any, Final, final

from stream_app.formats import wire
from stream_app.formats.records import MalformedRecord, Observation
from stream_app.kafka.evidence.claim import is_claim
from stream_app.kafka.evidence.ends import AnsweredInput, Ends, Shortage
from stream_app.kafka.evidence.foreign import content, input_offset
from stream_app.kafka.evidence.outputs import first_of
from stream_app.kafka.parts import Site
from stream_app.kafka.rebuild.open_steps import LOST

_OUTPUTS: Final = ("rejects", "ledger", "releases")


@dataclass(frozen=True, slots=True)
class UnansweredInputs:
    """The number of inputs without an output, and the first of them (-1 if there are none)."""

    lost_rejects: int = 0  # inputs that require one: their rejects are lost
    first_lost_reject: int = -1
    unanswered: int = 0  # inputs that may need none
    first_unanswered: int = -1

    def refused(self, last_reject: int) -> Shortage:
        """Return why recovery does not skip these inputs; the last reject is for input ``last_reject``."""
        unsure = f"; {self.unanswered} more inputs have no output and may need none" if self.unanswered else ""
        found = (
            f"neither of them, although rejects of later input exist, up to input {last_reject}: the rejects of "
            f"{self.lost_rejects} records are lost, and would be out of order if they were published now{unsure}. "
            "`recover --accept-lost-releases` continues without them"
        )
        return Shortage("rejects-short", f"a release or a reject of input {self.first_lost_reject}", found)


async def unanswered(
    site: Site, partition: int, start: int, answered: AnsweredInput, ends: Ends, several: Container[str]
) -> UnansweredInputs:
    """Return the inputs without an output, from ``start`` on and before the last reject.

    ``several`` names the series that have ever had a step that takes several records.
    """
    if start >= answered.reject:
        return UnansweredInputs()
    names = site.names
    sure: list[int] = []
    unsure: list[int] = []
    async with AsyncExitStack() as stack:
        reader, *readers = [
            await stack.enter_async_context(site.brokers.reader("read_committed")) for _ in ("input", *_OUTPUTS)
        ]
        logs: list[_Answers] = []
        for topic, one in zip((names.rejects, names.ledger, names.releases), readers, strict=True):
            begin = await first_of(one, topic, partition, start)
            logs.append(_Answers(one.records(topic, partition, begin), losses=topic == names.rejects))
        rejects = logs[0]
        first, _ = await reader.bounds(names.events, partition)
        if ends.rejects.first > 0:  # earlier ones have expired
            start = max(start, await rejects.next())
        async for records in reader.records(names.events, partition, max(first, start), answered.reject):
            for record in records:
                offset = record.offset
                if offset >= answered.reject or any([await log.holds(offset) for log in logs]):
                    continue
                # PRIVACY: only the kind and the series of the record matter. Its reject would reveal whether it can be
                # read.
                found = wire.decode(record.value)
                must = (
                    found.series not in several
                    if isinstance(found, Observation)
                    else isinstance(found, MalformedRecord)
                )
                (sure if must else unsure).append(offset)
        await rejects.holds(answered.reject + 1)
    # Input that was skipped or deleted, and accepted as such, has no outputs.
    sure, unsure = ([offset for offset in found if offset > rejects.accepted] for found in (sure, unsure))
    return UnansweredInputs(len(sure), min(sure, default=-1), len(unsure), min(unsure, default=-1))


@final
class _Answers:
    """The input offsets of the records in one log, in order."""

    def __init__(self, batches: AsyncIterator[list[Any]], *, losses: bool) -> None:
        self._batches, self._losses = batches, losses
        self._waiting: list[Any] = []
        self.accepted = -1
        """The last input offset given up, according to a reject."""

    async def next(self) -> int:
        """Return the input offset of the next record, or one that is beyond every offset if there is no next record."""
        while not self._waiting:
            batch = await anext(self._batches, None)
            if batch is None:
                return 2**63
            self._waiting = [record for record in reversed(batch) if not is_claim(record)]
        return input_offset(self._waiting[-1])

    async def holds(self, offset: int) -> bool:
        """Return whether the log contains a record of an input; offsets must not decrease."""
        while (found := await self.next()) <= offset:
            is_loss = self._losses and self._is_loss()
            if found == offset and not is_loss:
                return True
            self._waiting.pop()
        return False

    def _is_loss(self) -> bool:
        """Return whether the next reject gives up input, and note the last such offset."""
        reject: Any = content(self._waiting[-1])
        if reject.get("reason") != LOST or reject.get("series") is not None:
            return False
        self.accepted = input_offset(self._waiting[-1])
        return True
