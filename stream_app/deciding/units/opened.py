"""A series' steps that accept unit readings: their stored form, and how records open and close them.

A step opens with its first reading. A reading of step i closes every step up to ``i - open_steps``, and a watermark
closes every step that ends at or before it. Neither depends on a clock.
"""

from collections.abc import Sequence
from functools import lru_cache
from operator import attrgetter
from typing import Any, Final, NamedTuple

from stream_app.privacy.collected.plain import first_open
from stream_app.privacy.collected.steps import untimely_watermark
from stream_app.privacy.policy import Policy
from stream_app.privacy.reason import Rejection
from stream_app.privacy.state import NEVER, State
from stream_app.privacy.values import frozen

BLOCK_UNITS: Final = 16
"""The number of units in a sealed row."""
_INDEX: Final = attrgetter("index")
_SHARED: Final = 4096
"""The maximum number of distinct sets of open units shared between series."""


@lru_cache(maxsize=64)
def _one(key: str) -> str:
    """Return one shared string object for all steps with the same key."""
    return key


@frozen
class OpenStep:
    """One open step: the version under which it opened, its noise key, and its existing rows as bits.

    Which units have a reading, and therefore which rows exist, is public. ``key`` is the fingerprint of the only key
    that can open the rows.
    """

    index: int
    version: int
    key: str
    blocks: int = 0

    def has(self, block: int) -> bool:
        """Return whether the step has the row with this number."""
        return bool(self.blocks >> block & 1)

    def with_block(self, block: int) -> "OpenStep":
        """Return the step with row ``block`` added."""
        return OpenStep(self.index, self.version, self.key, self.blocks | 1 << block)

    @property
    def numbers(self) -> list[int]:
        """The row numbers in ascending order."""
        return [nth for nth in range(self.blocks.bit_length()) if self.blocks >> nth & 1]


class OpenUnits(NamedTuple):
    """The open steps of a series, in ascending order; no step before ``first`` opens again."""

    first: int
    steps: tuple[OpenStep, ...] = ()

    def step(self, index: int) -> OpenStep | None:
        """Return an open step, or None if the step has no reading."""
        for step in reversed(self.steps):
            if step.index == index:
                return step
        return None

    def before(self, first: int) -> tuple[OpenStep, ...]:
        """Return the open steps before ``first``."""
        return tuple(step for step in self.steps if step.index < first)

    def shifted(self, first: int) -> "OpenUnits":
        """Return the open units after all steps before ``first`` have closed."""
        if first <= self.first:
            return self
        return OpenUnits(first, tuple(step for step in self.steps if step.index >= first))

    def put(self, step: OpenStep) -> "OpenUnits":
        """Return the open steps with ``step`` added or replaced."""
        others = [one for one in self.steps if one.index != step.index]
        return _shared(OpenUnits(self.first, tuple(sorted([*others, step], key=_INDEX))))

    def written(self) -> list[Any]:
        """Return the form stored in a row: JSON numbers and text."""
        return [self.first, *([step.index, step.version, step.key, f"{step.blocks:x}"] for step in self.steps)]

    @classmethod
    def read(cls, stored: Sequence[Any]) -> "OpenUnits":
        """Return the stored open units."""
        first, *steps = stored
        return _read(first, *map(tuple, steps))


@lru_cache(maxsize=_SHARED)
def _shared(opened: OpenUnits) -> OpenUnits:
    """Return one object for all series with equal open units, such as series that are read at the same pace."""
    return opened


@lru_cache(maxsize=_SHARED)
def _read(first: int, *steps: tuple[int, int, str, str]) -> OpenUnits:
    opened = [OpenStep(index, version, _one(key), int(blocks, 16)) for index, version, key, blocks in steps]
    return _shared(OpenUnits(first, tuple(opened)))


GIVEN_UP: Final = OpenUnits(NEVER)
"""Marks that the open steps and their readings are lost; the next record discards any open steps."""


def reached(policy: Policy, state: State, before: OpenUnits | None, index: int) -> OpenUnits | Rejection:
    """Return the open steps just before a reading of step ``index`` is added, or why the reading is rejected.

    Steps before the first open step close. After a loss, the first reading discards its own step and every step that
    may have been open at the same time. That step then lies before the first open step and accepts nothing.
    """
    if state.closed:
        return Rejection("closed")
    first = first_open(policy, state, _first_of(before))
    if index < first:
        return Rejection("late")
    if before == GIVEN_UP:
        return OpenUnits(index + policy.open_steps)
    return (before or OpenUnits(first)).shifted(policy.first_open_after(index))


def watermarked(policy: Policy, state: State, before: OpenUnits | None, timestamp_ms: int) -> OpenUnits | Rejection:
    """Return the open steps after a watermark, or why it is rejected; it must be later than all earlier watermarks."""
    now = policy.index_of(timestamp_ms)
    reason = untimely_watermark(policy, state, _first_of(before), now)
    if reason is not None:
        return Rejection(reason)
    if before is None or before == GIVEN_UP:
        return OpenUnits(now if before is None else now + policy.open_steps)
    return before.shifted(now)


def _first_of(opened: OpenUnits | None) -> int | None:
    return None if opened is None or opened == GIVEN_UP else opened.first
