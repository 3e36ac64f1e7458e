"""Many steps at once: `fold.step` for one step of each of many series under one rule, as columns of integers.

It takes what most events are: numbers under windows of single steps, of series that have decided a step before.
Guarantee: the same result as `fold.step` to the last bit, which stands as the specification; draws that doubles cannot
decide go through its own exact sampling.
"""

from dataclasses import dataclass
from typing import NamedTuple, assert_never, final

import numpy as np
import numpy.typing as npt

from stream_app.privacy.guard import Flags, Nanos, spend_each
from stream_app.privacy.kinds.axis import LARGEST_CELL, Cells
from stream_app.privacy.landmarks import LandmarkSet
from stream_app.privacy.level import Levels, number_drifted_each, number_measured_each
from stream_app.privacy.noise.mechanisms import discrete_laplace, discrete_laplace_each
from stream_app.privacy.noise.randomness import (
    FIRST_BLOCK,
    first_words,
    happens_rational,
    happens_rational_each,
    keyed_hash,
)
from stream_app.privacy.noise.streams import COIN, NOISE, coin_stream, noise_stream
from stream_app.privacy.protection import EventLevel, LandmarkLevel, UserLevel
from stream_app.privacy.rule import Rule
from stream_app.privacy.scheme import propose_each, propose_user_each
from stream_app.privacy.state import NEVER
from stream_app.privacy.values import NANO, RawCells

Ints = npt.NDArray[np.int64]
_HEAD = np.dtype([("epoch", ">u8"), ("start", ">u8"), ("spend", ">u8"), ("length", ">u2")])
_COIN_HEAD = np.dtype([("epoch", ">u8"), ("start", ">u8"), ("length", ">u2")])
_END = np.dtype([("cell", ">i8"), ("block", ">u8")])
"""Of the first block, as `FIRST_BLOCK` ends it."""


@dataclass(frozen=True, slots=True)
class Held:
    """What is known of many series before a step of each: a column a figure, in the words of `State`."""

    budget_nano: Nanos
    landmark_spent_nano: Nanos
    regular_peak_nano: Nanos
    source_ms: Ints
    measurement: Cells
    estimate: Cells
    rate_nano: Nanos
    level: Levels
    """Of the filter; without one there is nothing in it."""
    elapsed: Ints
    """Steps since the last decided one."""


class Places(NamedTuple):
    """Which steps are decided: their indices, whether they are landmarks, and R; `place.Place` as columns."""

    steps: Ints
    landmark: Flags
    left: Ints

    def of(self, events: Ints) -> "Places":
        """Return those of some of the events."""
        return Places(self.steps[events], self.landmark[events], self.left[events])


@dataclass(frozen=True, slots=True)
class Taken:
    """What a step of each of many series came to: what was proposed is spent where it was ``published``."""

    published: Flags
    spend_nano: Nanos
    landmark_spent_nano: Nanos
    regular_peak_nano: Nanos
    source_ms: Ints
    measurement: Cells
    estimate: Cells
    rate_nano: Nanos
    level: Levels


def places(rule: Rule, steps: Ints, first_step: Ints, landmarks: list[LandmarkSet], spare_left: Ints) -> Places:
    """Return `place.place` of a step of each of many series."""
    protection = rule.protection
    match protection:
        case LandmarkLevel():
            inside, left = _landmarks_from(steps, landmarks)
            return Places(steps, inside, left + spare_left)
        case EventLevel():
            return Places(steps, np.zeros(len(steps), np.bool_), np.zeros(len(steps), np.int64))
        case UserLevel(length):
            return Places(steps, np.ones(len(steps), np.bool_), np.maximum(0, length - (steps - first_step)))
        case _:
            assert_never(protection)


def _landmarks_from(steps: Ints, landmarks: list[LandmarkSet]) -> tuple[Flags, Ints]:
    """Return whether each step is a landmark of its own set, and how many of that lie at or after it."""
    first = landmarks[0]
    if len(set(map(id, landmarks))) == 1:
        return first.contains_each(steps), first.count_from_each(steps)
    both = [(step in own, own.count_from(step)) for step, own in zip(steps.tolist(), landmarks, strict=True)]
    return np.array([inside for inside, _ in both], np.bool_), np.array([left for _, left in both], np.int64)


@final
class Draws:
    """The bits of many events under the key of one epoch; ``names`` are their series in UTF-8."""

    def __init__(self, secret: bytes, epoch: int, rule: Rule, names: list[bytes], starts_ms: Ints) -> None:
        self._secret, self._epoch, self._rule = secret, epoch, rule
        self._names, self._starts_ms = names, starts_ms
        self._noise = keyed_hash(secret, NOISE, rule.identity)
        self._coin = keyed_hash(secret, COIN, rule.identity)

    def coins(self, at: Ints, rates_nano: Nanos) -> Flags:
        """Return whether the coin of each event allows a publication at its rate; ``at`` are the events' places."""
        names, starts_ms = [self._names[place] for place in at.tolist()], self._starts_ms[at]
        heads = np.zeros(len(at), _COIN_HEAD)
        heads["epoch"], heads["start"], heads["length"] = self._epoch, starts_ms, list(map(len, names))
        messages = [head + name + FIRST_BLOCK for head, name in zip(_pieces(heads), names, strict=True)]
        happens, sure = happens_rational_each(first_words(self._coin, messages), rates_nano, NANO)
        for n in np.flatnonzero(~sure).tolist():
            name, start_ms = names[n].decode(), int(starts_ms[n])
            stream = coin_stream(self._secret, self._epoch, self._rule, name, start_ms)
            happens[n] = happens_rational(stream, int(rates_nano[n]), NANO)
        return happens

    def noise(self, at: Ints, spends_nano: Nanos, cells: Cells, sensitivity: int) -> Cells:
        """Return the cells of many events with noise of the rate that their spends buy, saturated."""
        # PRIVACY: as `Number.perturb` and `noise_stream`: each raw cell leaves in a keyed hash, and with discrete
        # Laplace noise of rate e/D. What doubles do not decide depends on the draws, not on the cells.
        names, starts_ms = [self._names[place] for place in at.tolist()], self._starts_ms[at]
        heads, ends = np.zeros(len(at), _HEAD), np.zeros(len(at), _END)
        heads["epoch"], heads["start"], heads["spend"] = self._epoch, starts_ms, spends_nano
        heads["length"], ends["cell"] = list(map(len, names)), cells
        parts = zip(_pieces(heads), names, _pieces(ends), strict=True)
        messages = [head + name + end for head, name, end in parts]
        noise, sure = discrete_laplace_each(first_words(self._noise, messages), spends_nano, sensitivity * NANO)
        for n in np.flatnonzero(~sure).tolist():
            name, start_ms, spend_nano = names[n].decode(), int(starts_ms[n]), int(spends_nano[n])
            raw = RawCells((int(cells[n]),))
            stream = noise_stream(self._secret, self._epoch, self._rule, name, start_ms, spend_nano, raw)
            drawn = discrete_laplace(stream, spend_nano, sensitivity * NANO)
            noise[n] = max(-2 * LARGEST_CELL, min(drawn, 2 * LARGEST_CELL))  # beyond it the sum saturates anyway
        found: Cells = np.clip(cells + noise, -LARGEST_CELL, LARGEST_CELL)
        return found


def _pieces(parts: npt.NDArray[np.void]) -> list[bytes]:
    """Return the bytes of each part of a message."""
    found: list[bytes] = parts.view(f"V{parts.itemsize}").tolist()
    return found


def take(rule: Rule, held: Held, at: Places, cells: Cells, draws: Draws, events: Ints) -> Taken:
    """Decide a step of each of many series; ``events`` are their places among those that ``draws`` knows.

    Guarantee: that of `fold.step`.
    """
    budget, spent, peak = held.budget_nano, held.landmark_spent_nano, held.regular_peak_nano
    if isinstance(rule.protection, UserLevel):
        spend_nano = propose_user_each(budget, spent, at.left)
    else:
        spend_nano = propose_each(rule.scheme, budget, spent, peak, at.left, at.landmark)
    # PRIVACY: as in `fold.publish`: rate and budget come from releases and public facts, the coin from key, series and
    # step, so which events are published depends on no raw value.
    asked = np.flatnonzero((spend_nano > 0) & (held.rate_nano < NANO))
    if len(asked):
        refused = asked[~draws.coins(events[asked], held.rate_nano[asked])]
        spend_nano[refused] = 0
    published, spent, peak = spend_each(budget, spent, peak, spend_nano, at.landmark)
    source_ms, measurement, estimate = held.source_ms.copy(), held.measurement.copy(), held.estimate.copy()
    rate_nano, level = held.rate_nano.copy(), held.level
    if rule.filtered:
        level = number_drifted_each(rule.kind, level, held.elapsed)  # of those that are published it is made anew
    fresh = np.flatnonzero(published)
    if len(fresh):
        paid, began = spend_nano[fresh], source_ms[fresh] != NEVER
        measured = draws.noise(events[fresh], paid, cells[fresh], rule.kind.sensitivity)
        if rule.sampling is not None:
            still = rule.kind.still_each(measurement[fresh], measured, paid)
            rates = rate_nano[fresh]
            rate_nano[fresh] = np.where(began, rule.sampling.next_rates(rates, still), rates)
        measurement[fresh] = measured
        if rule.filtered:
            level[fresh], numbers = number_measured_each(
                rule.kind,
                held.level[fresh],
                began,
                rule.kind.axis.double_each(measured),
                rule.kind.scale_each(paid),
                held.elapsed[fresh],
            )
            estimate[fresh] = rule.boundaries.within(numbers)
        else:
            estimate[fresh] = rule.kind.clamp_each(measured)
        source_ms[fresh] = at.steps[fresh] * rule.step_ms
    return Taken(published, spend_nano, spent, peak, source_ms, measurement, estimate, rate_nano, level)
