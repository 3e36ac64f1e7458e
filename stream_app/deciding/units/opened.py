"""Which steps of a series take readings of units: what its row says of them, and how a reading or a watermark moves it.

A step is open from its first reading on, until a reading of step i closes every step up to ``i - open_steps``, or a
watermark every step that ends at or before it. No clock has a part in either.
"""

from collections.abc import Sequence
from functools import lru_cache
from operator import attrgetter
from typing import Any, Final, NamedTuple

from stream_app.privacy.collected.plain import first_open
from stream_app.privacy.collected.steps import untimely_watermark
from stream_app.privacy.policy import Policy
from stream_app.privacy.reason import Refused
from stream_app.privacy.state import NEVER, State
from stream_app.privacy.values import frozen

BLOCK_UNITS: Final = 16
"""Units in a sealed row."""
_INDEX: Final = attrgetter("index")
_SHARED: Final = 4096
"""Different sets of open units that are kept once for all series that have them."""


@lru_cache(maxsize=64)
def _one(key: str) -> str:
    """Return one object for all steps of a key."""
    return key


@frozen
class OpenStep:
    """One open step: the version under which it opened, the noise key, and which of its rows there are, as bits.

    Which units have a reading is public, and so is this. ``key`` is a fingerprint: rows open under that key alone.
    """

    index: int
    version: int
    key: str
    blocks: int = 0

    def has(self, block: int) -> bool:
        """Return whether the step has a row of this number."""
        return bool(self.blocks >> block & 1)

    def with_block(self, block: int) -> "OpenStep":
        """Return the step with one more row."""
        return OpenStep(self.index, self.version, self.key, self.blocks | 1 << block)

    @property
    def numbers(self) -> list[int]:
        """The numbers of its rows, ascending."""
        return [nth for nth in range(self.blocks.bit_length()) if self.blocks >> nth & 1]


class OpenUnits(NamedTuple):
    """The steps of a series that are open, ascending; none before ``first`` ever is again."""

    first: int
    steps: tuple[OpenStep, ...] = ()

    def step(self, index: int) -> OpenStep | None:
        """Return an open step; None: it has no reading."""
        for step in reversed(self.steps):
            if step.index == index:
                return step
        return None

    def before(self, first: int) -> tuple[OpenStep, ...]:
        """Return the open steps before ``first``."""
        return tuple(step for step in self.steps if step.index < first)

    def shifted(self, first: int) -> "OpenUnits":
        """Return what stays open where no step before ``first`` does."""
        if first <= self.first:
            return self
        return OpenUnits(first, tuple(step for step in self.steps if step.index >= first))

    def put(self, step: OpenStep) -> "OpenUnits":
        """Return them with a step that is new, or in the place of what it was."""
        others = [one for one in self.steps if one.index != step.index]
        return _shared(OpenUnits(self.first, tuple(sorted([*others, step], key=_INDEX))))

    def written(self) -> list[Any]:
        """Return them as a row stores them: numbers that JSON knows, and text."""
        return [self.first, *([step.index, step.version, step.key, f"{step.blocks:x}"] for step in self.steps)]

    @classmethod
    def read(cls, stored: Sequence[Any]) -> "OpenUnits":
        """Return what a row stores."""
        first, *steps = stored
        return _read(first, *map(tuple, steps))


@lru_cache(maxsize=_SHARED)
def _shared(opened: OpenUnits) -> OpenUnits:
    """Return one object for all series of which the same units are open: most of those that are read in step."""
    return opened


@lru_cache(maxsize=_SHARED)
def _read(first: int, *steps: tuple[int, int, str, str]) -> OpenUnits:
    opened = [OpenStep(index, version, _one(key), int(blocks, 16)) for index, version, key, blocks in steps]
    return _shared(OpenUnits(first, tuple(opened)))


GIVEN_UP: Final = OpenUnits(NEVER)
"""Nobody knows any more which steps were open, and what they had read: what comes next gives up those that may be."""


def reached(policy: Policy, state: State, before: OpenUnits | None, index: int) -> OpenUnits | Refused:
    """Return what is open at a reading of step ``index``, without it, or why it comes at no right time.

    Steps before its first one close. Behind a loss the first reading gives up its own step, and all that may have been
    open with it: then that step lies before the first one, and takes nothing.
    """
    if state.closed:
        return Refused("closed")
    first = first_open(policy, state, _first_of(before))
    if index < first:
        return Refused("late")
    if before == GIVEN_UP:
        return OpenUnits(index + policy.open_steps)
    return (before or OpenUnits(first)).shifted(policy.first_open_after(index))


def watermarked(policy: Policy, state: State, before: OpenUnits | None, timestamp_ms: int) -> OpenUnits | Refused:
    """Return what is open after a watermark, or why it comes at no right time: it goes beyond all before it."""
    now = policy.index_of(timestamp_ms)
    reason = untimely_watermark(policy, state, _first_of(before), now)
    if reason is not None:
        return Refused(reason)
    if before is None or before == GIVEN_UP:
        return OpenUnits(now if before is None else now + policy.open_steps)
    return before.shifted(now)


def _first_of(opened: OpenUnits | None) -> int | None:
    return None if opened is None or opened == GIVEN_UP else opened.first
