"""The open steps of a series of collected data: which ones take contributions, and since which input offset.

Event time alone moves them, by watermarks: they follow each other without a gap, and close in order.
"""

from typing import Final, NamedTuple

from stream_app.privacy.kinds import Counts
from stream_app.privacy.kinds.counts import LARGEST_COUNT
from stream_app.privacy.parameters import LAST_TIMESTAMP_MS
from stream_app.privacy.policy import Policy
from stream_app.privacy.reason import Reason, Refused
from stream_app.privacy.state import State

MOST_CLOSED = 10_000
"""Steps that one watermark may close."""
MOST_CELLS = 2**20
"""Cells of all steps that one watermark may close, some seconds of work: a worker silent for longer counts as gone."""
MOST_PUBLISHED_BYTES = 64 * 1024 * 1024
"""Key names and numbers in the releases of all steps that one watermark may close: they wait in memory together."""
GIVEN_UP: Final = -1
"""Stands for the offset of a step that is never released, since contributions to it may be lost."""


class OpenSteps(NamedTuple):
    """Steps ``first, first + 1, ...``; ``offsets`` holds, for each, that of the watermark that opened it.

    Those ``GIVEN_UP`` come before all others. They take nothing and are passed over.
    """

    first: int
    offsets: tuple[int, ...]

    def untimely(self, index: int) -> Reason | None:
        """Return why step ``index`` takes no contribution, or None: it is open."""
        if index < self.first:
            return "late"
        nth = index - self.first
        if nth >= len(self.offsets):
            return "early"
        return "late" if self.offsets[nth] == GIVEN_UP else None

    @property
    def counted(self) -> range:
        """Return the steps that take contributions."""
        return range(self.first + self.offsets.count(GIVEN_UP), self.first + len(self.offsets))

    def opened_at(self, offset: int) -> range:
        """Return the steps that are open since the watermark at ``offset``."""
        first = next((nth for nth, found in enumerate(self.offsets) if found == offset), len(self.offsets))
        return range(self.first + first, self.first + first + self.offsets.count(offset))


ALL_GIVEN_UP: Final = OpenSteps(-1, ())
"""Nobody knows any more which steps were open: none is, and the next watermark gives up those that may have been."""


class Move(NamedTuple):
    """What a watermark does: the steps that it closes, those that it opens, and what is open after it."""

    closing: range
    opening: range
    after: OpenSteps


def moved(policy: Policy, state: State, before: OpenSteps | None, timestamp_ms: int, offset: int) -> Move | Refused:
    """Return what a watermark at ``timestamp_ms`` does, or why nothing.

    It closes every step that ends at or before it, from the first open one on, never opened ones too; then the next
    ``open_steps`` are open. Where nothing was open, nothing closes. What was given up is passed over.
    """
    assert policy.collect is not None, "only collected data have watermarks"
    now = timestamp_ms // policy.step_ms
    if state.closed:
        return Refused("closed")
    if before is None or before == ALL_GIVEN_UP:
        start_ms = now * policy.step_ms
        if start_ms < state.decided_end_ms:
            return Refused("duplicate" if start_ms + policy.step_ms > state.decided_ms else "late")
        closing = range(now, now)
    elif now <= before.first:
        return Refused("duplicate" if now == before.first else "late")
    else:
        closing = range(before.counted.start, now)
    if len(closing) > most_closed(policy):
        return Refused("future")
    after = shifted(policy, before, now, offset)
    return Move(closing, after.opened_at(offset), after)


def most_closed(policy: Policy) -> int:
    """Return how many steps one watermark may close."""
    assert isinstance(policy.kind, Counts), "collected data are counts"
    number_bytes = len(f'"":{-LARGEST_COUNT},')
    object_bytes = 1 + sum([number_bytes + _escaped_bytes(key) for key in policy.kind.keys])
    published_bytes = 2 * object_bytes  # a value and a measurement
    return min(MOST_CLOSED, MOST_CELLS // policy.kind.width, MOST_PUBLISHED_BYTES // published_bytes)


def _escaped_bytes(text: str) -> int:
    """Return the most bytes of a text within JSON, without its quotes."""
    return len(text.encode()) + sum([5 if letter < " " else letter in '"\\' for letter in text])


def shifted(policy: Policy, before: OpenSteps | None, now: int, offset: int) -> OpenSteps:
    """Return what is open after a watermark within step ``now`` that was not refused.

    The first one after all was given up opens nothing: a lost watermark may have opened the same steps before it, and
    what they got since then is lost. Watermarks go on in time, so it opened none behind them.
    """
    assert policy.collect is not None, "only collected data have watermarks"
    kept = before.offsets[now - before.first :] if before else ()
    end = min(now + policy.collect.open_steps, LAST_TIMESTAMP_MS // policy.step_ms + 1)
    since = GIVEN_UP if before == ALL_GIVEN_UP else offset
    return OpenSteps(now, kept + (since,) * max(0, end - now - len(kept)))
