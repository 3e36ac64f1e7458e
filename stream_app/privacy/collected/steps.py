"""Steps of collected data: which ones are open, and the noise with which their counters start.

Only event time opens and closes steps, through watermarks. Steps follow each other without a gap and close in order.

Pan-privacy (Dwork, Naor, Pitassi, Rothblum, Yekhanin, Pan-private streaming algorithms, 2010): with ``intrusion_nano``,
counters are never bare in memory. They start with discrete Laplace noise of rate ``intrusion / sensitivity``, whose
seed comes with the opening watermark and is then forgotten. All releases, and the memory at announced moments,
reveal at most ``max(intrusion, epsilon)`` about one item at an exposed step, where epsilon is the cost of the step's
release. The noise before a look covers the counts before it, the fresh noise covers those after it, and the closing
noise covers the last ones; one item changes one of these parts. If neighbours also change an item's place in the log,
each affected part changes by half the sensitivity, and the two halves together by no more than the sensitivity.
"""

from typing import Final, NamedTuple

from stream_app.privacy.collected.collect import escaped_bytes, gathered_of
from stream_app.privacy.kinds import Counts, Vector
from stream_app.privacy.noise.draws import start_stream
from stream_app.privacy.noise.mechanisms import discrete_laplace
from stream_app.privacy.parameters import LAST_TIMESTAMP_MS
from stream_app.privacy.policy import Policy
from stream_app.privacy.reason import Reason, Rejection
from stream_app.privacy.state import NEVER, State
from stream_app.privacy.values import NANO

MOST_CLOSED = 10_000
"""The maximum number of steps that one watermark may close."""
MOST_CELLS = 2**20
"""The maximum number of cells in all steps that one watermark may close: a few seconds of work.

A worker that is silent for longer is treated as gone.
"""
MOST_PUBLISHED_BYTES = 64 * 1024 * 1024
"""Limit on the bytes of key names and numbers in the releases of all steps that one watermark closes.

These releases wait in memory together.
"""
_DOUBLE_BYTES: Final = len('"":-2.2250738585072014e-308,')
GIVEN_UP: Final = -1
"""Offset of a step that is never released, because contributions to it may be lost."""
UNREAD: Final = -2
"""Offset of a step that no reading has opened yet, if readings open steps (`plain`)."""


class OpenSteps(NamedTuple):
    """Steps ``first, first + 1, ...``; ``offsets`` holds the offset of the record that opened each step.

    That record is a watermark, or a step's first reading if readings open steps (`plain`). Steps that are ``GIVEN_UP``
    come before all others. They accept nothing and are skipped.
    """

    first: int
    offsets: tuple[int, ...]

    def untimely(self, index: int) -> Reason | None:
        """Return why step ``index`` accepts no contribution, or None if it is open."""
        if index < self.first:
            return "late"
        nth = index - self.first
        if nth >= len(self.offsets):
            return "early"
        return "late" if self.offsets[nth] == GIVEN_UP else None

    @property
    def counted(self) -> range:
        """Return the steps that accept contributions."""
        return range(self.first + self.offsets.count(GIVEN_UP), self.first + len(self.offsets))

    @property
    def begun(self) -> tuple[int, ...]:
        """Return the steps that may have accepted a record: those with the offset of an opening record."""
        return tuple(self.first + nth for nth, offset in enumerate(self.offsets) if offset >= 0)

    def offset_of(self, index: int) -> int:
        """Return the offset of the record that opened step ``index``, or `UNREAD` if unknown."""
        nth = index - self.first
        return self.offsets[nth] if 0 <= nth < len(self.offsets) else UNREAD

    def opened_at(self, offset: int) -> range:
        """Return the steps that the watermark at ``offset`` opened and that are still open."""
        first = next((nth for nth, found in enumerate(self.offsets) if found == offset), len(self.offsets))
        return range(self.first + first, self.first + first + self.offsets.count(offset))


ALL_GIVEN_UP: Final = OpenSteps(-1, ())
"""Unknown open steps: none is open now, and the next watermark gives up those that may be open."""


class Move(NamedTuple):
    """The effect of a watermark: the steps that it closes and opens, and the open steps after it."""

    closing: range
    opening: range
    after: OpenSteps


def moved(policy: Policy, state: State, before: OpenSteps | None, timestamp_ms: int, offset: int) -> Move | Rejection:
    """Return the effect of a watermark at ``timestamp_ms``, or its refusal.

    A watermark closes every step that ends at or before it, from the first open step on, including steps that were
    never opened. Then the next ``open_steps`` steps are open. If no step was open, none closes. Steps that were given
    up are skipped.
    """
    now = timestamp_ms // policy.step_ms
    reason = untimely_watermark(policy, state, first_of(before), now)
    if reason is not None:
        return Rejection(reason)
    closing = range(now, now) if first_of(before) is None or before is None else range(before.counted.start, now)
    if len(closing) > most_closed(policy):
        return Rejection("future")
    after = shifted(policy, before, now, offset)
    return Move(closing, after.opened_at(offset), after)


def first_of(opened: OpenSteps | None) -> int | None:
    """Return the first step that may be open, or None if none was opened yet or all are given up."""
    return None if opened is None or opened == ALL_GIVEN_UP else opened.first


def untimely_watermark(policy: Policy, state: State, first: int | None, now: int) -> Reason | None:
    """Return why a watermark in step ``now`` is refused, or None if it is later than all earlier watermarks.

    ``first`` is the first step that may be open, or None if unknown.
    """
    if state.closed:
        return "closed"
    if first is not None:
        return None if now > first else "duplicate" if now == first else "late"
    clock = state.clock
    if now >= 0 and policy.start_of(now) >= clock.decided_end_ms:
        return None
    return "duplicate" if clock.decided_ms != NEVER and policy.start_of(now + 1) > clock.decided_ms else "late"


def most_closed(policy: Policy) -> int:
    """Return the maximum number of steps that one watermark may close."""
    if policy.collect is None and isinstance(policy.kind, Vector):
        named_bytes = sum([_DOUBLE_BYTES + escaped_bytes(name) for name in policy.kind.names])
        return min(MOST_CLOSED, MOST_PUBLISHED_BYTES // (3 * named_bytes))  # value, measurement and scale
    if policy.collect is None and not isinstance(policy.kind, Counts):
        return MOST_CLOSED
    gathers = gathered_of(policy.kind) if policy.collect is None else policy.collect.gathers
    return min(MOST_CLOSED, MOST_CELLS // gathers.counters, MOST_PUBLISHED_BYTES // gathers.published_bytes)


def shifted(policy: Policy, before: OpenSteps | None, now: int, offset: int) -> OpenSteps:
    """Return the open steps after a watermark in step ``now`` has been accepted.

    The first watermark after all steps were given up opens no steps: a lost watermark before it may have opened the
    same steps, and their contributions since then are lost. Watermarks advance in time, so the lost one opened no steps
    after these.
    """
    kept = before.offsets[now - before.first :] if before else ()
    end = min(now + policy.open_steps, LAST_TIMESTAMP_MS // policy.step_ms + 1)
    since = GIVEN_UP if before == ALL_GIVEN_UP else offset
    return OpenSteps(now, kept + (since,) * max(0, end - now - len(kept)))


def start_noise(seed: bytes, policy: Policy, series: str, index: int, looks: int) -> tuple[int, ...]:
    """Return the noise for each counter of step ``index``: at its start, or after ``looks`` intrusions.

    The noise is 0 without `intrusion_nano`. Guarantee: a later look at the counters reveals at most ``intrusion_nano``
    about one item contributed after this noise (discrete Laplace mechanism at L1 sensitivity `Gathered.sensitivity`).
    """
    collect = policy.collect
    assert collect is not None, "only collected data have counters"
    gathers = collect.gathers
    if collect.intrusion_nano is None:
        return (0,) * gathers.counters
    stream = start_stream(seed, policy, series, index * policy.step_ms, collect.intrusion_nano, looks)
    denominator = gathers.sensitivity * NANO
    return tuple(discrete_laplace(stream, collect.intrusion_nano, denominator) for _ in range(gathers.counters))
