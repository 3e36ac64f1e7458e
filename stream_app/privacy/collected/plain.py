"""Steps of a plain series that accept several readings, and the release of a closing step.

If `absent` is given, watermarks open and close steps as for collected data (`steps`), and every step is processed.
Otherwise readings open and close steps: a reading of step i closes every step up to ``i - open_steps``, and a watermark
closes every step that ends at or before it. Steps without a reading are skipped. Neither way uses a clock.
"""

from stream_app.privacy.collected.steps import (
    ALL_GIVEN_UP,
    GIVEN_UP,
    UNREAD,
    Move,
    OpenSteps,
    first_of,
    moved,
    shifted,
    untimely_watermark,
)
from stream_app.privacy.fold import StepResult, advance, publish
from stream_app.privacy.noise.draws import Draw
from stream_app.privacy.noise.key import KeyRing
from stream_app.privacy.place import place, unspent
from stream_app.privacy.policy import Policy
from stream_app.privacy.reason import Reason, Rejection
from stream_app.privacy.state import State
from stream_app.privacy.values import RawCells

MOST_READINGS = 10_000
"""The maximum number of readings in an open step: each reading's timestamp is kept in memory."""


def read_open(policy: Policy) -> bool:
    """Return whether readings open steps; otherwise watermarks do."""
    return policy.within is not None and not policy.within.gapless


def reached(
    policy: Policy, state: State, before: OpenSteps | None, index: int, offset: int
) -> tuple[bool, OpenSteps] | Rejection:
    """Return the effect of a valid reading of step ``index``, or why its time is refused.

    The first item is whether the reading opens its step: it does if readings open steps and it is the step's first one.
    The second is the open steps after the reading; earlier steps close.
    """
    if state.closed:
        return Rejection("closed")
    if not read_open(policy):
        reason: Reason | None = "early" if before is None else before.untimely(index)
        if reason is not None or before is None:
            return Rejection(reason or "early")
        return False, before
    if before == ALL_GIVEN_UP:
        return Rejection("early")
    known = UNREAD if before is None else before.offset_of(index)
    if index < first_open(policy, state, first_of(before)) or known == GIVEN_UP:
        return Rejection("late")
    return known == UNREAD, opened(policy, state, before, index, offset)


def first_open(policy: Policy, state: State, known: int | None) -> int:
    """Return the first step that may be open: ``known`` if given, else the one after the last processed step."""
    return max(0, policy.index_of(state.clock.decided_end_ms - 1) + 1) if known is None else known


def opened(policy: Policy, state: State, before: OpenSteps | None, index: int, offset: int) -> OpenSteps:
    """Return the open steps after an accepted reading of step ``index``, if readings open steps."""
    least = first_open(policy, state, first_of(before))
    first = max(least, policy.first_open_after(index))
    offsets = list(before.offsets[first - least :] if before is not None else ())
    offsets += [UNREAD] * (index - first + 1 - len(offsets))
    if offsets[index - first] == UNREAD:
        offsets[index - first] = offset
    return OpenSteps(first, tuple(offsets))


def watermarked(
    policy: Policy, state: State, before: OpenSteps | None, timestamp_ms: int, offset: int
) -> Move | Rejection:
    """Return the effect, or the refusal, of a watermark; a watermark closes every step that ends at or before it."""
    if not read_open(policy):
        return moved(policy, state, before, timestamp_ms, offset)
    now = timestamp_ms // policy.step_ms
    reason = untimely_watermark(policy, state, first_of(before), now)
    if reason is not None:
        return Rejection(reason)
    known = first_of(before)
    closing = range(now, now) if known is None else range(known, now)
    return Move(closing, range(0), after_watermark(policy, before, now, offset))


def after_watermark(policy: Policy, before: OpenSteps | None, now: int, offset: int) -> OpenSteps:
    """Return the open steps after a watermark in step ``now`` has been accepted."""
    if before == ALL_GIVEN_UP or not read_open(policy):
        return shifted(policy, before, now, offset)
    return OpenSteps(now, before.offsets[now - before.first :] if before is not None else ())


def stays_open(policy: Policy, before: Policy) -> bool:
    """Return whether steps open under ``before`` stay open: only if ``policy`` reads them in the same way."""
    alike = (policy.step_ms, policy.kind, policy.within) == (before.step_ms, before.kind, before.within)
    return alike and policy.within is not None


def decide_step(
    keys: KeyRing,
    policy: Policy,
    state: State,
    series: str,
    index: int,
    cells: RawCells | None,
    seed: bytes | None = None,
) -> StepResult | None:
    """Process a closing step with its combined readings; ``cells`` is None if there are none.

    A step without cells is filled without spending. Return None if the key of its epoch was erased; the step is then
    skipped. Guarantee: that of `fold.step`, with all readings of a step as its one event. If `absent` is a value, a
    step without a reading has that value in ``cells`` and is processed like a step with that value: the same proposal,
    coin, privacy cost and noise.

    For collected data, ``cells`` are the contents of the counters, which are read only if the step is perturbed. If
    counters start with noise, ``seed`` is the closing watermark's seed, and the guarantee of `steps` holds against
    anyone who saw the counters.
    """
    epoch = keys.epoch_of(policy.start_of(index))
    secret = keys.secret_of(epoch)
    if secret is None:
        return None
    if cells is None:
        return advance(policy, state, index, place(policy, state, index), unspent(policy, state, index), None, 0)
    return publish(policy, state, index, Draw(secret, epoch, series, seed), cells)
