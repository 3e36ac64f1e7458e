"""Many steps at once: `fold.step` for one step of each of many series under one rule, as columns of integers.

It takes what most events are: numbers under windows of single steps, of series that have decided a step before.
Guarantee: the same result as `fold.step` to the last bit, which stands as the specification; draws that doubles cannot
decide go through its own exact sampling.
"""

from dataclasses import dataclass
from struct import Struct
from typing import Final, NamedTuple, assert_never, final

import numpy as np

from stream_app.privacy.amounts import Doubles, Flags, Ints, least, where
from stream_app.privacy.guard import allowed, paid
from stream_app.privacy.kinds.axis import LARGEST_CELL, saturated
from stream_app.privacy.landmarks import LandmarkSet
from stream_app.privacy.level import MOST_STEPS, number_begun, number_drifted, number_measured
from stream_app.privacy.noise.mechanisms import discrete_laplace, discrete_laplace_by
from stream_app.privacy.noise.randomness import first_words, happens_quickly, happens_rational, keyed_hash
from stream_app.privacy.noise.streams import COIN, NOISE, coin_messages, coin_stream, noise_messages, noise_stream
from stream_app.privacy.place import steps_left
from stream_app.privacy.protection import EventLevel, LandmarkLevel, UserLevel
from stream_app.privacy.rule import Rule
from stream_app.privacy.scheme import propose, propose_user
from stream_app.privacy.state import NEVER
from stream_app.privacy.values import NANO, RawCells

_CELL: Final = Struct(">q").pack


@dataclass(frozen=True, slots=True)
class Held:
    """What is known of many series before a step of each: a column a figure, in the words of `State`."""

    budget_nano: Ints
    landmark_spent_nano: Ints
    regular_peak_nano: Ints
    source_ms: Ints
    measurement: Ints
    estimate: Ints
    rate_nano: Ints
    level: Doubles
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
    spend_nano: Ints
    landmark_spent_nano: Ints
    regular_peak_nano: Ints
    source_ms: Ints
    measurement: Ints
    estimate: Ints
    rate_nano: Ints
    level: Doubles


def places(rule: Rule, steps: Ints, first_step: Ints, landmarks: list[LandmarkSet], spare_left: Ints) -> Places:
    """Return `place.place` of a step of each of many series, which have decided one before."""
    protection = rule.protection
    match protection:
        case LandmarkLevel():
            inside, left = _landmarks_from(steps, landmarks)
            return Places(steps, inside, left + spare_left)
        case EventLevel():
            return Places(steps, np.zeros(len(steps), np.bool_), np.zeros(len(steps), np.int64))
        case UserLevel(length):
            return Places(steps, np.ones(len(steps), np.bool_), steps_left(length, steps - first_step))
        case _:
            assert_never(protection)


def _landmarks_from(steps: Ints, landmarks: list[LandmarkSet]) -> tuple[Flags, Ints]:
    """Return whether each step is a landmark of its own set, and how many of that lie at or after it."""
    first = landmarks[0]
    if len(set(map(id, landmarks))) == 1:
        inside, before = first.at(steps)
        return np.asarray(inside), len(first) - before
    found = [own.at(step) for step, own in zip(steps.tolist(), landmarks, strict=True)]
    left = [len(own) - before for (_, before), own in zip(found, landmarks, strict=True)]
    return np.array([inside for inside, _ in found], np.bool_), np.array(left, np.int64)


@final
class Draws:
    """The bits of many events under the key of one epoch; ``names`` are their series in UTF-8."""

    def __init__(self, secret: bytes, epoch: int, rule: Rule, names: list[bytes], starts_ms: Ints) -> None:
        self._secret, self._epoch, self._rule = secret, epoch, rule
        self._names, self._starts_ms = names, starts_ms
        self._noise = keyed_hash(secret, NOISE, rule.identity)
        self._coin = keyed_hash(secret, COIN, rule.identity)

    def coins(self, at: Ints, rates_nano: Ints) -> Flags:
        """Return whether the coin of each event allows a publication at its rate; ``at`` are the events' places."""
        names, starts_ms = [self._names[place] for place in at.tolist()], self._starts_ms[at].tolist()
        words = first_words(self._coin, coin_messages(self._epoch, starts_ms, names))
        happens, sure = happens_quickly(words.astype(np.float64), rates_nano, NANO)
        found = np.asarray(happens)
        for n in np.flatnonzero(~np.asarray(sure)).tolist():
            stream = coin_stream(self._secret, self._epoch, self._rule, names[n].decode(), starts_ms[n])
            found[n] = happens_rational(stream, int(rates_nano[n]), NANO)
        return found

    def noise(self, at: Ints, spends_nano: Ints, cells: Ints, sensitivity: int) -> Ints:
        """Return the cells of many events with noise of the rate that their spends buy, saturated."""
        # PRIVACY: as `Number.perturb` and `noise_stream`: each raw cell leaves in a keyed hash, and with discrete
        # Laplace noise of rate e/D. What doubles do not decide depends on the draws, not on the cells.
        names, starts_ms = [self._names[place] for place in at.tolist()], self._starts_ms[at].tolist()
        spends, packed = spends_nano.tolist(), map(_CELL, cells.tolist())
        messages = noise_messages(self._epoch, starts_ms, spends, names, packed)
        noise, sure = discrete_laplace_by(first_words(self._noise, messages), spends_nano, sensitivity * NANO)
        for n in np.flatnonzero(~sure).tolist():
            raw = RawCells((int(cells[n]),))
            name = names[n].decode()
            stream = noise_stream(self._secret, self._epoch, self._rule, name, starts_ms[n], spends[n], raw)
            drawn = discrete_laplace(stream, spends[n], sensitivity * NANO)
            noise[n] = max(-2 * LARGEST_CELL, min(drawn, 2 * LARGEST_CELL))  # beyond it the sum saturates anyway
        return saturated(cells + noise)


def take(rule: Rule, held: Held, at: Places, cells: Ints, draws: Draws, events: Ints) -> Taken:
    """Decide a step of each of many series; ``events`` are their places among those that ``draws`` knows.

    Guarantee: that of `fold.step`.
    """
    budget, spent, peak = held.budget_nano, held.landmark_spent_nano, held.regular_peak_nano
    if isinstance(rule.protection, UserLevel):
        spend_nano = propose_user(budget, spent, at.left)
    else:
        spend_nano = propose(rule.scheme, budget, spent, peak, at.left, landmark=at.landmark)
    # PRIVACY: as in `fold.publish`: rate and budget come from releases and public facts, the coin from key, series and
    # step, so which events are published depends on no raw value.
    asked = np.flatnonzero((spend_nano > 0) & (held.rate_nano < NANO))
    if len(asked):
        refused = asked[~draws.coins(events[asked], held.rate_nano[asked])]
        spend_nano[refused] = 0
    spend_nano = where(allowed(budget, spent, peak, spend_nano, landmark=at.landmark), spend_nano, 0)
    spent, peak = paid(spent, peak, spend_nano, landmark=at.landmark)
    published = spend_nano > 0
    source_ms, measurement, estimate = held.source_ms.copy(), held.measurement.copy(), held.estimate.copy()
    rate_nano, level, kind = held.rate_nano.copy(), held.level, rule.kind
    k = least(held.elapsed, MOST_STEPS).astype(np.float64)
    if rule.filtered:
        level = np.stack(number_drifted(kind, list(level.T), k), 1)  # of those that are published it is made anew
    fresh = np.flatnonzero(published)
    if len(fresh):
        spends, began = spend_nano[fresh], source_ms[fresh] != NEVER
        measured = draws.noise(events[fresh], spends, cells[fresh], kind.sensitivity)
        if rule.sampling is not None:
            still = kind.is_still(measurement[fresh], measured, spends)
            rates = rate_nano[fresh]
            rate_nano[fresh] = where(began, rule.sampling.next_rate(rates, still=still), rates)
        measurement[fresh] = measured
        if rule.filtered:
            before = np.where(began[:, None], held.level[fresh], np.array(number_begun(kind)))
            numbers, scales = kind.axis.double(measured), kind.scale(spends)
            after, numbers = number_measured(kind, list(before.T), numbers, scales, k[fresh])
            level[fresh] = np.stack(after, 1)
            estimate[fresh] = kind.axis.within(numbers)
        else:
            estimate[fresh] = kind.bounded(measured)
        source_ms[fresh] = at.steps[fresh] * rule.step_ms
    return Taken(published, spend_nano, spent, peak, source_ms, measurement, estimate, rate_nano, level)
