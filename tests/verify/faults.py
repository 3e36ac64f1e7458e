"""Faults, each a replaced piece of the decision path: production code has no branch for them."""

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import pytest

from stream_app.deciding import decider
from stream_app.deciding.collection import Collection
from stream_app.deciding.columns import batch, carried, deciding
from stream_app.deciding.columns.carried import SeriesFigures
from stream_app.deciding.columns.sorting import NOTHING
from stream_app.deciding.context import Context
from stream_app.deciding.decision import decide
from stream_app.deciding.outcome import Outcome, ProcessedRecord
from stream_app.deciding.rows import Lookup, SeriesRow
from stream_app.formats import wire
from stream_app.formats.records import InputRecord, Observation
from stream_app.privacy.guard import Guard, WindowLevel
from stream_app.privacy.kinds import Category, Counts, HiddenMean, Kind, Location, Mean, Number, Sum, Vector
from stream_app.privacy.kinds.axis import LARGEST_CELL, Axis
from stream_app.privacy.level import measured
from stream_app.privacy.noise import draws
from stream_app.privacy.noise.mechanisms import discrete_laplace_by
from stream_app.privacy.noise.randomness import BitStream
from stream_app.privacy.policy import Policy
from stream_app.privacy.state import State
from stream_app.privacy.values import NANO, RawCells, ReleasedCells
from stream_app.verify.neighbours import extremes
from tests.verify.tried import Plant

LONG_NANO = 10**15
"""An intrusion so large that its noise is 0."""


def under(change: Callable[[Policy], Policy]) -> Plant:
    """Plant a policy other than the promised one."""
    return lambda row: nullcontext(replace(row, policy=change(row.policy)))


def patched(owner: object, **pieces: object) -> Plant:
    """Plant replaced pieces of a module or a class."""

    @contextmanager
    def plant(row: SeriesRow) -> Iterator[SeriesRow]:
        with pytest.MonkeyPatch.context() as patch:
            for name, piece in pieces.items():
                patch.setattr(owner, name, piece)
            yield row

    return plant


def cheating(cheat: Callable[[Context, Lookup, Collection, InputRecord], Outcome]) -> Plant:
    """Plant another way to decide single records, and have all records decided that way."""

    @contextmanager
    def plant(row: SeriesRow) -> Iterator[SeriesRow]:
        alone = patched(decider, decide=lambda *parts: cheat(*parts[:-1]))  # but for who finds members: there are none
        with patched(batch, together=lambda *_: NOTHING)(row), alone(row):
            yield row

    return plant


def replaced_policy(row: SeriesRow, **members: Any) -> SeriesRow:
    """Return a row whose policy has other members."""
    return replace(row, policy=replace(row.policy, **members))


def of_kind(change: Callable[[Kind], Kind]) -> Plant:
    """Plant another kind."""
    return under(lambda policy: replace(policy, kind=change(policy.kind)))


def scaled(share: Fraction) -> Plant:
    """Plant noise at this fraction of its scale."""

    def change(kind: Kind) -> Kind:
        match kind:
            case Number() | Counts():
                return replace(kind, sensitivity=int(kind.sensitivity * share))
            case Sum() | Mean() | HiddenMean():
                return replace(kind, item=replace(kind.item, sensitivity=int(kind.item.sensitivity * share)))
            case Location():
                return replace(kind, rate_per_nano=kind.rate_per_nano / share)
            case _:
                raise TypeError("this kind has no scale")

    return of_kind(change)


@dataclass(frozen=True, slots=True)
class Truthful(Category):
    """Tells the truth as if more had been spent."""

    times: Fraction = Fraction(1)
    """How many times the spend is counted."""

    def perturb(self, stream: BitStream, cells: RawCells, spend_nano: int) -> ReleasedCells:
        """Return too true an answer."""
        return Category(self.categories).perturb(stream, cells, int(spend_nano * self.times))


def truthful(times: Fraction) -> Plant:
    """Plant a kind that tells the truth as often as if the spend were so many times larger."""

    def change(kind: Kind) -> Kind:
        assert isinstance(kind, Category)
        return Truthful(kind.categories, times=times)

    return of_kind(change)


@dataclass(frozen=True, slots=True)
class OnePartBare(Vector):
    """Adds no noise to the last part."""

    def perturb(self, stream: BitStream, cells: RawCells, spend_nano: int) -> ReleasedCells:
        """Return the last part unchanged."""
        return ReleasedCells((*Vector(self.names, self.parts).perturb(stream, cells, spend_nano)[:-1], cells[-1]))


def one_part_bare(kind: Kind) -> Kind:
    """Return the vector that adds no noise to one part."""
    assert isinstance(kind, Vector)
    return OnePartBare(kind.names, kind.parts)


def one_share_whole(kind: Kind) -> Kind:
    """Return the vector whose first part has the noise of the whole spend instead of its share."""
    assert isinstance(kind, Vector)
    first = replace(kind.parts[0], sensitivity=kind.parts[0].sensitivity // len(kind.parts))
    return replace(kind, parts=(first, *kind.parts[1:]))


def unclamped_item(item: Number) -> Number:
    """Return an item with an unlimited range."""
    return replace(item, axis=Axis(item.axis.cells_per_unit, -LARGEST_CELL, LARGEST_CELL))


def unclamped(kind: Kind) -> Kind:
    """Return a number with an unlimited range."""
    assert isinstance(kind, Number)
    return unclamped_item(kind)


def windowed(**members: Any) -> Plant:
    """Plant another window level."""

    def change(policy: Policy) -> Policy:
        assert isinstance(policy.protection, WindowLevel)
        return replace(policy, protection=policy.protection._replace(**members))

    return under(change)


def _uncharged(
    guard: Guard, level: WindowLevel | None, step: int, start_ms: int, *, landmark: bool, spend_nano: int
) -> Guard | None:
    """Allow everything that the spends alone leave."""
    assert level is not None
    whole = guard.budget_nano - guard.window.spent_nano(level, step)
    if landmark or spend_nano > whole or start_ms < guard.window.opens_ms:
        return None
    return guard._replace(window=guard.window._replace(spends=(*guard.window.spends, (step, spend_nano))))


def uncharged(row: SeriesRow) -> AbstractContextManager[SeriesRow]:
    """Plant a window that charges nothing for private looks, and a scheme that spends all of the budget."""
    policy = row.policy
    assert isinstance(policy.protection, WindowLevel)
    protection = policy.protection._replace(spendable_nano=policy.epsilon_nano)
    faulty = replace(row, policy=replace(policy, protection=protection))
    return patched(Guard, spend=_uncharged)(faulty)


def bare(policy: Policy) -> Policy:
    """Return a policy whose counters start with practically no noise."""
    assert policy.collect is not None
    return replace(policy, collect=replace(policy.collect, intrusion_nano=LONG_NANO))


def shown_absence(policy: Policy) -> Policy:
    """Return a policy that repeats the last release for free, although a value should hide a missing reading."""
    assert policy.within is not None
    return replace(policy, within=replace(policy.within, absent="approximated"))


_OFFERED = Guard.offered


def _forgetting(name: str) -> Plant:
    """Plant a guard that allows as usual, but forgets the new value of one figure."""

    def offered(guard: Guard, *parts: Any, **more: Any) -> tuple[Guard, int]:
        after, spend_nano = _OFFERED(guard, *parts, **more)
        return after._replace(**{name: getattr(guard, name)}), spend_nano

    return patched(Guard, offered=offered)


landmark_spent_twice = _forgetting("landmark_spent_nano")
regular_uncounted = _forgetting("regular_peak_nano")
late_uncharged = patched(Guard, charge_passed=lambda guard, *_: guard)


half_the_noise_in_columns = patched(
    draws, discrete_laplace_by=lambda words, paid, rate: discrete_laplace_by(words, 2 * paid, rate)
)


def forgotten_in_columns(row: SeriesRow) -> AbstractContextManager[SeriesRow]:
    """Plant columns that treat earlier landmarks as having spent nothing."""

    def state_of(figures: SeriesFigures, *parts: Any) -> State:
        return carried.state_of(figures._replace(landmark_spent_nano=0 * figures.landmark_spent_nano), *parts)

    return patched(deciding, state_of=state_of)(row)


def coin_that_sees(row: SeriesRow) -> AbstractContextManager[SeriesRow]:
    """Plant a coin that depends on the value: at one range end few steps are published, at other values all."""
    kind = row.policy.kind
    near, _ = extremes(kind).cells

    def cheat(context: Context, lookup: Lookup, collection: Collection, record: InputRecord) -> Outcome:
        found = wire.decode(record.value)
        assert isinstance(found, Observation)
        rate_nano = NANO // 10 if kind.quantise(found.value) == near else NANO

        def seeing(series: str) -> SeriesRow | None:
            row = lookup(series)
            if row is None or row.state.latest.rate_nano == NANO:
                return row
            return replace(row, state=replace(row.state, latest=replace(row.state.latest, rate_nano=rate_nano)))

        return decide(context, seeing, collection, record)

    return cheating(cheat)(row)


def _rewritten(outcome: Outcome, kind: Kind, cells: ReleasedCells) -> Outcome:
    """Return an outcome whose release has other cells as the value."""
    assert isinstance(outcome, ProcessedRecord)
    assert outcome.release is not None
    release = json.loads(outcome.release)
    release["value"] = kind.publish(kind.clamp(cells))
    return ProcessedRecord(outcome.row, outcome.entries, wire.dump(release), outcome.decision, outcome.spent_nano)


def _cheating(decision: str, cells_of: Callable[[SeriesRow, RawCells, int, dict[str, Any]], ReleasedCells]) -> Plant:
    """Plant values made from raw cells, in the releases of one decision."""

    def plant(row: SeriesRow) -> AbstractContextManager[SeriesRow]:
        def cheat(context: Context, lookup: Lookup, collection: Collection, record: InputRecord) -> Outcome:
            found = wire.decode(record.value)
            outcome = decide(context, lookup, collection, record)
            assert isinstance(found, Observation)
            assert isinstance(outcome, ProcessedRecord)
            before = lookup(found.series)
            if outcome.decision != decision or before is None:
                return outcome
            kind = before.policy.kind
            raw = kind.quantise(found.value)
            assert raw is not None
            entry: Any = wire.load(outcome.entries[-1].value)
            index = found.timestamp_ms // before.policy.step_ms
            return _rewritten(outcome, kind, cells_of(before, raw, index, entry))

        return cheating(cheat)(row)

    return plant


def _filtered(before: SeriesRow, raw: RawCells, index: int, entry: dict[str, Any]) -> ReleasedCells:
    elapsed = before.state.elapsed_steps(index)
    _, estimate = measured(
        before.policy.kind, before.state.latest.level, ReleasedCells(tuple(raw)), entry["epsilon_nano"], elapsed
    )
    return estimate


filter_fed_raw = _cheating("perturbed", _filtered)
approximated_raw = _cheating("approximated", lambda _, raw, __, ___: ReleasedCells(tuple(raw)))
