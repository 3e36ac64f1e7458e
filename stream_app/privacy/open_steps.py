"""The open steps of a series of collected data: which ones take contributions, and since which input offset.

Event time alone moves them, by watermarks: they follow each other without a gap, and close in order.
"""

from typing import NamedTuple

from stream_app.privacy.parameters import LAST_TIMESTAMP_MS
from stream_app.privacy.policy import Policy
from stream_app.privacy.reason import Reason, Refused
from stream_app.privacy.state import State

MOST_CLOSED = 10_000
"""Steps that one watermark may close."""
MOST_CELLS = 2**20
"""Cells of all steps that one watermark may close, some seconds of work: a worker silent for longer counts as gone."""


class OpenSteps(NamedTuple):
    """Steps ``first, first + 1, ...``; ``offsets`` holds, for each, that of the watermark that opened it."""

    first: int
    offsets: tuple[int, ...]

    def untimely(self, index: int) -> Reason | None:
        """Return why step ``index`` takes no contribution, or None: it is open."""
        if index < self.first:
            return "late"
        return None if index - self.first < len(self.offsets) else "early"

    def opened_at(self, offset: int) -> range:
        """Return the steps that are open since the watermark at ``offset``."""
        first = next((nth for nth, found in enumerate(self.offsets) if found == offset), len(self.offsets))
        return range(self.first + first, self.first + first + self.offsets.count(offset))


class Move(NamedTuple):
    """What a watermark does: the steps that it closes, those that it opens, and what is open after it."""

    closing: range
    opening: range
    after: OpenSteps


def moved(policy: Policy, state: State, before: OpenSteps | None, timestamp_ms: int, offset: int) -> Move | Refused:
    """Return what a watermark at ``timestamp_ms`` does, or why nothing.

    It closes every step that ends at or before it, from the first open one on, never opened ones too; then the next
    ``open_steps`` are open. Where nothing was open, nothing closes.
    """
    assert policy.collect is not None, "only collected data have watermarks"
    now = timestamp_ms // policy.step_ms
    if state.closed:
        return Refused("closed")
    if before is None:
        start_ms = now * policy.step_ms
        if start_ms < state.decided_end_ms:
            return Refused("duplicate" if start_ms + policy.step_ms > state.decided_ms else "late")
        before = OpenSteps(now, ())
    elif now <= before.first:
        return Refused("duplicate" if now == before.first else "late")
    closing = range(before.first, now)
    if len(closing) > MOST_CLOSED or len(closing) * policy.kind.width > MOST_CELLS:
        return Refused("future")
    after = shifted(policy, before, now, offset)
    kept = max(0, len(before.offsets) - len(closing))
    return Move(closing, range(now + kept, now + len(after.offsets)), after)


def shifted(policy: Policy, before: OpenSteps | None, now: int, offset: int) -> OpenSteps:
    """Return what is open after a watermark within step ``now`` that was not refused."""
    assert policy.collect is not None, "only collected data have watermarks"
    kept = before.offsets[now - before.first :] if before else ()
    end = min(now + policy.collect.open_steps, LAST_TIMESTAMP_MS // policy.step_ms + 1)
    return OpenSteps(now, kept + (offset,) * max(0, end - now - len(kept)))
